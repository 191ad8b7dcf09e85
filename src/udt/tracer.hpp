#pragma once

#include "trace/sink.hpp"

namespace xfer::udt {

/// One connection's way to the trace sink, if there is one.
struct Tracer {
  trace::Sink* sink = nullptr;
  std::uint32_t socket_id = 0;

  void record(TimePoint now, const trace::Event& event) const {
    if (sink != nullptr) sink->record(now, socket_id, event);
  }
};

}  // namespace xfer::udt

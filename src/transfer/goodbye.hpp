#pragma once

#include <string>

#include "net/stream.hpp"
#include "session/messages.hpp"

namespace xfer::transfer {

/// Tells the peer why this side gives up, as far as there is room for it right now. REQUIRES: the
/// stream out ends between two frames.
void put_abort(net::Stream& stream, const Error& error, const std::string& detail);

/// What the peer's abort means on this side.
struct Farewell {
  Error error;
  std::string detail;  ///< printable
};
Farewell read_abort(const session::Abort& abort);

/// The error for bytes of the peer that are no frames. `greeted`: it has sent frames before.
Error not_our_protocol(bool greeted);

}  // namespace xfer::transfer

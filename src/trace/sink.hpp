#pragma once

#include <cstdint>
#include <variant>

#include "base/time.hpp"

namespace xfer::trace {

/// What the core reports about one connection; numbers only, text is made outside. Packet indices
/// count from 0 at the initial sequence number and do not wrap.
struct PacketSent {
  std::int64_t index;
  std::uint32_t payload_bytes;
  bool retransmission;
};
struct PacketReceived {
  std::int64_t index;
  std::uint32_t payload_bytes;
  bool duplicate;
};
/// A hole seen by the receiver, or reported to the sender by a NAK: packets [first, end).
struct LossDetected {
  std::int64_t first;
  std::int64_t end;
  bool by_nak;
};
struct AckSent {
  std::int64_t next;
  std::uint32_t window;
  bool light;
};
struct AckReceived {
  std::int64_t next;
  std::int64_t window_end;
  bool light;
};
struct NakSent {
  std::int64_t first;
  std::int64_t end;
  std::uint32_t repeat;  ///< 0 for the first report of the hole
};
struct RateChanged {
  Duration send_period;
  std::uint32_t cwnd;
};
struct TimerFired {
  enum class Kind : std::uint8_t { probe, exp } kind;
};
struct StateChanged {
  std::uint8_t from;
  std::uint8_t to;
};

using Event = std::variant<PacketSent, PacketReceived, LossDetected, AckSent, AckReceived, NakSent,
                           RateChanged, TimerFired, StateChanged>;

/// Receives the core's events. Called from inside the core: must return quickly and must not call
/// back.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void record(TimePoint now, std::uint32_t socket_id, const Event& event) = 0;
};

}  // namespace xfer::trace

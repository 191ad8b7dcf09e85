#pragma once

#include "base/result.hpp"
#include "wire/seqno.hpp"

namespace xfer::udt {

/// What the application learns from poll_event(). `readable` and `acknowledged` are merged: one
/// event stands for all that happened since the last poll.
struct Event {
  enum class Kind : std::uint8_t {
    incoming,      ///< the listener accepted a connection; it is connected
    connected,     ///< our connect() or rendezvous() succeeded
    readable,      ///< take_readable() has something
    acknowledged,  ///< acked_offset() moved
    error_signal,  ///< the peer could not use what was sent (type 8): fail the pending send once;
                   ///< the connection lives
    peer_closed,   ///< the peer shut down; what has arrived in order can still be taken
    closed,  ///< close() is complete: all was acknowledged, or `error` says why not. Last event.
    failed,  ///< the connection is dead, `error` says why. Last event.
  };
  wire::SocketId id;
  Kind kind = Kind::failed;
  Error error{};           ///< of failed and closed
  bool has_error = false;  ///< closed: whether `error` is set
};

}  // namespace xfer::udt

#pragma once

#include <memory>
#include <optional>

#include "base/byte_source.hpp"
#include "base/socket_address.hpp"
#include "udt/config.hpp"
#include "udt/events.hpp"
#include "udt/stats.hpp"
#include "udt/transmit.hpp"

namespace xfer::udt {

/// TEMPORARY CONTRACT SKETCH (the application's side; the packet side is the endpoint's business).
class Connection {
 public:
  // Getters.
  [[nodiscard]] wire::SocketId id() const;
  [[nodiscard]] const SocketAddress& peer() const;
  [[nodiscard]] std::uint32_t payload_size() const;  ///< bytes of a full packet; fixed once connected
  [[nodiscard]] ConnectionStats stats() const;

  // Commands: the stream out. Its bytes stay with the application, in a ByteSource, until they are acknowledged.

  /// Where the bytes of the stream out are kept; must outlive the connection. Called once, before the first offer().
  void set_source(const ByteSource& source);
  /// Bytes [0, end) of the stream exist; those below `flush` are to be sent without waiting for a full packet.
  /// Neither may go back.
  void offer(std::uint64_t end, std::uint64_t flush, TimePoint now);
  /// Everything below has been acknowledged and will not be viewed again.
  [[nodiscard]] std::uint64_t acked_offset() const;

  // Commands: the stream in.

  /// The next run of in-order bytes that was not handed out yet, as long as memory is contiguous; nullopt: none.
  /// It stays valid and keeps its place in the receive window until consume().
  std::optional<ByteView> take_readable();
  /// The oldest `bytes` bytes handed out are done with; opens the window.
  void consume(std::uint64_t bytes, TimePoint now);

  // Commands: the end.

  /// Sends what was offered, waits for its acknowledgement (at most ConnectionConfig::linger), shuts down.
  void close(TimePoint now);
  /// Shuts down at once; what was not acknowledged is lost.
  void abort(TimePoint now);
};

}  // namespace xfer::udt

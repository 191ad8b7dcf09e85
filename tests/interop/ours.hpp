#pragma once

#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "net/driver.hpp"

/// What the test programs on our implementation share.
namespace xfer::interop::ours {

/// `where: error name text`.
std::string describe(const char* where, const Error& error);

/// A driver on a free port of a numeric address; nullptr: `error` says why.
std::unique_ptr<net::Driver> open_driver(const std::string& host, int socket_buffer,
                                         std::string& error);
SocketAddress numeric_address(const std::string& host, std::uint16_t port);

/// Reads a stream in pieces of the size asked for.
class Reader {
 public:
  explicit Reader(net::Stream& stream) : stream_(stream) {}
  /// Reads exactly `out.size()` bytes.
  ///   ErrorCode::peer_closed  the stream ended before.
  Result<void> read(MutByteView out);

 private:
  net::Stream& stream_;
  ByteView rest_;  ///< handed out by the stream, not asked for yet
};

/// Ends the stream out and waits until it is over. A peer that has shut down by itself before
/// acknowledging the last packets is no failure (wire rule I-21): programs on stock UDT4 close like
/// that.
Result<void> finish_and_wait(net::Stream& stream, Duration limit);

}  // namespace xfer::interop::ours

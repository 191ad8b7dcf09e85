#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

/// Stock UDT4 (Debian's libudt) through its public API, with errors as text: what the peer
/// programs, the sample programs and the benchmarks share.
namespace xfer::interop::stock {

/// Options set on a stock socket before it is bound; 0 leaves the library's default.
struct SocketOptions {
  bool datagram = false;
  bool rendezvous = false;
  int mss = 0;         ///< bytes
  int window = 0;      ///< UDT_FC, packets; set before the buffers, which the library cuts to it
  int udt_buffer = 0;  ///< UDT_SNDBUF and UDT_RCVBUF, bytes
  int udp_buffer = 0;  ///< UDP_SNDBUF and UDP_RCVBUF, bytes
};

/// A UDT socket handle; -1: none.
using Handle = int;
inline constexpr Handle kNone = -1;

/// A socket bound to `host`:`port` (0: a free one).
Handle open_bound(const std::string& host, std::uint16_t port, const SocketOptions& options);
bool listen(Handle socket);
std::optional<std::uint16_t> local_port(Handle socket);
/// The next connection.
Handle accept(Handle listener);
/// Calls, or meets if the socket was opened for a rendezvous.
bool connect(Handle socket, const std::string& host, std::uint16_t port);
/// Sends everything / receives exactly `size` bytes.
bool send_all(Handle socket, const char* data, std::size_t size);
bool receive_all(Handle socket, char* data, std::size_t size);
/// Receives what there is, at least one byte. 0: the peer closed; -1: error or time-out.
int receive_some(Handle socket, char* data, int size);
/// Sends the first `size` bytes of a file / writes the next `size` bytes of the stream to one, as
/// the library's own file functions do (but for nothing: they fail then if the peer has closed).
/// Blocks until all is in the send buffer / written.
bool send_file(Handle socket, const std::string& path, std::int64_t size);
bool receive_file(Handle socket, const std::string& path, std::int64_t size);
/// Makes a receive that waits longer fail.
void limit_receive(Handle socket, int milliseconds);
/// Waits until what was sent is acknowledged (or the connection is gone), then shuts down.
void close(Handle socket);
/// Counters of the connection as `name=value` pairs; only of an open one.
std::string facts(Handle socket);
/// `where: code text` of the last failed call of this thread.
std::string last_error(const char* where);
/// From now on the library's random numbers are so large that the next connection it calls starts
/// its sequence numbers about 200 below 2^31. The public API has no option for it, so the C
/// library's generator is replaced.
void start_sequence_numbers_near_wrap();

}  // namespace xfer::interop::stock

#pragma once

#include <optional>
#include <string>

#include "net/address.hpp"
#include "net/clock.hpp"
#include "net/driver.hpp"

namespace xfer::test {

inline SocketAddress loopback(SocketAddress::Family family, std::uint16_t port = 0) {
  SocketAddress address;
  address.family = family;
  address.port = port;
  if (family == SocketAddress::Family::ipv4) {
    address.ip[0] = 127;
    address.ip[3] = 1;
  } else {
    address.ip[15] = 1;
  }
  return address;
}

inline SocketAddress loopback4(std::uint16_t port = 0) {
  return loopback(SocketAddress::Family::ipv4, port);
}
inline SocketAddress loopback6(std::uint16_t port = 0) {
  return loopback(SocketAddress::Family::ipv6, port);
}

/// Two drivers in this process with a connection between them.
struct Pair {
  std::unique_ptr<net::Driver> listener;
  std::unique_ptr<net::Driver> caller;
  std::shared_ptr<net::Stream> accepted;
  std::shared_ptr<net::Stream> connected;
};

struct PairOptions {
  SocketAddress::Family family = SocketAddress::Family::ipv4;
  net::DriverOptions listener{};
  net::DriverOptions caller{};
  udt::ListenConfig listen{};
  udt::ConnectionConfig connect{};
};

/// A driver that listens at a loopback address, port chosen by the system. Fails the test if it
/// cannot.
std::unique_ptr<net::Driver> make_listener(SocketAddress address = loopback4(),
                                           net::DriverOptions options = {},
                                           const udt::ListenConfig& config = {});
std::unique_ptr<net::Driver> make_driver(const net::DriverOptions& options = {});
Pair make_pair(const PairOptions& options = {});

/// Longest wait for anything that must happen.
inline constexpr Duration kPatience = 20s;

/// One side of a transfer in both directions: sends `out_size` bytes of pattern `out_seed` and
/// expects `in_size` bytes of pattern `in_seed`. Returns when all has come and all was
/// acknowledged.
/// @return empty, or what went wrong. For any one thread; asserts nothing.
std::string exchange(net::Stream& stream, std::uint64_t out_seed, std::uint64_t out_size,
                     std::uint64_t in_seed, std::uint64_t in_size);

/// exchange() on both sides at once. @return empty, or what went wrong.
std::string exchange(Pair& pair, std::uint64_t caller_size, std::uint64_t listener_size);

/// Ends a connection in order, caller first. @return empty, or what went wrong.
std::string close_in_order(Pair& pair);

/// The next run of bytes, waiting for it.
Result<ByteView> read_some(net::Stream& stream, Duration timeout = kPatience);
/// The next `size` bytes as text.
Result<std::string> read_text(net::Stream& stream, std::size_t size);

/// Fills `out` with the pattern's bytes from `offset` on.
void fill_pattern(std::uint64_t seed, std::uint64_t offset, MutByteView out);
/// Whether `bytes` are the pattern's from `offset` on.
bool is_pattern(std::uint64_t seed, std::uint64_t offset, ByteView bytes);

}  // namespace xfer::test

// What the driver does for the sizes of packets: the interface's MTU, probes, fragments.
#include <catch2/catch.hpp>

#include "net/host_routes.hpp"
#include "net/udp_socket.hpp"
#include "pair.hpp"

namespace xfer::test {
namespace {

using Family = SocketAddress::Family;

/// A socket at a loopback address.
net::UdpSocket open_socket(Family family) {
  auto socket = net::UdpSocket::open({.bind = loopback(family)});
  REQUIRE(socket.has_value());
  return std::move(*socket);
}

/// A train of one datagram of `size` bytes.
struct Single {
  explicit Single(std::size_t size) : body(size - wire::kHeaderSize) {
    buffer.payloads[0] = {body, {}};
    transmit.segments = 1;
    transmit.segment_size = size;
  }
  std::vector<std::byte> body;
  udt::TrainBuffer buffer{};
  udt::Transmit transmit;
};

}  // namespace

// The way over loopback takes 64 KiB, IPv4 a byte less; a way to nowhere is unknown.
TEST_CASE("The interface's MTU is known") {
  const net::HostRoutes routes;
  CHECK(routes.interface_mtu(loopback4(9)) >= 65'535);
  CHECK(routes.interface_mtu(loopback6(9)) == 65'536);
  CHECK(routes.interface_mtu({}) == 0);
}

// Between two drivers packets grow to jumbo frames and no further, unless more is asked for; a
// stock peer, or one told otherwise, gets packets of the MSS.
TEST_CASE("Packets grow over loopback, as far as both ends agree") {
  struct Case {
    std::optional<std::uint32_t> max_mtu;
    bool capabilities;
    std::uint32_t size;
  };
  const auto family = GENERATE(Family::ipv4, Family::ipv6);
  const auto row = GENERATE(Case{std::nullopt, true, udt::kMaxAutoMtu}, Case{1500, true, 1500},
                            Case{20'000, true, 20'000}, Case{std::nullopt, false, 1500});
  const std::uint32_t extra = family == Family::ipv6 ? 20 : 0;
  CAPTURE(row.size, extra);
  PairOptions options;
  options.family = family;
  options.connect.max_mtu = options.listen.connection.max_mtu = row.max_mtu;
  options.listen.connection.capabilities = row.capabilities;
  Pair pair = make_pair(options);
  CHECK(exchange(pair, 5'000'000, 5'000'000) == "");
  CHECK(close_in_order(pair) == "");
  for (const auto& stream : {pair.connected, pair.accepted}) {
    const udt::ConnectionStats stats = stream->stats();
    CHECK(stats.packet_size == row.size - extra);
    CHECK(stats.capabilities ==
          (row.capabilities ? wire::kGrowingWindows | wire::kPathMtuProbing | wire::kDeliveryReports
                            : 0));
    CHECK(stats.path_black_holes == 0);
  }
}

// A probe beyond what the interface takes is no error and leaves in no fragments; what follows
// keeps "don't fragment". Data of that size leaves in fragments, and the interface's MTU is
// reported.
TEST_CASE("Probes are dropped where data is sent in fragments") {
  const auto family = GENERATE(Family::ipv4, Family::ipv6);
  // What fits into an IPv6 datagram, but not into the interface's MTU in one piece.
  const std::size_t size = family == Family::ipv4 ? 65'507 : 65'527;
  auto from = open_socket(family);
  auto to = open_socket(family);
  // Loopback's MTU is 29 bytes larger than the largest IPv4 datagram's packet: nothing is refused.
  const bool refused = family == Family::ipv6;
  Single probe(size);
  probe.transmit.destination = to.local_address();
  probe.transmit.path_probe = true;
  CHECK(from.send(probe.transmit, probe.buffer, 0).taken == 1);
  CHECK(from.stats().datagrams_sent == (refused ? 0 : 1));
  CHECK_FALSE(from.stats().fragmenting);
  CHECK(from.stats().send_failed == 0);
  if (!refused) return;

  std::optional<net::NetworkError> error;
  while (const auto next = from.next_error()) error = next;
  REQUIRE(error);
  CHECK(error->peer == to.local_address());
  CHECK(error->path_mtu >= 65'000);
  CHECK(error->path_mtu <= 65'536);
  probe.transmit.path_probe = false;
  CHECK(from.send(probe.transmit, probe.buffer, 0).taken == 1);
  CHECK(from.stats().datagrams_sent == 1);
  CHECK(from.stats().fragmenting);
}

}  // namespace xfer::test

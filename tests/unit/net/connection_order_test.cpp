#include <catch2/catch.hpp>

#include "net/driver.hpp"

using namespace xfer;
using Family = SocketAddress::Family;

namespace {
SocketAddress numbered(Family family, std::uint16_t number) { return {family, number, 0, {}}; }
}  // namespace

TEST_CASE("Addresses are tried IPv6 first, the families in turn, none lost or repeated") {
  using List = std::vector<SocketAddress>;
  const SocketAddress a4 = numbered(Family::ipv4, 1);
  const SocketAddress b4 = numbered(Family::ipv4, 2);
  const SocketAddress c4 = numbered(Family::ipv4, 3);
  const SocketAddress a6 = numbered(Family::ipv6, 1);
  const SocketAddress b6 = numbered(Family::ipv6, 2);
  CHECK(net::connection_order({}).empty());
  CHECK(net::connection_order({a4, b4}) == List{a4, b4});
  CHECK(net::connection_order({b6, a6}) == List{b6, a6});
  CHECK(net::connection_order({a4, b4, c4, a6}) == List{a6, a4, b4, c4});
  CHECK(net::connection_order({a4, a6, b4, b6, c4}) == List{a6, a4, b6, b4, c4});
}

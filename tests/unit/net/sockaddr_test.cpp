#include "net/sockaddr.hpp"

#include <netinet/in.h>

#include <catch2/catch.hpp>

using namespace xfer;
using Family = SocketAddress::Family;

TEST_CASE(
    "Addresses survive the way to the system's form and back, through either kind of socket") {
  const SocketAddress v4{Family::ipv4, 0x1234, 0, {192, 0, 2, 1}};
  const SocketAddress v6{
      Family::ipv6, 0xFFFF, 7, {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}};
  sockaddr_storage storage{};
  CHECK(net::to_sockaddr(v4, AF_INET, storage) == sizeof(sockaddr_in));
  CHECK(net::from_sockaddr(storage) == v4);
  CHECK(net::to_sockaddr(v4, AF_INET6, storage) == sizeof(sockaddr_in6));
  CHECK(storage.ss_family == AF_INET6);
  CHECK(net::from_sockaddr(storage) == v4);
  CHECK(net::to_sockaddr(v6, AF_INET6, storage) == sizeof(sockaddr_in6));
  CHECK(net::from_sockaddr(storage) == v6);
  // IPv6 does not fit into an IPv4 socket.
  CHECK(net::to_sockaddr(v6, AF_INET, storage) == 0);
}

TEST_CASE("No family becomes the unspecified address, and unknown families become none") {
  const SocketAddress any{Family::none, 80, 0, {}};
  sockaddr_storage storage{};
  net::to_sockaddr(any, AF_INET, storage);
  CHECK(net::from_sockaddr(storage) == SocketAddress{Family::ipv4, 80, 0, {}});
  net::to_sockaddr(any, AF_INET6, storage);
  CHECK(net::from_sockaddr(storage) == SocketAddress{Family::ipv6, 80, 0, {}});
  storage.ss_family = AF_UNIX;
  CHECK(net::from_sockaddr(storage).family == Family::none);
}

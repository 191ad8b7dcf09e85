#include "net/resolve.hpp"

#include <catch2/catch.hpp>

using namespace xfer;
using Family = SocketAddress::Family;

TEST_CASE("Numeric addresses resolve to themselves without a name service") {
  const auto v4 = net::resolve("127.0.0.1", 9000);
  REQUIRE(v4.has_value());
  REQUIRE(v4->size() == 1);
  CHECK(net::to_string(v4->front()) == "127.0.0.1:9000");
  const auto v6 = net::resolve("::1", 1);
  REQUIRE(v6.has_value());
  REQUIRE(v6->size() == 1);
  CHECK(net::to_string(v6->front()) == "[::1]:1");
  const auto scoped = net::resolve("fe80::1%lo", 1);
  REQUIRE(scoped.has_value());
  CHECK(net::to_string(scoped->front()) == "[fe80::1%lo]:1");
  // IPv4 in IPv6's clothes is IPv4, as everywhere.
  const auto mapped = net::resolve("::ffff:192.0.2.1", 1);
  REQUIRE(mapped.has_value());
  CHECK(net::to_string(mapped->front()) == "192.0.2.1:1");
}

TEST_CASE("An empty host is any local address") {
  const auto any = net::resolve("", 9000);
  REQUIRE(any.has_value());
  REQUIRE(any->size() == 1);
  CHECK(any->front() == SocketAddress{Family::none, 9000, 0, {}});
}

TEST_CASE("A name that cannot exist does not resolve, and the resolver's reason is kept") {
  // No dots and a space: not even asked of a name server.
  for (const char* name : {"no such host", "1.2.3.4.5 "}) {
    const auto failed = net::resolve(name, 1);
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().code == ErrorCode::resolve_failed);
    CHECK(failed.error().what != nullptr);
  }
}

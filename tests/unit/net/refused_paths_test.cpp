#include "net/refused_paths.hpp"

#include <catch2/catch.hpp>

namespace xfer::net {
namespace {

SocketAddress host(std::uint8_t number, std::uint16_t port = 9000) {
  SocketAddress address;
  address.family = SocketAddress::Family::ipv4;
  address.port = port;
  address.ip = {10, 0, 0, number};
  return address;
}

}  // namespace

// A path is a host, whatever the port; others are not affected.
TEST_CASE("What a path refuses is tried again later, and later each time") {
  RefusedPaths paths(10s);
  TimePoint now{1h};
  CHECK(paths.may_try(host(1), now));
  for (const Duration wait : {10s, 20s, 40s, 80s, 160s, 320s, 640s, 640s}) {
    paths.refused(host(1), now);
    CHECK(paths.size() == 1);
    CHECK_FALSE(paths.may_try(host(1, 1234), now + wait - 1ns));
    CHECK(paths.may_try(host(2), now));
    now += wait;
    CHECK(paths.may_try(host(1), now));
  }
  paths.worked(host(1));
  CHECK(paths.empty());
  paths.refused(host(1), now);
  CHECK(paths.may_try(host(1), now + 10s));
}

// However many hosts there are.
TEST_CASE("The list of refused paths is bounded and forgets the oldest") {
  RefusedPaths paths(10s);
  const TimePoint now{1h};
  for (std::uint8_t i = 0; i < 100; ++i) paths.refused(host(i), now);
  CHECK(paths.size() == RefusedPaths::kMaxPaths);
  CHECK(paths.may_try(host(0), now));
  CHECK_FALSE(paths.may_try(host(99), now));
}

}  // namespace xfer::net

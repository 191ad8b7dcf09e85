#include <catch2/catch.hpp>
#include <thread>

#include "net/udp_socket.hpp"
#include "pair.hpp"

using namespace xfer;
using namespace xfer::test;
using Family = SocketAddress::Family;

namespace {
net::UdpSocket socket_at(Family family) {
  auto socket = net::UdpSocket::open({.bind = loopback(family)});
  REQUIRE(socket.has_value());
  return std::move(*socket);
}
SocketAddress closed_port(Family family) { return socket_at(family).local_address(); }
}  // namespace

TEST_CASE("An IPv6 address that does not answer delays the IPv4 one by the attempt delay only") {
  auto silent = socket_at(Family::ipv6);
  auto listener = make_listener();
  const TimePoint begin = net::now();
  auto connected = net::connect_any({listener->local_address(), silent.local_address()}, {}, {});
  REQUIRE(connected.has_value());
  const Duration took = net::now() - begin;
  CHECK(took >= net::kConnectionAttemptDelay);
  CHECK(took < 1s);
  CHECK(connected->stream->peer() == listener->local_address());
}

TEST_CASE("The first address that answers wins, and the others are not kept") {
  auto listener = make_listener({});
  const std::uint16_t port = listener->local_address().port;
  auto connected = net::connect_any({loopback4(port), loopback6(port)}, {}, {});
  REQUIRE(connected.has_value());
  CHECK(connected->stream->peer().family == Family::ipv6);
  REQUIRE(connected->stream->write(as_byte_view("x"), true).has_value());
  auto accepted = listener->accept(kPatience);
  REQUIRE(accepted.has_value());
  CHECK(read_text(**accepted, 1).has_value());
}

TEST_CASE("When all addresses fail the most telling error is reported") {
  auto silent = socket_at(Family::ipv6);
  const udt::ConnectionConfig config{.connect_timeout = 600ms};
  const auto failed =
      net::connect_any({silent.local_address(), closed_port(Family::ipv4)}, {}, config);
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().code == ErrorCode::connect_refused);
}

TEST_CASE("No address at all is an error") {
  CHECK(net::connect_any({}, {}, {}).error().code == ErrorCode::unreachable);
  // A local IPv4 address leaves nothing of a host with IPv6 only.
  CHECK(net::connect_any({loopback6(9)}, {.bind = loopback4()}, {}).error().code ==
        ErrorCode::unreachable);
}

TEST_CASE("A stop request ends the attempts") {
  auto silent = socket_at(Family::ipv4);
  std::stop_source source;
  const TimePoint begin = net::now();
  ErrorCode result = ErrorCode::internal;
  std::thread blocked([&] {
    auto connected =
        net::connect_any({silent.local_address()}, {}, {.connect_timeout = 1h}, source.get_token());
    if (!connected) result = connected.error().code;
  });
  source.request_stop();
  blocked.join();
  CHECK(result == ErrorCode::interrupted);
  CHECK(net::now() - begin < 5s);
}

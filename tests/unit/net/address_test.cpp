#include "net/address.hpp"

#include <net/if.h>

#include <catch2/catch.hpp>

using namespace xfer;
using net::PortZero;

TEST_CASE("Addresses of every accepted form are taken apart") {
  struct Row {
    const char* text;
    const char* host;
    std::uint16_t port;
  };
  const auto row = GENERATE(values<Row>({
      {"host:9000", "host", 9000},
      {"a.b.example:1", "a.b.example", 1},
      {"1.2.3.4:65535", "1.2.3.4", 65535},
      {"[::1]:9000", "::1", 9000},
      {"[::]:9000", "::", 9000},
      {"[fe80::1%lo]:9000", "fe80::1%lo", 9000},
      {"[::ffff:1.2.3.4]:80", "::ffff:1.2.3.4", 80},
      {":9000", "", 9000},
      {"[]:9000", "", 9000},
      {"host:09", "host", 9},
      {"h\xC3\xB6st:9", "h\xC3\xB6st", 9},
  }));
  CAPTURE(row.text);
  const auto parsed = net::parse_host_port(row.text);
  REQUIRE(parsed.has_value());
  CHECK(parsed->host == row.host);
  CHECK(parsed->port == row.port);
}

TEST_CASE("Anything else is wrong usage, with a reason") {
  const auto text = GENERATE(
      as<std::string>{}, "", ":", "host", "host:", "1.2.3.4", "::1", "fe80::1%lo", "::1:9000",
      "a:b:9000", "[::1]", "[::1]:", "[::1]9000", "[::1", "[::1:9000", "::1]:9000", "[host]:9000",
      "[1.2.3.4]:9000", "[[::1]]:9000", "[]", "host:0", ":0", "host:65536",
      "host:99999999999999999999", "host:-1", "host:+1", "host: 9", "host:9 ", "host:9x",
      "host:0x9", "ho st:9", "ho\nst:9", "ho\x7Fst:9", " :9", "host:9:", "[::1]]:9");
  CAPTURE(text);
  const auto parsed = net::parse_host_port(text);
  REQUIRE_FALSE(parsed.has_value());
  CHECK(parsed.error().code == ErrorCode::usage);
  CHECK(parsed.error().what != nullptr);
}

TEST_CASE("Port 0 is for listening only") {
  CHECK_FALSE(net::parse_host_port("[::1]:0").has_value());
  const auto listening = net::parse_host_port("[::1]:0", PortZero::allowed);
  REQUIRE(listening.has_value());
  CHECK(listening->port == 0);
  CHECK_FALSE(net::parse_host_port("host:", PortZero::allowed).has_value());
}

TEST_CASE("Addresses are printed in the form they are read in") {
  using Family = SocketAddress::Family;
  SocketAddress address{Family::none, 9000, 0, {}};
  CHECK(net::to_string(address) == "*:9000");
  address = {Family::ipv4, 65535, 0, {192, 0, 2, 255}};
  CHECK(net::to_string(address) == "192.0.2.255:65535");
  address = {Family::ipv6, 1, 0, {0x20, 1, 0x0D, 0xB8}};
  CHECK(net::to_string(address) == "[2001:db8::]:1");
  address = {Family::ipv6, 1, ::if_nametoindex("lo"), {0xFE, 0x80}};
  CHECK(net::to_string(address) == "[fe80::%lo]:1");
  // An interface that has gone.
  address.scope = 0x7FFFFFFF;
  CHECK(net::to_string(address) == "[fe80::%2147483647]:1");
}

#include <catch2/catch.hpp>

#include "pair.hpp"

using namespace xfer;
using namespace xfer::test;
using Family = SocketAddress::Family;

namespace {
constexpr std::uint64_t kMegabyte = 1'000'000;
}

TEST_CASE("Every byte arrives once and in order, both ways at the same time") {
  // Around one packet (1456 bytes at the default MSS), and enough to go round the default rings'
  // packets many times.
  const auto size = GENERATE(as<std::uint64_t>{}, 0, 1, 1455, 1456, 1457, 10 * kMegabyte);
  const auto family = GENERATE(Family::ipv4, Family::ipv6);
  CAPTURE(size, family);
  PairOptions options;
  options.family = family;
  Pair pair = make_pair(options);
  CHECK(exchange(pair, size, size) == "");
  CHECK(close_in_order(pair) == "");
}

TEST_CASE("One system call per datagram and no kernel time stamps carry the same bytes") {
  PairOptions options;
  options.caller.batched = options.listener.batched = false;
  options.caller.kernel_timestamps = options.listener.kernel_timestamps = false;
  Pair pair = make_pair(options);
  CHECK(exchange(pair, 10 * kMegabyte, kMegabyte) == "");
  CHECK(close_in_order(pair) == "");
}

TEST_CASE(
    "Trains cut and joined by the kernel on one side only, or on none, carry the same bytes") {
  PairOptions options;
  options.caller.gso = GENERATE(true, false);
  options.listener.gro = GENERATE(true, false);
  CAPTURE(options.caller.gso, options.listener.gro);
  Pair pair = make_pair(options);
  CHECK(exchange(pair, 10 * kMegabyte, kMegabyte) == "");
  CHECK(close_in_order(pair) == "");
  CHECK(pair.caller->stats().socket.segmenting == options.caller.gso);
}

TEST_CASE("Payloads are read to where they stay, whatever the kernel joins") {
  PairOptions options;
  options.caller.gso = GENERATE(true, false);
  options.listener.gro = GENERATE(true, false);
  options.listener.batched = GENERATE(true, false);
  // Blocks of any number of slots, and slots of a size that no block begins or ends with.
  options.listen.connection.block_packets = GENERATE(1U, 7U, 32U);
  const auto mss = GENERATE(1000U, 1500U, 9000U);
  options.connect.mss = options.listen.connection.mss = mss;
  // Packets of one size: each change of it moves what one read brings.
  options.listen.connection.capabilities = false;
  CAPTURE(options.caller.gso, options.listener.gro, options.listener.batched, mss,
          options.listen.connection.block_packets);
  Pair pair = make_pair(options);
  CHECK(exchange(pair, 5 * kMegabyte, 10'000) == "");
  CHECK(close_in_order(pair) == "");
  pair.connected.reset();
  const udt::ConnectionStats stats = pair.accepted->stats();
  CHECK(stats.payload_bytes_received == 5 * kMegabyte);
  CHECK(stats.payload_copies == 0);
}

TEST_CASE("Peers with different packet sizes use the smaller one, and room of that size") {
  PairOptions options;
  options.connect.mss = GENERATE(1300U, 1500U);
  options.listen.connection.mss = 2800 - options.connect.mss;
  Pair pair = make_pair(options);
  CHECK(exchange(pair, 5 * kMegabyte, 100'000) == "");
  CHECK(close_in_order(pair) == "");
  pair.connected.reset();
  CHECK(pair.accepted->stats().payload_copies == 0);
}

TEST_CASE("Connections that share a socket do not get into each other's memory") {
  auto listener = make_listener();
  auto caller = make_driver({.bind = loopback4()});
  std::vector<Pair> pairs;
  for (int i = 0; i < 3; ++i) {
    auto connected = caller->connect(listener->local_address(), {});
    REQUIRE(connected.has_value());
    auto accepted = listener->accept(kPatience);
    REQUIRE(accepted.has_value());
    pairs.push_back({nullptr, nullptr, std::move(*accepted), std::move(*connected)});
  }
  std::vector<std::string> results(pairs.size(), "not run");
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    threads.emplace_back([&, i] { results[i] = exchange(pairs[i], 5 * kMegabyte, kMegabyte); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) CHECK(result == "");
}

TEST_CASE("A send ring much smaller than the data is refilled as acknowledgements come") {
  PairOptions options;
  options.caller.send_ring = net::kMinSendRing;
  Pair pair = make_pair(options);
  CHECK(exchange(pair, kMegabyte, 0) == "");
  CHECK(close_in_order(pair) == "");
}

TEST_CASE("Any MSS the loopback interface carries works") {
  const auto mss = GENERATE(76U, 576U, 1400U, 9000U, 65'535U);
  CAPTURE(mss);
  PairOptions options;
  options.connect.mss = mss;
  options.listen.connection.mss = mss;
  Pair pair = make_pair(options);
  CHECK(pair.connected->payload_size() == mss - 44);
  CHECK(exchange(pair, kMegabyte, kMegabyte) == "");
  CHECK(close_in_order(pair) == "");
}

TEST_CASE("The smallest window and a reader that stops and goes on lose nothing and do not hang") {
  PairOptions options;
  options.listen.connection.receive_window = udt::kMinFlightWindow;
  Pair pair = make_pair(options);
  CHECK(exchange(pair, kMegabyte, 0) == "");
  CHECK(close_in_order(pair) == "");
}

TEST_CASE("Two drivers that call each other meet") {
  auto one = make_driver({.bind = loopback4()});
  auto other = make_driver({.bind = loopback4()});
  Pair pair;
  std::thread thread([&] {
    auto stream = other->rendezvous(one->local_address(), {});
    if (stream) pair.accepted = std::move(*stream);
  });
  auto stream = one->rendezvous(other->local_address(), {});
  thread.join();
  REQUIRE(stream.has_value());
  pair.connected = std::move(*stream);
  REQUIRE(pair.accepted != nullptr);
  CHECK(exchange(pair, kMegabyte, kMegabyte) == "");
  CHECK(close_in_order(pair) == "");
}

TEST_CASE("A listener on any address takes IPv4 and IPv6 callers and tells them apart") {
  auto listener = make_listener({});
  const std::uint16_t port = listener->local_address().port;
  for (const Family family : {Family::ipv4, Family::ipv6}) {
    auto caller = make_driver({.family_hint = family});
    auto stream = caller->connect(loopback(family, port), {});
    REQUIRE(stream.has_value());
    auto accepted = listener->accept(kPatience);
    REQUIRE(accepted.has_value());
    CHECK((*accepted)->peer() == loopback(family, caller->local_address().port));
    Pair pair{nullptr, nullptr, std::move(*accepted), std::move(*stream)};
    CHECK(exchange(pair, 10'000, 10'000) == "");
  }
}

#include <catch2/catch.hpp>

#include "scenario.hpp"

namespace xfer::sim {
namespace {

constexpr std::uint64_t kBytes = 20'000'000;

/// An upload between hosts with interfaces of `interface_mtu`, on a path that swallows IP packets
/// above `path_mtu`.
PairOptions upload_over(std::uint32_t interface_mtu, std::size_t path_mtu,
                        Duration rtt = Duration(10ms)) {
  PairOptions options = upload(kBytes, 200'000'000, rtt);
  options.path.mtu = path_mtu;
  options.interface_mtu = interface_mtu;
  options.caller.controller = udt::ControllerKind::fixed_rate;
  options.caller.max_rate = 20'000'000;
  return options;
}

udt::ConnectionStats finish(Pair& pair, Duration limit = 60s) {
  REQUIRE(pair.run_to_end(limit));
  CHECK(pair.network.failure().empty());
  CHECK(pair.received() == pair.receiver().options.bytes_in);
  return pair.sender().last_stats;
}

}  // namespace

// Jumbo interfaces on a jumbo path: packets grow to what the interfaces take within some round
// trips, at the same rate in bytes. Interfaces of 1500 bytes send no probe at all.
TEST_CASE("path MTU: grows to the interface's") {
  struct Row {
    std::uint32_t interface_mtu;
    std::uint32_t size;
  };
  const auto row = GENERATE(Row{1500, 1500}, Row{9000, 9000}, Row{65'536, udt::kMaxAutoMtu});
  CAPTURE(row.interface_mtu);
  Pair pair(upload_over(row.interface_mtu, 65'535));
  pair.start();
  REQUIRE(pair.run_until(200ms, [&] {
    return pair.sender().connected() && pair.sender().connection()->stats().packet_size == row.size;
  }));
  const udt::ConnectionStats stats = finish(pair);
  CHECK(stats.packet_size == row.size);
  CHECK(stats.path_probes_sent == (row.size == 1500 ? 0 : 1));
  CHECK(stats.path_black_holes == 0);
  CHECK(pair.up.stats().dropped_queue == 0);
}

// A path that takes less than the interfaces: the search ends within 16 bytes of it, and no data
// packet is lost for it.
TEST_CASE("path MTU: finds what the path takes") {
  const std::size_t path_mtu = GENERATE(1500U, 1517U, 2018U, 4352U, 8999U);
  CAPTURE(path_mtu);
  Pair pair(upload_over(9000, path_mtu));
  pair.start();
  const udt::ConnectionStats stats = finish(pair);
  CHECK(stats.packet_size <= path_mtu);
  CHECK(stats.packet_size + 16 + 4 > path_mtu);
  CHECK(stats.packets_retransmitted == 0);
  CHECK(pair.down.stats().dropped_mtu == 0);  // who only receives probes nothing
}

// The case of peers that once took loss for a black hole: 10 % of random loss each way, and the
// size stays at the largest.
TEST_CASE("path MTU: plain loss is no black hole", "[62]") {
  const std::uint32_t interface_mtu = GENERATE(1500U, 9000U);
  const std::uint64_t seed = GENERATE(range(std::uint64_t{1}, std::uint64_t{9}));
  CAPTURE(interface_mtu, seed);
  PairOptions options = upload_over(interface_mtu, 65'535);
  options.seed = seed;
  options.path.loss = 0.1;
  Pair pair(options);
  pair.start();
  const udt::ConnectionStats stats = finish(pair, 200s);
  CHECK(stats.path_black_holes == 0);
  CHECK(stats.packet_size == interface_mtu);
}

// A black hole above 1300 bytes, from the start or from the middle on: packets get smaller than
// that, those that were numbered before get through in fragments, and all of it arrives.
TEST_CASE("path MTU: a black hole", "[62]") {
  const bool from_start = GENERATE(true, false);
  const Duration rtt = GENERATE(Duration(300us), Duration(10ms), Duration(100ms));
  CAPTURE(from_start, to_us(rtt));
  PairOptions options = upload_over(1500, from_start ? 1300 : 1500, rtt);
  options.caller_app.bytes_out = options.listener_app.bytes_in = 3 * kBytes;
  Pair pair(options);
  StallMeter meter(pair, 1ms);
  pair.start();
  if (!from_start) {
    pair.network.after(500ms, [&] { pair.up.options.mtu = 1300; });
  }
  const udt::ConnectionStats stats = finish(pair);
  CHECK(stats.packet_size <= 1300);
  CHECK(stats.packet_size > 1280);
  CHECK(stats.path_black_holes == 1);
  CHECK(meter.longest() < 1s + 20 * rtt);
  CHECK(pair.up.stats().fragmented > 0);
}

// The same towards a peer without the capability: the packets keep their size and may be
// fragmented, which is tried only when nothing gets through.
TEST_CASE("path MTU: a black hole before a stock peer", "[I-20]") {
  const bool hole = GENERATE(true, false);
  PairOptions options = upload_over(1500, 1500);
  options.listener.capabilities = false;
  Pair pair(options);
  pair.start();
  if (hole) pair.network.after(500ms, [&] { pair.up.options.mtu = 1300; });
  const udt::ConnectionStats stats = finish(pair);
  CHECK(stats.packet_size == 1500);
  CHECK(stats.path_black_holes == (hole ? 1 : 0));
  CHECK((pair.up.stats().fragmented > 0) == hole);
}

// An outage is no black hole: small packets do not get through either.
TEST_CASE("path MTU: an outage is no black hole") {
  PairOptions options = upload_over(9000, 9000);
  options.path.blackouts = {{TimePoint{} + 1200ms, TimePoint{} + 6s}};
  Pair pair(options);
  pair.start();
  const udt::ConnectionStats stats = finish(pair);
  CHECK(stats.path_black_holes == 0);
  CHECK(stats.packet_size == 9000);
}

// A path that takes large packets again is tried after 15 s, then later and later.
TEST_CASE("path MTU: recovers after a black hole") {
  PairOptions options = upload_over(1500, 1500);
  options.caller_app.bytes_out = options.listener_app.bytes_in = 1'000'000'000;
  options.caller.max_rate = 2'000'000;
  Pair pair(options);
  pair.start();
  pair.network.after(500ms, [&] { pair.up.options.mtu = 1300; });
  pair.network.after(2s, [&] { pair.up.options.mtu = 1500; });
  pair.network.run_for(3s);
  CHECK(pair.sender().connection()->stats().packet_size <= 1300);
  pair.network.run_for(20s);
  CHECK(pair.sender().connection()->stats().packet_size == 1500);
}

// A forged report that packets are too large changes nothing while they get through; a true one
// makes the black hole found sooner. It is never taken below 576 bytes.
TEST_CASE("path MTU: reports of the network are hints") {
  const std::uint32_t reported = GENERATE(0U, 68U, 1280U);
  const bool forged = GENERATE(true, false);
  CAPTURE(reported, forged);
  PairOptions options = upload_over(1500, 1500);
  Pair pair(options);
  pair.start();
  pair.network.after(500ms, [&] {
    if (!forged) pair.up.options.mtu = 1300;
  });
  pair.network.after(520ms, [&] {
    pair.caller.endpoint().handle_path_mtu(pair.listener.address(), reported, pair.network.now());
    pair.caller.poke();
  });
  pair.network.run_for(1s);
  const udt::ConnectionStats stats = pair.sender().connection()->stats();
  CHECK(stats.path_black_holes == (forged ? 0 : 1));
  if (forged)
    CHECK(stats.packet_size == 1500);
  else
    CHECK(stats.packet_size >= 576);
  finish(pair);
}

// An MSS above what every link takes is found to work before it is used.
TEST_CASE("path MTU: a large MSS is probed first") {
  PairOptions options = upload_over(9000, 1500);
  options.caller.mss = options.listener.mss = 9000;
  Pair pair(options);
  pair.start();
  const udt::ConnectionStats stats = finish(pair);
  CHECK(stats.packet_size <= 1500);
  CHECK(stats.packets_retransmitted == 0);
}

}  // namespace xfer::sim

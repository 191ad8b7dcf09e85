#include <catch2/catch.hpp>

#include "scenario.hpp"

namespace xfer::sim {
namespace {

constexpr std::uint64_t kGigabit = 1'000'000'000;
/// Payload bytes a second that a link of 1 Gbit/s can carry at an MSS of 1500.
constexpr double kIdeal = 1e9 / 8 * 1456 / 1500;

/// An upload over a path of 1 Gbit/s with one bandwidth-delay product of queue and no option that
/// helps: windows size themselves.
PairOptions long_upload(std::uint64_t bytes, Duration rtt) {
  PairOptions options = upload(bytes, kGigabit, rtt);
  options.caller_app.ring = options.listener_app.ring = 256 << 20;
  return options;
}

/// Share of the link's capacity that the receiver gets between two points of time.
double steady_share(Pair& pair, Duration from, Duration to) {
  pair.network.run_for(from);
  const std::uint64_t before = pair.received();
  pair.network.run_for(to - from);
  CHECK(pair.network.failure().empty());
  return static_cast<double>(pair.received() - before) / to_seconds(to - from) / kIdeal;
}

}  // namespace

// Random loss costs little more than what is lost, at any round trip.
TEST_CASE("bbr: steady state on lossy paths") {
  const Duration rtt = GENERATE(Duration(300us), Duration(10ms), Duration(100ms));
  const double loss = GENERATE(0.0, 0.001, 0.01, 0.05);
  CAPTURE(to_us(rtt), loss);
  PairOptions options = long_upload(2'000'000'000, rtt);
  options.path.loss = loss;
  Pair pair(options);
  pair.start();
  CHECK(steady_share(pair, 2s + 5 * rtt, 5s + 5 * rtt) >= 0.95 * (1 - loss));
  CHECK(pair.sender().connection()->stats().exp_fired == 0);
}

// The queue that one flow keeps by itself is a small part of a round trip.
TEST_CASE("bbr: standing queue") {
  const Duration rtt = GENERATE(Duration(10ms), Duration(100ms));
  Pair pair(long_upload(2'000'000'000, rtt));
  pair.start();
  pair.network.run_for(3s);
  Duration queue{};
  constexpr int kSamples = 400;
  for (int i = 0; i < kSamples; ++i) {
    pair.network.run_for(10ms);
    queue += pair.sender().connection()->stats().rtt - rtt;
  }
  CHECK(queue / kSamples <= rtt * 2 / 5);
}

// A queue far smaller than the bandwidth-delay product is not overrun all the time.
TEST_CASE("bbr: shallow queue") {
  PairOptions options = long_upload(2'000'000'000, 50ms);
  options.path.queue_limit = static_cast<std::size_t>(0.1 * kGigabit / 8 * 0.05);
  Pair pair(options);
  pair.start();
  pair.network.run_for(2s);
  const LinkStats start = pair.up.stats();
  CHECK(steady_share(pair, 0s, 4s) >= 0.85);
  const LinkStats& end = pair.up.stats();
  CHECK(static_cast<double>(end.dropped_queue - start.dropped_queue) <=
        0.03 * static_cast<double>(end.offered - start.offered));
}

// The P2M paper lost more than 30 % to a jitter of 2 ms at 150 ms. Packets that overtake each other
// are not reported lost for long.
TEST_CASE("bbr: jitter") {
  const bool reorders = GENERATE(false, true);
  const auto share = [&](Duration jitter) {
    PairOptions options = long_upload(2'000'000'000, 150ms);
    options.path.jitter = jitter;
    options.path.jitter_reorders = reorders;
    Pair pair(options);
    pair.start();
    const double result = steady_share(pair, 3s, 7s);
    const udt::ConnectionStats stats = pair.sender().connection()->stats();
    CHECK(stats.spurious_retransmits * 100 <= stats.packets_sent);
    return result;
  };
  CHECK(share(2ms) >= 0.95 * share(0ms));
}

// Each fiftieth packet and its first two repairs are lost: second NAKs repair them while data
// flows; without them the transfer falls to nothing again and again.
TEST_CASE("bbr: lost repairs") {
  const Duration rtt = GENERATE(Duration(10ms), Duration(100ms));
  const bool recovery = GENERATE(true, false);
  CAPTURE(to_us(rtt), recovery);
  PairOptions options = long_upload(2'000'000'000, rtt);
  options.caller.audt_recovery = options.listener.audt_recovery = recovery;
  Pair pair(options);
  pair.up.rules.push_back([](const PacketView& packet) {
    return packet.data_index > 0 && packet.data_index % 50 == 0 && packet.transmission < 3;
  });
  pair.start();
  pair.network.run_for(2s);
  StallMeter meter(pair, 1ms);
  const double share = steady_share(pair, 0s, 4s);
  const std::uint64_t exp_fired = pair.sender().connection()->stats().exp_fired;
  if (recovery) {
    CHECK(share >= 0.85);
    CHECK(exp_fired == 0);
    CHECK(meter.longest() <= 4 * rtt);
  } else {
    CHECK(exp_fired > 0);
    CHECK(share < 0.7);
  }
}

// Five seconds of nothing: it goes on soon after.
TEST_CASE("bbr: outage") {
  const Duration rtt = 100ms;
  PairOptions options = long_upload(2'000'000'000, rtt);
  const TimePoint dark = TimePoint{} + 4s;
  options.path.blackouts.push_back({dark, dark + 5s});
  Pair pair(options);
  pair.start();
  pair.network.run_for(dark + 5s - pair.network.now());
  const std::uint64_t before = pair.received();
  CHECK(pair.run_until(1s + 2 * rtt, [&] { return pair.received() > before + 1'000'000; }));
}

}  // namespace xfer::sim

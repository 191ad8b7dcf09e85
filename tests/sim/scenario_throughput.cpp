#include <catch2/catch.hpp>

#include "scenario.hpp"

namespace xfer::sim {
namespace {

constexpr std::uint64_t kGigabit = 1'000'000'000;
/// Payload bytes a second that a link of 1 Gbit/s can carry at an MSS of 1500.
constexpr double kIdeal = 1e9 / 8 * 1456 / 1500;

double goodput_of(const PairOptions& options) {
  Pair pair(options);
  pair.start();
  REQUIRE(pair.run_to_completion(600s));
  CHECK(pair.network.failure().empty());
  return pair.goodput();
}

}  // namespace

// On a clean link of 1 Gbit/s a transfer of 200 MB gets most of what the link carries, slow start
// included.
TEST_CASE("throughput: clean link") {
  struct Row {
    Duration rtt;
    double share;
  };
  const auto row = GENERATE(Row{300us, 0.7}, Row{10ms, 0.6}, Row{100ms, 0.45});
  CHECK(goodput_of(upload(200'000'000, kGigabit, row.rtt)) >= row.share * kIdeal);
}

// Random loss slows a transfer down, as it must with UDT's own rate control, but nothing stalls,
// nothing falls back to sending everything again, and hardly more is sent twice than was lost.
TEST_CASE("throughput: random loss") {
  const Duration rtt = GENERATE(Duration(300us), Duration(10ms), Duration(100ms));
  const double loss = GENERATE(0.001, 0.01, 0.05);
  CAPTURE(to_us(rtt), loss);
  PairOptions options = upload(8'000'000, kGigabit, rtt);
  options.path.loss = loss;
  Pair pair(options);
  StallMeter meter(pair, 1ms);
  pair.start();
  REQUIRE(pair.run_to_end(120s));
  CHECK(pair.network.failure().empty());
  CHECK(meter.longest() < 1s);
  const udt::ConnectionStats& stats = pair.sender().last_stats;
  CHECK(stats.exp_fired == 0);
  const LinkStats& link = pair.up.stats();
  const double lost = static_cast<double>(link.dropped_loss + link.dropped_queue);
  CHECK(static_cast<double>(stats.packets_retransmitted) <=
        1.3 * lost + 2.0 * static_cast<double>(stats.probes_sent) + 30);
}

// A9: ACK2s lost, all of them, do not change the throughput.
TEST_CASE("throughput: no ACK2 arrives", "[A9]") {
  const Duration rtt = GENERATE(Duration(300us), Duration(10ms));
  const PairOptions options = upload(40'000'000, kGigabit, rtt);
  const double normal = goodput_of(options);
  Pair pair(options);
  pair.up.rules.push_back(drop_control(wire::ControlType::ack2));
  pair.start();
  REQUIRE(pair.run_to_completion(60s));
  CHECK(pair.goodput() >= 0.9 * normal);
}

// B1: the loss of the second data packet, before any rate is known, leaves at least half the rate
// within a second.
TEST_CASE("throughput: second data packet lost", "[B1]") {
  const Duration rtt = GENERATE(Duration(300us), Duration(10ms), Duration(100ms));
  const auto received_in_a_second = [&](bool lose) {
    Pair pair(upload(400'000'000, kGigabit, rtt));
    if (lose) pair.up.rules.push_back(drop_data(1));
    pair.start();
    pair.network.run_for(1s);
    return static_cast<double>(pair.received());
  };
  CHECK(received_in_a_second(true) >= 0.5 * received_in_a_second(false));
}

// Reordering of 1 % of the packets by a few places is no loss: hardly anything is sent twice.
TEST_CASE("throughput: reordering") {
  PairOptions options = upload(40'000'000, kGigabit, 10ms);
  options.path.reordering = 0.01;
  options.path.reordering_delay = 100us;
  Pair pair(options);
  pair.start();
  REQUIRE(pair.run_to_end(60s));
  const udt::ConnectionStats& stats = pair.sender().last_stats;
  // A NAK goes out at once, as UDT's does, so each overtaken packet may be sent once more; never
  // more than that.
  CHECK(static_cast<double>(stats.packets_retransmitted) <
        1.1 * 0.01 * static_cast<double>(stats.packets_sent) +
            static_cast<double>(pair.up.stats().dropped_queue));
  CHECK(stats.exp_fired == 0);
}

// No allocation per packet: between two points of a long transfer neither core takes anything from
// the heap, with and without losses.
TEST_CASE("throughput: no allocation in steady state") {
  const double loss = GENERATE(0.0, 0.001);
  PairOptions options = upload(2'000'000'000, kGigabit, 10ms);
  options.path.loss = loss;
  Pair pair(options);
  pair.start();
  pair.network.run_for(1s);
  const std::uint64_t sender = pair.caller.memory().allocations;
  const std::uint64_t receiver = pair.listener.memory().allocations;
  const std::uint64_t before = pair.received();
  CHECK(sender > 0);
  pair.network.run_for(2s);
  CHECK(pair.received() - before > 10'000'000);
  CHECK(pair.caller.memory().allocations == sender);
  CHECK(pair.listener.memory().allocations == receiver);
}

// The same seed gives the same history to the last event, endpoints included.
TEST_CASE("determinism: a whole transfer") {
  const auto history = [](std::uint64_t seed) {
    PairOptions options = upload(2'000'000, 100'000'000, 10ms);
    options.seed = seed;
    options.path.loss = 0.02;
    options.path.jitter = 1ms;
    Pair pair(options);
    pair.start();
    CHECK(pair.run_to_end(60s));
    return pair.network.event_hash();
  };
  CHECK(history(7) == history(7));
  CHECK(history(7) != history(8));
}

}  // namespace xfer::sim

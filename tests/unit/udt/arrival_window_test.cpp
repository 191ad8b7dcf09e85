#include "udt/arrival_window.hpp"

#include <vector>

#include <catch2/catch.hpp>

namespace xfer::udt {
namespace {

constexpr TimePoint kStart{100s};

std::uint32_t rate_of(const std::vector<Duration>& intervals, int repeats = 1) {
  ArrivalRate rate;
  TimePoint now = kStart;
  rate.on_packet(now);
  for (int i = 0; i < repeats; ++i) {
    for (const Duration interval : intervals) {
      now += interval;
      rate.on_packet(now);
    }
  }
  return rate.packets_per_second();
}

std::uint32_t capacity_of(const std::vector<Duration>& spacings) {
  LinkCapacity capacity;
  TimePoint now = kStart;
  PacketIndex index = 0;
  for (const Duration spacing : spacings) {
    capacity.on_in_order(index, now);
    capacity.on_in_order(index + 1, now + spacing);
    index += kPacketPairInterval;
    now += 1s;
  }
  return capacity.packets_per_second();
}

// The vectors made from stock's rules. Stock's filtered mean of 16 whole microseconds, and our
// packets per time, agree on steady trains. They differ on purpose where stock is wrong: it leaves
// values beyond 8 medians out of a mean (the ramp: 11 112), rounds the mean to whole microseconds
// (1, 2, 1, 2: 1 000 000 although two packets come in 3 us) and gives up on sub-microsecond gaps
// (0, 1, 0, 1: 0 although two packets come each microsecond).
TEST_CASE("Arrival rate of the reference trains [B3]", "[udt][B3]") {
  CHECK(rate_of(std::vector<Duration>(16, 1s)) == 1);
  CHECK(rate_of(std::vector<Duration>(16, 12us)) == 83'334);
  std::vector<Duration> ramp;
  for (int i = 1; i <= 16; ++i) ramp.push_back(i * 10us);
  CHECK(rate_of(ramp) == 11'765);  // 16 packets in 1360 us; within 6 % of stock's
  CHECK(rate_of({1us, 2us}, 8) == 666'667);
  CHECK(rate_of({0us, 1us}, 8) == 2'000'000);
}

// At 10 Gbit/s packets come every 1.2 us: within a promille, where stock knows 1 000 000 and
// 500 000 only.
TEST_CASE("Arrival rate has no microsecond steps [B3]", "[udt][B3]") {
  for (const std::int64_t ns : {100, 250, 600, 1200, 1456, 1999, 2400, 3001}) {
    CAPTURE(ns);
    const double exact = 1e9 / static_cast<double>(ns);
    CHECK(rate_of(std::vector<Duration>(200, Duration(ns))) == Approx(exact).epsilon(0.001));
  }
}

// Nothing is said before a whole group of packets has come, and trains without any spacing (a
// batch with one time stamp) are unknown, not a division by zero.
TEST_CASE("Arrival rate of too little or no time is unknown [B4]", "[udt][B4]") {
  CHECK(ArrivalRate().packets_per_second() == 0);
  CHECK(rate_of(std::vector<Duration>(15, 1us)) == 0);
  CHECK(rate_of(std::vector<Duration>(16, 1us)) > 0);
  CHECK(rate_of(std::vector<Duration>(1000, 0us)) == 0);
}

// Coalesced arrivals: 32 packets with the same time, then a gap. The rate is that over time.
TEST_CASE("Arrival rate of coalesced arrivals is the rate over time [B5]", "[udt][B5]") {
  std::vector<Duration> train(31, 0us);
  train.push_back(384us);  // 32 packets in 384 us: 12 us each
  CHECK(rate_of(train, 50) == Approx(83'333).epsilon(0.02));
}

// Pauses of the application are not slow packets: the rate stays that of the busy times.
TEST_CASE("Pauses do not lower the arrival rate", "[udt]") {
  std::vector<Duration> train(100, 12us);
  train.push_back(50ms);
  CHECK(rate_of(train, 20) == Approx(83'333).epsilon(0.02));
}

// A rate that really drops is followed: two long intervals in a row are no pause.
TEST_CASE("A lower arrival rate is followed", "[udt]") {
  ArrivalRate rate;
  TimePoint now = kStart;
  for (int i = 0; i < 200; ++i) rate.on_packet(now += 12us);
  for (int i = 0; i < 200; ++i) rate.on_packet(now += 1200us);
  CHECK(rate.packets_per_second() == Approx(833).epsilon(0.01));
}

// Arrival times may be out of order (kernel time stamps of several queues): never a negative gap.
TEST_CASE("Arrival times that go back do no harm", "[udt]") {
  ArrivalRate rate;
  TimePoint now = kStart;
  for (int i = 0; i < 400; ++i) {
    now += 24us;
    rate.on_packet(now);
    rate.on_packet(now - 10us);
  }
  CHECK(rate.packets_per_second() == Approx(83'333).epsilon(0.02));
}

// Estimates stay within what a stock peer can smooth in 32 bits.
TEST_CASE("Estimates stay below the wire's limit [I-10]", "[udt][I-10]") {
  CHECK(rate_of(std::vector<Duration>(64, 1ns)) == 250'000'000);
  CHECK(capacity_of(std::vector<Duration>(64, 1ns)) == 250'000'000);
}

// The capacity vectors of stock's rules: equal, for steady pairs have one filtered mean.
TEST_CASE("Link capacity of the reference pairs", "[udt]") {
  CHECK(capacity_of(std::vector<Duration>(64, 1ms)) == 1000);
  CHECK(capacity_of(std::vector<Duration>(64, 12us)) == 83'334);
}

// A few pairs must have been seen; all-zero spacings stay unknown where stock divides by zero.
TEST_CASE("Link capacity guards against zero spacing [B4]", "[udt][B4]") {
  CHECK(LinkCapacity().packets_per_second() == 0);
  CHECK(capacity_of(std::vector<Duration>(3, 12us)) == 0);
  CHECK(capacity_of(std::vector<Duration>(4, 12us)) == 83'334);
  CHECK(capacity_of(std::vector<Duration>(64, 0us)) == 0);
  std::vector<Duration> mixed(32, 0us);
  mixed.insert(mixed.end(), 32, 12us);
  CHECK(capacity_of(mixed) == 83'334);
}

// Outliers beyond eight medians or below an eighth are left out, and the median counts all slots.
TEST_CASE("Link capacity filters outliers", "[udt]") {
  std::vector<Duration> spacings(60, 10us);
  spacings.insert(spacings.end(), {80us, 1250ns, 10ms, 100ns});
  CHECK(capacity_of(spacings) == 100'000);
  std::vector<std::int64_t> values = {1, 2, 3, 4, 5, 100};
  CHECK(filtered_mean(values.data(), values.size()) == Approx((1 + 2 + 3 + 4 + 5 + 4) / 6.0));
  std::vector<std::int64_t> one = {7};
  CHECK(filtered_mean(one.data(), one.size()) == Approx(7));
}

// Only 16n and 16n+1 that follow each other directly make a pair.
TEST_CASE("Only neighbours that came in order are a pair [B5][I-19]", "[udt][B5][I-19]") {
  LinkCapacity capacity;
  TimePoint now = kStart;
  for (PacketIndex n = 0; n < 64; ++n) {
    capacity.on_in_order(16 * n, now);
    capacity.on_other();  // a retransmission in between
    capacity.on_in_order(16 * n + 1, now + 12us);
    capacity.on_in_order(16 * n + 2, now + 24us);  // 16n+1, 16n+2 is none
    capacity.on_in_order(16 * n + 16 + 1, now + 30us);
  }
  CHECK(capacity.packets_per_second() == 0);
}

}  // namespace
}  // namespace xfer::udt

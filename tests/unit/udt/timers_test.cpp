#include "udt/timers.hpp"

#include "udt/pacer.hpp"

#include <catch2/catch.hpp>

namespace xfer::udt {
namespace {

constexpr TimePoint kStart{100s};

// The next deadline is the earliest of the set timers; a due timer fires once, not before its time.
TEST_CASE("Timers fire once, at their time", "[udt]") {
  Timers timers;
  CHECK_FALSE(timers.next().has_value());
  timers.set(TimerId::idle, kStart + 3s);
  timers.set(TimerId::keep_alive, kStart + 1s);
  timers.set(TimerId::linger, kStart + 2s);
  CHECK(timers.next() == kStart + 1s);
  CHECK_FALSE(timers.take_if_due(TimerId::keep_alive, kStart + 1s - 1ns));
  CHECK(timers.take_if_due(TimerId::keep_alive, kStart + 1s));
  CHECK_FALSE(timers.take_if_due(TimerId::keep_alive, kStart + 1s));
  CHECK(timers.next() == kStart + 2s);
  timers.cancel(TimerId::linger);
  CHECK_FALSE(timers.take_if_due(TimerId::linger, kStart + 9s));
  CHECK(timers.next() == kStart + 3s);
  timers.set(TimerId::idle, kStart + 5s);  // the later setting counts
  CHECK_FALSE(timers.take_if_due(TimerId::idle, kStart + 4s));
  timers.cancel_all();
  CHECK_FALSE(timers.next().has_value());
}

// A sender on time keeps its period exactly, without adding up rounding or lateness.
TEST_CASE("A pacer keeps the period", "[udt]") {
  Pacer pacer;
  TimePoint now = kStart;
  pacer.reset(now);
  REQUIRE(pacer.ready(now));
  pacer.on_sent(now, 1ms);
  now = kStart + 1ms;
  for (int i = 0; i < 10; ++i) {  // each packet 30 us late
    CHECK_FALSE(pacer.ready(pacer.next() - 1ns));
    now = pacer.next() + 30us;
    REQUIRE(pacer.ready(now));
    const TimePoint due = pacer.next();
    pacer.on_sent(now, 1ms);
    CHECK(pacer.next() == due + 1ms);
  }
}

// A sender that was held up for 200 ms catches up with 1 ms worth of packets, not with 200 ms worth
// at line rate.
TEST_CASE("A late sender's burst is bounded [B6]", "[udt][B6]") {
  for (const Duration period : {Duration(10us), Duration(100us), Duration(1ms), Duration(1s)}) {
    Pacer pacer;
    TimePoint now = kStart;
    pacer.reset(now);
    pacer.on_sent(now, period);
    now = kStart + 200s;
    int burst = 0;
    while (pacer.ready(now)) {
      pacer.on_sent(now, period);
      ++burst;
    }
    CAPTURE(period.count());
    CHECK(burst == kMaxPacingCredit / period + 1);
  }
}

// reset() never moves the next packet later, so a burst of calls to it buys no extra credit.
TEST_CASE("Resetting a pacer only brings the next packet forward", "[udt]") {
  Pacer pacer;
  pacer.on_sent(kStart, 1s);
  const TimePoint due = pacer.next();
  pacer.reset(due + 1s);
  CHECK(pacer.next() == due);
  pacer.reset(kStart);
  CHECK(pacer.next() == kStart);
}

// Near the clock's origin the credit does not reach back before it.
TEST_CASE("A pacer works from the first nanosecond", "[udt]") {
  Pacer pacer;
  CHECK(pacer.ready(TimePoint{}));
  pacer.on_sent(TimePoint{}, 5ms);
  CHECK(pacer.next() == TimePoint{5ms});
}

}  // namespace
}  // namespace xfer::udt

#include "net/clock.hpp"

#include <catch2/catch.hpp>

using namespace xfer;

TEST_CASE(
    "Kernel stamps map onto the monotonic clock, and a stepped wall clock cannot mislead them") {
  const net::ClockPair at_read{TimePoint(1000s), Duration(5000s)};
  // A stamp is as old on one clock as on the other.
  CHECK(net::arrival_time(5000s, at_read) == TimePoint(1000s));
  CHECK(net::arrival_time(5000s - 3us, at_read) == TimePoint(1000s - 3us));
  CHECK(net::arrival_time(5000s - net::kMaxStampAge, at_read) ==
        TimePoint(1000s) - net::kMaxStampAge);
  // Set back or forward by an hour between stamp and read: as if it arrived now.
  CHECK(net::arrival_time(5000s + 1h, at_read) == TimePoint(1000s));
  CHECK(net::arrival_time(5000s - 1h, at_read) == TimePoint(1000s));
  CHECK(net::arrival_time(5000s + 1ns, at_read) == TimePoint(1000s));
}

TEST_CASE("The clock moves forward") {
  const TimePoint first = net::now();
  const net::ClockPair both = net::now_on_both();
  CHECK(both.monotonic >= first);
  CHECK(net::now() >= both.monotonic);
  CHECK(both.wall > std::chrono::hours(24 * 365 * 50));
}

#include "base/time.hpp"

#include <catch2/catch.hpp>

namespace xfer {
namespace {

// "Never" loses against any time, and two of them stay never: no sentinel number is involved.
TEST_CASE("The earlier of two optional deadlines", "[base]") {
  const TimePoint early{5ms};
  const TimePoint late{7ms};
  CHECK(earlier(early, late) == early);
  CHECK(earlier(late, early) == early);
  CHECK(earlier(std::nullopt, late) == late);
  CHECK(earlier(late, std::nullopt) == late);
  CHECK_FALSE(earlier(std::nullopt, std::nullopt).has_value());
}

// Wire fields are whole microseconds; a part of one is cut off, towards zero on either side of it.
TEST_CASE("Durations become the wire's microseconds", "[base]") {
  CHECK(to_us(10ms) == 10'000);
  CHECK(to_us(1999ns) == 1);
  CHECK(to_us(-1999ns) == -1);
  CHECK(to_us(0ns) == 0);
  CHECK(to_seconds(1500ms) == 1.5);
}

}  // namespace
}  // namespace xfer

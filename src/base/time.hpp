#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace xfer {

/// All spans of time are integer nanoseconds.
using Duration = std::chrono::nanoseconds;

/// The clock of the pure layers. It has no `now()` on purpose: time comes in as a parameter, and
/// only `net/clock.hpp` reads the operating system's monotonic clock.
struct Clock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
};
using TimePoint = Clock::time_point;

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""h;

/// Whole microseconds in `d`, rounded towards zero; the unit of UDT's wire fields.
constexpr std::int64_t to_us(Duration d) {
  return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}
constexpr double to_seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

/// The earlier of two optional deadlines; nullopt means "never".
constexpr std::optional<TimePoint> earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
  if (!a) return b;
  if (!b) return a;
  return *a < *b ? a : b;
}

}  // namespace xfer

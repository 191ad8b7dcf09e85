#pragma once

#include <time.h>

#include "base/time.hpp"

/// The one place that reads the operating system's clocks.
namespace xfer::net {

namespace detail {
inline Duration read_clock(clockid_t id) {
  timespec value{};
  ::clock_gettime(id, &value);
  return std::chrono::seconds(value.tv_sec) + std::chrono::nanoseconds(value.tv_nsec);
}
}  // namespace detail

/// CLOCK_MONOTONIC: never steps, and does not count time the machine is suspended.
inline TimePoint now() { return TimePoint(detail::read_clock(CLOCK_MONOTONIC)); }

/// The same moment on both clocks. The kernel stamps datagrams with the wall clock, which may step
/// at any time.
struct ClockPair {
  TimePoint monotonic;
  Duration wall;  ///< since 1970
};
inline ClockPair now_on_both() { return {now(), detail::read_clock(CLOCK_REALTIME)}; }

/// Oldest kernel receive stamp that is believed; an older one means that the wall clock was
/// stepped.
inline constexpr Duration kMaxStampAge = 1s;

/// When a datagram with the wall clock stamp `stamp` arrived. A stamp from the future or too far in
/// the past counts as "now", so that a stepped wall clock costs precision for the datagrams in
/// flight and nothing else.
constexpr TimePoint arrival_time(Duration stamp, const ClockPair& at_read) {
  const Duration age = at_read.wall - stamp;
  if (age < Duration::zero() || age > kMaxStampAge) return at_read.monotonic;
  return at_read.monotonic - age;
}

}  // namespace xfer::net

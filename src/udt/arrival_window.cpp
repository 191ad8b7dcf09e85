#include "udt/arrival_window.hpp"

#include <algorithm>
#include <cmath>

namespace xfer::udt {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

std::uint32_t to_wire_rate(double per_second) {
  return static_cast<std::uint32_t>(
      std::clamp(std::ceil(per_second), 0.0, static_cast<double>(kMaxWireRate)));
}

}  // namespace

void ArrivalRate::on_packet(TimePoint arrival) {
  if (!started_) {
    started_ = true;
    last_ = arrival;
    return;
  }
  const Duration interval = std::max(arrival - last_, Duration::zero());
  last_ = std::max(last_, arrival);

  // Packets that were read or time-stamped together have no interval: one gap stands for the whole
  // batch (fault B5).
  if (interval == Duration::zero()) {
    ++intervals_;
    return;
  }
  constexpr std::uint32_t kEnoughForMean = 4;
  const bool pause =
      gaps_ >= kEnoughForMean && interval * gaps_ > elapsed_ * kPauseFactor && interval > 100us;
  if (pause && ++pauses_in_a_row_ < 2) return;  // two in a row: the rate has really changed
  if (pause) {
    elapsed_ = {};
    intervals_ = gaps_ = 0;
  }
  pauses_in_a_row_ = 0;
  elapsed_ += interval;
  ++intervals_;
  ++gaps_;
  if (intervals_ >= kGroup) close_group();
}

void ArrivalRate::close_group() {
  rates_[next_] = static_cast<double>(intervals_) * kNanosecondsPerSecond /
                  static_cast<double>(elapsed_.count());
  next_ = (next_ + 1) % kGroups;
  filled_ = std::min(filled_ + 1, kGroups);
  elapsed_ = {};
  intervals_ = gaps_ = 0;
}

std::uint32_t ArrivalRate::packets_per_second() const {
  if (filled_ == 0) return 0;
  auto sorted = rates_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(filled_ / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(filled_));
  return to_wire_rate(*middle);
}

void LinkCapacity::on_in_order(std::int64_t position, TimePoint arrival) {
  if (position % kPacketPairInterval == 0) {
    first_of_pair_ = position;
    first_arrival_ = arrival;
    return;
  }
  if (first_of_pair_ >= 0 && position == first_of_pair_ + 1 && arrival > first_arrival_) {
    spacing_ns_[next_] = (arrival - first_arrival_).count();
    next_ = (next_ + 1) % kPairs;
    filled_ = std::min(filled_ + 1, kPairs);
  }
  first_of_pair_ = -1;
}

std::uint32_t LinkCapacity::packets_per_second() const {
  if (filled_ < kFewest) return 0;
  auto values = spacing_ns_;
  return to_wire_rate(kNanosecondsPerSecond / filtered_mean(values.data(), filled_));
}

double filtered_mean(std::int64_t* values, std::size_t count) {
  std::nth_element(values, values + count / 2, values + count);
  const std::int64_t median = values[count / 2];
  double sum = static_cast<double>(median);
  double used = 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] <= median / 8 || values[i] >= median * 8) continue;
    sum += static_cast<double>(values[i]);
    used += 1;
  }
  return sum / used;
}

}  // namespace xfer::udt

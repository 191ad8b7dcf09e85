#pragma once

#include <cstdint>

#include "base/flat_deque.hpp"

namespace xfer {

/// A set of 64-bit numbers kept as disjoint, non-adjacent, ascending ranges [begin, end). Bounded:
/// add() refuses a range that would need more than `limit` ranges.
class IntervalSet {
 public:
  struct Interval {
    std::int64_t begin;
    std::int64_t end;
    friend bool operator==(const Interval&, const Interval&) = default;
  };

  explicit IntervalSet(std::size_t limit) : ranges_(limit) {}

  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] std::size_t range_count() const { return ranges_.size(); }
  [[nodiscard]] const Interval& range(std::size_t i) const { return ranges_[i]; }
  /// Numbers in the set.
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Smallest number. REQUIRES: not empty.
  [[nodiscard]] std::int64_t front() const { return ranges_.front().begin; }
  [[nodiscard]] bool contains(std::int64_t value) const {
    const std::size_t i = first_ending_after(value);
    return i < ranges_.size() && ranges_[i].begin <= value;
  }

  /// Adds [begin, end). Returns false, changing nothing, if that would take one range too many.
  bool add(std::int64_t begin, std::int64_t end) {
    if (begin >= end) return true;
    const std::size_t first = first_ending_after(begin - 1);  // adjacent ranges merge
    std::size_t last = first;
    std::int64_t covered = 0;
    Interval merged{begin, end};
    for (; last < ranges_.size() && ranges_[last].begin <= end; ++last) {
      covered += ranges_[last].end - ranges_[last].begin;
      merged.begin = std::min(merged.begin, ranges_[last].begin);
      merged.end = std::max(merged.end, ranges_[last].end);
    }
    if (first == last) {
      if (ranges_.full()) return false;
      ranges_.insert(first, merged);
    } else {
      ranges_[first] = merged;
      ranges_.erase(first + 1, last - first - 1);
    }
    count_ += merged.end - merged.begin - covered;
    return true;
  }

  /// Removes and returns the smallest number. REQUIRES: not empty.
  std::int64_t pop_front() {
    const std::int64_t value = ranges_.front().begin++;
    if (ranges_.front().begin == ranges_.front().end) ranges_.pop_front();
    --count_;
    return value;
  }

  /// Removes every number below `value`.
  void remove_below(std::int64_t value) {
    while (!ranges_.empty() && ranges_.front().begin < value) {
      Interval& range = ranges_.front();
      const std::int64_t cut = std::min(range.end, value);
      count_ -= cut - range.begin;
      range.begin = cut;
      if (range.begin == range.end) ranges_.pop_front();
    }
  }

 private:
  [[nodiscard]] std::size_t first_ending_after(std::int64_t value) const {
    const auto* it = std::upper_bound(ranges_.begin(), ranges_.end(), value,
                                      [](std::int64_t v, const Interval& r) { return v < r.end; });
    return static_cast<std::size_t>(it - ranges_.begin());
  }

  FlatDeque<Interval> ranges_;
  std::int64_t count_ = 0;
};

}  // namespace xfer

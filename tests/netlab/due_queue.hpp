#pragma once

#include <deque>
#include <optional>
#include <queue>
#include <vector>

#include "base/time.hpp"

namespace xfer::netlab {

/// Things that fall due, the earliest first; of those due at the same time, the one that was added
/// first. Most come in order: adding and taking those costs the same however many wait.
template <typename T>
class DueQueue {
 public:
  void push(TimePoint at, T item) {
    if (in_order_.empty() || at >= in_order_.back().at)
      in_order_.push_back({at, pushed_++, item});
    else
      overtakers_.push({at, pushed_++, item});
  }

  /// When the next one falls due.
  [[nodiscard]] std::optional<TimePoint> next() const {
    if (empty()) return std::nullopt;
    return head().at;
  }

  /// The next one that is due at `now`, and when it was due.
  struct Due {
    TimePoint at;
    T item;
  };
  std::optional<Due> pop(TimePoint now) {
    if (empty() || head().at > now) return std::nullopt;
    const Due due{head().at, head().item};
    if (overtaker_first())
      overtakers_.pop();
    else
      in_order_.pop_front();
    return due;
  }

  [[nodiscard]] bool empty() const { return in_order_.empty() && overtakers_.empty(); }
  [[nodiscard]] std::size_t size() const { return in_order_.size() + overtakers_.size(); }

 private:
  struct Entry {
    TimePoint at;
    std::uint64_t number;
    T item;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };
  [[nodiscard]] bool overtaker_first() const {
    if (overtakers_.empty()) return false;
    return in_order_.empty() || Later{}(in_order_.front(), overtakers_.top());
  }
  [[nodiscard]] const Entry& head() const {
    return overtaker_first() ? overtakers_.top() : in_order_.front();
  }

  std::deque<Entry> in_order_;
  std::priority_queue<Entry, std::vector<Entry>, Later> overtakers_;
  std::uint64_t pushed_ = 0;
};

}  // namespace xfer::netlab

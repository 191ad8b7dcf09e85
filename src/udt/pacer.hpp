#pragma once

#include "udt/limits.hpp"

namespace xfer::udt {

/// Turns a send period into deadlines. A sender that was late may catch up, but by no more than
/// kMaxPacingCredit worth of packets (fault B6).
class Pacer {
 public:
  [[nodiscard]] bool ready(TimePoint now) const { return now >= next_; }
  /// When the next packet may leave.
  [[nodiscard]] TimePoint next() const { return next_; }
  /// A packet leaves at `now`; the following one is due `period` after this one was.
  void on_sent(TimePoint now, Duration period) {
    const TimePoint oldest = now - std::min(kMaxPacingCredit, now.time_since_epoch());
    next_ = std::max(next_, oldest) + period;
  }
  /// The next packet may leave at once.
  void reset(TimePoint now) { next_ = std::min(next_, now); }

 private:
  TimePoint next_{};
};

}  // namespace xfer::udt

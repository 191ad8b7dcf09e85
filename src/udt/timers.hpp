#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "base/time.hpp"

namespace xfer::udt {

/// One-shot timers of a connection, in one table; the next deadline is their minimum.
enum class TimerId : std::uint8_t {
  handshake,   ///< give up connecting
  keep_alive,  ///< nothing was sent for a while
  idle,        ///< nothing was heard for too long
  linger,      ///< give up waiting for acknowledgements in close()
  shutdown,    ///< next shutdown packet
  count_,
};

class Timers {
 public:
  void set(TimerId id, TimePoint at) { at_[index(id)] = at; }
  void cancel(TimerId id) { at_[index(id)].reset(); }
  void cancel_all() { at_ = {}; }
  /// Whether the timer was due; a due timer is cancelled.
  bool take_if_due(TimerId id, TimePoint now) {
    auto& at = at_[index(id)];
    if (!at || *at > now) return false;
    at.reset();
    return true;
  }
  [[nodiscard]] std::optional<TimePoint> next() const {
    std::optional<TimePoint> soonest;
    for (const auto& at : at_) soonest = earlier(soonest, at);
    return soonest;
  }

 private:
  static constexpr std::size_t index(TimerId id) { return static_cast<std::size_t>(id); }
  std::array<std::optional<TimePoint>, static_cast<std::size_t>(TimerId::count_)> at_;
};

}  // namespace xfer::udt

#pragma once

#include <algorithm>
#include <optional>

#include "base/flat_deque.hpp"
#include "udt/limits.hpp"
#include "udt/packet_index.hpp"

namespace xfer::udt {

/// The receiver's loss list: ranges of packets that are missing although later ones have arrived,
/// ascending, each with its report history. Bounded by kMaxLossRanges.
class HoleList {
 public:
  struct Hole {
    PacketIndex first;
    PacketIndex end;
    TimePoint opened;
    TimePoint last_nak;
    std::uint32_t naks;  ///< reports sent so far
  };

  HoleList() : holes_(kMaxLossRanges) {}

  [[nodiscard]] bool empty() const { return holes_.empty(); }
  [[nodiscard]] std::size_t size() const { return holes_.size(); }
  /// Whether one more split or append might not fit.
  [[nodiscard]] bool full() const { return holes_.full(); }
  [[nodiscard]] PacketIndex front() const { return holes_.front().first; }
  [[nodiscard]] Hole* begin() { return holes_.begin(); }
  [[nodiscard]] Hole* end() { return holes_.end(); }

  /// Adds a hole behind all others. REQUIRES: not full.
  void append(PacketIndex first, PacketIndex end, TimePoint now = {}) {
    holes_.push_back({first, end, now, TimePoint{}, 0});
  }

  /// Packet `index` has arrived. REQUIRES: not full, or `index` is front(). Returns the hole it
  /// was in; nullopt: it was not missing.
  std::optional<Hole> remove(PacketIndex index) {
    auto* hole = std::upper_bound(holes_.begin(), holes_.end(), index,
                                  [](PacketIndex i, const Hole& h) { return i < h.end; });
    if (hole == holes_.end() || index < hole->first) return std::nullopt;
    const Hole before = *hole;
    const auto at = static_cast<std::size_t>(hole - holes_.begin());
    if (hole->first == index && hole->end == index + 1) {
      holes_.erase(at);
    } else if (hole->first == index) {
      ++hole->first;
    } else if (hole->end == index + 1) {
      --hole->end;
    } else {
      Hole rest = *hole;
      rest.first = index + 1;
      hole->end = index;
      holes_.insert(at + 1, rest);
    }
    return before;
  }

 private:
  FlatDeque<Hole> holes_;
};

}  // namespace xfer::udt

#pragma once

#include <array>
#include <optional>

#include "udt/limits.hpp"
#include "udt/packet_index.hpp"

namespace xfer::udt {

/// The last ACKs that expect an ACK2 (wire facts, section 1: 1024 entries).
class AckHistory {
 public:
  struct Entry {
    wire::AckNo number;
    PacketIndex next = 0;  ///< the acknowledged index
    TimePoint sent{};
  };

  void store(const Entry& entry) { entries_[slot(entry.number)] = {entry, true}; }
  /// Finds and forgets the ACK with that number, so that a repeated ACK2 gives no second sample.
  std::optional<Entry> take(wire::AckNo number) {
    auto& [entry, used] = entries_[slot(number)];
    if (!used || entry.number != number) return std::nullopt;
    used = false;
    return entry;
  }

 private:
  static constexpr std::size_t kEntries = 1024;
  static std::size_t slot(wire::AckNo number) { return number.value() % kEntries; }
  struct Slot {
    Entry entry;
    bool used = false;
  };
  std::array<Slot, kEntries> entries_{};
};

}  // namespace xfer::udt

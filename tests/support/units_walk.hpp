#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.hpp"
#include "udt/limits.hpp"
#include "udt/receive_units.hpp"

namespace xfer::test {

/// A random walk through the operations of udt::UnitPool beside the simplest model of it: a list of
/// the payloads held, as bytes. Aborts when the two differ. `Choices` has `below(bound)`.
template <typename Choices>
class UnitsWalk {
 public:
  explicit UnitsWalk(Choices& choices)
      : choices_(choices),
        limits_{1 + choices.below(40), 1 + choices.below(24), 1 + choices.below(9)},
        pool_(limits_) {}

  void step() {
    switch (choices_.below(8)) {
      case 0:
      case 1:
      case 2:
        read_into_loan();
        break;
      case 3:
        commit_elsewhere();
        break;
      case 4:
        pool_.end_loan();
        rooms_.clear();
        break;
      default:
        release(choices_.below(held_.size() + 1));
        break;
    }
    check();
  }

  /// Lets go of everything: all memory is free again.
  void finish() {
    while (!held_.empty()) release(held_.size() - 1);
    pool_.end_loan();
    XFER_ASSERT(pool_.free_blocks() == pool_.blocks() && pool_.apart() == 0);
  }

 private:
  struct Held {
    udt::Unit unit;
    std::vector<std::byte> bytes;
  };

  void fill(MutByteView room) {
    for (auto& byte : room) byte = static_cast<std::byte>(++stamp_);
  }

  void keep(const udt::Unit& unit, ByteView payload) {
    XFER_ASSERT(unit.data != nullptr && unit.size == payload.size());
    held_.push_back({unit, {payload.begin(), payload.end()}});
  }

  /// Borrows room, reads something into all of it, keeps some of that.
  void read_into_loan() {
    std::array<MutByteView, udt::kMaxReceiveBatch> rooms;
    const std::size_t asked = 1 + choices_.below(rooms.size());
    const std::size_t lent = pool_.lend(std::span(rooms).first(asked));
    XFER_ASSERT(lent <= asked);
    rooms_.assign(rooms.begin(), rooms.begin() + static_cast<std::ptrdiff_t>(lent));
    check_adjacent();
    std::vector<std::vector<std::byte>> read;
    for (const MutByteView room : rooms_) {
      fill(room);
      read.emplace_back(room.begin(), room.end());
    }
    check();  // what is lent is not held
    const std::size_t used = choices_.below(lent + 1);
    for (std::size_t i = 0; i < used; ++i) {
      const std::size_t fate = choices_.below(8);
      if (fate == 0) continue;  // a duplicate, or no data
      if (fate == 1) commit_elsewhere();
      if (held_.size() == limits_.packets) break;
      const MutByteView room = rooms_[i];
      const std::size_t size = fate == 2 ? choices_.below(room.size() + 1) : room.size();
      const std::uint64_t copies = pool_.copies();
      const udt::Unit unit = pool_.commit(ByteView(room).first(size));
      XFER_ASSERT(unit.data == room.data() && pool_.copies() == copies);
      keep(unit, ByteView(read[i]).first(size));
    }
  }

  /// Rooms follow each other in memory but at the ends of blocks.
  void check_adjacent() {
    std::size_t run = 1;
    std::size_t short_runs = 0;  // but the first and the last
    for (std::size_t i = 1; i < rooms_.size(); ++i) {
      if (rooms_[i - 1].data() + rooms_[i - 1].size() == rooms_[i].data()) {
        ++run;
        continue;
      }
      if (run < pool_.block_slots() && run != i) ++short_runs;
      run = 1;
    }
    XFER_ASSERT(short_runs == 0);
  }

  void commit_elsewhere() {
    if (held_.size() == limits_.packets) return;
    const std::uint64_t copies = pool_.copies();
    if (!held_.empty() && choices_.below(8) == 0) {  // the same bytes once more
      const Held again = held_[choices_.below(held_.size())];
      if (is_lent(again.unit)) return;
      keep(pool_.commit({again.unit.data, again.unit.size}), again.bytes);
      XFER_ASSERT(pool_.copies() == copies + 1);
      return;
    }
    // The same size again and again now and then, to move the distance of slots.
    if (choices_.below(4) == 0) usual_size_ = choices_.below(limits_.payload_size + 1);
    std::vector<std::byte> payload(usual_size_);
    fill(payload);
    keep(pool_.commit(payload), payload);
    XFER_ASSERT(pool_.copies() == copies + 1);
  }

  [[nodiscard]] bool is_lent(const udt::Unit& unit) const {
    return std::any_of(rooms_.begin(), rooms_.end(),
                       [&](MutByteView room) { return room.data() == unit.data; });
  }

  void release(std::size_t index) {
    if (index >= held_.size()) return;
    pool_.release(held_[index].unit);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void check() const {
    for (const Held& held : held_)
      XFER_ASSERT(std::equal(held.bytes.begin(), held.bytes.end(), held.unit.data));
    XFER_ASSERT(pool_.blocks() <= pool_.max_blocks());
    XFER_ASSERT(pool_.apart() <= held_.size());
  }

  Choices& choices_;
  udt::UnitPool::Limits limits_;
  udt::UnitPool pool_;
  std::vector<Held> held_;
  std::vector<MutByteView> rooms_;
  std::size_t usual_size_ = 0;
  std::uint8_t stamp_ = 0;
};

}  // namespace xfer::test

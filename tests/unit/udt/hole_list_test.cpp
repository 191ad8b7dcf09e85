#include "udt/hole_list.hpp"

#include <set>

#include "base/random.hpp"

#include <catch2/catch.hpp>

namespace xfer::udt {
namespace {

std::vector<std::pair<PacketIndex, PacketIndex>> ranges(HoleList& holes) {
  std::vector<std::pair<PacketIndex, PacketIndex>> all;
  for (const auto& hole : holes) all.emplace_back(hole.first, hole.end);
  return all;
}

// Removing from each place of a range: its first, its last, its middle, its only packet.
TEST_CASE("A hole shrinks, splits and closes", "[udt]") {
  using Ranges = std::vector<std::pair<PacketIndex, PacketIndex>>;
  HoleList holes;
  CHECK(holes.empty());
  holes.append(10, 20);
  CHECK(holes.front() == 10);
  CHECK(holes.remove(10));
  CHECK(holes.remove(19));
  CHECK(holes.remove(15));
  CHECK(ranges(holes) == Ranges{{11, 15}, {16, 19}});
  CHECK_FALSE(holes.remove(15));
  CHECK_FALSE(holes.remove(10));
  CHECK_FALSE(holes.remove(19));
  CHECK_FALSE(holes.remove(1'000'000));
  CHECK(holes.remove(17));
  CHECK(holes.remove(16));
  CHECK(ranges(holes) == Ranges{{11, 15}, {18, 19}});
  CHECK(holes.size() == 2);
  CHECK(holes.remove(18));
  for (PacketIndex i = 11; i < 15; ++i) CHECK(holes.remove(i));
  CHECK(holes.empty());
}

// Both parts of a split hole were reported as often as the whole: neither is reported at once
// again.
TEST_CASE("A split hole keeps its report history [I-16]", "[udt][I-16]") {
  HoleList holes;
  holes.append(0, 9);
  holes.begin()->naks = 3;
  holes.begin()->last_nak = TimePoint{7s};
  REQUIRE(holes.remove(4));
  REQUIRE(holes.size() == 2);
  for (const auto& hole : holes) {
    CHECK(hole.naks == 3);
    CHECK(hole.last_nak == TimePoint{7s});
  }
}

// Against a plain set, through thousands of random arrivals: same members, ascending, never
// adjacent to nothing, so no walk over it can fail to end.
TEST_CASE("Holes agree with a set of missing packets [D16]", "[udt][D16]") {
  SeededRandom random(42);
  HoleList holes;
  std::set<PacketIndex> missing;
  PacketIndex end = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (random.chance(0.3)) {
      const PacketIndex count = static_cast<PacketIndex>(1 + random.below(6));
      holes.append(end, end + count);
      for (PacketIndex i = 0; i < count; ++i) missing.insert(end + i);
      end += count + 1;
    } else if (end > 0) {
      const auto index = static_cast<PacketIndex>(random.below(static_cast<std::uint64_t>(end)));
      REQUIRE(holes.remove(index).has_value() == (missing.erase(index) == 1));
    }
    if (step % 512 == 0) {
      std::set<PacketIndex> listed;
      PacketIndex previous_end = -1;
      for (const auto& hole : holes) {
        REQUIRE(hole.first > previous_end);
        REQUIRE(hole.first < hole.end);
        previous_end = hole.end;
        for (PacketIndex i = hole.first; i < hole.end; ++i) listed.insert(i);
      }
      REQUIRE(listed == missing);
    }
  }
}

// The list fills to its ceiling; the lowest missing packet can still be taken out then, for that
// needs no room.
TEST_CASE("A full hole list still shrinks at its front", "[udt]") {
  HoleList holes;
  for (PacketIndex i = 0; !holes.full(); ++i) holes.append(i * 4, i * 4 + 3);
  CHECK(holes.size() == kMaxLossRanges);
  CHECK(holes.remove(0));
  CHECK(holes.full());
  CHECK(holes.remove(1));
  CHECK(holes.remove(2));
  CHECK_FALSE(holes.full());
  CHECK(holes.front() == 4);
}

}  // namespace
}  // namespace xfer::udt

#include "base/interval_set.hpp"

#include <set>
#include <vector>

#include "base/random.hpp"

#include <catch2/catch.hpp>

namespace xfer {
namespace {

using Ranges = std::vector<IntervalSet::Interval>;

Ranges ranges(const IntervalSet& set) {
  Ranges all;
  for (std::size_t i = 0; i < set.range_count(); ++i) all.push_back(set.range(i));
  return all;
}

// Ranges that touch or overlap become one; those with a gap of one stay two.
TEST_CASE("Ranges merge where they touch", "[base]") {
  struct Case {
    std::int64_t begin;
    std::int64_t end;
    Ranges expected;
  };
  for (const auto& [begin, end, expected] : std::vector<Case>{
           {10, 20, {{10, 20}}},            // the same
           {12, 18, {{10, 20}}},            // inside
           {5, 9, {{5, 9}, {10, 20}}},      // before, a gap
           {5, 10, {{5, 20}}},              // before, touching
           {5, 11, {{5, 20}}},              // before, overlapping
           {20, 25, {{10, 25}}},            // after, touching
           {21, 25, {{10, 20}, {21, 25}}},  // after, a gap
           {5, 25, {{5, 25}}},              // around
           {7, 7, {{10, 20}}},              // empty
           {30, 7, {{10, 20}}},             // reversed: empty
       }) {
    CAPTURE(begin, end);
    IntervalSet set(8);
    REQUIRE(set.add(10, 20));
    CHECK(set.add(begin, end));
    CHECK(ranges(set) == expected);
  }
}

// One range may bridge many, and the count is of numbers, not of ranges.
TEST_CASE("A range that bridges many replaces them", "[base]") {
  IntervalSet set(8);
  for (std::int64_t i = 0; i < 8; ++i) REQUIRE(set.add(10 * i, 10 * i + 2));
  CHECK(set.count() == 16);
  REQUIRE(set.add(5, 61));
  CHECK(ranges(set) == Ranges{{0, 2}, {5, 62}, {70, 72}});
  CHECK(set.count() == 61);
}

// At its limit a set refuses what needs another range, changing nothing, and takes what does not.
TEST_CASE("A full set refuses one range more", "[base]") {
  for (const std::size_t limit : {1U, 2U, 15U, 16U, 17U}) {
    CAPTURE(limit);
    IntervalSet set(limit);
    for (std::size_t i = 0; i < limit; ++i)
      REQUIRE(set.add(10 * static_cast<std::int64_t>(i), 10 * static_cast<std::int64_t>(i) + 1));
    const Ranges before = ranges(set);
    CHECK_FALSE(set.add(1000, 1001));
    CHECK_FALSE(set.add(-5, -3));
    CHECK(ranges(set) == before);
    CHECK(set.add(1, 2));
    CHECK(set.contains(1));
    CHECK(set.count() == static_cast<std::int64_t>(limit) + 1);
    set.pop_front();
    set.pop_front();
    CHECK(set.add(1000, 1001));
  }
}

// remove_below cuts a range in two and drops those below it; pop_front takes numbers one by one.
TEST_CASE("A set is emptied from its front", "[base]") {
  IntervalSet set(8);
  set.add(10, 13);
  set.add(20, 25);
  set.remove_below(5);
  CHECK(set.count() == 8);
  set.remove_below(11);
  CHECK(set.front() == 11);
  CHECK(set.pop_front() == 11);
  CHECK(set.pop_front() == 12);
  CHECK(set.front() == 20);
  set.remove_below(24);
  CHECK(ranges(set) == Ranges{{24, 25}});
  set.remove_below(1'000'000);
  CHECK(set.empty());
  CHECK(set.count() == 0);
  CHECK_FALSE(set.contains(24));
}

// Against a plain set through random adds and removals: same members; ranges ascending, never
// empty, never touching, so that no walk over them can fail to end.
TEST_CASE("A set agrees with a set of numbers [D16]", "[base][D16]") {
  SeededRandom random(7);
  IntervalSet set(64);
  std::set<std::int64_t> model;
  for (int step = 0; step < 20'000; ++step) {
    const auto begin = static_cast<std::int64_t>(random.below(400));
    switch (random.below(4)) {
      case 0:
      case 1: {
        const std::int64_t end = begin + static_cast<std::int64_t>(random.below(12));
        if (set.add(begin, end))
          for (std::int64_t i = begin; i < end; ++i) model.insert(i);
        else
          REQUIRE(set.range_count() == 64);
        break;
      }
      case 2:
        for (int i = 0; i < 8 && !set.empty(); ++i) {
          REQUIRE(set.front() == *model.begin());
          REQUIRE(model.erase(set.pop_front()) == 1);
        }
        break;
      default:
        set.remove_below(begin / 4);
        model.erase(model.begin(), model.lower_bound(begin / 4));
    }
    REQUIRE(set.count() == static_cast<std::int64_t>(model.size()));
    REQUIRE(set.contains(begin) == model.contains(begin));
    std::int64_t previous_end = -1;
    for (const auto& range : ranges(set)) {
      REQUIRE(range.begin > previous_end);
      REQUIRE(range.end > range.begin);
      previous_end = range.end;
    }
  }
}

}  // namespace
}  // namespace xfer

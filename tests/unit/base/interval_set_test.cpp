#include "base/interval_set.hpp"

#include <set>
#include <vector>

#include "base/random.hpp"

#include <catch2/catch.hpp>

namespace xfer {
namespace {

std::vector<IntervalSet::Interval> ranges(const IntervalSet& set) {
  std::vector<IntervalSet::Interval> all;
  for (std::size_t i = 0; i < set.range_count(); ++i) all.push_back(set.range(i));
  return all;
}

using Ranges = std::vector<IntervalSet::Interval>;

// Overlapping and adjacent ranges become one; a gap of one number keeps them apart.
TEST_CASE("Ranges merge where they touch [D16]", "[base]") {
  IntervalSet set(10);
  CHECK(set.add(10, 20));
  CHECK(set.add(30, 40));
  CHECK(ranges(set) == Ranges{{10, 20}, {30, 40}});
  CHECK(set.add(20, 22));
  CHECK(ranges(set) == Ranges{{10, 22}, {30, 40}});
  CHECK(set.add(28, 30));
  CHECK(ranges(set) == Ranges{{10, 22}, {28, 40}});
  CHECK(set.add(23, 24));
  CHECK(set.range_count() == 3);
  CHECK(set.add(0, 100));
  CHECK(ranges(set) == Ranges{{0, 100}});
  CHECK(set.count() == 100);
}

// An empty or reversed range adds nothing.
TEST_CASE("Empty ranges are no ranges", "[base]") {
  IntervalSet set(1);
  CHECK(set.add(5, 5));
  CHECK(set.add(6, 5));
  CHECK(set.empty());
  CHECK(set.count() == 0);
}

// The limit counts ranges: one too many is refused without a change, growing and bridging are not.
TEST_CASE("A set refuses one range too many and stays as it was", "[base]") {
  IntervalSet set(2);
  CHECK(set.add(0, 1));
  CHECK(set.add(10, 11));
  CHECK_FALSE(set.add(5, 6));
  CHECK(ranges(set) == Ranges{{0, 1}, {10, 11}});
  CHECK(set.count() == 2);
  CHECK(set.add(1, 10));
  CHECK(ranges(set) == Ranges{{0, 11}});
}

// Every operation against a plain set of numbers, ranges and counts included.
TEST_CASE("An interval set behaves like a set of numbers [D16]", "[base]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SeededRandom random(seed);
    IntervalSet set(1000);
    std::set<std::int64_t> model;
    for (int i = 0; i < 500; ++i) {
      const auto begin = static_cast<std::int64_t>(random.below(200)) - 100;
      const auto end = begin + static_cast<std::int64_t>(random.below(12));
      switch (random.below(6)) {
        case 0:
          set.remove_below(begin);
          model.erase(model.begin(), model.lower_bound(begin));
          break;
        case 1:
          if (!model.empty()) {
            REQUIRE(set.front() == *model.begin());
            REQUIRE(set.pop_front() == *model.begin());
            model.erase(model.begin());
          }
          break;
        default:
          REQUIRE(set.add(begin, end));
          for (std::int64_t value = begin; value < end; ++value) model.insert(value);
          break;
      }
      REQUIRE(set.count() == static_cast<std::int64_t>(model.size()));
      REQUIRE(set.empty() == model.empty());
      REQUIRE(set.contains(begin) == model.contains(begin));
      for (std::size_t r = 0; r < set.range_count(); ++r) {
        REQUIRE(set.range(r).begin < set.range(r).end);
        if (r > 0) REQUIRE(set.range(r - 1).end < set.range(r).begin);
      }
    }
    for (std::int64_t value = -110; value < 220; ++value)
      REQUIRE(set.contains(value) == model.contains(value));
  }
}

}  // namespace
}  // namespace xfer

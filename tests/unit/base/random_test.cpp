#include "base/random.hpp"

#include <array>
#include <set>

#include <catch2/catch.hpp>

namespace xfer {
namespace {

// The sequence is fixed: a seed printed by a failing simulation replays it with any compiler. The
// numbers were computed from the published algorithms (splitmix64 seeding, xoshiro256**) by an
// independent script.
TEST_CASE("The sequence of a seed never changes", "[base]") {
  SeededRandom random(12345);
  constexpr std::array<std::uint64_t, 4> expected = {0xBE6A36374160D49BU, 0x214AAA0637A688C6U,
                                                     0xF69D16DE9954D388U, 0x0C60048C4E96E033U};
  for (const std::uint64_t value : expected) CHECK(random.next_u64() == value);
}

// Equal seeds give equal sequences; neighbouring seeds give unrelated ones.
TEST_CASE("Seeds decide the sequence", "[base]") {
  SeededRandom a(7);
  SeededRandom b(7);
  SeededRandom c(8);
  int same_as_neighbour = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = a.next_u64();
    REQUIRE(b.next_u64() == value);
    same_as_neighbour += c.next_u64() == value ? 1 : 0;
  }
  CHECK(same_as_neighbour == 0);
}

// below() stays below its bound and reaches every value; a bound of one leaves only zero.
TEST_CASE("below() covers exactly its range", "[base]") {
  SeededRandom random(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.below(10));
  CHECK(seen.size() == 10);
  CHECK(*seen.rbegin() == 9);
  CHECK(random.below(1) == 0);
}

// unit() is in [0, 1) and chance() has the probability asked for, the certain cases included.
TEST_CASE("Probabilities come out as asked", "[base]") {
  SeededRandom random(2);
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = random.unit();
    REQUIRE(value >= 0.0);
    REQUIRE(value < 1.0);
    hits += random.chance(0.02) ? 1 : 0;
    REQUIRE_FALSE(random.chance(0.0));
    REQUIRE(random.chance(1.0));
  }
  CHECK(hits > 1'700);
  CHECK(hits < 2'300);
}

}  // namespace
}  // namespace xfer

#include "wire/seqno.hpp"

#include <vector>

#include "base/random.hpp"

#include <catch2/catch.hpp>

namespace xfer::wire {
namespace {

constexpr std::int64_t kHalf = 0x40000000;

std::vector<std::uint32_t> corners() {
  std::vector<std::uint32_t> values;
  for (const std::uint32_t base :
       {0U, 0x3FFFFFFFU, 0x40000000U, 0x7FFFFFFFU, 0x7FFFFFF0U, 1U << 20U})
    for (std::uint32_t delta = 0; delta < 5; ++delta)
      values.push_back((base + delta - 2) & SeqNo::kMax);
  return values;
}

// Stepping n forward is at distance n, for every n below half the circle and every corner to start
// from.
TEST_CASE("Distance undoes advancing, across the wrap too [E5]", "[wire]") {
  for (const std::uint32_t start : corners()) {
    for (const std::int64_t steps :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{1000}, kHalf - 2,
          kHalf - 1, std::int64_t{-1}, std::int64_t{-2}, std::int64_t{-1000}, -kHalf + 1, -kHalf}) {
      CAPTURE(start, steps);
      const SeqNo from(start);
      const SeqNo to = from.advanced(steps);
      CHECK(to.value() <= SeqNo::kMax);
      CHECK(SeqNo::distance(from, to) == steps);
      CHECK(to.advanced(-steps) == from);
    }
  }
}

// Half the circle away is "behind", from either side: the only case where distance is not
// antisymmetric.
TEST_CASE("Half a circle counts as behind [E5]", "[wire]") {
  for (const std::uint32_t start : corners()) {
    const SeqNo a(start);
    const SeqNo b = a.advanced(kHalf);
    CHECK(SeqNo::distance(a, b) == -kHalf);
    CHECK(SeqNo::distance(b, a) == -kHalf);
  }
}

// For random pairs: distance is the shorter way, antisymmetric, and leads from one to the other.
TEST_CASE("Distance is the shorter way round [E5]", "[wire]") {
  SeededRandom random(3);
  for (int i = 0; i < 5000; ++i) {
    const SeqNo a(static_cast<std::uint32_t>(random.next_u64()));
    const SeqNo b(static_cast<std::uint32_t>(random.next_u64()));
    const std::int64_t d = SeqNo::distance(a, b);
    REQUIRE(d >= -kHalf);
    REQUIRE(d < kHalf);
    REQUIRE(a.advanced(d) == b);
    if (d != -kHalf) REQUIRE(SeqNo::distance(b, a) == -d);
  }
}

// Whole turns change nothing, however many: a 64-bit index maps to its number directly.
TEST_CASE("Advancing by whole turns stays in place", "[wire]") {
  const SeqNo isn(0x7FFFFFF0);
  CHECK(isn.advanced(std::int64_t{1} << 31U) == isn);
  CHECK(isn.advanced(-(std::int64_t{5} << 31U)) == isn);
  CHECK(isn.advanced((std::int64_t{3} << 31U) + 16) == SeqNo(0));
}

// The top bit of a wire word never becomes part of a number.
TEST_CASE("Numbers keep only their bits", "[wire]") {
  CHECK(SeqNo(0x80000005U).value() == 5);
  CHECK(AckNo(0xFFFFFFFFU).value() == 0x7FFFFFFF);
  CHECK(AckNo(AckNo::kMax).advanced(1) == AckNo(0));
  CHECK(MsgNo(0xFFFFFFFFU).value() == 0x1FFFFFFF);
}

// The sender's message numbers run 1 ... 2^29 - 2 and around, never 0 and never 2^29 - 1.
TEST_CASE("Message numbers skip zero and the last value [E9]", "[wire]") {
  const std::uint64_t period = MsgNo::kMax - 1;
  CHECK(MsgNo::nth(0).value() == 1);
  CHECK(MsgNo::nth(period - 1).value() == MsgNo::kMax - 1);
  CHECK(MsgNo::nth(period).value() == 1);
  for (std::uint64_t i = period - 3; i < period + 3; ++i) {
    CHECK(MsgNo::nth(i).value() != 0);
    CHECK(MsgNo::nth(i).value() != MsgNo::kMax);
  }
}

// A peer's ID is 1 ... 2^31 - 1; stock peers take the rest for negative and ignore it.
TEST_CASE("Socket IDs have a valid range [I-2]", "[wire]") {
  CHECK_FALSE(SocketId(0).valid());
  CHECK(SocketId(1).valid());
  CHECK(SocketId(0x7FFFFFFF).valid());
  CHECK_FALSE(SocketId(0x80000000).valid());
  CHECK_FALSE(SocketId(0xFFFFFFFF).valid());
}

}  // namespace
}  // namespace xfer::wire

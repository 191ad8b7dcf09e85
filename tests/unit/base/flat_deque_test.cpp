#include "base/flat_deque.hpp"

#include <deque>

#include "base/random.hpp"

#include <catch2/catch.hpp>

namespace xfer {
namespace {

bool same(const FlatDeque<int>& deque, const std::deque<int>& model) {
  return std::equal(deque.begin(), deque.end(), model.begin(), model.end());
}

// Elements stay in order whichever end they are put at, and the bound is exact.
TEST_CASE("A flat deque holds up to its limit in order", "[base]") {
  FlatDeque<int> deque(3);
  CHECK(deque.empty());
  CHECK_FALSE(deque.full());
  deque.push_back(2);
  deque.push_back(3);
  deque.insert(0, 1);
  CHECK(deque.full());
  CHECK(deque.size() == 3);
  CHECK(deque.front() == 1);
  CHECK(deque[1] == 2);
  CHECK(deque.back() == 3);
  deque.pop_front();
  CHECK(deque.front() == 2);
  CHECK_FALSE(deque.full());
  deque.clear();
  CHECK(deque.empty());
  deque.push_back(9);
  CHECK(deque.back() == 9);
}

// Random insertions and removals anywhere, against std::deque, for limits around the first size of
// its memory.
TEST_CASE("A flat deque behaves like std::deque", "[base]") {
  for (const std::size_t limit : {std::size_t{1}, std::size_t{2}, std::size_t{15}, std::size_t{16},
                                  std::size_t{17}, std::size_t{200}}) {
    CAPTURE(limit);
    SeededRandom random(limit);
    FlatDeque<int> deque(limit);
    std::deque<int> model;
    for (int i = 0; i < 5000; ++i) {
      const auto at = static_cast<std::size_t>(random.below(model.size() + 1));
      if (!deque.full() && random.chance(0.55)) {
        deque.insert(at, i);
        model.insert(model.begin() + static_cast<std::ptrdiff_t>(at), i);
      } else if (!model.empty() && random.chance(0.5)) {
        deque.pop_front();
        model.pop_front();
      } else {
        const std::size_t count =
            static_cast<std::size_t>(random.below(std::min<std::size_t>(4, model.size() - at + 1)));
        deque.erase(at, count);
        const auto first = model.begin() + static_cast<std::ptrdiff_t>(at);
        model.erase(first, first + static_cast<std::ptrdiff_t>(count));
      }
      REQUIRE(deque.size() == model.size());
      REQUIRE(deque.full() == (model.size() >= limit));
      REQUIRE(same(deque, model));
    }
  }
}

// A queue in steady state, pushed at one end and popped at the other for ever, stays in the memory
// it has: the elements move back to its middle instead of wandering off its end.
TEST_CASE("A flat deque used as a queue does not grow", "[base]") {
  FlatDeque<int> deque(1000);
  for (int i = 0; i < 8; ++i) deque.push_back(i);
  const int* lowest = deque.begin();
  const int* highest = deque.end();
  for (int i = 8; i < 10'000; ++i) {
    deque.push_back(i);
    deque.pop_front();
    REQUIRE(deque.front() == i - 7);
    lowest = std::min(lowest, static_cast<const int*>(deque.begin()));
    highest = std::max(highest, static_cast<const int*>(deque.end()));
  }
  CHECK(highest - lowest <= 32);
}

}  // namespace
}  // namespace xfer

#include "base/flat_deque.hpp"

#include <deque>

#include "base/random.hpp"

#include <catch2/catch.hpp>

namespace xfer {
namespace {

// Insertions and removals at every place of sequences around the first growths keep order.
TEST_CASE("A flat deque keeps order at every place", "[base]") {
  for (const std::size_t size : {0U, 1U, 2U, 15U, 16U, 17U, 31U, 32U, 33U}) {
    for (std::size_t at = 0; at <= size; ++at) {
      CAPTURE(size, at);
      FlatDeque<int> values(64);
      std::deque<int> model;
      for (std::size_t i = 0; i < size; ++i) {
        values.push_back(static_cast<int>(i));
        model.push_back(static_cast<int>(i));
      }
      values.insert(at, 99);
      model.insert(model.begin() + static_cast<std::ptrdiff_t>(at), 99);
      REQUIRE(std::equal(values.begin(), values.end(), model.begin(), model.end()));
      CHECK(values.front() == model.front());
      CHECK(values.back() == model.back());
      for (std::size_t count = 0; at + count <= size + 1 && count < 4; ++count) {
        FlatDeque<int> copy = values;
        std::deque<int> smaller = model;
        copy.erase(at, count);
        const auto first = smaller.begin() + static_cast<std::ptrdiff_t>(at);
        smaller.erase(first, first + static_cast<std::ptrdiff_t>(count));
        REQUIRE(std::equal(copy.begin(), copy.end(), smaller.begin(), smaller.end()));
      }
    }
  }
}

// The ceiling holds, and a queue that only passes through keeps within its memory for ever.
TEST_CASE("A flat deque is full at its limit", "[base]") {
  for (const std::size_t limit : {1U, 16U, 17U, 100U}) {
    FlatDeque<int> values(limit);
    for (std::size_t i = 0; i < limit; ++i) {
      CHECK_FALSE(values.full());
      values.push_back(static_cast<int>(i));
    }
    CHECK(values.full());
    values.pop_front();
    CHECK_FALSE(values.full());
    values.clear();
    CHECK(values.empty());
    CHECK(values.size() == 0);
    values.insert(0, 5);
    CHECK(values.front() == 5);
  }
}

// Thousands of random changes against std::deque.
TEST_CASE("A flat deque agrees with std::deque", "[base]") {
  SeededRandom random(11);
  FlatDeque<int> values(200);
  std::deque<int> model;
  for (int step = 0; step < 30'000; ++step) {
    const bool growing = (step / 1000) % 2 == 0;
    if (!values.full() && random.chance(growing ? 0.7 : 0.3)) {
      const std::size_t at = random.below(3) == 0 ? random.below(model.size() + 1)
                             : random.chance(0.5) ? 0
                                                  : model.size();
      values.insert(at, step);
      model.insert(model.begin() + static_cast<std::ptrdiff_t>(at), step);
    } else if (!model.empty()) {
      const std::size_t at = random.below(model.size());
      values.erase(at);
      model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
    }
    REQUIRE(values.size() == model.size());
    if (step % 16 == 0)
      REQUIRE(std::equal(values.begin(), values.end(), model.begin(), model.end()));
    if (!model.empty()) {
      const std::size_t i = random.below(model.size());
      REQUIRE(values[i] == model[i]);
      REQUIRE(std::as_const(values)[i] == model[i]);
    }
  }
}

}  // namespace
}  // namespace xfer

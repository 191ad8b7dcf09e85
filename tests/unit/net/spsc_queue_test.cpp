#include "net/spsc_queue.hpp"

#include <catch2/catch.hpp>
#include <thread>

using namespace xfer;

TEST_CASE("The queue is first in first out and bounded") {
  net::SpscQueue<int> queue(3);
  REQUIRE(queue.capacity() == 4);
  CHECK(queue.empty());
  CHECK_FALSE(queue.pop().has_value());
  // Several times round.
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 4; ++i) {
      CHECK_FALSE(queue.full());
      CHECK(queue.push(round * 10 + i));
    }
    CHECK(queue.full());
    CHECK_FALSE(queue.push(99));
    for (int i = 0; i < 4; ++i) CHECK(queue.pop() == round * 10 + i);
    CHECK(queue.empty());
  }
}

TEST_CASE("Two threads pass everything through a small queue in order") {
  constexpr std::uint64_t kCount = 50'000;
  net::SpscQueue<std::uint64_t> queue(8);
  std::thread pusher([&] {
    for (std::uint64_t i = 0; i < kCount;) {
      if (queue.push(i))
        ++i;
      else
        std::this_thread::yield();
    }
  });
  std::uint64_t expected = 0;
  while (expected < kCount) {
    const auto item = queue.pop();
    if (!item) {
      std::this_thread::yield();
      continue;
    }
    if (*item != expected) break;
    ++expected;
  }
  pusher.join();
  CHECK(expected == kCount);
}

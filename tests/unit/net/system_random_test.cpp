#include "net/system_random.hpp"

#include <catch2/catch.hpp>
#include <set>

using namespace xfer;

TEST_CASE("Numbers differ, across blocks and between sources") {
  // Two equal ones among a few thousand of 64 bits would be a miracle.
  std::set<std::uint64_t> seen;
  net::SystemRandom one;
  net::SystemRandom other;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(one.next_u64());
    seen.insert(other.next_u64());
  }
  CHECK(seen.size() == 2000);
}

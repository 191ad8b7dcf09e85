#include "udt/receive_units.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "base/random.hpp"
#include "support/units_walk.hpp"

namespace xfer::udt {
namespace {

constexpr std::size_t kSize = 100;

using Rooms = std::vector<MutByteView>;

/// A loan of `count` rooms, with something in them.
Rooms borrow(UnitPool& pool, std::size_t count) {
  Rooms rooms(count);
  rooms.resize(pool.lend(rooms));
  for (const auto room : rooms) std::fill(room.begin(), room.end(), std::byte{7});
  return rooms;
}

std::vector<Unit> commit_all(UnitPool& pool, const Rooms& rooms) {
  std::vector<Unit> units;
  for (const auto room : rooms) units.push_back(pool.commit(room));
  return units;
}

}  // namespace

// What was read into lent room stays there, in runs as long as a block, over several loans.
TEST_CASE("Payloads read into lent room are adjacent and not copied", "[udt]") {
  UnitPool pool({.packets = 100, .payload_size = kSize, .block_packets = 8});
  std::vector<Unit> units;
  for (const std::size_t count : {3U, 5U, 1U, 20U, 11U}) {
    for (const Unit& unit : commit_all(pool, borrow(pool, count))) units.push_back(unit);
  }
  REQUIRE(units.size() == 40);
  for (std::size_t i = 1; i < units.size(); ++i) {
    if (i % 8 != 0) CHECK(units[i].data == units[i - 1].data + kSize);
  }
  CHECK(pool.copies() == 0);
  CHECK(pool.blocks() == 5);
}

// An application that keeps up has its bytes in the same few blocks for ever.
TEST_CASE("Blocks that are free again are the next ones to be used", "[udt]") {
  UnitPool pool({.packets = 8192, .payload_size = kSize, .block_packets = 8});
  for (int i = 0; i < 1000; ++i) {
    for (const Unit& unit : commit_all(pool, borrow(pool, 40))) pool.release(unit);
  }
  CHECK(pool.blocks() == 5);
}

// Room for 64 is lent each time and one packet comes: each takes one slot.
TEST_CASE("A loan that is used in part wastes nothing", "[udt]") {
  UnitPool pool({.packets = 64, .payload_size = kSize, .block_packets = 8});
  std::vector<Unit> units;
  for (int i = 0; i < 64; ++i) {
    const Rooms rooms = borrow(pool, 64);
    CHECK(rooms.size() == 64);
    units.push_back(pool.commit(rooms[0]));
  }
  pool.end_loan();
  CHECK(pool.blocks() - pool.free_blocks() == 8);
  CHECK(pool.copies() == 0);
  for (const Unit& unit : units) pool.release(unit);
  CHECK(pool.free_blocks() == pool.blocks());
}

// What lies between is a gap in memory, and nothing is moved.
TEST_CASE("A room whose payload is not kept ends a run", "[udt]") {
  UnitPool pool({.packets = 64, .payload_size = kSize, .block_packets = 32});
  const Rooms rooms = borrow(pool, 3);
  const Unit first = pool.commit(rooms[0]);
  const Unit third = pool.commit(rooms[2]);
  CHECK(third.data == first.data + 2 * kSize);
  CHECK(borrow(pool, 1)[0].data() == third.data + kSize);
  CHECK(pool.copies() == 0);
}

// Lent room may hold payloads that are still to be committed.
TEST_CASE("A payload from elsewhere is copied behind the loan", "[udt]") {
  UnitPool pool({.packets = 64, .payload_size = kSize, .block_packets = 32});
  const std::vector<std::byte> other(kSize, std::byte{9});
  const Rooms rooms = borrow(pool, 4);
  const Unit first = pool.commit(rooms[0]);
  const Unit copied = pool.commit(other);
  CHECK(copied.data == first.data + 4 * kSize);
  CHECK(std::equal(other.begin(), other.end(), copied.data));
  CHECK(pool.commit(rooms[1]).data == rooms[1].data());
  CHECK(pool.copies() == 1);
  // Without a loan, copies are adjacent to each other.
  pool.end_loan();
  CHECK(pool.commit(other).data == copied.data + kSize);
  CHECK(pool.commit(other).data == copied.data + 2 * kSize);
}

// The next loan has rooms of the size that comes.
TEST_CASE("Slots follow the size of the payloads", "[udt]") {
  UnitPool pool({.packets = 640, .payload_size = kSize, .block_packets = 32});
  CHECK(borrow(pool, 1)[0].size() == kSize);
  const std::vector<std::byte> smaller(60);
  for (int i = 0; i < 15; ++i) pool.commit(smaller);
  CHECK(borrow(pool, 1)[0].size() == kSize);  // may be the ends of bursts
  pool.commit(smaller);
  CHECK(borrow(pool, 1)[0].size() == 60);
  // Packet size probing: larger ones come and will go on to come.
  const std::vector<std::byte> larger(80);
  const Unit unit = pool.commit(larger);
  CHECK(std::equal(larger.begin(), larger.end(), unit.data));
  const Rooms rooms = borrow(pool, 2);
  CHECK(rooms[0].size() == 80);
  CHECK(rooms[1].data() == rooms[0].data() + 80);
}

// One payload may hold a whole block: then the others are kept apart, and still all of them fit.
TEST_CASE("The number of blocks is bounded, not that of payloads", "[udt]") {
  UnitPool pool({.packets = 64, .payload_size = kSize, .block_packets = 16});
  CHECK(pool.max_blocks() == 64 / 16 + 64 / 16 + 2);
  std::vector<Unit> pinned;
  // Of each block, the first payload stays.
  while (pinned.size() < pool.max_blocks()) {
    const Rooms rooms = borrow(pool, 16);
    REQUIRE(rooms.size() == 16);
    const auto units = commit_all(pool, rooms);
    pinned.push_back(units[0]);
    for (std::size_t i = 1; i < units.size(); ++i) pool.release(units[i]);
  }
  CHECK(borrow(pool, 16).empty());
  const std::vector<std::byte> other(kSize, std::byte{9});
  while (pinned.size() < 64) pinned.push_back(pool.commit(other));
  CHECK(pool.apart() == 64 - pool.max_blocks());
  CHECK(pool.blocks() == pool.max_blocks());
  for (const Unit& unit : pinned) pool.release(unit);
  CHECK(pool.apart() == 0);
  CHECK(borrow(pool, 16).size() == 16);
}

// A read of one message cannot bring more, whatever the size of the packets.
TEST_CASE("No more room is lent than a message can fill", "[udt]") {
  UnitPool jumbo({.packets = 640, .payload_size = 8956, .block_packets = 32});
  CHECK(borrow(jumbo, 64).size() == 16);
  UnitPool usual({.packets = 640, .payload_size = 1456, .block_packets = 32});
  CHECK(borrow(usual, 64).size() == 45);
}

// Random operations beside a simple model (tests/support/units_walk.hpp).
TEST_CASE("The unit pool agrees with a simple model", "[udt]") {
  SeededRandom random(11);
  for (int i = 0; i < 300; ++i) {
    test::UnitsWalk<SeededRandom> walk(random);
    for (int step = 0; step < 300; ++step) walk.step();
    walk.finish();
  }
}

}  // namespace xfer::udt

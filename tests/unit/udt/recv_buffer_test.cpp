#include "udt/recv_buffer.hpp"

#include <map>
#include <string>

#include "base/random.hpp"

#include <catch2/catch.hpp>

namespace xfer::udt {
namespace {

using Outcome = RecvBuffer::Outcome;

struct Box {
  explicit Box(std::size_t slots, std::size_t size = 4)
      : units({slots, size, 4}), buffer(slots, size, units) {}
  void store(PacketIndex index, std::string_view text) {
    REQUIRE(buffer.check(index) == Outcome::stored);
    buffer.store(index, as_byte_view(text));
  }
  std::string take() {
    std::string all;
    while (const auto run = buffer.take()) all += as_text(*run);
    return all;
  }
  UnitPool units;
  RecvBuffer buffer;
};

// The four positions move as packets arrive, are handed out and are consumed.
TEST_CASE("A receive buffer hands out what is in order", "[udt]") {
  Box box(8);
  box.store(1, "bbbb");
  CHECK(box.buffer.contiguous() == 0);
  CHECK(box.buffer.end() == 2);
  CHECK_FALSE(box.buffer.take());
  box.store(0, "aaaa");
  box.store(2, "cc");
  box.store(3, "dddd");
  CHECK(box.buffer.contiguous() == 4);
  CHECK(box.take() == "aaaabbbbccdddd");
  CHECK(box.buffer.taken() == 4);
  CHECK(box.buffer.base() == 0);
  box.buffer.consume(5);  // one packet and a byte of the next
  CHECK(box.buffer.base() == 1);
  box.buffer.consume(9);
  CHECK(box.buffer.base() == 4);
  CHECK(box.units.copies() == 4);
}

// Neighbouring full packets come as one run; a short packet or the end of a block splits it.
TEST_CASE("Runs are as long as memory is adjacent", "[udt]") {
  Box box(16);
  box.store(0, "abcd");
  box.store(1, "ab");
  box.store(2, "efgh");
  CHECK(box.buffer.take()->size() == 6);
  CHECK(box.buffer.take()->size() == 4);
  // The block of four has one slot left, then come two of the next.
  for (PacketIndex i = 3; i < 6; ++i) box.store(i, "ijkl");
  CHECK(box.buffer.take()->size() == 4);
  CHECK(box.buffer.take()->size() == 8);
  CHECK_FALSE(box.buffer.take());
}

// A run that is not complete waits for nothing: no timer has to hand it out.
TEST_CASE("A packet in order can be taken at once", "[udt]") {
  Box box(16);
  for (PacketIndex i = 0; i < 6; ++i) {
    box.store(i, "abcd");
    CHECK(box.take() == "abcd");
  }
}

// Slots are [base, base + slots): outside is refused, what is stored or handed out is a duplicate.
TEST_CASE("A receive buffer knows what it can store", "[udt]") {
  for (const std::size_t slots : {1U, 2U, 3U, 4U, 7U, 8U, 9U}) {
    Box box(slots);
    const auto count = static_cast<PacketIndex>(slots);
    CHECK(box.buffer.check(-1) == Outcome::duplicate);
    CHECK(box.buffer.check(0) == Outcome::stored);
    CHECK(box.buffer.check(count - 1) == Outcome::stored);
    CHECK(box.buffer.check(count) == Outcome::outside);
    box.store(0, "abcd");
    CHECK(box.buffer.check(0) == Outcome::duplicate);
    CHECK(box.buffer.check(count) == Outcome::outside);
    REQUIRE(box.take() == "abcd");
    CHECK(box.buffer.check(count) == Outcome::outside);  // handed out is not consumed
    box.buffer.consume(4);
    CHECK(box.buffer.check(count) == Outcome::stored);
    CHECK(box.buffer.check(0) == Outcome::duplicate);
  }
}

// Packets without bytes take a slot and give it back without ever showing up.
TEST_CASE("Packets without bytes leave no trace", "[udt]") {
  Box box(3);
  box.store(0, "");
  CHECK_FALSE(box.buffer.take());
  CHECK(box.buffer.base() == 1);
  box.store(1, "ab");
  box.store(2, "");
  box.store(3, "cd");
  CHECK(box.take() == "abcd");
  box.buffer.consume(4);
  CHECK(box.buffer.base() == 4);
}

// A random walk against a map of bytes: the stream comes out whole and in order.
TEST_CASE("A receive buffer agrees with a simple model", "[udt]") {
  SeededRandom random(3);
  Box box(37, 5);
  const auto byte_of = [](std::uint64_t offset) { return static_cast<char>('a' + offset % 23); };
  std::map<PacketIndex, std::string> packets;  // as they are sent
  std::uint64_t made = 0;
  const auto packet = [&](PacketIndex index) -> const std::string& {
    while (static_cast<PacketIndex>(packets.size()) <= index) {
      std::string text(random.chance(0.7) ? 5 : random.below(6), ' ');
      for (char& c : text) c = byte_of(made++);
      packets.emplace(static_cast<PacketIndex>(packets.size()), text);
    }
    return packets.at(index);
  };
  std::uint64_t read = 0;
  std::uint64_t waiting = 0;
  for (int step = 0; step < 30'000; ++step) {
    const PacketIndex index =
        box.buffer.contiguous() + static_cast<PacketIndex>(random.below(40)) - 1;
    if (box.buffer.check(index) == Outcome::stored)
      box.buffer.store(index, as_byte_view(packet(index)));
    if (random.chance(0.3)) {
      if (const auto run = box.buffer.take()) {
        for (const char c : as_text(*run)) REQUIRE(c == byte_of(read++));
        waiting += run->size();
      }
    }
    if (random.chance(0.3) && waiting > 0) {
      const std::uint64_t count = 1 + random.below(waiting);
      box.buffer.consume(count);
      waiting -= count;
    }
    REQUIRE(box.buffer.base() <= box.buffer.taken());
    REQUIRE(box.buffer.taken() <= box.buffer.contiguous());
    REQUIRE(box.buffer.contiguous() <= box.buffer.end());
    REQUIRE(box.buffer.end() - box.buffer.base() <= 37);
  }
  CHECK(read > 20'000);
}

}  // namespace
}  // namespace xfer::udt

#include "wire/loss_list_codec.hpp"

#include <array>
#include <vector>

#include "base/random.hpp"
#include "support/hex.hpp"

#include <catch2/catch.hpp>

namespace xfer::wire {
namespace {

struct Decoded {
  std::vector<LossRange> ranges;
  std::uint32_t malformed = 0;

  friend bool operator==(const Decoded&, const Decoded&) = default;
};

Decoded decode(ByteView body) {
  Decoded decoded;
  LossListReader reader(body);
  while (const auto range = reader.next()) decoded.ranges.push_back(*range);
  decoded.malformed = reader.malformed();
  // The end stays the end.
  CHECK_FALSE(reader.next().has_value());
  CHECK(reader.malformed() == decoded.malformed);
  return decoded;
}
Decoded decode(std::string_view hex) { return decode(test::from_hex(hex)); }

LossRange single(std::uint32_t number) { return {SeqNo(number), SeqNo(number)}; }
LossRange range(std::uint32_t first, std::uint32_t last) { return {SeqNo(first), SeqNo(last)}; }

// The draft's own example: singles and ranges mixed.
TEST_CASE("The loss list of the draft's example", "[wire]") {
  CHECK(decode("00000002 80000006 0000000b 0000000e") ==
        Decoded{{single(2), range(6, 11), single(14)}, 0});
}

// An empty NAK reports nothing and is nothing broken.
TEST_CASE("An empty loss list [D8]", "[wire]") { CHECK(decode("") == Decoded{}); }

// A range start at the very end has no last word to read; stock reads one beyond the packet.
TEST_CASE("A range start without an end is left out [D7]", "[wire]") {
  CHECK(decode("800003ed") == Decoded{{}, 1});
  CHECK(decode("00000001 800003ed") == Decoded{{single(1)}, 1});
  CHECK(decode("80000001 80000002 80000003") == Decoded{{}, 2});
}

// A reversed range is left out; what follows it still counts.
TEST_CASE("Reversed ranges are left out [I-9]", "[wire]") {
  CHECK(decode("80000005 00000004 00000009") == Decoded{{single(9)}, 1});
  CHECK(decode("80000000 7fffffff") == Decoded{{}, 1});
  CHECK(decode("80000000 40000000") == Decoded{{}, 1});
  CHECK(decode("80000000 3fffffff") == Decoded{{range(0, 0x3FFFFFFF)}, 0});
}

// An end with the range bit belongs to no entry, and the words after it are read from their own
// start.
TEST_CASE("A range end with the range bit is left out", "[wire]") {
  CHECK(decode("80000005 80000009 00000007") == Decoded{{single(7)}, 1});
}

// Bytes behind the last whole word are one malformed entry; nothing before them is lost.
TEST_CASE("Trailing bytes are counted, not read", "[wire]") {
  CHECK(decode("00000001 02") == Decoded{{single(1)}, 1});
  CHECK(decode("00000001 0203") == Decoded{{single(1)}, 1});
  CHECK(decode("00000001 020304") == Decoded{{single(1)}, 1});
  // Here a range start without its end as well.
  CHECK(decode("80000001 000000") == Decoded{{}, 2});
}

// A range may cross the end of the number circle, and a range of one is legal though we write it as
// a single.
TEST_CASE("Ranges across the wrap [E5]", "[wire]") {
  CHECK(decode("fffffffe 00000001") == Decoded{{range(0x7FFFFFFE, 1)}, 0});
  CHECK(decode("80000007 00000007") == Decoded{{single(7)}, 0});
}

// decode(encode(x)) == x for random lists; a single takes one word, a range two.
TEST_CASE("Loss lists survive a round trip [I-9]", "[wire]") {
  SeededRandom random(1);
  for (int round = 0; round < 500; ++round) {
    std::array<std::byte, 400> memory{};
    ByteWriter out(memory);
    Decoded expected;
    std::size_t size = 0;
    const std::uint64_t count = random.below(50);
    for (std::uint64_t i = 0; i < count; ++i) {
      const SeqNo first(static_cast<std::uint32_t>(random.next_u64()));
      const SeqNo last =
          random.chance(0.5)
              ? first
              : first.advanced(static_cast<std::int64_t>(1 + random.below(0x3FFFFFFF)));
      expected.ranges.push_back({first, last});
      REQUIRE(encode_loss_range(expected.ranges.back(), out));
      size += first == last ? 4U : 8U;
    }
    REQUIRE(out.size() == size);
    REQUIRE(decode(out.written()) == expected);
  }
}

// An entry is written whole or not at all, and a refusal leaves what was written usable.
TEST_CASE("A loss entry that might not fit is not begun", "[wire]") {
  std::array<std::byte, 12> memory{};
  ByteWriter out(memory);
  CHECK(encode_loss_range(range(1, 5), out));
  CHECK_FALSE(encode_loss_range(range(7, 9), out));
  CHECK_FALSE(encode_loss_range(single(7), out));
  CHECK(out.ok());
  CHECK(test::to_hex(out.written()) == "80000001 00000005");
}

}  // namespace
}  // namespace xfer::wire

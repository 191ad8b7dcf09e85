#include <array>
#include <vector>

#include "base/byte_reader.hpp"
#include "base/byte_writer.hpp"
#include "base/random.hpp"

#include <catch2/catch.hpp>

namespace xfer {
namespace {

constexpr std::array kSample = {std::byte{0x01}, std::byte{0x02}, std::byte{0x03}, std::byte{0x04},
                                std::byte{0x85}, std::byte{0x06}, std::byte{0x07}, std::byte{0x08}};

// Numbers are read most significant byte first, whatever the host's order is.
TEST_CASE("ByteReader reads big-endian numbers of every width [I-1]", "[base]") {
  CHECK(ByteReader(kSample).u8() == 0x01);
  CHECK(ByteReader(kSample).u16() == 0x0102);
  CHECK(ByteReader(kSample).u32() == 0x01020304);
  CHECK(ByteReader(kSample).u64() == 0x0102030485060708);
  static_assert(ByteReader(kSample).u32() == 0x01020304);
}

// A read that does not fit yields zero, consumes nothing and fails every later read too, so that a
// decoder may test ok() once at its end.
TEST_CASE("ByteReader fails for good at the first read past the end", "[base]") {
  ByteReader in(ByteView(kSample).first(5));
  CHECK(in.u32() == 0x01020304);
  CHECK(in.u32() == 0);
  CHECK_FALSE(in.ok());
  CHECK(in.remaining() == 1);
  CHECK(in.u8() == 0);
  CHECK(in.bytes(1).empty());
  CHECK_FALSE(in.ok());
}

// Each width is refused with every number of bytes below it and accepted with exactly enough.
TEST_CASE("ByteReader accepts exactly enough bytes", "[base]") {
  const auto fits = [](std::size_t width, auto read) {
    for (std::size_t size = 0; size <= kSample.size(); ++size) {
      ByteReader in(ByteView(kSample).first(size));
      read(in);
      CAPTURE(width, size);
      CHECK(in.ok() == (size >= width));
      CHECK(in.remaining() == (size >= width ? size - width : size));
    }
  };
  fits(1, [](ByteReader& in) { in.u8(); });
  fits(2, [](ByteReader& in) { in.u16(); });
  fits(4, [](ByteReader& in) { in.u32(); });
  fits(8, [](ByteReader& in) { in.u64(); });
  fits(3, [](ByteReader& in) { in.bytes(3); });
}

// Views returned are parts of the input, not copies, and rest() takes what is left, also when that
// is nothing.
TEST_CASE("ByteReader hands out views into its input", "[base]") {
  ByteReader in(kSample);
  in.u16();
  const ByteView middle = in.bytes(4);
  CHECK(middle.data() == kSample.data() + 2);
  CHECK(middle.size() == 4);
  CHECK(in.rest().size() == 2);
  CHECK(in.rest().empty());
  CHECK(in.ok());
  CHECK(ByteReader({}).rest().empty());
}

// A huge count must not wrap the bounds check around.
TEST_CASE("ByteReader refuses counts near the end of the number range", "[base]") {
  ByteReader in(kSample);
  in.u8();
  CHECK(in.bytes(~std::size_t{0}).empty());
  CHECK_FALSE(in.ok());
}

// What ByteWriter writes, ByteReader reads back, for random sequences of fields.
TEST_CASE("ByteWriter mirrors ByteReader", "[base]") {
  SeededRandom random(1);
  for (int round = 0; round < 500; ++round) {
    std::array<std::byte, 64> memory{};
    ByteWriter out(memory);
    std::vector<std::pair<std::size_t, std::uint64_t>> fields;
    while (true) {
      const std::size_t width = std::size_t{1} << random.below(4);
      if (width > out.room()) break;
      const std::uint64_t value = random.next_u64() >> (64 - 8 * width);
      fields.emplace_back(width, value);
      switch (width) {
        case 1:
          out.u8(static_cast<std::uint8_t>(value));
          break;
        case 2:
          out.u16(static_cast<std::uint16_t>(value));
          break;
        case 4:
          out.u32(static_cast<std::uint32_t>(value));
          break;
        default:
          out.u64(value);
          break;
      }
    }
    REQUIRE(out.ok());
    ByteReader in(out.written());
    for (const auto& [width, value] : fields) {
      const std::uint64_t read = width == 1   ? in.u8()
                                 : width == 2 ? in.u16()
                                 : width == 4 ? in.u32()
                                              : in.u64();
      REQUIRE(read == value);
    }
    CHECK(in.ok());
    CHECK(in.remaining() == 0);
  }
}

// A write that does not fit leaves the memory as it was and fails every later write too.
TEST_CASE("ByteWriter changes nothing once a write did not fit", "[base]") {
  std::array<std::byte, 7> memory;
  memory.fill(std::byte{0xEE});
  ByteWriter out(memory);
  out.u32(0x01020304);
  out.u32(0x05060708);
  CHECK_FALSE(out.ok());
  out.u8(9);
  out.bytes(ByteView(kSample).first(1));
  CHECK(out.size() == 4);
  CHECK(out.room() == 3);
  CHECK(out.written().size() == 4);
  CHECK(memory[3] == std::byte{0x04});
  for (std::size_t i = 4; i < memory.size(); ++i) CHECK(memory[i] == std::byte{0xEE});
}

// Runs of bytes are copied unchanged, and an empty run is no write at all.
TEST_CASE("ByteWriter copies runs of bytes untouched [I-1]", "[base]") {
  std::array<std::byte, 8> memory{};
  ByteWriter out(memory);
  out.bytes({});
  out.bytes(ByteView(kSample).first(3));
  out.bytes(ByteView(kSample).subspan(3));
  CHECK(out.ok());
  CHECK(memory == kSample);
  out.bytes({});
  CHECK(out.ok());
}

}  // namespace
}  // namespace xfer

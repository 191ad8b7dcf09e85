#include "wire/packet.hpp"

#include <array>

#include "base/random.hpp"

#include <catch2/catch.hpp>

namespace xfer::wire {
namespace {

template <typename T>
Header round_trip(const T& header) {
  std::array<std::byte, kHeaderSize> memory{};
  ByteWriter out(memory);
  encode(header, out);
  REQUIRE(out.ok());
  REQUIRE(out.size() == kHeaderSize);
  return *decode_header(memory);
}

// decode(encode(x)) == x for random data headers.
TEST_CASE("Data headers survive a round trip [I-1]", "[wire]") {
  SeededRandom random(1);
  for (int i = 0; i < 2000; ++i) {
    const DataHeader header{SeqNo(static_cast<std::uint32_t>(random.next_u64())),
                            static_cast<Boundary>(random.below(4)),
                            random.chance(0.5),
                            MsgNo(static_cast<std::uint32_t>(random.next_u64())),
                            static_cast<std::uint32_t>(random.next_u64()),
                            SocketId(static_cast<std::uint32_t>(random.next_u64()))};
    REQUIRE(std::get<DataHeader>(round_trip(header)) == header);
  }
}

// decode(encode(x)) == x for random control headers, types without a name included.
TEST_CASE("Control headers survive a round trip [I-1][I-26]", "[wire]") {
  SeededRandom random(2);
  for (int i = 0; i < 2000; ++i) {
    const ControlHeader header{static_cast<ControlType>(random.below(0x8000)),
                               static_cast<std::uint16_t>(random.next_u64()),
                               static_cast<std::uint32_t>(random.next_u64()),
                               static_cast<std::uint32_t>(random.next_u64()),
                               SocketId(static_cast<std::uint32_t>(random.next_u64()))};
    REQUIRE(std::get<ControlHeader>(round_trip(header)) == header);
  }
}

// Each field at both ends of its range fills its own bits and no others.
TEST_CASE("Header fields do not leak into each other", "[wire]") {
  const auto word = [](const auto& header, std::size_t index) {
    std::array<std::byte, kHeaderSize> memory{};
    ByteWriter out(memory);
    encode(header, out);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = (value << 8U) | std::to_integer<std::uint32_t>(memory[4 * index + i]);
    return value;
  };
  const DataHeader zero{SeqNo(0), Boundary::middle, false, MsgNo(0), 0, SocketId(0)};
  DataHeader data = zero;
  data.seq = SeqNo(SeqNo::kMax);
  CHECK(word(data, 0) == 0x7FFFFFFF);
  data.boundary = Boundary::solo;
  CHECK(word(data, 1) == 0xC0000000);
  data.boundary = Boundary::first;
  CHECK(word(data, 1) == 0x80000000);
  data.boundary = Boundary::last;
  CHECK(word(data, 1) == 0x40000000);
  data = zero;
  data.in_order = true;
  CHECK(word(data, 1) == 0x20000000);
  data = zero;
  data.message = MsgNo(MsgNo::kMax);
  CHECK(word(data, 1) == 0x1FFFFFFF);

  ControlHeader control{ControlType::handshake, 0, 0, 0, SocketId(0)};
  CHECK(word(control, 0) == 0x80000000);
  control.type = ControlType::user_defined;
  CHECK(word(control, 0) == 0xFFFF0000);
  control.type = ControlType::handshake;
  control.extended = 0xFFFF;
  CHECK(word(control, 0) == 0x8000FFFF);
}

// A header that does not fit into the memory given leaves the writer failed: nothing is sent cut
// short.
TEST_CASE("A header needs all its sixteen bytes of room", "[wire]") {
  std::array<std::byte, kHeaderSize - 1> memory{};
  ByteWriter out(memory);
  encode(DataHeader{}, out);
  CHECK_FALSE(out.ok());
}

// What follows the header is not looked at: its format is the business of each type.
TEST_CASE("Header decoding ignores what follows", "[wire]") {
  std::array<std::byte, 100> packet{};
  packet.fill(std::byte{0xFF});
  const auto header = decode_header(packet);
  REQUIRE(header);
  CHECK(std::get<ControlHeader>(*header).destination.value() == 0xFFFFFFFF);
  CHECK_FALSE(std::get<ControlHeader>(*header).destination.valid());
}

}  // namespace
}  // namespace xfer::wire

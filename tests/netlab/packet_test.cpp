#include "packet.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/byte_writer.hpp"
#include "base/random.hpp"

namespace xfer::netlab {
namespace {

using Bytes = std::vector<std::byte>;

struct TestPacket {
  OffloadHeader offload;
  Bytes bytes;
};

constexpr std::size_t kIp = 20;

std::uint32_t number(ByteView bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (const std::byte b : bytes.subspan(at, size))
    value = value << 8U | std::to_integer<unsigned>(b);
  return value;
}

void put(Bytes& bytes, std::size_t at, std::size_t size, std::uint32_t value) {
  for (std::size_t i = size; i-- > 0; value >>= 8U) bytes[at + i] = static_cast<std::byte>(value);
}

/// Ones' complement sum, the slow way.
std::uint32_t sum_of(ByteView bytes, std::uint32_t sum = 0) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    sum += std::to_integer<unsigned>(bytes[i]) << (i % 2 == 0 ? 8U : 0U);
  while (sum > 0xFFFF) sum = (sum & 0xFFFFU) + (sum >> 16U);
  return sum;
}

Bytes ip_packet(std::uint8_t protocol, std::size_t headers, std::size_t payload) {
  Bytes bytes(kIp + headers + payload);
  put(bytes, 0, 2, 0x4500);
  put(bytes, 2, 2, static_cast<std::uint32_t>(bytes.size()));
  put(bytes, 4, 4, 0xFFFE'4000);  // identification close to its wrap; no fragments
  put(bytes, 8, 2, 64U << 8U | protocol);
  put(bytes, 12, 4, 0x0A4D'0001);
  put(bytes, 16, 4, 0x0A4D'0002);
  put(bytes, 10, 2, ~sum_of(ByteView(bytes).first(kIp)) & 0xFFFFU);
  SeededRandom random(payload);
  for (std::size_t i = kIp + headers; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(random.next_u64());
  return bytes;
}

void put_pseudo_sum(Bytes& bytes, std::size_t at) {
  const auto inner = static_cast<std::uint32_t>(bytes.size() - kIp);
  put(bytes, at, 2, sum_of(ByteView(bytes).subspan(12, 8), number(bytes, 9, 1) + inner));
}

TestPacket udp(std::size_t payload, std::size_t segment = 0, std::uint32_t ports = 0x1000'2000) {
  TestPacket packet{{}, ip_packet(17, 8, payload)};
  put(packet.bytes, kIp, 4, ports);
  put(packet.bytes, kIp + 4, 2, static_cast<std::uint32_t>(8 + payload));
  put_pseudo_sum(packet.bytes, kIp + 6);
  packet.offload = {kNeedsChecksum,
                    segment > 0 ? kCutUdp : kCutNothing,
                    0,
                    static_cast<std::uint16_t>(segment),
                    kIp,
                    6};
  return packet;
}

constexpr std::uint8_t kAck = 0x10;
constexpr std::uint8_t kPush = 0x08;
constexpr std::uint8_t kFin = 0x01;

/// With an option of 12 bytes, as TCP's timestamps.
TestPacket tcp(std::size_t payload, std::size_t segment = 0, std::uint8_t flags = kAck) {
  TestPacket packet{{}, ip_packet(6, 32, payload)};
  put(packet.bytes, kIp, 4, 0x1000'2000);
  put(packet.bytes, kIp + 4, 4, 0xFFFF'FF00);  // wraps
  put(packet.bytes, kIp + 8, 4, 4711);
  put(packet.bytes, kIp + 12, 2, 0x8000U | flags);
  put(packet.bytes, kIp + 14, 2, 500);
  put(packet.bytes, kIp + 20, 4, 0x0101'080A);
  put_pseudo_sum(packet.bytes, kIp + 16);
  packet.offload = {kNeedsChecksum,
                    segment > 0 ? kCutTcp4 : kCutNothing,
                    0,
                    static_cast<std::uint16_t>(segment),
                    kIp,
                    16};
  return packet;
}

/// The packets that `packet` is cut into, in memory of `pool`.
std::vector<WirePacket*> cut(const TestPacket& packet, PacketPool& pool) {
  const Cutter cutter(packet.offload, packet.bytes);
  std::vector<WirePacket*> packets;
  for (std::size_t i = 0; i < cutter.count(); ++i) {
    packets.push_back(pool.take());
    REQUIRE(packets.back() != nullptr);
    cutter.write(i, *packets.back());
    CHECK(packets.back()->length <= cutter.longest());
  }
  return packets;
}

/// What a train hands over.
TestPacket joined(Train& train) {
  TestPacket result;
  const auto& pieces = train.pieces();
  std::memcpy(&result.offload, pieces[0].iov_base, sizeof result.offload);
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const auto* begin = static_cast<const std::byte*>(pieces[i].iov_base);
    result.bytes.insert(result.bytes.end(), begin, begin + pieces[i].iov_len);
  }
  return result;
}

/// Headers that say the truth about the packet they are in.
void check_wire(const WirePacket& packet, std::size_t checksum_at) {
  CHECK(number(packet.bytes(), 2, 2) == packet.length);
  CHECK(sum_of(packet.bytes().first(kIp)) == 0xFFFF);
  Bytes expected(packet.bytes().begin(), packet.bytes().end());
  put_pseudo_sum(expected, checksum_at);
  CHECK(ByteView(expected).size() == packet.length);
  CHECK(std::equal(expected.begin(), expected.end(), packet.data));
  CHECK(packet.partial_checksum);
}

constexpr std::size_t kPoolBytes = 1 << 20;

}  // namespace

// A UDP super-packet becomes datagrams of the segment size, the last one shorter, whose headers are
// true; joined again they are the packet that was.
TEST_CASE("packet: a UDP super-packet is cut and joined") {
  PacketPool pool(1500, kPoolBytes);
  const TestPacket whole = udp(1456 * 9 + 100, 1456);
  const auto packets = cut(whole, pool);
  REQUIRE(packets.size() == 10);
  Train train;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    CAPTURE(i);
    CHECK(packets[i]->length == (i < 9 ? 28 + 1456 : 28 + 100));
    CHECK(number(packets[i]->bytes(), kIp + 4, 2) == packets[i]->length - kIp);
    CHECK(number(packets[i]->bytes(), 4, 2) == ((0xFFFE + i) & 0xFFFF));
    check_wire(*packets[i], kIp + 6);
    CHECK(train.append(*packets[i]));
  }
  const TestPacket again = joined(train);
  CHECK(again.bytes == whole.bytes);
  CHECK(again.offload.gso_type == kCutUdp);
  CHECK(again.offload.segment_size == 1456);
  CHECK(again.offload.flags == kNeedsChecksum);
}

// The same for TCP, whose sequence numbers go on across their wrap, and which says PSH and FIN in
// the last segment only.
TEST_CASE("packet: a TCP super-packet is cut and joined") {
  PacketPool pool(1500, kPoolBytes);
  const TestPacket whole = tcp(1448 * 3 + 1, 1448, kAck | kPush | kFin);
  const auto packets = cut(whole, pool);
  REQUIRE(packets.size() == 4);
  Train train;
  for (std::uint32_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(number(packets[i]->bytes(), kIp + 4, 4) == 0xFFFF'FF00 + i * 1448);
    CHECK(number(packets[i]->bytes(), kIp + 13, 1) == (i < 3 ? kAck : kAck | kPush | kFin));
    check_wire(*packets[i], kIp + 16);
    CHECK(train.append(*packets[i]));
  }
  const TestPacket again = joined(train);
  CHECK(again.bytes == whole.bytes);
  CHECK(again.offload.gso_type == kCutTcp4);
  CHECK(again.offload.segment_size == 1448);
  CHECK(again.offload.header_length == kIp + 32);
}

// A packet that is not to be cut passes unchanged, with what the kernel said about its checksum.
TEST_CASE("packet: single packets pass unchanged") {
  PacketPool pool(1500, kPoolBytes);
  Bytes fragment = udp(1000).bytes;
  put(fragment, 6, 2, 0x2000);
  for (const TestPacket& packet :
       {udp(1000), tcp(0), TestPacket{{}, Bytes(60, std::byte{0x60})}, TestPacket{{}, fragment}}) {
    const auto packets = cut(packet, pool);
    REQUIRE(packets.size() == 1);
    Train train;
    REQUIRE(train.append(*packets[0]));
    const TestPacket same = joined(train);
    CHECK(same.bytes == packet.bytes);
    CHECK(same.offload.flags == packet.offload.flags);
    CHECK(same.offload.gso_type == kCutNothing);
    CHECK(same.offload.checksum_start == packet.offload.checksum_start);
  }
  CHECK(layout_of(fragment).protocol == Protocol::other);
}

// What a receiver could tell apart is not joined: other flows, a longer datagram, one behind a
// shorter one, empty ones, gaps in TCP, other flags, windows or options.
TEST_CASE("packet: what must not be joined") {
  PacketPool pool(1500, kPoolBytes);
  const auto joins = [&pool](const TestPacket& first, const TestPacket& second) {
    Train train;
    REQUIRE(train.append(*cut(first, pool).at(0)));
    return train.append(*cut(second, pool).at(0));
  };
  CHECK(joins(udp(1000), udp(1000)));
  CHECK(joins(udp(1000), udp(999)));
  CHECK_FALSE(joins(udp(999), udp(1000)));
  CHECK_FALSE(joins(udp(1000), udp(0)));
  CHECK_FALSE(joins(udp(0), udp(0)));
  CHECK_FALSE(joins(udp(1000), udp(1000, 0, 0x1000'2001)));
  CHECK_FALSE(joins(udp(1000), tcp(1000)));
  TestPacket other_class = udp(1000);
  put(other_class.bytes, 1, 1, 4);
  CHECK_FALSE(joins(udp(1000), other_class));
  TestPacket summed = udp(1000);
  summed.offload.flags = 0;
  CHECK_FALSE(joins(summed, summed));

  TestPacket next = tcp(1000);
  put(next.bytes, kIp + 4, 4, 0xFFFF'FF00 + 1000);
  CHECK(joins(tcp(1000), next));
  CHECK_FALSE(joins(tcp(1000), tcp(1000)));
  CHECK_FALSE(joins(tcp(1000, 0, kAck | kPush), next));
  for (const std::size_t at : {8U, 13U, 15U, 31U}) {
    CAPTURE(at);
    TestPacket changed = next;
    changed.bytes[kIp + at] ^= std::byte{4};
    CHECK_FALSE(joins(tcp(1000), changed));
  }
}

// A train ends at the kernel's limits: 64 packets, and 65 535 bytes.
TEST_CASE("packet: longest trains") {
  PacketPool pool(1500, kPoolBytes);
  for (const auto& [size, most] : {std::pair<std::size_t, std::size_t>{100, 64}, {1472, 44}}) {
    Train train;
    std::size_t count = 0;
    while (count < 100 && train.append(*cut(udp(size), pool)[0])) ++count;
    CHECK(count == most);
  }
}

// Nothing that claims to be a super-packet but is none gets cut.
TEST_CASE("packet: malformed super-packets") {
  PacketPool pool(1500, kPoolBytes);
  TestPacket packet = udp(3000, 1456);
  packet.offload.segment_size = 0;
  CHECK(cut(packet, pool).empty());
  packet = udp(3000, 1456);
  packet.offload.gso_type = kCutTcp4;
  CHECK(cut(packet, pool).empty());
  for (const TestPacket& whole : {udp(3000, 1456), tcp(3000, 1448)}) {
    for (std::size_t length = 0; length < whole.bytes.size(); ++length) {
      TestPacket prefix = whole;
      prefix.bytes.resize(length);
      if (!cut(prefix, pool).empty()) FAIL("cut a prefix of " << length << " bytes");
    }
  }
}

// The pool gives out no more than its ceiling, and again what came back.
TEST_CASE("packet: pool") {
  PacketPool pool(1500, 10 * 1536);
  std::vector<WirePacket*> packets;
  while (WirePacket* packet = pool.take()) packets.push_back(packet);
  CHECK(packets.size() == 10);
  pool.give_back(packets[3]);
  CHECK(pool.take() == packets[3]);
  CHECK(pool.take() == nullptr);
}

// A packet that must not be cut is answered as by a router: type 3, code 4, the MTU, the beginning
// of the packet, true checksums, to its sender. One that may be cut is not.
TEST_CASE("packet: fragmentation needed") {
  const Bytes packet = udp(1400).bytes;
  const auto answer = fragmentation_needed(packet, 1300);
  REQUIRE(answer);
  CHECK(answer->size() == 576);
  CHECK(number(*answer, 2, 2) == answer->size());
  CHECK(number(*answer, 9, 1) == 1);
  CHECK(number(*answer, 12, 4) == 0x0A4D'0002);
  CHECK(number(*answer, 16, 4) == 0x0A4D'0001);
  CHECK(number(*answer, kIp, 2) == 0x0304);
  CHECK(number(*answer, kIp + 6, 2) == 1300);
  CHECK(sum_of(ByteView(*answer).first(kIp)) == 0xFFFF);
  CHECK(sum_of(ByteView(*answer).subspan(kIp)) == 0xFFFF);
  CHECK(std::equal(answer->begin() + 28, answer->end(), packet.begin()));
  Bytes may_be_cut = packet;
  put(may_be_cut, 6, 2, 0);
  CHECK_FALSE(fragmentation_needed(may_be_cut, 1300));
}

}  // namespace xfer::netlab

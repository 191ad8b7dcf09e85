#include "udt/packet_index.hpp"

#include "udt/ack_history.hpp"
#include "udt/sent_packets.hpp"

#include <catch2/catch.hpp>

namespace xfer::udt {
namespace {

// Index to number and back is the identity for any index within half a circle of the reference, at
// every initial number near a power of two or the wrap.
TEST_CASE("Indices survive the way over the wire and the wrap [E5]", "[udt][E5]") {
  for (const std::uint32_t isn :
       {0U, 1U, 1000U, 0x3FFFFFFFU, 0x40000000U, 0x7FFFFFF0U, 0x7FFFFFFFU}) {
    const SeqMapper mapper{wire::SeqNo(isn)};
    for (const std::int64_t near :
         {std::int64_t{0}, std::int64_t{15}, std::int64_t{1} << 31, (std::int64_t{1} << 40) + 3}) {
      for (const std::int64_t offset :
           {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{8191},
            (std::int64_t{1} << 30) - 1, -(std::int64_t{1} << 30)}) {
        CAPTURE(isn, near, offset);
        CHECK(mapper.to_index(mapper.to_seq(near + offset), near) == near + offset);
      }
    }
  }
}

// A number just before the first packet is negative, not four billion.
TEST_CASE("Numbers before the first packet have negative indices", "[udt]") {
  const SeqMapper mapper{wire::SeqNo(0)};
  CHECK(mapper.to_index(wire::SeqNo(wire::SeqNo::kMax), 0) == -1);
  CHECK(mapper.isn() == wire::SeqNo(0));
}

// The ring keeps each record at its index while it doubles, whatever was released before.
TEST_CASE("Sent packets keep their records while the ring grows", "[udt]") {
  SentPackets packets;
  CHECK(packets.in_flight() == 0);
  PacketIndex pushed = 0;
  const auto push = [&](PacketIndex count) {
    for (PacketIndex i = 0; i < count; ++i, ++pushed)
      packets.push_back({static_cast<std::uint64_t>(pushed) * 10, 7, 1, TimePoint{}});
  };
  push(50);
  packets.release(40);
  for (const PacketIndex grown :
       {PacketIndex{63}, PacketIndex{64}, PacketIndex{65}, PacketIndex{1000}}) {
    push(grown + 40 - pushed);
    CHECK(packets.in_flight() == grown);
    for (PacketIndex i = packets.begin(); i < packets.end(); ++i)
      REQUIRE(packets[i].offset == static_cast<std::uint64_t>(i) * 10);
  }
  packets.release(packets.end());
  CHECK(packets.in_flight() == 0);
}

// An ACK is found by its number once; a number that was never used, or whose place a later ACK
// took, is not found.
TEST_CASE("An ACK2 finds its ACK once", "[udt]") {
  const auto history = std::make_unique<AckHistory>();
  const wire::AckNo number(wire::AckNo::kMax);
  CHECK_FALSE(history->take(number));
  CHECK_FALSE(history->take(wire::AckNo(0)));  // an empty slot is not ACK 0
  history->store({number, 55, TimePoint{3s}});
  const auto entry = history->take(number);
  REQUIRE(entry);
  CHECK(entry->next == 55);
  CHECK(entry->sent == TimePoint{3s});
  CHECK_FALSE(history->take(number));

  history->store({wire::AckNo(5), 1, TimePoint{}});
  history->store({wire::AckNo(5 + 1024), 2, TimePoint{}});
  CHECK_FALSE(history->take(wire::AckNo(5)));
  CHECK(history->take(wire::AckNo(5 + 1024))->next == 2);
  history->store({wire::AckNo(5), 1, TimePoint{}});
  history->store({wire::AckNo(5 + 1023), 2, TimePoint{}});
  CHECK(history->take(wire::AckNo(5))->next == 1);
}

}  // namespace
}  // namespace xfer::udt

#include "wire/control.hpp"

#include <array>
#include <vector>

#include "base/random.hpp"
#include "support/hex.hpp"

#include <catch2/catch.hpp>

namespace xfer::wire {
namespace {

template <typename T>
std::vector<std::byte> encoded(const T& body) {
  std::vector<std::byte> memory(64);
  ByteWriter out(memory);
  encode(body, out);
  REQUIRE(out.ok());
  memory.resize(out.size());
  return memory;
}

// decode(encode(x)) == x for the three kinds of ACK, and their lengths without report are the only
// ones stock reads rightly.
TEST_CASE("ACK bodies survive a round trip at 4, 16 and 24 bytes, and with a report [I-7]",
          "[wire]") {
  SeededRandom random(1);
  const auto word = [&random] { return static_cast<std::uint32_t>(random.next_u64()); };
  for (int i = 0; i < 3000; ++i) {
    AckBody ack;
    ack.kind = static_cast<AckBody::Kind>(random.below(3));
    ack.next = SeqNo(word());
    if (ack.kind != AckBody::Kind::light) {
      ack.rtt_us = word();
      ack.rtt_var_us = word();
      ack.window = word();
    }
    if (ack.kind == AckBody::Kind::full) {
      ack.arrival_rate = word();
      ack.capacity = word();
    }
    const bool reports = ack.kind != AckBody::Kind::partial && random.below(2) == 0;
    if (reports) {
      ack.report.emplace();
      ack.report->received = word();
      ack.report->end = SeqNo(word());
      if (ack.kind == AckBody::Kind::full) {
        ack.report->duplicates = word();
        ack.report->delay_us = word();
      }
    }
    const auto body = encoded(ack);
    REQUIRE(body.size() == (ack.kind == AckBody::Kind::light     ? (reports ? 12U : 4U)
                            : ack.kind == AckBody::Kind::partial ? 16U
                            : reports                            ? 40U
                                                                 : 24U));
    REQUIRE(*decode_ack(body) == ack);
  }
}

// The length decides the kind: 4 light, 12 light with a report, from 16 partial, from 24 full, from
// 40 with a report; the others up to 15 would make stock read stale memory.
TEST_CASE("ACK bodies of every length from 0 to 40 [I-7][D10]", "[wire]") {
  std::vector<std::byte> body(40);
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::byte>(i);
  for (std::size_t size = 0; size <= body.size(); ++size) {
    CAPTURE(size);
    const auto ack = decode_ack(ByteView(body).first(size));
    if (size < 4) {
      REQUIRE_FALSE(ack);
      CHECK(ack.error().code == ErrorCode::truncated);
    } else if (size > 4 && size < 16 && size != 12) {
      REQUIRE_FALSE(ack);
      CHECK(ack.error().code == ErrorCode::malformed);
    } else {
      REQUIRE(ack);
      CHECK(ack->kind == (size < 16   ? AckBody::Kind::light
                          : size < 24 ? AckBody::Kind::partial
                                      : AckBody::Kind::full));
      CHECK(ack->next == SeqNo(0x00010203));
      CHECK(ack->window == (size < 16 ? 0U : 0x0C0D0E0FU));
      CHECK(ack->report.has_value() == (size == 12 || size == 40));
      if (size == 12) CHECK(*ack->report == DeliveryReport{0x04050607, SeqNo(0x08090A0B)});
      CHECK(ack->capacity == (size < 24 ? 0U : 0x14151617U));
    }
  }
}

// A number with the top bit set is none: no kind of ACK carries it in.
TEST_CASE("ACK numbers have 31 bits", "[wire]") {
  for (const std::size_t size : {std::size_t{4}, std::size_t{16}, std::size_t{24}}) {
    std::vector<std::byte> body(size);
    body[0] = std::byte{0x80};
    const auto ack = decode_ack(body);
    REQUIRE_FALSE(ack);
    CHECK(ack.error().code == ErrorCode::malformed);
  }
}

// decode(encode(x)) == x for message drops, ranges across the wrap included.
TEST_CASE("Message drops survive a round trip [I-22]", "[wire]") {
  SeededRandom random(2);
  for (int i = 0; i < 2000; ++i) {
    const SeqNo first(static_cast<std::uint32_t>(random.next_u64()));
    const MessageDropBody drop{first,
                               first.advanced(static_cast<std::int64_t>(random.below(0x40000000)))};
    const auto body = encoded(drop);
    REQUIRE(body.size() == 8);
    REQUIRE(*decode_message_drop(body) == drop);
  }
}

// A reversed range would keep a stock peer in a loop of 2^31 turns; numbers have 31 bits.
TEST_CASE("Reversed message drops are refused [D12]", "[wire]") {
  const auto refused = [](std::string_view hex) {
    const auto drop = decode_message_drop(test::from_hex(hex));
    return !drop && drop.error().code == ErrorCode::malformed;
  };
  CHECK(refused("00000005 00000004"));
  CHECK(refused("00000000 7fffffff"));
  CHECK(refused("00000000 40000000"));
  CHECK(refused("80000001 00000002"));
  CHECK(refused("00000001 80000002"));
  CHECK_FALSE(refused("00000005 00000005"));
  CHECK_FALSE(refused("7fffffff 00000000"));
  CHECK_FALSE(refused("00000000 3fffffff"));
}

// Shorter than two words is no message drop; more than two is read as two.
TEST_CASE("Message drops shorter than eight bytes are refused [D13]", "[wire]") {
  const auto body = test::from_hex("00000001 00000002 00000003");
  for (std::size_t size = 0; size <= body.size(); ++size) {
    CAPTURE(size);
    const auto drop = decode_message_drop(ByteView(body).first(size));
    REQUIRE(drop.has_value() == (size >= 8));
    if (!drop) CHECK(drop.error().code == ErrorCode::truncated);
  }
}

// Types without a body carry one zero word, as stock peers send it.
TEST_CASE("Padding is one zero word [I-13][I-14]", "[wire]") {
  std::array<std::byte, 8> memory{};
  memory.fill(std::byte{0xEE});
  ByteWriter out(memory);
  encode_padding(out);
  CHECK(test::to_hex(out.written()) == "00000000");
}

}  // namespace
}  // namespace xfer::wire

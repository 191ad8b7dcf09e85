#include <array>
#include <optional>
#include <string>
#include <vector>

#include "goldens.hpp"
#include "support/hex.hpp"
#include "wire/control.hpp"
#include "wire/handshake.hpp"
#include "wire/loss_list_codec.hpp"
#include "wire/packet.hpp"

#include <catch2/catch.hpp>

namespace xfer::wire {
namespace {

using test::from_hex;
using test::to_hex;

/// Decodes a packet completely and builds it again from nothing but the decoded structs; an error
/// if any part of it was refused.
Result<std::string> rebuild(ByteView packet) {
  std::array<std::byte, 128> memory{};
  ByteWriter out(memory);
  const Result<Header> header = decode_header(packet);
  if (!header) return header.error();
  const ByteView body = packet.subspan(kHeaderSize);
  if (const auto* data = std::get_if<DataHeader>(&*header)) {
    encode(*data, out);
    out.bytes(body);
    return to_hex(out.written());
  }

  const auto& control = std::get<ControlHeader>(*header);
  encode(control, out);
  switch (control.type) {
    case ControlType::handshake: {
      const auto handshake = decode_handshake(body);
      if (!handshake) return handshake.error();
      encode(*handshake, out);
      break;
    }
    case ControlType::ack: {
      const auto ack = decode_ack(body);
      if (!ack) return ack.error();
      encode(*ack, out);
      break;
    }
    case ControlType::nak: {
      LossListReader reader(body);
      while (const auto range = reader.next()) encode_loss_range(*range, out);
      if (reader.malformed() != 0) return ErrorCode::malformed;
      break;
    }
    case ControlType::message_drop: {
      const auto drop = decode_message_drop(body);
      if (!drop) return drop.error();
      encode(*drop, out);
      break;
    }
    default:
      encode_padding(out);
      break;
  }
  return to_hex(out.written());
}

Header header_of(std::string_view golden) {
  const auto bytes = from_hex(golden);
  return *decode_header(bytes);
}
std::vector<std::byte> body_of(std::string_view golden) {
  auto bytes = from_hex(golden);
  bytes.erase(bytes.begin(), bytes.begin() + kHeaderSize);
  return bytes;
}

// Every packet type of a stock peer decodes, and encoding what was decoded gives the same bytes
// again.
TEST_CASE("Goldens survive decoding and encoding byte for byte [I-1][I-2][I-7][I-14]", "[wire]") {
  for (const Golden& golden : kGoldens) {
    CAPTURE(golden.name);
    const auto packet = from_hex(golden.hex);
    const auto again = rebuild(packet);
    REQUIRE(again);
    CHECK(*again == to_hex(packet));
  }
}

// No shorter prefix of a header is a header.
TEST_CASE("Prefixes of a header are refused [I-1]", "[wire]") {
  for (const Golden& golden : kGoldens) {
    const auto packet = from_hex(golden.hex);
    for (std::size_t size = 0; size < kHeaderSize; ++size) {
      CAPTURE(golden.name, size);
      const auto header = decode_header(ByteView(packet).first(size));
      REQUIRE_FALSE(header);
      CHECK(header.error().code == ErrorCode::truncated);
    }
  }
}

// A shorter prefix of a body is refused with the error its docstring names, or is the shorter body
// that it happens to be on the wire (an ACK cut to 4, 12 or 16 bytes, a NAK cut between entries).
TEST_CASE("Prefixes of a body are refused [I-2][I-7][D7][D8][D10][D13]", "[wire]") {
  for (const std::string_view golden :
       {kHandshakeRequest, kCookieAnswer, kConclusion, kFinalAnswer}) {
    const auto body = body_of(golden);
    for (std::size_t size = 0; size < body.size(); ++size) {
      CAPTURE(size);
      const auto decoded = decode_handshake(ByteView(body).first(size));
      REQUIRE_FALSE(decoded);
      CHECK(decoded.error().code == ErrorCode::truncated);
    }
  }

  for (const std::string_view golden : {kFullAck, kPartialAck, kLightAck}) {
    const auto body = body_of(golden);
    for (std::size_t size = 0; size < body.size(); ++size) {
      CAPTURE(size);
      const auto decoded = decode_ack(ByteView(body).first(size));
      const bool shorter_kind = size == 4 || size == 12 || size >= 16;
      REQUIRE(decoded.has_value() == shorter_kind);
      if (!decoded)
        CHECK(decoded.error().code == (size < 4 ? ErrorCode::truncated : ErrorCode::malformed));
      if (decoded) CHECK(decoded->kind != AckBody::Kind::full);
    }
  }

  const auto drop = body_of(kMessageDrop);
  for (std::size_t size = 0; size < drop.size(); ++size) {
    CAPTURE(size);
    const auto decoded = decode_message_drop(ByteView(drop).first(size));
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == ErrorCode::truncated);
  }

  for (const std::string_view golden : {kNakSingle, kNakRange}) {
    const auto body = body_of(golden);
    for (std::size_t size = 0; size < body.size(); ++size) {
      CAPTURE(size);
      LossListReader reader(ByteView(body).first(size));
      CHECK_FALSE(reader.next().has_value());
      CHECK((reader.malformed() > 0) == (size > 0));
    }
  }
}

TEST_CASE("Golden handshakes hold the expected fields [I-2][I-3]", "[wire]") {
  // The four handshakes of a connection differ in destination, request type, socket ID and cookie
  // only.
  Handshake expected;
  expected.version = 4;
  expected.socket_type = 1;
  expected.isn = 1000;
  expected.mss = 1500;
  expected.flight_window = 8192;
  expected.request = RequestType::induction;
  expected.socket_id = SocketId(777);
  expected.peer_ip = {0x0100007F, 0, 0, 0};
  CHECK(*decode_handshake(body_of(kHandshakeRequest)) == expected);
  expected.cookie = 0x8988B31E;
  CHECK(*decode_handshake(body_of(kCookieAnswer)) == expected);
  expected.request = RequestType::conclusion;
  CHECK(*decode_handshake(body_of(kConclusion)) == expected);
  expected.socket_id = SocketId(888);
  CHECK(*decode_handshake(body_of(kFinalAnswer)) == expected);

  CHECK(std::get<ControlHeader>(header_of(kHandshakeRequest)) ==
        ControlHeader{ControlType::handshake, 0, 0, 0, SocketId(0)});
  CHECK(std::get<ControlHeader>(header_of(kFinalAnswer)) ==
        ControlHeader{ControlType::handshake, 0, 0, 0, SocketId(777)});
}

TEST_CASE("Golden data packets hold the expected fields", "[wire]") {
  // Word 1 splits into boundary, order flag and message number; the payload is untouched.
  CHECK(std::get<DataHeader>(header_of(kDataSolo)) ==
        DataHeader{SeqNo(1000), Boundary::solo, false, MsgNo(1), 7577, SocketId(888)});
  CHECK(as_text(body_of(kDataSolo)) == "abcd");
  CHECK(std::get<DataHeader>(header_of(kDataFirst)) ==
        DataHeader{SeqNo(1000), Boundary::first, true, MsgNo(2), 7577, SocketId(888)});
  CHECK(std::get<DataHeader>(header_of(kDataMiddle)) ==
        DataHeader{SeqNo(1001), Boundary::middle, true, MsgNo(2), 7577, SocketId(888)});
  CHECK(std::get<DataHeader>(header_of(kDataLast)) ==
        DataHeader{SeqNo(1002), Boundary::last, true, MsgNo(2), 7577, SocketId(888)});
}

TEST_CASE("Golden control packets hold the expected fields [I-8]", "[wire]") {
  // Each golden decodes to what its name says; the ACK's fourth word counts packets.
  const auto control = [](std::string_view golden) {
    return std::get<ControlHeader>(header_of(golden));
  };
  CHECK(control(kKeepAlive) == ControlHeader{ControlType::keep_alive, 0, 0, 0, SocketId(888)});
  CHECK(control(kFullAck) == ControlHeader{ControlType::ack, 0, 1, 0, SocketId(777)});
  CHECK(control(kLightAck) == ControlHeader{ControlType::ack, 0, 0, 0, SocketId(777)});
  CHECK(control(kNakRange) == ControlHeader{ControlType::nak, 0, 0, 0, SocketId(777)});
  CHECK(control(kShutdown) == ControlHeader{ControlType::shutdown, 0, 0, 0, SocketId(888)});
  CHECK(control(kAck2) == ControlHeader{ControlType::ack2, 0, 2, 0, SocketId(888)});
  CHECK(control(kMessageDrop) == ControlHeader{ControlType::message_drop, 0, 2, 0, SocketId(888)});
  CHECK(control(kErrorSignal) ==
        ControlHeader{ControlType::error_signal, 0, 4000, 0, SocketId(888)});
  CHECK(control(kUserType5) == ControlHeader{ControlType::user_defined, 5, 0, 0, SocketId(888)});

  CHECK(*decode_ack(body_of(kFullAck)) ==
        AckBody{AckBody::Kind::full, SeqNo(1001), 100'000, 50'000, 8190, 1, 1000});
  CHECK(*decode_ack(body_of(kPartialAck)) ==
        AckBody{AckBody::Kind::partial, SeqNo(1002), 100'000, 50'000, 8189, 0, 0});
  CHECK(*decode_ack(body_of(kLightAck)) ==
        AckBody{AckBody::Kind::light, SeqNo(1066), 0, 0, 0, 0, 0});
  CHECK(*decode_message_drop(body_of(kMessageDrop)) == MessageDropBody{SeqNo(1004), SeqNo(1007)});

  const auto single = body_of(kNakSingle);
  CHECK(LossListReader(single).next() == LossRange{SeqNo(1005), SeqNo(1005)});
  const auto range = body_of(kNakRange);
  CHECK(LossListReader(range).next() == LossRange{SeqNo(1005), SeqNo(1009)});
}

}  // namespace
}  // namespace xfer::wire

#include "session/messages.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace xfer::session {
namespace {

using Bytes = std::vector<std::byte>;

template <typename Message>
Bytes encoded(const Message& message) {
  Bytes bytes(kMaxControlFrame);
  ByteWriter out(bytes);
  encode(out, message);
  REQUIRE(out.ok());
  bytes.resize(out.size());
  return bytes;
}

Bytes from_hex(std::string_view hex) {
  const auto digit = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  return bytes;
}

Result<Message> decoded(ByteView frame) {
  const auto header = decode_header(frame);
  if (!header) return header.error();
  if (frame.size() - kFrameHeaderSize < header->body_size) return ErrorCode::truncated;
  return decode_body(header->type, frame.subspan(kFrameHeaderSize, header->body_size));
}

Entry sample_entry() {
  Entry entry;
  entry.id = 7;
  entry.mode = 0640;
  entry.mtime_ns = -1;
  entry.size = 0x0102030405060708;
  entry.path = "a/b";
  return entry;
}

End sample_end() {
  End end;
  end.id = 7;
  end.status = EndStatus::changed;
  end.size = 5;
  end.hash.fill(std::byte{0xAB});
  return end;
}

/// Every message with every field set, and the bytes that docs/transfer-protocol.md promises for
/// it.
struct Golden {
  Message message;
  const char* hex;
};

std::vector<Golden> goldens() {
  Entry directory;
  directory.id = 1;
  directory.kind = EntryKind::directory;
  directory.mode = 0755;
  directory.path = "d";
  return {
      {Hello{1, Role::sender},
       "0100000858464552"
       "00010100"},
      {Hello{0x0203, Role::receiver},
       "0100000858464552"
       "02030200"},
      {sample_entry(),
       "0200001d"
       "00000007"
       "01"
       "03"
       "000001a0"
       "ffffffffffffffff"
       "0102030405060708"
       "612f62"},
      {directory,
       "0200001b"
       "00000001"
       "02"
       "00"
       "000001ed"
       "0000000000000000"
       "0000000000000000"
       "64"},
      {sample_end(),
       "0400001d"
       "00000007"
       "02"
       "0000000000000005"
       "abababababababababababababababab"},
      {Done{3, 1, 0x100},
       "05000010"
       "00000003"
       "00000001"
       "0000000000000100"},
      {Alive{}, "06000000"},
      {Abort{ErrorCode::no_space, "full"},
       "07000006"
       "0002"
       "66756c6c"},
      {Verdict{9, std::nullopt, ""},
       "08000006"
       "00000009"
       "0000"},
      {Verdict{9, ErrorCode::integrity, "x"},
       "08000007"
       "00000009"
       "0006"
       "78"},
      {Final{2, 1, 0x0a, ErrorCode::source_error},
       "09000012"
       "00000002"
       "00000001"
       "000000000000000a"
       "0004"},
  };
}

bool same(const Message& a, const Message& b) {
  return std::visit(
      [](const auto& x, const auto& y) {
        if constexpr (std::is_same_v<decltype(x), decltype(y)> &&
                      !std::is_same_v<std::decay_t<decltype(x)>, Data>) {
          return x == y;
        } else {
          return false;
        }
      },
      a, b);
}

Bytes encoded_any(const Message& message) {
  return std::visit(
      [](const auto& m) {
        if constexpr (std::is_same_v<std::decay_t<decltype(m)>, Data>) {
          return Bytes{};
        } else {
          return encoded(m);
        }
      },
      message);
}

TEST_CASE("each message has its documented bytes and survives a round trip") {
  // Pins the wire format of version 1 in both directions.
  for (const Golden& golden : goldens()) {
    CAPTURE(golden.hex);
    const Bytes bytes = from_hex(golden.hex);
    CHECK(encoded_any(golden.message) == bytes);
    const auto back = decoded(bytes);
    REQUIRE(back.has_value());
    CHECK(same(*back, golden.message));
  }
}

TEST_CASE("every shorter prefix of a frame is refused") {
  // Pins that no decoder reads past its input or makes up fields.
  for (const Golden& golden : goldens()) {
    const Bytes bytes = from_hex(golden.hex);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      CAPTURE(golden.hex, size);
      CHECK_FALSE(decoded(ByteView(bytes).first(size)).has_value());
    }
  }
}

TEST_CASE("bodies of fixed layout refuse a body one byte shorter or longer") {
  // Pins decode_body() on its own: the body size of the header is the peer's word.
  for (const Golden& golden : goldens()) {
    const Bytes bytes = from_hex(golden.hex);
    const auto header = decode_header(bytes);
    REQUIRE(header.has_value());
    const ByteView body = ByteView(bytes).subspan(kFrameHeaderSize);
    const bool open_end = header->type == FrameType::entry || header->type == FrameType::abort ||
                          header->type == FrameType::verdict || header->type == FrameType::hello;
    CAPTURE(golden.hex);
    if (!open_end) {
      Bytes longer(body.begin(), body.end());
      longer.push_back(std::byte{0});
      CHECK(decode_body(header->type, longer).error().code == ErrorCode::malformed);
    }
    const std::size_t fixed = body.size() - (std::holds_alternative<Entry>(golden.message)
                                                 ? std::get<Entry>(golden.message).path.size()
                                             : std::holds_alternative<Abort>(golden.message)
                                                 ? std::get<Abort>(golden.message).text.size()
                                             : std::holds_alternative<Verdict>(golden.message)
                                                 ? std::get<Verdict>(golden.message).text.size()
                                                 : 0);
    for (std::size_t size = 0; size < fixed; ++size)
      CHECK(decode_body(header->type, body.first(size)).error().code == ErrorCode::truncated);
  }
}

TEST_CASE("a hello may be longer than this version knows") {
  // Pins that later versions can append fields to their hello.
  const auto hello =
      decoded(from_hex("0100000a"
                       "58464552"
                       "0002"
                       "02"
                       "00"
                       "ffff"));
  REQUIRE(hello.has_value());
  CHECK(std::get<Hello>(*hello) == Hello{2, Role::receiver});
}

TEST_CASE("impossible values are refused") {
  // Pins each check of a value that a peer can forge.
  const char* const bad[] = {
      "0100000858464553"
      "00010100",  // magic
      "0100000858464552"
      "00000100",  // version 0
      "0100000858464552"
      "00010000",  // role 0
      "0100000858464552"
      "00010300",  // role 3
      "0200001b"
      "00000001"
      "03"
      "00"
      "000001ed"
      "0000000000000000"
      "0000000000000000"
      "64",  // kind
      "0200001b"
      "00000001"
      "01"
      "04"
      "000001ed"
      "0000000000000000"
      "0000000000000000"
      "64",  // flag
      "0200001b"
      "00000001"
      "01"
      "00"
      "00001000"
      "0000000000000000"
      "0000000000000000"
      "64",  // mode
      "0200001b"
      "00000001"
      "01"
      "00"
      "000001ed"
      "0000000000000001"
      "0000000000000000"
      "64",  // time
      "0200001b"
      "00000001"
      "01"
      "00"
      "000001ed"
      "0000000000000000"
      "0000000000000001"
      "64",  // size
      "0200001b"
      "00000001"
      "02"
      "01"
      "000001ed"
      "0000000000000000"
      "0000000000000000"
      "64",  // both
      "0400001d"
      "00000007"
      "05"
      "0000000000000005"
      "abababababababababababababababab",  // status
      "07000002"
      "0000",  // an abort without a reason
  };
  for (const char* hex : bad) {
    CAPTURE(hex);
    const auto message = decoded(from_hex(hex));
    REQUIRE_FALSE(message.has_value());
    CHECK(message.error().code == ErrorCode::malformed);
  }
}

TEST_CASE("a header with an unknown type or an impossible size is refused") {
  // Pins the bounds on what a reader has to hold.
  CHECK_FALSE(decode_header(from_hex("00000000")).has_value());
  CHECK_FALSE(decode_header(from_hex("0a000000")).has_value());
  CHECK_FALSE(decode_header(from_hex("ff000001")).has_value());
  CHECK_FALSE(decode_header(from_hex("0300000c")).has_value());  // data without content
  CHECK(decode_header(from_hex("0300000d")).has_value());
  CHECK(decode_header(from_hex("0310000c")).has_value());  // kMaxData
  CHECK_FALSE(decode_header(from_hex("0310000d")).has_value());
  CHECK(decode_header(from_hex("02001019")).has_value());  // kMaxPath
  CHECK_FALSE(decode_header(from_hex("0200101a")).has_value());
  CHECK_FALSE(decode_header(from_hex("07000403")).has_value());  // text of 1025
}

TEST_CASE("long texts are cut and the longest path fits") {
  // Pins that encoding never exceeds what decoding takes.
  const std::string text(5000, 'x');
  const auto abort = decoded(encoded(Abort{ErrorCode::stalled, text}));
  REQUIRE(abort.has_value());
  const std::string path(kMaxPath, 'p');
  Entry entry = sample_entry();
  entry.path = path;
  const Bytes frame = encoded(entry);
  CHECK(frame.size() == kMaxControlFrame);
  CHECK(decoded(frame).has_value());
}

TEST_CASE("codes keep their meaning, unknown ones are failures") {
  // Pins that no code of a later version can read as success.
  CHECK_FALSE(code_from_wire(0).has_value());
  for (std::uint16_t number = 1; number <= 12; ++number)
    CHECK(to_wire(code_from_wire(number)) == number);
  CHECK(code_from_wire(13) == ErrorCode::internal);
  CHECK(code_from_wire(65'535) == ErrorCode::internal);
  CHECK(to_wire(ErrorCode::would_block) == 1);
}

}  // namespace
}  // namespace xfer::session

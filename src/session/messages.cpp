#include "session/messages.hpp"

#include <algorithm>

#include "base/byte_reader.hpp"
#include "base/check.hpp"

namespace xfer::session {
namespace {

constexpr std::uint8_t kSizeKnown = 1;
constexpr std::uint8_t kMtimeKnown = 2;
constexpr std::uint32_t kModeMask = 07777;

/// Fixed part and most bytes of each body.
struct BodySize {
  std::size_t least = 0;
  std::size_t most = 0;
};

constexpr BodySize body_size(FrameType type) {
  switch (type) {
    case FrameType::hello:
      return {8, kMaxHello};
    case FrameType::entry:
      return {26 + 1, 26 + kMaxPath};
    case FrameType::data:
      return {12 + 1, 12 + kMaxData};
    case FrameType::end:
      return {29, 29};
    case FrameType::done:
      return {16, 16};
    case FrameType::alive:
      return {0, 0};
    case FrameType::abort:
      return {2, 2 + kMaxText};
    case FrameType::verdict:
      return {6, 6 + kMaxText};
    case FrameType::final:
      return {18, 18};
  }
  return {1, 0};
}

void header(ByteWriter& out, FrameType type, std::size_t size) {
  out.u32((static_cast<std::uint32_t>(type) << 24U) | static_cast<std::uint32_t>(size));
}

std::string_view cut(std::string_view text) { return text.substr(0, kMaxText); }

Result<Message> decode_hello(ByteReader& in) {
  const std::uint32_t magic = in.u32();
  Hello hello;
  hello.version = in.u16();
  const std::uint8_t role = in.u8();
  in.u8();  // reserved
  in.rest();
  if (!in.ok()) return ErrorCode::truncated;
  if (magic != kMagic || hello.version == 0) return ErrorCode::malformed;
  if (role != 1 && role != 2) return ErrorCode::malformed;
  hello.role = static_cast<Role>(role);
  return Message{hello};
}

Result<Message> decode_entry(ByteReader& in) {
  Entry entry;
  entry.id = in.u32();
  const std::uint8_t kind = in.u8();
  const std::uint8_t flags = in.u8();
  entry.mode = in.u32();
  const std::uint64_t mtime = in.u64();
  const std::uint64_t size = in.u64();
  entry.path = as_text(in.rest());
  if (!in.ok()) return ErrorCode::truncated;
  if ((kind != 1 && kind != 2) || (flags & ~(kSizeKnown | kMtimeKnown)) != 0)
    return ErrorCode::malformed;
  entry.kind = static_cast<EntryKind>(kind);
  if (entry.mode > kModeMask || entry.path.size() > kMaxPath) return ErrorCode::malformed;
  if ((flags & kSizeKnown) != 0) {
    if (entry.kind == EntryKind::directory) return ErrorCode::malformed;
    entry.size = size;
  } else if (size != 0) {
    return ErrorCode::malformed;
  }
  if ((flags & kMtimeKnown) != 0) {
    entry.mtime_ns = static_cast<std::int64_t>(mtime);
  } else if (mtime != 0) {
    return ErrorCode::malformed;
  }
  if (entry.path.empty()) return ErrorCode::truncated;
  return Message{entry};
}

Result<Message> decode_end(ByteReader& in) {
  End end;
  end.id = in.u32();
  const std::uint8_t status = in.u8();
  end.size = in.u64();
  const ByteView hash = in.bytes(end.hash.size());
  if (!in.ok()) return ErrorCode::truncated;
  if (status > static_cast<std::uint8_t>(EndStatus::refused)) return ErrorCode::malformed;
  end.status = static_cast<EndStatus>(status);
  std::copy(hash.begin(), hash.end(), end.hash.begin());
  return Message{end};
}

Result<Message> decode_done(ByteReader& in) {
  Done done;
  done.entries = in.u32();
  done.failed = in.u32();
  done.bytes = in.u64();
  if (!in.ok()) return ErrorCode::truncated;
  return Message{done};
}

Result<Message> decode_abort(ByteReader& in) {
  const Code code = code_from_wire(in.u16());
  Abort abort;
  abort.text = as_text(in.rest());
  if (!in.ok()) return ErrorCode::truncated;
  if (!code || abort.text.size() > kMaxText) return ErrorCode::malformed;
  abort.code = *code;
  return Message{abort};
}

Result<Message> decode_verdict(ByteReader& in) {
  Verdict verdict;
  verdict.id = in.u32();
  verdict.code = code_from_wire(in.u16());
  verdict.text = as_text(in.rest());
  if (!in.ok()) return ErrorCode::truncated;
  if (verdict.text.size() > kMaxText) return ErrorCode::malformed;
  return Message{verdict};
}

Result<Message> decode_final(ByteReader& in) {
  Final final;
  final.ok = in.u32();
  final.failed = in.u32();
  final.bytes = in.u64();
  final.worst = code_from_wire(in.u16());
  if (!in.ok()) return ErrorCode::truncated;
  return Message{final};
}

Result<Message> decode_fields(FrameType type, ByteReader& in) {
  switch (type) {
    case FrameType::hello:
      return decode_hello(in);
    case FrameType::entry:
      return decode_entry(in);
    case FrameType::end:
      return decode_end(in);
    case FrameType::done:
      return decode_done(in);
    case FrameType::alive:
      return Message{Alive{}};
    case FrameType::abort:
      return decode_abort(in);
    case FrameType::verdict:
      return decode_verdict(in);
    case FrameType::final:
      return decode_final(in);
    case FrameType::data:
      break;
  }
  return ErrorCode::malformed;
}

}  // namespace

std::uint16_t to_wire(Code code) {
  if (!code) return 0;
  switch (*code) {
#define XFER_SESSION_TO_WIRE(number, name) \
  case ErrorCode::name:                    \
    return number;
    XFER_SESSION_CODES(XFER_SESSION_TO_WIRE)
#undef XFER_SESSION_TO_WIRE
    default:
      return 1;
  }
}

Code code_from_wire(std::uint16_t number) {
  switch (number) {
    case 0:
      return std::nullopt;
#define XFER_SESSION_FROM_WIRE(value, name) \
  case value:                               \
    return ErrorCode::name;
      XFER_SESSION_CODES(XFER_SESSION_FROM_WIRE)
#undef XFER_SESSION_FROM_WIRE
    default:
      return ErrorCode::internal;
  }
}

void encode(ByteWriter& out, const Hello& message) {
  header(out, FrameType::hello, 8);
  out.u32(kMagic);
  out.u16(message.version);
  out.u8(static_cast<std::uint8_t>(message.role));
  out.u8(0);
}

void encode(ByteWriter& out, const Entry& message) {
  XFER_ASSERT(!message.path.empty() && message.path.size() <= kMaxPath);
  header(out, FrameType::entry, 26 + message.path.size());
  out.u32(message.id);
  out.u8(static_cast<std::uint8_t>(message.kind));
  out.u8(static_cast<std::uint8_t>((message.size ? kSizeKnown : 0) |
                                   (message.mtime_ns ? kMtimeKnown : 0)));
  out.u32(message.mode & kModeMask);
  out.u64(static_cast<std::uint64_t>(message.mtime_ns.value_or(0)));
  out.u64(message.size.value_or(0));
  out.bytes(as_byte_view(message.path));
}

void encode(ByteWriter& out, const End& message) {
  header(out, FrameType::end, 29);
  out.u32(message.id);
  out.u8(static_cast<std::uint8_t>(message.status));
  out.u64(message.size);
  out.bytes(message.hash);
}

void encode(ByteWriter& out, const Done& message) {
  header(out, FrameType::done, 16);
  out.u32(message.entries);
  out.u32(message.failed);
  out.u64(message.bytes);
}

void encode(ByteWriter& out, const Alive& /*message*/) { header(out, FrameType::alive, 0); }

void encode(ByteWriter& out, const Abort& message) {
  const std::string_view text = cut(message.text);
  header(out, FrameType::abort, 2 + text.size());
  out.u16(to_wire(message.code));
  out.bytes(as_byte_view(text));
}

void encode(ByteWriter& out, const Verdict& message) {
  const std::string_view text = cut(message.text);
  header(out, FrameType::verdict, 6 + text.size());
  out.u32(message.id);
  out.u16(to_wire(message.code));
  out.bytes(as_byte_view(text));
}

void encode(ByteWriter& out, const Final& message) {
  header(out, FrameType::final, 18);
  out.u32(message.ok);
  out.u32(message.failed);
  out.u64(message.bytes);
  out.u16(to_wire(message.worst));
}

void encode_data_header(ByteWriter& out, std::uint32_t id, std::uint64_t offset, std::size_t size) {
  XFER_ASSERT(size > 0 && size <= kMaxData);
  header(out, FrameType::data, 12 + size);
  out.u32(id);
  out.u64(offset);
}

Result<FrameHeader> decode_header(ByteView bytes) {
  ByteReader in(bytes);
  const std::uint32_t word = in.u32();
  if (!in.ok()) return ErrorCode::truncated;
  const FrameHeader header{static_cast<FrameType>(word >> 24U), word & 0xFFFFFFU};
  const BodySize allowed = body_size(header.type);
  if (header.body_size < allowed.least || header.body_size > allowed.most)
    return ErrorCode::malformed;
  return header;
}

Result<Message> decode_body(FrameType type, ByteView body) {
  ByteReader in(body);
  auto message = decode_fields(type, in);
  if (message && in.remaining() != 0) return ErrorCode::malformed;
  return message;
}

}  // namespace xfer::session

#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <variant>

#include "base/byte_writer.hpp"
#include "base/bytes.hpp"
#include "base/result.hpp"
#include "session/limits.hpp"

/// The transfer protocol on a reliable byte stream, version 1 (docs/transfer-protocol.md): frames
/// of a type byte, a 24-bit body length and a body; big-endian.
namespace xfer::session {

enum class FrameType : std::uint8_t {
  hello = 1,
  entry = 2,
  data = 3,
  end = 4,
  done = 5,
  alive = 6,
  abort = 7,
  verdict = 8,
  final = 9,
};

enum class Role : std::uint8_t { sender = 1, receiver = 2 };
enum class EntryKind : std::uint8_t { file = 1, directory = 2 };

/// How reading the source of an entry went.
enum class EndStatus : std::uint8_t {
  ok = 0,
  unreadable = 1,  ///< an error while reading
  changed = 2,     ///< truncated, grown or rewritten while it was read
  vanished = 3,    ///< gone while it was read
  refused = 4,     ///< given up because the receiver refused it meanwhile
};

/// Result of an entry or session, on the wire: X(number, name); names as in ErrorCode. Never
/// renumbered.
#define XFER_SESSION_CODES(X) \
  X(1, internal)              \
  X(2, no_space)              \
  X(3, destination_error)     \
  X(4, source_error)          \
  X(5, source_changed)        \
  X(6, integrity)             \
  X(7, partial)               \
  X(8, interrupted)           \
  X(9, stalled)               \
  X(10, peer_error)           \
  X(11, version_mismatch)     \
  X(12, limit_reached)

/// nullopt: success (0 on the wire). A number this version does not know reads as
/// ErrorCode::internal.
using Code = std::optional<ErrorCode>;
std::uint16_t to_wire(Code code);
Code code_from_wire(std::uint16_t number);

/// First frame either way. `version` is the highest the sender of the frame speaks; both use the
/// lower one. Bytes after the known fields are ignored: later versions may append.
struct Hello {
  std::uint16_t version = kVersion;
  Role role = Role::sender;
  friend bool operator==(const Hello&, const Hello&) = default;
};

/// Announces an entry. Files are followed by their data and end, directories by what is in them and
/// end.
struct Entry {
  std::uint32_t id = 0;  ///< 1, 2, 3, ... in one session
  EntryKind kind = EntryKind::file;
  std::uint32_t mode = 0;                ///< permission bits, as st_mode & 07777
  std::optional<std::int64_t> mtime_ns;  ///< since 1970
  std::optional<std::uint64_t>
      size;  ///< nullopt: not known before the end (pipes); directories: nullopt
  std::string_view
      path;  ///< relative, separated by '/'; hostile until checked. View into the frame.
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// A run of an entry's content: all or a part of a data frame's payload. View into the input of the
/// reader.
struct Data {
  std::uint32_t id = 0;
  std::uint64_t offset = 0;  ///< of `bytes` in the content
  ByteView bytes;            ///< not empty
};

struct End {
  std::uint32_t id = 0;
  EndStatus status = EndStatus::ok;
  std::uint64_t size = 0;  ///< of the content
  std::array<std::byte, 16>
      hash{};  ///< XXH3-128 of the content, canonical bytes; zero unless a file with status ok
  friend bool operator==(const End&, const End&) = default;
};

/// The sender has announced everything.
struct Done {
  std::uint32_t entries = 0;  ///< announced
  std::uint32_t failed = 0;   ///< could not even be announced (not readable)
  std::uint64_t bytes = 0;    ///< content bytes of all entries that ended ok
  friend bool operator==(const Done&, const Done&) = default;
};

/// "I am alive but have nothing to say": standard input is idle, the disk is busy.
struct Alive {
  friend bool operator==(const Alive&, const Alive&) = default;
};

/// The sender of this frame gives up; it closes the connection next.
struct Abort {
  ErrorCode code = ErrorCode::internal;
  std::string_view text;  ///< for a human, hostile until printed safely. View into the frame.
  friend bool operator==(const Abort&, const Abort&) = default;
};

/// The fate of an entry. A failure may come before the entry's end; the sender then ends it early.
struct Verdict {
  std::uint32_t id = 0;
  Code code;
  std::string_view text;  ///< cause of a failure, as Abort::text
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// The receiver is done: every entry has its verdict and what succeeded is where it belongs.
struct Final {
  std::uint32_t ok = 0;
  std::uint32_t failed = 0;
  std::uint64_t bytes = 0;  ///< content bytes of the entries that are ok
  Code worst;               ///< most telling failure
  friend bool operator==(const Final&, const Final&) = default;
};

using Message = std::variant<Hello, Entry, Data, End, Done, Alive, Abort, Verdict, Final>;

// Encoding: appends one whole frame; the writer fails if it does not fit. Texts beyond kMaxText are
// cut. At most kMaxControlFrame bytes.
void encode(ByteWriter& out, const Hello& message);
void encode(ByteWriter& out, const Entry& message);
void encode(ByteWriter& out, const End& message);
void encode(ByteWriter& out, const Done& message);
void encode(ByteWriter& out, const Alive& message);
void encode(ByteWriter& out, const Abort& message);
void encode(ByteWriter& out, const Verdict& message);
void encode(ByteWriter& out, const Final& message);
/// The kDataHeaderSize bytes in front of `size` (1 ... kMaxData) bytes of content.
void encode_data_header(ByteWriter& out, std::uint32_t id, std::uint64_t offset, std::size_t size);

struct FrameHeader {
  FrameType type = FrameType::hello;
  std::size_t body_size = 0;
};

/// Decodes the first kFrameHeaderSize bytes of a frame.
///   ErrorCode::malformed  no such type, or a body size the type cannot have.
Result<FrameHeader> decode_header(ByteView header);

/// Decodes the body of any frame but data. Views in the result point into `body`.
///   ErrorCode::truncated  the body is shorter than its fields
///   ErrorCode::malformed  it has a value or extra bytes that its type cannot have
Result<Message> decode_body(FrameType type, ByteView body);

}  // namespace xfer::session

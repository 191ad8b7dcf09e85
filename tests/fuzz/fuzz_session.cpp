#include <string>
#include <vector>

#include "base/check.hpp"
#include "fuzz_input.hpp"
#include "session/frame_reader.hpp"

namespace {

using namespace xfer;
using session::FrameReader;

/// One line per message, so that two ways of reading can be compared. Adjacent pieces of content
/// become one.
class Transcript {
 public:
  void add(const session::Message& message) {
    if (const auto* data = std::get_if<session::Data>(&message)) {
      XFER_ASSERT(!data->bytes.empty());
      if (data->id != data_id_ || data->offset != data_end_ || !in_data_)
        append("data", data->id, data->offset);
      content_ += as_text(data->bytes);
      in_data_ = true;
      data_id_ = data->id;
      data_end_ = data->offset + data->bytes.size();
      return;
    }
    in_data_ = false;
    std::vector<std::byte> frame(session::kMaxControlFrame);
    ByteWriter out(frame);
    std::visit(
        [&out](const auto& fields) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(fields)>, session::Data>)
            session::encode(out, fields);
        },
        message);
    XFER_ASSERT(out.ok());
    content_ += as_text(out.written());
    check_round_trip(out.written());
  }
  void fail(const Error& error) { append("error", static_cast<std::uint32_t>(error.code), 0); }

  friend bool operator==(const Transcript& a, const Transcript& b) {
    return a.content_ == b.content_;
  }

 private:
  /// decode(encode(x)) encodes to the same bytes again.
  static void check_round_trip(ByteView frame) {
    const auto header = session::decode_header(frame);
    XFER_ASSERT(header && header->body_size == frame.size() - session::kFrameHeaderSize);
    const auto message =
        session::decode_body(header->type, frame.subspan(session::kFrameHeaderSize));
    XFER_ASSERT(message);
    std::vector<std::byte> memory(session::kMaxControlFrame);
    ByteWriter again(memory);
    std::visit(
        [&again](const auto& fields) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(fields)>, session::Data>)
            session::encode(again, fields);
        },
        *message);
    XFER_ASSERT(
        std::equal(frame.begin(), frame.end(), again.written().begin(), again.written().end()));
  }
  void append(const char* what, std::uint32_t number, std::uint64_t offset) {
    content_ += std::string("\n") + what + ' ' + std::to_string(number) + ' ' +
                std::to_string(offset) + ' ';
  }

  std::string content_;
  bool in_data_ = false;
  std::uint32_t data_id_ = 0;
  std::uint64_t data_end_ = 0;
};

/// Feeds `piece` to `reader`. False: the reader failed, for good.
bool feed(FrameReader& reader, ByteView piece, Transcript& transcript) {
  while (true) {
    const auto message = reader.next(piece);
    if (!message) {
      transcript.fail(message.error());
      ByteView more = piece;
      XFER_ASSERT(!reader.next(more));
      return false;
    }
    if (!*message) {
      XFER_ASSERT(piece.empty());
      return true;
    }
    transcript.add(**message);
  }
}

}  // namespace

// Any byte stream, cut anywhere: the messages are the same as when it comes in one piece, each
// survives a round trip, and a failure is final. The first byte decides about the cuts.
XFER_FUZZ_TARGET(xfer::ByteView input) {
  fuzz::Choices choices(input);
  std::uint32_t state = choices.byte();
  const ByteView stream = input.empty() ? input : input.subspan(1);

  Transcript whole;
  FrameReader whole_reader;
  const bool whole_ok = feed(whole_reader, stream, whole);

  Transcript cut;
  FrameReader cut_reader;
  bool cut_ok = true;
  for (std::size_t at = 0; at < stream.size() && cut_ok;) {
    state = state * 1'103'515'245U + 12'345U;
    const std::size_t size = std::min<std::size_t>(1 + (state >> 16U) % 40, stream.size() - at);
    // A piece of exactly its size, so that AddressSanitizer sees a read beyond it.
    const std::vector<std::byte> piece(stream.begin() + static_cast<std::ptrdiff_t>(at),
                                       stream.begin() + static_cast<std::ptrdiff_t>(at + size));
    cut_ok = feed(cut_reader, piece, cut);
    at += size;
  }
  XFER_ASSERT(whole_ok == cut_ok);
  XFER_ASSERT(whole == cut);
  if (whole_ok) XFER_ASSERT(whole_reader.at_boundary() == cut_reader.at_boundary());
}

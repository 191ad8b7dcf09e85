#include "session/frame_reader.hpp"

#include <algorithm>

#include "base/byte_reader.hpp"

namespace xfer::session {

Result<std::optional<Message>> FrameReader::next(ByteView& input) {
  if (failed_) return *failed_;
  while (true) {
    if (data_left_ > 0) {
      if (input.empty()) return std::optional<Message>{};
      const ByteView run = input.first(std::min(data_left_, input.size()));
      const Message message = Data{data_id_, data_offset_, run};
      input = input.subspan(run.size());
      data_left_ -= run.size();
      data_offset_ += run.size();
      return std::optional<Message>{message};
    }
    if (!collect(input, kFrameHeaderSize)) return std::optional<Message>{};
    const auto header = decode_header(ByteView(buffer_).first(kFrameHeaderSize));
    if (!header) {
      failed_ = header.error();
      return *failed_;
    }
    const bool data = header->type == FrameType::data;
    const std::size_t whole = data ? kDataHeaderSize : kFrameHeaderSize + header->body_size;
    if (!collect(input, whole)) return std::optional<Message>{};
    held_ = 0;
    const ByteView body = ByteView(buffer_).subspan(kFrameHeaderSize, whole - kFrameHeaderSize);
    if (data) {
      ByteReader in(body);
      data_id_ = in.u32();
      data_offset_ = in.u64();
      data_left_ = header->body_size - body.size();
      if (data_offset_ + data_left_ < data_offset_)
        failed_ = Error{ErrorCode::malformed, 0, nullptr};
      if (failed_) return *failed_;
      continue;
    }
    auto message = decode_body(header->type, body);
    if (!message) {
      failed_ = message.error();
      return *failed_;
    }
    return std::optional<Message>{*message};
  }
}

bool FrameReader::collect(ByteView& input, std::size_t wanted) {
  if (held_ < wanted) {
    const ByteView piece = input.first(std::min(wanted - held_, input.size()));
    std::copy(piece.begin(), piece.end(), buffer_.begin() + static_cast<std::ptrdiff_t>(held_));
    held_ += piece.size();
    input = input.subspan(piece.size());
  }
  return held_ >= wanted;
}

}  // namespace xfer::session

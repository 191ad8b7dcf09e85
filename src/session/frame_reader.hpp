#pragma once

#include "session/messages.hpp"

namespace xfer::session {

/// Turns the pieces of a byte stream, however they are cut, into messages. Memory is fixed: one
/// frame that is not data. Content is never copied: a data frame that spans pieces comes out as
/// several Data messages.
class FrameReader {
 public:
  /// The next message; takes its bytes off the front of `input`. nullopt: all of `input` is taken
  /// and more is needed. Views in the message live until the next call (texts, paths) or as long as
  /// the memory of `input` (content).
  ///   ErrorCode::malformed, truncated  not a frame of this protocol; the stream cannot be read any
  ///   further. Sticky.
  Result<std::optional<Message>> next(ByteView& input);

  /// True between frames.
  [[nodiscard]] bool at_boundary() const { return held_ == 0 && data_left_ == 0; }

 private:
  bool collect(ByteView& input, std::size_t wanted);

  std::array<std::byte, kMaxControlFrame> buffer_{};
  std::size_t held_ = 0;       ///< bytes in buffer_
  std::uint32_t data_id_ = 0;  ///< of the data frame being passed on
  std::uint64_t data_offset_ = 0;
  std::size_t data_left_ = 0;
  std::optional<Error> failed_;
};

}  // namespace xfer::session

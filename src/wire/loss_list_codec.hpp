#pragma once

#include <optional>

#include "base/byte_reader.hpp"
#include "base/byte_writer.hpp"
#include "wire/seqno.hpp"

namespace xfer::wire {

/// One entry of a NAK: the packets first ... last, inclusive.
struct LossRange {
  SeqNo first;
  SeqNo last;

  friend bool operator==(const LossRange&, const LossRange&) = default;
};

/// Reads the loss list of a NAK (wire facts, 3.2) entry by entry, without copying or trusting its
/// length. Malformed entries are left out and counted: a reversed range, a range start without an
/// end (fault D7), an end with the top bit set, trailing bytes that are no whole word.
class LossListReader {
 public:
  /// `body` is the control payload; it must outlive the reader.
  explicit LossListReader(ByteView body) : in_(body) {}

  /// The next well-formed entry; nullopt at the end.
  std::optional<LossRange> next();
  /// How many entries were left out so far.
  [[nodiscard]] std::uint32_t malformed() const { return malformed_; }

 private:
  ByteReader in_;
  std::uint32_t malformed_ = 0;
};

/// Most bytes that encode_loss_range() writes for one entry.
inline constexpr std::size_t kMaxLossRangeSize = 8;
/// One word for a single packet, two for a range; nothing when fewer than kMaxLossRangeSize bytes
/// are left. Returns whether it was written.
bool encode_loss_range(const LossRange& range, ByteWriter& out);

}  // namespace xfer::wire

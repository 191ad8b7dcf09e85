#include "wire/loss_list_codec.hpp"

namespace xfer::wire {
namespace {
constexpr std::uint32_t kRangeBit = 0x80000000U;
}

std::optional<LossRange> LossListReader::next() {
  while (in_.remaining() >= 4) {
    const std::uint32_t word = in_.u32();
    if ((word & kRangeBit) == 0) return LossRange{SeqNo(word), SeqNo(word)};

    if (in_.remaining() < 4) {
      ++malformed_;
      break;
    }
    const SeqNo first(word);
    const std::uint32_t last_word = in_.u32();
    const SeqNo last(last_word);
    if ((last_word & kRangeBit) != 0 || SeqNo::distance(first, last) < 0) {
      ++malformed_;
      continue;
    }
    return LossRange{first, last};
  }
  if (in_.remaining() != 0) {
    ++malformed_;
    in_.rest();
  }
  return std::nullopt;
}

bool encode_loss_range(const LossRange& range, ByteWriter& out) {
  if (out.room() < kMaxLossRangeSize) return false;
  if (range.first == range.last) {
    out.u32(range.first.value());
  } else {
    out.u32(range.first.value() | kRangeBit);
    out.u32(range.last.value());
  }
  return out.ok();
}

}  // namespace xfer::wire

#pragma once

#include <algorithm>

#include "base/bytes.hpp"

namespace xfer {

/// Bounded big-endian cursor that fills caller-owned memory. A write that does not fit changes
/// nothing and sets a sticky failure: write all fields, then test ok() once.
class ByteWriter {
 public:
  explicit constexpr ByteWriter(MutByteView out) : out_(out) {}

  [[nodiscard]] constexpr bool ok() const { return ok_; }
  [[nodiscard]] constexpr std::size_t size() const { return position_; }
  [[nodiscard]] constexpr std::size_t room() const { return out_.size() - position_; }
  /// What has been written so far; lives as long as the output memory.
  [[nodiscard]] constexpr ByteView written() const { return out_.first(position_); }

  constexpr void u8(std::uint8_t value) { big_endian(value, 1); }
  constexpr void u16(std::uint16_t value) { big_endian(value, 2); }
  constexpr void u32(std::uint32_t value) { big_endian(value, 4); }
  constexpr void u64(std::uint64_t value) { big_endian(value, 8); }
  constexpr void bytes(ByteView data) {
    if (!take(data.size())) return;
    std::copy(data.begin(), data.end(),
              out_.begin() + static_cast<std::ptrdiff_t>(position_ - data.size()));
  }

 private:
  constexpr bool take(std::size_t count) {
    if (!ok_ || count > room()) {
      ok_ = false;
      return false;
    }
    position_ += count;
    return true;
  }
  constexpr void big_endian(std::uint64_t value, std::size_t width) {
    if (!take(width)) return;
    for (std::size_t i = 1; i <= width; ++i) {
      out_[position_ - i] = static_cast<std::byte>(value & 0xFFU);
      value >>= 8U;
    }
  }

  MutByteView out_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace xfer

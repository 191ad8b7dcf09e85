#pragma once

#include <cstring>

#include "base/bytes.hpp"

namespace xfer {

/// Bounded big-endian cursor over bytes that must outlive it. A read past the end returns zero (or
/// an empty view) and sets a sticky failure: read all fields first, then test ok() once.
class ByteReader {
 public:
  explicit constexpr ByteReader(ByteView bytes) : bytes_(bytes) {}

  [[nodiscard]] constexpr bool ok() const { return ok_; }
  [[nodiscard]] constexpr std::size_t remaining() const { return bytes_.size() - position_; }

  constexpr std::uint8_t u8() { return static_cast<std::uint8_t>(big_endian(1)); }
  constexpr std::uint16_t u16() { return static_cast<std::uint16_t>(big_endian(2)); }
  constexpr std::uint32_t u32() { return static_cast<std::uint32_t>(big_endian(4)); }
  constexpr std::uint64_t u64() { return big_endian(8); }

  /// The next `count` bytes, as a view into the input.
  constexpr ByteView bytes(std::size_t count) {
    if (!take(count)) return {};
    return bytes_.subspan(position_ - count, count);
  }
  constexpr ByteView rest() { return bytes(remaining()); }

 private:
  constexpr bool take(std::size_t count) {
    if (!ok_ || count > remaining()) {
      ok_ = false;
      return false;
    }
    position_ += count;
    return true;
  }
  constexpr std::uint64_t big_endian(std::size_t width) {
    if (!take(width)) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = position_ - width; i < position_; ++i)
      value = (value << 8U) | std::to_integer<std::uint64_t>(bytes_[i]);
    return value;
  }

  ByteView bytes_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace xfer

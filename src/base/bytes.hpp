#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace xfer {

/// Bytes somebody else owns. Each function that takes or returns one says how long it lives.
using ByteView = std::span<const std::byte>;
using MutByteView = std::span<std::byte>;

/// A run of bytes that may be split once, as where it crosses the end of a ring.
struct Slices {
  ByteView first{};
  ByteView second{};
  [[nodiscard]] constexpr std::size_t size() const { return first.size() + second.size(); }
};

/// The bytes of a text, without a terminator; the view lives as long as the text.
inline ByteView as_byte_view(std::string_view text) { return std::as_bytes(std::span(text)); }

/// The characters of a run of bytes; the view lives as long as the bytes.
inline std::string_view as_text(ByteView bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): char may alias anything.
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace xfer

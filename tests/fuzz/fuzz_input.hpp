#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/byte_reader.hpp"
#include "base/bytes.hpp"

/// Defines the entry point of a fuzz program: `XFER_FUZZ_TARGET(xfer::ByteView input) { ... }`. A
/// finding is an abort (XFER_ASSERT) or what a sanitizer reports. libFuzzer calls it, or
/// replay_main.cpp does.
#define XFER_FUZZ_TARGET(parameter)                                                   \
  static void xfer_fuzz_one(parameter);                                               \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);  \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    xfer_fuzz_one(std::as_bytes(std::span(data, size)));                              \
    return 0;                                                                         \
  }                                                                                   \
  static void xfer_fuzz_one(parameter)

namespace xfer::fuzz {

/// Turns a fuzzer's bytes into the choices of a test. When they run out every choice is the first
/// one (zero).
class Choices {
 public:
  explicit Choices(ByteView input) : in_(input) {}

  [[nodiscard]] bool empty() const { return in_.remaining() == 0; }
  std::uint8_t byte() { return in_.remaining() == 0 ? std::uint8_t{0} : in_.u8(); }
  /// Uniform enough in [0, bound); 0 < bound <= 2^32.
  std::uint32_t below(std::uint64_t bound) {
    std::uint64_t value = 0;
    for (std::uint64_t range = 1; range < bound; range <<= 8U) value = (value << 8U) | byte();
    return static_cast<std::uint32_t>(value % bound);
  }
  std::uint32_t u32() { return below(std::uint64_t{1} << 32U); }
  bool flag() { return (byte() & 1U) != 0; }
  /// The next `count` bytes, or as many as are left.
  ByteView bytes(std::size_t count) { return in_.bytes(std::min(count, in_.remaining())); }

 private:
  ByteReader in_;
};

}  // namespace xfer::fuzz

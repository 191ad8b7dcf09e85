#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/check.hpp"
#include "file/file_system.hpp"

namespace xfer::file {

/// Collects bytes in memory that the system can write to a disk without the page cache. Writes are
/// kSize bytes, so that a disk has much to do at a time.
class DirectBuffer {
 public:
  static constexpr std::size_t kSize = std::size_t{1} << 20U;
  static_assert(kSize % kDirectAlignment == 0);

  DirectBuffer() : memory_(static_cast<std::byte*>(std::aligned_alloc(kDirectAlignment, kSize))) {
    XFER_ASSERT(memory_ != nullptr);
  }

  /// Copies as much of `bytes` as there is room for. @return how much that was.
  std::size_t append(ByteView bytes) {
    const std::size_t count = std::min(bytes.size(), kSize - held_);
    std::copy_n(bytes.begin(), count, memory_.get() + held_);
    held_ += count;
    return count;
  }
  [[nodiscard]] bool full() const { return held_ == kSize; }
  [[nodiscard]] ByteView bytes() const { return {memory_.get(), held_}; }
  /// The front of bytes() that can be written as it is.
  [[nodiscard]] ByteView aligned() const { return bytes().first(held_ - held_ % kDirectAlignment); }
  /// Drops aligned(): it is written.
  void drop_aligned() {
    const ByteView rest = bytes().subspan(aligned().size());
    std::copy(rest.begin(), rest.end(), memory_.get());
    held_ = rest.size();
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  std::unique_ptr<std::byte, Free> memory_;
  std::size_t held_ = 0;
};

}  // namespace xfer::file

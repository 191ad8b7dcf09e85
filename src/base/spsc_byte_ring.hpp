#pragma once

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/byte_source.hpp"
#include "base/check.hpp"

namespace xfer {

/// Bounded ring for one byte stream between one writing and one reading thread, without locks.
/// Three regions, each moved by one side only (the P2M paper's ring): [released, published) is
/// readable, the rest is free for the writer. Offsets count from the first byte of the stream and
/// never wrap.
class SpscByteRing final : public ByteSource {
 public:
  explicit SpscByteRing(std::size_t capacity)
      : capacity_(capacity), memory_(std::make_unique_for_overwrite<std::byte[]>(capacity)) {
    XFER_ASSERT(capacity > 0);
  }

  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  // Writing side.

  /// The next free run of memory; empty when the ring is full. Not longer than to the end of the
  /// ring's memory.
  [[nodiscard]] MutByteView free_space() {
    const std::uint64_t end = published_.load(std::memory_order_relaxed);
    const std::uint64_t begin = released_.load(std::memory_order_acquire);
    const std::size_t at = static_cast<std::size_t>(end % capacity_);
    const std::size_t free = capacity_ - static_cast<std::size_t>(end - begin);
    return {memory_.get() + at, std::min(free, capacity_ - at)};
  }
  /// Makes the first `count` bytes of free_space() readable.
  void publish(std::size_t count) {
    published_.store(published_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }
  /// Copies in as much of `data` as fits and returns how much that was.
  std::size_t write(ByteView data) {
    std::size_t done = 0;
    while (done < data.size()) {
      const MutByteView space = free_space();
      if (space.empty()) break;
      const std::size_t count = std::min(space.size(), data.size() - done);
      std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(done), count, space.begin());
      publish(count);
      done += count;
    }
    return done;
  }

  // Reading side.

  [[nodiscard]] Slices view(std::uint64_t offset, std::size_t size) const override {
    const std::size_t at = static_cast<std::size_t>(offset % capacity_);
    const std::size_t first = std::min(size, capacity_ - at);
    return {{memory_.get() + at, first}, {memory_.get(), size - first}};
  }
  /// Gives every byte below `offset` back to the writer.
  void release(std::uint64_t offset) { released_.store(offset, std::memory_order_release); }

  // Either side.

  [[nodiscard]] std::uint64_t published() const {
    return published_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t released() const { return released_.load(std::memory_order_acquire); }

 private:
  std::size_t capacity_;
  std::unique_ptr<std::byte[]> memory_;
  std::atomic<std::uint64_t> published_{0};
  std::atomic<std::uint64_t> released_{0};
};

}  // namespace xfer

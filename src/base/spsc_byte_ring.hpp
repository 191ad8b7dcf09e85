#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "base/byte_source.hpp"
#include "base/check.hpp"

namespace xfer {

/// Bounded ring for one byte stream between one writing and one reading thread, without locks.
/// Three regions, each moved by one side only (the P2M paper's ring): [released, published) is
/// readable, the rest is free for the writer. Offsets count from the first byte of the stream and
/// never wrap.
///
/// Memory is taken in chunks when the writer first needs them; chunks that were read are used
/// again, the oldest first. So the capacity can grow, and what is not used costs nothing.
class SpscByteRing final : public ByteSource {
 public:
  static constexpr std::size_t kMaxChunk = std::size_t{1} << 20U;

  /// Holds `capacity` bytes at first, and at most `max_capacity` if that is more.
  explicit SpscByteRing(std::size_t capacity, std::size_t max_capacity = 0)
      : capacity_(capacity),
        max_capacity_(std::max(capacity, max_capacity)),
        chunk_(std::min(capacity, kMaxChunk)) {
    XFER_ASSERT(capacity > 0);
    chunks_.resize(max_capacity_ / chunk_ + 3);
  }

  [[nodiscard]] std::size_t capacity() const { return capacity_.load(std::memory_order_relaxed); }

  // Writing side.

  /// The next free run of memory; empty when the ring is full. Not longer than to the end of a
  /// chunk.
  [[nodiscard]] MutByteView free_space() {
    const std::uint64_t end = published_.load(std::memory_order_relaxed);
    const std::uint64_t begin = released_.load(std::memory_order_acquire);
    const std::size_t free = capacity() - static_cast<std::size_t>(end - begin);
    if (free == 0) return {};
    if (end / chunk_ == made_) add_chunk(begin);
    return {address(end), std::min(free, rest_of_chunk(end))};
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

  /// REQUIRES: published, not released, and no more than kMaxChunk bytes.
  [[nodiscard]] Slices view(std::uint64_t offset, std::size_t size) const override {
    const std::size_t first = std::min(size, rest_of_chunk(offset));
    if (first == size) return {{address(offset), size}, {}};
    return {{address(offset), first}, {address(offset + first), size - first}};
  }
  /// Gives every byte below `offset` back to the writer.
  void release(std::uint64_t offset) { released_.store(offset, std::memory_order_release); }
  /// From now on holds that many bytes, or as many as it may; never fewer than before.
  void grow(std::uint64_t capacity) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(capacity, max_capacity_));
    if (wanted > this->capacity()) capacity_.store(wanted, std::memory_order_relaxed);
  }

  // Either side.

  [[nodiscard]] std::uint64_t published() const {
    return published_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t released() const { return released_.load(std::memory_order_acquire); }

 private:
  [[nodiscard]] std::size_t rest_of_chunk(std::uint64_t offset) const {
    return chunk_ - static_cast<std::size_t>(offset % chunk_);
  }
  [[nodiscard]] std::byte* address(std::uint64_t offset) const {
    return chunks_[static_cast<std::size_t>(offset / chunk_) % chunks_.size()] +
           static_cast<std::size_t>(offset % chunk_);
  }
  /// Memory for the next chunk of the stream. What lies below `released` is not looked at any more.
  void add_chunk(std::uint64_t released) {
    std::byte* memory = nullptr;
    if ((oldest_ + 1) * chunk_ <= released) {
      memory = chunks_[static_cast<std::size_t>(oldest_++) % chunks_.size()];
    } else {
      memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk_));
      memory = memory_.back().get();
    }
    XFER_ASSERT(made_ - oldest_ < chunks_.size());
    chunks_[static_cast<std::size_t>(made_++) % chunks_.size()] = memory;
  }

  std::atomic<std::size_t> capacity_;
  std::size_t max_capacity_;
  std::size_t chunk_;
  /// Where the chunks of the stream are, by number modulo size. An entry is written before any byte
  /// in the chunk is published, and again only after all of them were released.
  std::vector<std::byte*> chunks_;

  // Writing side only.
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::uint64_t made_ = 0;    ///< chunks that have memory so far
  std::uint64_t oldest_ = 0;  ///< the first whose memory was not used again

  std::atomic<std::uint64_t> published_{0};
  std::atomic<std::uint64_t> released_{0};
};

}  // namespace xfer

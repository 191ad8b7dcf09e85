#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "base/byte_source.hpp"
#include "base/check.hpp"

namespace xfer {

/// Bounded ring for one byte stream between one writing and one reading thread, without locks: the
/// P2M paper's ring. Offsets count from the first byte of the stream and never wrap; three of them
/// part it, each moved by one side only:
///
///     [released, taken)   read for the first time, may be read again     reading side
///     [taken, published)  waits to be read                               writing side adds to it
///     the rest            free                                           writing side
///
/// The paper lets one thread free what another repeats. Here both belong to the reading side, so
/// what it reads cannot be overwritten meanwhile; view() and release() assert it.
///
/// Memory comes in chunks, as many as are in use: a chunk that is released is the first to be
/// written again, while it may still be in the processor's cache. How far the writer is ahead of
/// the reader is bounded apart from the capacity, so that a large capacity costs nothing until
/// that much waits to be released.
class SpscByteRing final : public ByteSource {
 public:
  /// A view is never longer; and a run of free space.
  static constexpr std::size_t kMaxChunk = std::size_t{256} << 10U;
  static constexpr std::size_t kMinChunk = std::size_t{64} << 10U;
  /// Bytes the writer may be ahead of the reader, unless told otherwise.
  static constexpr std::size_t kAhead = std::size_t{2} << 20U;

  /// @param capacity  bytes, at least 1; capacity() is this, rounded down to whole chunks.
  /// @param ahead     at least two chunks are allowed.
  explicit SpscByteRing(std::size_t capacity, std::size_t ahead = kAhead)
      : chunk_(chunk_size(capacity)),
        count_(capacity / chunk_),
        ahead_(std::max(ahead, 2 * chunk_)),
        chunks_(count_) {
    XFER_ASSERT(capacity > 0);
  }

  [[nodiscard]] std::size_t capacity() const { return chunk_ * count_; }
  [[nodiscard]] std::size_t chunk() const { return chunk_; }

  // Writing side.

  /// The next free run of memory; empty when there is no room for a whole chunk. Not longer than to
  /// the end of a chunk.
  [[nodiscard]] MutByteView free_space() {
    const std::uint64_t end = published_.load(std::memory_order_relaxed);
    const std::size_t at = static_cast<std::size_t>(end % chunk_);
    if (at == 0 && !begin_chunk(end / chunk_)) return {};
    return {memory_at(end), chunk_ - at};
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
  /// Bytes of memory that were ever needed at a time.
  [[nodiscard]] std::size_t memory() const { return owned_.size() * chunk_; }

  // Reading side.

  /// REQUIRES: `size` is at most chunk(), and nothing of it is released.
  [[nodiscard]] Slices view(std::uint64_t offset, std::size_t size) const override {
    XFER_ASSERT(size <= chunk_ && offset >= released_.load(std::memory_order_relaxed));
    if (size == 0) return {};
    const std::uint64_t end = offset + size;
    if (end > taken_.load(std::memory_order_relaxed)) taken_.store(end, std::memory_order_release);
    const std::size_t left = chunk_ - static_cast<std::size_t>(offset % chunk_);
    if (size <= left) return {{memory_at(offset), size}, {}};
    return {{memory_at(offset), left}, {memory_at(offset + left), size - left}};
  }
  /// Gives every byte below `offset` back to the writer.
  void release(std::uint64_t offset) {
    XFER_ASSERT(offset >= released_.load(std::memory_order_relaxed) &&
                offset <= published_.load(std::memory_order_acquire));
    if (offset > taken_.load(std::memory_order_relaxed))
      taken_.store(offset, std::memory_order_release);
    released_.store(offset, std::memory_order_release);
  }
  /// Whether a writer that found no room has a fair amount now.
  [[nodiscard]] bool has_fair_room() const {
    const std::uint64_t limit =
        std::min(released_.load(std::memory_order_relaxed) / chunk_ * chunk_ + capacity(),
                 taken_.load(std::memory_order_relaxed) + ahead_);
    return limit >= published() + std::min(capacity(), ahead_) / 4;
  }

  // Either side.

  [[nodiscard]] std::uint64_t published() const {
    return published_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t released() const { return released_.load(std::memory_order_acquire); }

 private:
  /// Several chunks at any capacity; views of the largest packets where there is room for them.
  static std::size_t chunk_size(std::size_t capacity) {
    const std::size_t least = std::clamp<std::size_t>(capacity / 2, 1, kMinChunk);
    return std::clamp(capacity / 8, least, kMaxChunk);
  }

  [[nodiscard]] std::byte* memory_at(std::uint64_t offset) const {
    return chunks_[static_cast<std::size_t>(offset / chunk_ % chunks_.size())] + offset % chunk_;
  }

  /// Finds memory for chunk `number`, if it may be written yet. Again for the same one: finds it
  /// there.
  bool begin_chunk(std::uint64_t number) {
    if (number < begun_) return true;
    const std::uint64_t released = released_.load(std::memory_order_acquire) / chunk_;
    const std::uint64_t taken = taken_.load(std::memory_order_acquire);
    for (; reclaimed_ < released; ++reclaimed_)
      free_.push_back(chunks_[static_cast<std::size_t>(reclaimed_ % chunks_.size())]);
    if (number - released >= count_ || number * chunk_ >= taken + ahead_) return false;
    if (free_.empty()) {
      owned_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk_));
      free_.push_back(owned_.back().get());
    }
    chunks_[static_cast<std::size_t>(number % chunks_.size())] = free_.back();
    free_.pop_back();
    begun_ = number + 1;
    return true;
  }

  const std::size_t chunk_;
  const std::size_t count_;  ///< chunks that may be in use
  const std::size_t ahead_;
  /// Memory of chunk n at n modulo size. Changed by the writing side, only where neither
  /// [released, published) nor a chunk begun lies.
  std::vector<std::byte*> chunks_;

  // Writing side only.
  std::vector<std::unique_ptr<std::byte[]>> owned_;
  std::vector<std::byte*> free_;  ///< last released last
  std::uint64_t begun_ = 0;       ///< chunks that got memory
  std::uint64_t reclaimed_ = 0;   ///< chunks whose memory came back

  // Moved by the writing side.
  alignas(64) std::atomic<std::uint64_t> published_{0};
  // Moved by the reading side. A view of bytes is what takes them.
  alignas(64) mutable std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> released_{0};
};

}  // namespace xfer

#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>

namespace xfer::net {

/// Bounded first-in-first-out queue between one pushing and one popping thread, without locks.
template <typename T>
class SpscQueue {
 public:
  /// @param capacity  at least 1; rounded up to a power of two.
  explicit SpscQueue(std::size_t capacity)
      : mask_(std::bit_ceil(capacity) - 1), items_(std::make_unique<T[]>(mask_ + 1)) {}

  [[nodiscard]] std::size_t capacity() const { return mask_ + 1; }

  /// Pushing side. @return false: full.
  bool push(const T& item) {
    if (full()) return false;
    const std::size_t end = end_.load(std::memory_order_relaxed);
    items_[end & mask_] = item;
    end_.store(end + 1, std::memory_order_release);
    return true;
  }

  /// Pushing side.
  [[nodiscard]] bool full() const {
    return end_.load(std::memory_order_relaxed) - begin_.load(std::memory_order_acquire) > mask_;
  }

  /// Popping side. nullopt: empty.
  std::optional<T> pop() {
    const std::size_t begin = begin_.load(std::memory_order_relaxed);
    if (begin == end_.load(std::memory_order_acquire)) return std::nullopt;
    T item = items_[begin & mask_];
    begin_.store(begin + 1, std::memory_order_release);
    return item;
  }

  /// Either side; the other one may be changing it.
  [[nodiscard]] bool empty() const {
    return begin_.load(std::memory_order_acquire) == end_.load(std::memory_order_acquire);
  }

 private:
  static constexpr std::size_t kCacheLine = 64;

  std::size_t mask_;
  std::unique_ptr<T[]> items_;
  // Counted items, not positions; they wrap with the type. One cache line each, as each side writes
  // one of them.
  alignas(kCacheLine) std::atomic<std::size_t> begin_{0};
  alignas(kCacheLine) std::atomic<std::size_t> end_{0};
};

}  // namespace xfer::net

#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/check.hpp"

namespace xfer {

/// A bounded sequence in one piece of memory, cheap to change near either end: inserting and
/// erasing move the shorter side. Grows by doubling up to `limit` elements and keeps its memory, so
/// that a steady state allocates nothing. T is a trivially copyable struct.
template <typename T>
class FlatDeque {
 public:
  explicit FlatDeque(std::size_t limit) : limit_(limit) {}

  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] bool full() const { return size() >= limit_; }
  [[nodiscard]] T& operator[](std::size_t i) { return memory_[begin_ + i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return memory_[begin_ + i]; }
  [[nodiscard]] T& front() { return memory_[begin_]; }
  [[nodiscard]] const T& front() const { return memory_[begin_]; }
  [[nodiscard]] T& back() { return memory_[end_ - 1]; }
  [[nodiscard]] const T& back() const { return memory_[end_ - 1]; }
  [[nodiscard]] const T* begin() const { return memory_.data() + begin_; }
  [[nodiscard]] const T* end() const { return memory_.data() + end_; }
  [[nodiscard]] T* begin() { return memory_.data() + begin_; }
  [[nodiscard]] T* end() { return memory_.data() + end_; }

  void clear() { begin_ = end_ = memory_.size() / 2; }
  void push_back(const T& value) { insert(size(), value); }
  void pop_front() { ++begin_; }

  /// Makes `value` element `at`. REQUIRES: not full.
  void insert(std::size_t at, const T& value) {
    XFER_ASSERT(!full());
    const bool front_is_shorter = at < size() / 2;
    if (front_is_shorter ? begin_ == 0 : end_ == memory_.size()) make_room();
    if (front_is_shorter) {
      std::move(begin(), begin() + at, begin() - 1);
      --begin_;
    } else {
      std::move_backward(begin() + at, end(), end() + 1);
      ++end_;
    }
    memory_[begin_ + at] = value;
  }

  /// Removes elements [at, at + count).
  void erase(std::size_t at, std::size_t count = 1) {
    const std::size_t after = size() - at - count;
    if (at < after) {
      std::move_backward(begin(), begin() + at, begin() + at + count);
      begin_ += count;
    } else {
      std::move(begin() + at + count, end(), begin() + at);
      end_ -= count;
    }
  }

 private:
  /// Puts the elements into the middle of the memory, after enlarging it if it is more than half
  /// full.
  void make_room() {
    const std::size_t count = size();
    std::size_t capacity = std::max<std::size_t>(memory_.size(), 16);
    if (count * 2 > capacity) capacity *= 2;
    if (capacity != memory_.size()) {
      std::vector<T> larger(capacity);
      std::copy(begin(), end(), larger.data() + (capacity - count) / 2);
      memory_.swap(larger);
    } else {
      const std::size_t target = (capacity - count) / 2;
      if (target < begin_)
        std::move(begin(), end(), memory_.data() + target);
      else
        std::move_backward(begin(), end(), memory_.data() + target + count);
    }
    begin_ = (capacity - count) / 2;
    end_ = begin_ + count;
  }

  std::size_t limit_;
  std::vector<T> memory_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace xfer

#include "udt/receive_units.hpp"

#include <algorithm>
#include <functional>

#include "base/check.hpp"
#include "udt/limits.hpp"

namespace xfer::udt {
namespace {

/// A block is not made larger than this for the sake of its number of slots.
constexpr std::size_t kMaxBlockBytes = 256U << 10U;

/// Room for one UDP message, which may be a whole train, is enough for a loan, but for few large
/// payloads.
constexpr std::size_t kLeastLoan = 16;

/// Payloads shorter than the slots, in a row and equal, after which slots get that size: a short
/// one now and then is the end of a burst.
constexpr unsigned kSteadySize = 16;

/// Marks a Unit::block that counts payloads kept apart.
constexpr std::uint32_t kApart = 1U << 31U;

std::size_t divided_up(std::size_t value, std::size_t by) { return (value + by - 1) / by; }

/// Whether `data` points into `count` bytes at `begin`.
bool is_within(const std::byte* data, const std::byte* begin, std::size_t count) {
  return !std::less<>()(data, begin) && std::less<>()(data, begin + count);
}

}  // namespace

UnitPool::UnitPool(const Limits& limits)
    : payload_size_(limits.payload_size),
      block_slots_(std::clamp<std::size_t>(
          limits.block_packets, 1,
          std::max<std::size_t>(1, kMaxBlockBytes / std::max<std::size_t>(1, payload_size_)))),
      // What may be held, a loan, and two blocks of which only a part is in use.
      max_blocks_(divided_up(limits.packets, block_slots_) +
                  divided_up(std::min(kMaxReceiveBatch, limits.packets), block_slots_) + 2),
      stride_(limits.first_size == 0 ? limits.payload_size : limits.first_size) {
  XFER_ASSERT(limits.packets > 0 && limits.payload_size > 0);
}

std::size_t UnitPool::lend(std::span<MutByteView> rooms) {
  end_loan();
  const std::size_t message = divided_up(kMaxUdpMessage, stride_ + wire::kHeaderSize);
  const std::size_t wanted = std::min(rooms.size(), std::max(message, kLeastLoan));
  std::size_t count = 0;
  for (; count < wanted && has(next_ + count); ++count) rooms[count] = slot(next_ + count);
  loan_begin_ = next_;
  loan_end_ = next_ + count;
  return count;
}

void UnitPool::end_loan() {
  while (next_ >= block_slots_) close_oldest();
  // A block is used on as long as its slots fit, unless it can be had anew.
  if (next_ > 0 && (blocks_[open_.front()].held == 0 || blocks_[open_.front()].stride != stride_)) {
    close_oldest();
    next_ = 0;
  }
  while (open_.size() > (next_ > 0 ? 1U : 0U)) {
    blocks_[open_.back()].open = false;
    free_.push_back(open_.back());
    open_.pop_back();
  }
  loan_begin_ = loan_end_ = next_;
}

void UnitPool::close_oldest() {
  const std::uint32_t oldest = open_.front();
  open_.erase(open_.begin());
  next_ -= std::min(next_, block_slots_);
  blocks_[oldest].open = false;
  if (blocks_[oldest].held == 0) free_.push_back(oldest);
}

bool UnitPool::open_block() {
  if (free_.empty()) {
    if (blocks_.size() == max_blocks_) return false;
    free_.push_back(static_cast<std::uint32_t>(blocks_.size()));
    blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(block_slots_ * payload_size_)});
  }
  Block& block = blocks_[free_.back()];
  block.stride = static_cast<std::uint32_t>(stride_);
  block.open = true;
  open_.push_back(free_.back());
  free_.pop_back();
  return true;
}

/// Whether that slot exists, if need be from now on.
bool UnitPool::has(Place place) {
  while (place / block_slots_ >= open_.size()) {
    if (!open_block()) return false;
  }
  return true;
}

MutByteView UnitPool::slot(Place place) const {
  const Block& block = blocks_[open_[place / block_slots_]];
  return {block.memory.get() + place % block_slots_ * block.stride, block.stride};
}

/// Whether a lent slot begins there.
bool UnitPool::is_lent(const std::byte* data, Place& place) const {
  if (loan_begin_ == loan_end_) return false;
  place = std::max(next_, loan_begin_);
  if (place < loan_end_ && slot(place).data() == data) return true;  // the next one, as a rule
  for (std::size_t i = 0; i < open_.size(); ++i) {
    const Block& block = blocks_[open_[i]];
    if (!is_within(data, block.memory.get(), block_slots_ * block.stride)) continue;
    const auto offset = static_cast<std::size_t>(data - block.memory.get());
    place = i * block_slots_ + offset / block.stride;
    return offset % block.stride == 0 && place >= loan_begin_ && place < loan_end_;
  }
  return false;
}

Unit UnitPool::commit(ByteView payload) {
  XFER_ASSERT(payload.size() <= payload_size_);
  note_size(payload.size());
  Place place = 0;
  if (is_lent(payload.data(), place)) return keep(place, payload);
  return keep_copy(payload);
}

/// What is in slot `place` is kept there.
Unit UnitPool::keep(Place place, ByteView payload) {
  const std::uint32_t block = open_[place / block_slots_];
  ++blocks_[block].held;
  next_ = std::max(next_, place + 1);
  return {payload.data(), static_cast<std::uint32_t>(payload.size()), block};
}

Unit UnitPool::keep_copy(ByteView payload) {
  ++copies_;
  if (loan_begin_ == loan_end_) end_loan();
  // Lent room may hold what is not committed yet.
  const Place place = std::max(next_, loan_end_);
  if (!has(place)) return keep_apart(payload);
  const MutByteView room = slot(place);
  if (room.size() < payload.size()) return keep_apart(payload);
  std::copy(payload.begin(), payload.end(), room.begin());
  return keep(place, room.first(payload.size()));
}

Unit UnitPool::keep_apart(ByteView payload) {
  if (apart_free_.empty()) {
    apart_free_.push_back(static_cast<std::uint32_t>(apart_.size()));
    apart_.push_back(std::make_unique_for_overwrite<std::byte[]>(payload_size_));
  }
  const std::uint32_t index = apart_free_.back();
  apart_free_.pop_back();
  std::copy(payload.begin(), payload.end(), apart_[index].get());
  return {apart_[index].get(), static_cast<std::uint32_t>(payload.size()), kApart | index};
}

void UnitPool::release(const Unit& unit) {
  if ((unit.block & kApart) != 0) {
    apart_free_.push_back(unit.block & ~kApart);
    return;
  }
  Block& block = blocks_[unit.block];
  XFER_ASSERT(block.held > 0);
  if (--block.held == 0 && !block.open) free_.push_back(unit.block);
}

void UnitPool::note_size(std::size_t size) {
  equal_sizes_ = size == last_size_ ? equal_sizes_ + 1 : 1;
  last_size_ = size;
  if (size > stride_ || (size > 0 && size < stride_ && equal_sizes_ >= kSteadySize)) stride_ = size;
}

}  // namespace xfer::udt

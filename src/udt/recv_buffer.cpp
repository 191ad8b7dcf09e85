#include "udt/recv_buffer.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace xfer::udt {

RecvBuffer::RecvBuffer(std::size_t slots, std::size_t payload_size, ReceiveUnits& units)
    : slots_(std::bit_ceil(slots)), count_(slots), payload_size_(payload_size), units_(units) {
  XFER_ASSERT(slots > 0 && payload_size > 0);
}

RecvBuffer::Outcome RecvBuffer::check(PacketIndex index) const {
  if (index < contiguous_) return Outcome::duplicate;
  if (index >= base_ + static_cast<PacketIndex>(count_)) return Outcome::outside;
  return slot(index).data != nullptr ? Outcome::duplicate : Outcome::stored;
}

void RecvBuffer::store(PacketIndex index, ByteView payload) {
  XFER_ASSERT(check(index) == Outcome::stored && payload.size() <= payload_size_);
  slot(index) = units_.commit(payload);
  end_ = std::max(end_, index + 1);
  while (contiguous_ < end_ && slot(contiguous_).data != nullptr) ++contiguous_;
}

std::optional<ByteView> RecvBuffer::take() {
  ByteView run;
  while (taken_ < contiguous_) {
    const Unit& next = slot(taken_);
    if (run.empty()) {
      run = {next.data, next.size};
    } else if (run.data() + run.size() == next.data) {
      run = {run.data(), run.size() + next.size};
    } else {
      break;
    }
    ++taken_;
  }
  if (run.empty()) {
    consume(0);  // what was taken held no bytes
    return std::nullopt;
  }
  return run;
}

void RecvBuffer::consume(std::uint64_t bytes) {
  consumed_of_base_ += bytes;
  while (base_ < taken_ && consumed_of_base_ >= slot(base_).size) {
    consumed_of_base_ -= slot(base_).size;
    units_.release(slot(base_));
    slot(base_) = {};
    ++base_;
  }
  XFER_ASSERT(base_ < taken_ || consumed_of_base_ == 0);
}

}  // namespace xfer::udt

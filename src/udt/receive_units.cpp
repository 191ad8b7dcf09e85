#include "udt/receive_units.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace xfer::udt {

ByteView SlotUnits::commit(PacketIndex index, ByteView payload) {
  XFER_ASSERT(payload.size() <= payload_size_);
  if (!memory_) memory_ = std::make_unique_for_overwrite<std::byte[]>(slots_ * payload_size_);
  std::byte* slot = memory_.get() + (static_cast<std::size_t>(index) % slots_) * payload_size_;
  std::copy(payload.begin(), payload.end(), slot);
  ++copies_;
  return {slot, payload.size()};
}

}  // namespace xfer::udt

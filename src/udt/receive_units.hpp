#pragma once

#include <memory>

#include "base/bytes.hpp"
#include "udt/packet_index.hpp"

namespace xfer::udt {

/// Where received payloads live from their arrival until the application is done with them: the
/// seam behind which an allocator with contiguous runs of units can go. One per connection.
class ReceiveUnits {
 public:
  virtual ~ReceiveUnits() = default;
  /// Keeps the payload of packet `index`, which was read into lent room or anywhere else, and
  /// returns where it lives until release(index). Payloads of neighbouring full packets are
  /// adjacent in memory where possible. REQUIRES: `index` is not held, and less than the buffer's
  /// slot count above the lowest one that is.
  virtual ByteView commit(PacketIndex index, ByteView payload) = 0;
  virtual void release(PacketIndex index) = 0;
  /// Payloads moved inside user space so far.
  [[nodiscard]] virtual std::uint64_t copies() const = 0;
};

/// One slot per packet index modulo the slot count, payload-sized and adjacent; each payload is
/// copied to its slot. Memory is reserved at the first commit and touched only where used.
class SlotUnits final : public ReceiveUnits {
 public:
  SlotUnits(std::size_t slots, std::size_t payload_size)
      : slots_(slots), payload_size_(payload_size) {}

  ByteView commit(PacketIndex index, ByteView payload) override;
  void release(PacketIndex) override {}
  [[nodiscard]] std::uint64_t copies() const override { return copies_; }

 private:
  std::size_t slots_;
  std::size_t payload_size_;
  std::unique_ptr<std::byte[]> memory_;
  std::uint64_t copies_ = 0;
};

}  // namespace xfer::udt

#pragma once

#include <optional>
#include <vector>

#include "udt/packet_index.hpp"
#include "udt/receive_units.hpp"

namespace xfer::udt {

/// Received packets between their arrival and the application's consume(). Four positions, in
/// packet indices:
///
///   base <= taken <= contiguous <= end
///   base        oldest packet not fully consumed: slots below it are free
///   taken       first packet not handed to the application yet
///   contiguous  first packet that is missing
///   end         one past the newest packet stored
class RecvBuffer {
 public:
  enum class Outcome : std::uint8_t { stored, duplicate, outside };

  /// Holds `slots` packets of up to `payload_size` bytes. `units` must outlive the buffer.
  RecvBuffer(std::size_t slots, std::size_t payload_size, ReceiveUnits& units);

  [[nodiscard]] PacketIndex base() const { return base_; }
  [[nodiscard]] PacketIndex taken() const { return taken_; }
  [[nodiscard]] PacketIndex contiguous() const { return contiguous_; }
  [[nodiscard]] PacketIndex end() const { return end_; }

  /// Whether a packet with that index would be stored.
  [[nodiscard]] Outcome check(PacketIndex index) const;
  /// Stores a packet. REQUIRES: check(index) == stored and the payload fits.
  void store(PacketIndex index, ByteView payload);

  /// The next run of in-order bytes, as long as memory is adjacent; nullopt: none. Valid until
  /// consumed.
  std::optional<ByteView> take();
  /// Frees the oldest `bytes` bytes taken. REQUIRES: no more than were taken and not consumed.
  void consume(std::uint64_t bytes);

 private:
  [[nodiscard]] Unit& slot(PacketIndex index) {
    return slots_[static_cast<std::size_t>(index) & (slots_.size() - 1)];
  }
  [[nodiscard]] const Unit& slot(PacketIndex index) const {
    return slots_[static_cast<std::size_t>(index) & (slots_.size() - 1)];
  }

  std::vector<Unit> slots_;  ///< a power of two; without data: not there
  std::size_t count_;        ///< of them in use
  std::size_t payload_size_;
  ReceiveUnits& units_;
  PacketIndex base_ = 0;
  PacketIndex taken_ = 0;
  PacketIndex contiguous_ = 0;
  PacketIndex end_ = 0;
  std::uint64_t consumed_of_base_ = 0;  ///< bytes of packet `base_` already consumed
};

}  // namespace xfer::udt

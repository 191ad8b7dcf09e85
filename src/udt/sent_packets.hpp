#pragma once

#include <vector>

#include "base/check.hpp"
#include "udt/delivery_meter.hpp"
#include "udt/packet_index.hpp"

namespace xfer::udt {

/// What the sender remembers of each packet in flight: [begin, end) in packet indices, in a ring
/// that doubles up to the send window and then stays.
class SentPackets {
 public:
  struct Record {
    std::uint64_t offset = 0;  ///< of its first byte in the stream
    std::uint32_t size = 0;    ///< payload bytes
    std::uint32_t times_sent = 0;
    TimePoint last_sent{};
    DeliveryMeter::Stamp stamp{};
  };

  SentPackets() : ring_(64) {}

  [[nodiscard]] PacketIndex begin() const { return begin_; }
  [[nodiscard]] PacketIndex end() const { return end_; }
  [[nodiscard]] std::uint32_t in_flight() const {
    return static_cast<std::uint32_t>(end_ - begin_);
  }
  /// REQUIRES: begin() <= index < end().
  [[nodiscard]] Record& operator[](PacketIndex index) { return ring_[slot(index)]; }
  [[nodiscard]] const Record& operator[](PacketIndex index) const { return ring_[slot(index)]; }

  void push_back(const Record& record) {
    if (static_cast<std::size_t>(end_ - begin_) == ring_.size()) grow();
    ring_[slot(end_)] = record;
    ++end_;
  }
  /// Forgets the packets below `index`. REQUIRES: begin() <= index <= end().
  void release(PacketIndex index) { begin_ = index; }

 private:
  [[nodiscard]] std::size_t slot(PacketIndex index) const {
    return static_cast<std::size_t>(index) & (ring_.size() - 1);
  }
  void grow() {
    std::vector<Record> larger(ring_.size() * 2);
    for (PacketIndex i = begin_; i < end_; ++i)
      larger[static_cast<std::size_t>(i) & (larger.size() - 1)] = ring_[slot(i)];
    ring_.swap(larger);
  }

  std::vector<Record> ring_;  ///< size is a power of two
  PacketIndex begin_ = 0;
  PacketIndex end_ = 0;
};

}  // namespace xfer::udt

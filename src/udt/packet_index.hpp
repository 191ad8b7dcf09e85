#pragma once

#include <cstdint>

#include "udt/limits.hpp"
#include "wire/seqno.hpp"

namespace xfer::udt {

/// Data packets of one direction, counted from 0 at the initial sequence number; never wraps.
/// Inside the core order is the order of these; sequence numbers live only at the edge.
using PacketIndex = std::int64_t;

/// Translates between sequence numbers on the wire and packet indices of one direction.
class SeqMapper {
 public:
  SeqMapper() = default;
  explicit SeqMapper(wire::SeqNo isn) : isn_(isn) {}

  [[nodiscard]] wire::SeqNo isn() const { return isn_; }
  [[nodiscard]] wire::SeqNo to_seq(PacketIndex index) const { return isn_.advanced(index); }
  /// The index nearest to `near` that has this sequence number; negative: before the first packet.
  [[nodiscard]] PacketIndex to_index(wire::SeqNo seq, PacketIndex near) const {
    return near + wire::SeqNo::distance(to_seq(near), seq);
  }
  /// Where a packet stands among the packet pairs: they are the *sequence numbers* 16n and 16n+1
  /// (rule I-19), so an index is shifted by where the first number stands. Only its remainder and
  /// neighbourhood mean something.
  [[nodiscard]] std::int64_t pair_position(PacketIndex index) const {
    return index + isn_.value() % kPacketPairInterval;
  }

 private:
  wire::SeqNo isn_;
};

}  // namespace xfer::udt

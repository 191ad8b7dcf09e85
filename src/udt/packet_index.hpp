#pragma once

#include <cstdint>

#include "wire/seqno.hpp"

namespace xfer::udt {

/// Data packets of one direction, counted from 0 at the initial sequence number; never wraps. Inside the core order
/// is the order of these; sequence numbers live only at the edge.
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

 private:
  wire::SeqNo isn_;
};

}  // namespace xfer::udt

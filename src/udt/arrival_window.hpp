#pragma once

#include <array>

#include "udt/limits.hpp"
#include "udt/packet_index.hpp"

namespace xfer::udt {

/// Packet arrival speed: how fast packets come in while they come in. Counts packets per time over
/// groups of kGroup packets and takes the median of the last kGroups groups, so that it neither
/// depends on whole microseconds (fault B3) nor on single gaps; an interval far above the group's
/// mean is a pause of the sender, not a rate.
class ArrivalRate {
 public:
  void on_packet(TimePoint arrival);
  /// Packets/s; 0: unknown as yet.
  [[nodiscard]] std::uint32_t packets_per_second() const;

 private:
  static constexpr std::size_t kGroups = 8;
  static constexpr std::uint32_t kGroup = 16;
  static constexpr int kPauseFactor = 8;

  void close_group();

  std::array<double, kGroups> rates_{};
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
  bool started_ = false;
  TimePoint last_{};
  Duration elapsed_{};
  std::uint32_t intervals_ = 0;
  std::uint32_t gaps_ = 0;  ///< intervals of more than no time
  std::uint32_t pauses_in_a_row_ = 0;
};

/// Link capacity from packet pairs (UDT draft, section 3.4): the spacing of packets 16n and 16n+1,
/// which left back to back. Only neighbours that arrive as new packets in order count, and a
/// spacing of zero says nothing (faults B4, B5).
class LinkCapacity {
 public:
  /// A data packet that continues the sequence; `arrival` from the kernel where possible.
  /// @param position  SeqMapper::pair_position() of the packet.
  void on_in_order(std::int64_t position, TimePoint arrival);
  /// Any other data packet: it breaks a pair.
  void on_other() { first_of_pair_ = -1; }
  /// Packets/s; 0: unknown as yet.
  [[nodiscard]] std::uint32_t packets_per_second() const;

 private:
  static constexpr std::size_t kPairs = 64;
  static constexpr std::size_t kFewest = 4;

  std::array<std::int64_t, kPairs> spacing_ns_{};
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
  std::int64_t first_of_pair_ = -1;
  TimePoint first_arrival_{};
};

/// Mean of the values strictly between an eighth of the median and eight times it, and of the
/// median itself. `count` > 0 values; reorders them. The filter of UDT's estimators (wire facts,
/// section 10), all slots counted.
double filtered_mean(std::int64_t* values, std::size_t count);

}  // namespace xfer::udt

#pragma once

#include <vector>

#include "due_queue.hpp"
#include "link.hpp"
#include "packet.hpp"
#include "settings.hpp"
#include "tun.hpp"

namespace xfer::netlab {

/// How late packets were handed over, against when the link model wanted them to arrive.
class Lateness {
 public:
  void add(Duration late);
  /// The value that `share` of all packets were not above, rounded up to 10 us; at most 10 ms.
  [[nodiscard]] Duration percentile(double share) const;
  [[nodiscard]] Duration max() const { return max_; }

 private:
  static constexpr std::int64_t kStep = 10'000;
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(1001);
  std::uint64_t total_ = 0;
  Duration max_{};
};

/// What the link model does not count.
struct DirectionStats {
  std::uint64_t reads = 0;    ///< packets or super-packets read
  std::uint64_t writes = 0;   ///< the same, written
  std::uint64_t written = 0;  ///< packets on the wire in them
  std::uint64_t dropped_memory = 0;
  std::uint64_t dropped_malformed = 0;
  std::uint64_t dropped_write = 0;  ///< refused by the receiving kernel
  std::uint64_t icmp_sent = 0;
};

/// Carries packets from one device to the other through a link model. The order is always: receive,
/// then deliver.
class Direction {
 public:
  /// All of them must outlive the object. `index` is 0 for a to b, 1 for b to a.
  Direction(Tun& from, Tun& to, PacketPool& pool, const Settings& settings, std::size_t index,
            TimePoint now);

  /// Takes what `settings` say from now on.
  void change(const Settings& settings, std::size_t index, bool restart_outages, TimePoint now);

  /// Reads at most `most` packets; how many there were.
  std::size_t receive(std::size_t most);
  /// Hands over what is due; how many packets that were.
  std::size_t deliver();
  [[nodiscard]] std::optional<TimePoint> next_due() const { return due_.next(); }

  [[nodiscard]] sim::Link& link() { return link_; }
  [[nodiscard]] const DirectionStats& stats() const { return stats_; }
  [[nodiscard]] const Lateness& lateness() const { return lateness_; }
  [[nodiscard]] std::size_t in_flight() const { return due_.size(); }
  [[nodiscard]] std::uint64_t device_drops() const { return from_.dropped(); }

 private:
  void carry(const Tun::Read& read, TimePoint now);
  void enter_link(WirePacket* packet, TimePoint now);
  WirePacket* copy_of(const WirePacket& packet);
  void answer_too_long(const WirePacket& packet);
  void load(WirePacket* packet);
  void unload(Train& train);
  void unload_all();

  /// Flows whose trains may be open at a time.
  static constexpr std::size_t kMaxTrains = 8;

  Tun& from_;
  Tun& to_;
  PacketPool& pool_;
  sim::Link link_;
  TimePoint outage_origin_;
  bool icmp_ = false;
  bool coalesce_ = true;
  DueQueue<WirePacket*> due_;
  std::array<Train, kMaxTrains> trains_;  ///< all empty between calls
  DirectionStats stats_;
  Lateness lateness_;
};

}  // namespace xfer::netlab

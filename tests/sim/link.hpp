#pragma once

#include <array>
#include <deque>
#include <functional>
#include <vector>

#include "base/bytes.hpp"
#include "base/random.hpp"
#include "base/socket_address.hpp"
#include "base/time.hpp"
#include "wire/packet.hpp"

namespace xfer::sim {

/// Bytes of IP and UDP header in front of a datagram's payload.
constexpr std::size_t ip_udp_overhead(SocketAddress::Family family) {
  return family == SocketAddress::Family::ipv6 ? 48 : 28;
}

/// From `begin` to just before `end`.
struct Interval {
  TimePoint begin;
  TimePoint end;
};

/// Loss in bursts, the Gilbert-Elliott model: two states, a step per datagram. `enter` 0 switches
/// it off.
struct BurstLoss {
  double enter = 0;  ///< probability of going from good to bad
  double leave = 1;  ///< probability of going from bad to good
  double loss_bad = 1;
};

/// A datagram about to enter a link, as scripts see it.
struct PacketView {
  ByteView bytes;
  bool decoded = false;  ///< it has a whole UDT header
  wire::Header header;   ///< only if decoded
  /// Data packets: index in their flow (0: the first data packet to this destination socket) and
  /// how many times that packet was on this link before.
  std::int64_t data_index = -1;
  unsigned transmission = 0;
  TimePoint now;

  [[nodiscard]] bool is_data() const {
    return decoded && std::holds_alternative<wire::DataHeader>(header);
  }
  [[nodiscard]] bool is(wire::ControlType type) const {
    const auto* control = decoded ? std::get_if<wire::ControlHeader>(&header) : nullptr;
    return control != nullptr && control->type == type;
  }
  [[nodiscard]] ByteView body() const { return bytes.subspan(wire::kHeaderSize); }
};

/// Says whether to drop a packet. Asked for every packet in the order of sending, so it may count.
using DropRule = std::function<bool(const PacketView&)>;

/// Drops data packet `index` and its first `retransmissions` retransmissions.
DropRule drop_data(std::int64_t index, unsigned retransmissions = 0);
/// Drops every `every`-th data packet of each flow (indices every - 1, 2 * every - 1, ...) and its
/// first `retransmissions` retransmissions. REQUIRES: every > 0.
DropRule drop_every(std::int64_t every, unsigned retransmissions = 0);
/// Drops the first `count` control packets of that type after letting `skip` of them pass.
DropRule drop_control(wire::ControlType type, unsigned count = ~0U, unsigned skip = 0);
/// Drops everything.
DropRule drop_all();

/// What one direction of a path does to datagrams. May be changed in the middle of a run.
struct LinkOptions {
  std::uint64_t rate = 0;             ///< bits/s of IP packets; 0: no limit
  Duration delay{};                   ///< one way
  Duration jitter{};                  ///< up to this much is added, uniformly distributed
  bool jitter_reorders = false;       ///< datagrams may overtake each other by jitter
  std::size_t queue_limit = 1 << 20;  ///< bytes of IP packets waiting; what does not fit is dropped
  std::size_t queue_packets = 0;      ///< the same in packets; 0: only bytes count
  double loss = 0;                    ///< probability, independent
  BurstLoss burst;
  double duplication = 0;
  double reordering = 0;  ///< probability of being held back by reordering_delay
  Duration reordering_delay{};
  double corruption = 0;  ///< probability of 1 ... 7 flipped bits anywhere behind the UDP header
  double truncation = 0;  ///< probability of losing a part of the end
  /// Damaged datagrams reach the receiver. Without it they are dropped, as a kernel does whose UDP
  /// checksum is wrong.
  bool deliver_damaged = false;
  /// Longest IP packet, bytes; longer ones are dropped, unless they may be fragmented.
  std::size_t mtu = 65'535;
  std::vector<Interval> blackouts;
};

struct LinkStats {
  std::uint64_t offered = 0;
  std::uint64_t delivered = 0;        ///< duplicates included
  std::uint64_t delivered_bytes = 0;  ///< IP packets, duplicates included
  std::uint64_t dropped_script = 0;
  std::uint64_t dropped_mtu = 0;
  std::uint64_t fragmented = 0;  ///< longer than the MTU, and let through
  std::uint64_t dropped_blackout = 0;
  std::uint64_t dropped_queue = 0;
  std::uint64_t dropped_loss = 0;
  std::uint64_t dropped_damaged = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t damaged = 0;
};

/// How full a link's queue was: the unsent part of the packet that is being sent counts, what is on
/// its way does not. Always empty without a rate.
struct QueueStats {
  std::uint64_t bytes = 0;      ///< now
  std::uint64_t max_bytes = 0;  ///< at most, so far
  double byte_seconds = 0;      ///< `bytes` integrated over time: differences give means
};

/// One copy of a datagram that comes out of a link.
struct Delivery {
  TimePoint at;
  std::size_t length = 0;         ///< bytes, less than sent if it was truncated
  std::uint64_t damage_seed = 0;  ///< not 0: damage() it
};

/// What becomes of one datagram: nothing, one copy or two.
struct Fate {
  std::array<Delivery, 2> copies;
  std::size_t count = 0;
};

/// One direction of a path: decides when and how each datagram comes out. Holds no bytes; the
/// network does.
class Link {
 public:
  Link(const LinkOptions& initial, std::uint64_t seed) : options(initial), random_(seed) {}

  /// What the link is like from now on.
  LinkOptions options;
  std::vector<DropRule> rules;

  /// `now` must not go back. Rules see the datagram, so one that is not UDP's payload comes as
  /// empty, with the length of the whole packet as overhead.
  Fate decide(ByteView datagram, std::size_t header_overhead, TimePoint now,
              bool may_fragment = false);

  [[nodiscard]] const LinkStats& stats() const { return stats_; }
  /// `now` must not go back.
  [[nodiscard]] QueueStats queue_stats(TimePoint now);

 private:
  /// Data packets of one flow seen so far, for scripts.
  struct Flow {
    std::uint32_t destination = 0;
    wire::SeqNo first;
    std::vector<std::uint8_t> transmissions;
  };

  PacketView inspect(ByteView datagram, TimePoint now);
  bool lost();
  TimePoint leave_queue(std::size_t size, TimePoint now);
  [[nodiscard]] double backlog(TimePoint now) const;
  void account_queue(TimePoint now);
  bool packets_fit(TimePoint now);
  TimePoint arrival(TimePoint departure);

  SeededRandom random_;
  LinkStats stats_;
  std::vector<Flow> flows_;
  bool in_burst_ = false;
  TimePoint busy_until_{};
  std::uint64_t rate_remainder_ = 0;
  std::deque<TimePoint> departures_;  ///< of the packets in the queue, if they are limited
  double queue_max_ = 0;
  double queue_byte_seconds_ = 0;
  TimePoint queue_accounted_{};
  TimePoint newest_arrival_{};
};

/// Flips up to 7 bits of `bytes`, the same ones for the same seed.
void damage(MutByteView bytes, std::uint64_t seed);

}  // namespace xfer::sim

#pragma once

#include <cstdint>

#include "base/time.hpp"

namespace xfer::udt {

/// Counters and gauges of one connection. Counters only grow.
struct ConnectionStats {
  // Sender.
  std::uint64_t packets_sent = 0;  ///< data packets, retransmissions included
  std::uint64_t packets_retransmitted = 0;
  std::uint64_t payload_bytes_sent = 0;  ///< retransmissions included
  std::uint64_t acks_received = 0;       ///< full and partial
  std::uint64_t light_acks_received = 0;
  std::uint64_t naks_received = 0;
  std::uint64_t probes_sent = 0;
  std::uint64_t dupack_retransmits = 0;    ///< packets sent again because of equal ACK numbers
  std::uint64_t spurious_retransmits = 0;  ///< found later to have been needless
  std::uint64_t exp_fired = 0;             ///< everything in flight queued again
  std::uint64_t path_probes_sent = 0;      ///< of packet sizes
  std::uint64_t path_probes_confirmed = 0;
  std::uint64_t path_black_holes = 0;  ///< times that large packets did not get through, small did
  // Receiver.
  std::uint64_t packets_received = 0;  ///< data packets, duplicates and discarded ones included
  std::uint64_t packets_duplicate = 0;
  std::uint64_t packets_outside_window = 0;  ///< discarded
  std::uint64_t packets_lost = 0;            ///< seen missing when a later one arrived
  std::uint64_t payload_bytes_received = 0;  ///< first copies only
  std::uint64_t payload_copies = 0;          ///< payloads moved inside user space
  std::uint64_t acks_sent = 0;               ///< full and partial
  std::uint64_t light_acks_sent = 0;
  std::uint64_t ack2s_sent = 0;
  std::uint64_t naks_sent = 0;
  std::uint64_t nak_repeats = 0;            ///< holes reported again
  std::uint64_t peak_reordered_ranges = 0;  ///< most holes open at a time
  // Both.
  std::uint64_t control_malformed = 0;  ///< did not decode, dropped
  std::uint64_t control_implausible =
      0;  ///< decoded but impossible in this state, dropped (faults D9, D12)
  std::uint64_t control_ignored = 0;  ///< types a stream connection has no use for
  // Gauges.
  Duration rtt{};
  Duration rtt_var{};
  Duration min_rtt{};                       ///< least round-trip time seen; zero: none yet
  std::uint32_t arrival_rate_pps = 0;       ///< receiver's own estimate
  std::uint32_t capacity_pps = 0;           ///< receiver's own estimate
  std::uint32_t peer_arrival_rate_pps = 0;  ///< as reported by the peer, smoothed
  std::uint32_t peer_capacity_pps = 0;
  std::uint32_t cwnd = 0;  ///< packets
  Duration send_period{};
  std::uint32_t flight = 0;          ///< packets sent and not acknowledged
  std::uint32_t counted_flight = 0;  ///< what cwnd limits: all of them, or those on their way
  std::uint32_t peer_window = 0;     ///< packets
  std::uint32_t receive_window = 0;  ///< ours, packets
  std::uint32_t packet_size = 0;     ///< of full packets sent now, counted as the MSS is
  std::uint32_t capabilities = 0;    ///< agreed with the peer: bits of wire::CapabilityBlock
};

/// Counters of an endpoint: datagrams that reached no connection.
struct EndpointStats {
  std::uint64_t datagrams_received = 0;
  std::uint64_t datagrams_short = 0;      ///< no whole header
  std::uint64_t datagrams_truncated = 0;  ///< larger than the room lent for them (fault D14)
  std::uint64_t datagrams_foreign = 0;    ///< unknown socket ID, or not from that connection's peer
  std::uint64_t handshakes_malformed = 0;
  std::uint64_t cookies_sent = 0;
  std::uint64_t cookies_refused = 0;
  std::uint64_t rejected = 0;  ///< answered with request type 1002
};

}  // namespace xfer::udt

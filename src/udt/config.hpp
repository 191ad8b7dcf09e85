#pragma once

#include <optional>

#include "base/result.hpp"
#include "udt/limits.hpp"

namespace xfer::udt {

enum class ControllerKind : std::uint8_t {
  automatic,   ///< bbr with a peer that sends delivery reports, else udt_native
  udt_native,  ///< UDT4's rate control with its faults mended
  fixed_rate,  ///< the rate the operator gave
  bbr,         ///< delivery-rate and min-RTT model
};

/// Options of one connection. Plain values; fixed once the connection exists.
struct ConnectionConfig {
  // Changes behaviour.

  /// How long connecting may take. 100 ms ... 1 h.
  Duration connect_timeout = 5s;
  /// A connected peer that sends nothing for this long is lost. At least 2 s: stock peers may be
  /// silent for 1 s.
  Duration idle_timeout = 30s;
  /// How long close() waits for the peer to acknowledge what was written. 0 ... 1 h.
  Duration linger = 30s;

  // Changes performance.

  /// Largest IP packet, IPv4 and UDP headers included; the smaller of both sides' is used. kMinMss
  /// ... kMaxMss bytes.
  std::uint32_t mss = kDefaultMss;
  /// Receive buffer announced to the peer, packets. kMinFlightWindow ... kMaxFlightWindow. Costs
  /// window x packet size memory, touched only when used, and is cut to max_memory. Grows by itself
  /// where the peer has the capability.
  std::uint32_t receive_window = kDefaultFlightWindow;
  /// Most packets in flight whatever the peer announces. Costs 32 bytes each, taken when used.
  std::uint32_t send_window = kMaxFlightWindow;
  ControllerKind controller = ControllerKind::automatic;
  /// Repair lost retransmissions before a time-out: second NAKs and duplicate-ACK retransmission.
  bool audt_recovery = true;
  /// ACK opportunities without progress after which a NAK is repeated (receiver half). 1 ... 1000.
  std::uint32_t nak_repeat_threshold = 2;
  /// Equal ACK numbers after which the oldest packet is sent again (sender half). 1 ... 1000.
  std::uint32_t duplicate_ack_threshold = 2;
  /// Packets per contiguous block of receive memory (FP of the A-UDT paper). 1 ...
  /// kMaxTrainSegments.
  std::uint32_t block_packets = 32;
  /// Ceiling on receive memory, and on what may be in flight, per connection and direction, bytes.
  /// At least kMinMemory. Windows grow to the measured bandwidth-delay product below it.
  std::uint64_t max_memory = std::uint64_t{256} << 20U;
  /// Offer the capability block to the peer: windows larger than announced, packet size probing.
  bool capabilities = true;
  /// Largest IP packet to probe for, bytes; nullopt: what the interface takes, at most kMaxAutoMtu.
  /// Below the MSS it is the MSS. An MSS below the default is never exceeded.
  std::optional<std::uint32_t> max_mtu{};
  /// Ceiling on the sending rate (fixed_rate: the rate), bytes/s of IP packets; nullopt: none.
  std::optional<std::uint64_t> max_rate{};

  // For tests.

  /// Initial sequence number; nullopt: random.
  std::optional<wire::SeqNo> isn{};

  ///   ErrorCode::out_of_range, `what` names the field.
  [[nodiscard]] Result<void> validate() const;
};

/// Options of the listening side of an endpoint.
struct ListenConfig {
  ConnectionConfig connection{};
  /// Connections that may exist at a time; further requests are rejected. At least 1.
  std::size_t max_connections = 64;

  [[nodiscard]] Result<void> validate() const;
};

}  // namespace xfer::udt

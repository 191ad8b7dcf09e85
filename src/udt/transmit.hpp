#pragma once

#include <array>

#include "base/bytes.hpp"
#include "base/socket_address.hpp"
#include "udt/limits.hpp"

namespace xfer::udt {

/// Caller-owned room for one train of datagrams. Datagram i is heads[i] followed by payloads[i] (a
/// control packet's body is a payload too). Payload views point into the sender's byte source or
/// into `control`: they are valid until the next call to the endpoint or the next release of
/// acknowledged bytes.
struct TrainBuffer {
  std::array<std::array<std::byte, wire::kHeaderSize>, kMaxTrainSegments> heads;
  std::array<Slices, kMaxTrainSegments> payloads;
  std::array<std::byte, kMaxControlSize> control;
};

/// What poll_transmit() left in a TrainBuffer: `segments` datagrams to one address, all
/// `segment_size` bytes long but the last, which may be shorter.
struct Transmit {
  SocketAddress destination;
  std::size_t segments = 0;
  std::size_t segment_size = 0;
  /// Larger than the path takes in one piece: to be sent without "don't fragment".
  bool may_fragment = false;
  /// Tries whether its size gets through: to be dropped rather than sent in fragments.
  bool path_probe = false;
};

/// Room the endpoint lends for one datagram to come.
struct ReceiveSlot {
  MutByteView head;     ///< kHeaderSize bytes
  MutByteView payload;  ///< as large as the payloads that are expected; others may come
};

/// One datagram as read by the driver.
struct ReceivedDatagram {
  SocketAddress from;
  ByteView head;           ///< first kHeaderSize bytes, fewer if the datagram is shorter
  ByteView payload;        ///< the rest
  bool truncated = false;  ///< it was longer than the room for it
  TimePoint arrival{};     ///< kernel receive time if known, else the time of the read; only
                           ///< estimators use it
};

}  // namespace xfer::udt

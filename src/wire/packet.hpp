#pragma once

#include <variant>

#include "base/byte_writer.hpp"
#include "base/bytes.hpp"
#include "base/result.hpp"
#include "wire/seqno.hpp"

namespace xfer::wire {

/// Every packet starts with four big-endian 32-bit words (UDT draft, section 2).
inline constexpr std::size_t kHeaderSize = 16;
/// IPv4 and UDP headers, which the MSS counts (wire facts, section 1).
inline constexpr std::size_t kIpUdpOverhead = 28;
/// What a full data packet's payload is shorter than the MSS.
inline constexpr std::size_t kPayloadOverhead = kIpUdpOverhead + kHeaderSize;

enum class ControlType : std::uint16_t {
  handshake = 0,
  keep_alive = 1,
  ack = 2,
  nak = 3,
  congestion_warning = 4,
  shutdown = 5,
  ack2 = 6,
  message_drop = 7,
  error_signal = 8,
  user_defined = 0x7FFF,
};

/// Sub-types of user_defined, only between peers that agreed on kPathMtuProbing.
inline constexpr std::uint16_t kPathMtuProbe = 1;         ///< its size is the message
inline constexpr std::uint16_t kPathMtuConfirmation = 2;  ///< a probe has arrived

/// Where in its message a packet stands: bits 31..30 of word 1.
enum class Boundary : std::uint8_t { middle = 0, last = 1, first = 2, solo = 3 };

struct DataHeader {
  SeqNo seq;
  Boundary boundary = Boundary::solo;
  bool in_order = false;
  MsgNo message;
  std::uint32_t timestamp_us = 0;  ///< since the sender's socket was opened; wraps; never relied on
  SocketId destination;

  friend bool operator==(const DataHeader&, const DataHeader&) = default;
};

struct ControlHeader {
  ControlType type =
      ControlType::keep_alive;     ///< may hold a value without a name: such packets are ignored
  std::uint16_t extended = 0;      ///< sub-type of user_defined, else reserved
  std::uint32_t info = 0;          ///< additional info: meaning depends on the type
  std::uint32_t timestamp_us = 0;  ///< 0 in packets of stock peers
  SocketId destination;

  friend bool operator==(const ControlHeader&, const ControlHeader&) = default;
};

using Header = std::variant<DataHeader, ControlHeader>;

/// Decodes the 16-byte header at the start of `packet`; what follows is payload or body.
///   ErrorCode::truncated  fewer than 16 bytes: drop the datagram.
Result<Header> decode_header(ByteView packet);

void encode(const DataHeader& header, ByteWriter& out);
void encode(const ControlHeader& header, ByteWriter& out);

}  // namespace xfer::wire

#pragma once

#include <array>
#include <optional>

#include "base/byte_writer.hpp"
#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/socket_address.hpp"
#include "wire/seqno.hpp"

namespace xfer::wire {

inline constexpr std::uint32_t kUdtVersion = 4;

enum class SocketType : std::uint32_t { stream = 1, datagram = 2 };

/// Word 5 of the handshake (wire facts, 4.2).
enum class RequestType : std::int32_t {
  induction = 1,    ///< first request, and the listener's cookie answer
  rendezvous = 0,   ///< first rendezvous request
  conclusion = -1,  ///< request with cookie, and the response to it
  agreement = -2,   ///< rendezvous answer of a side that is connected already
  rejected = 1002,
};

/// Bits of CapabilityBlock::capabilities. Unknown ones are ignored.
inline constexpr std::uint32_t kGrowingWindows = 1U << 0U;   ///< ACKs may announce more than word 4
inline constexpr std::uint32_t kPathMtuProbing = 1U << 1U;   ///< probes are confirmed
inline constexpr std::uint32_t kDeliveryReports = 1U << 2U;  ///< ACKs carry a DeliveryReport

/// Capability block: an extension behind the 48 bytes of a handshake, between two peers that both
/// know it. A stock caller reads the first 48 bytes of an answer only; a stock listener ignores
/// every handshake that is not 48 bytes long, so a caller sends the block only to a listener whose
/// cookie answer had one.
struct CapabilityBlock {
  std::uint16_t version = 1;
  /// Largest packet the writer of the block takes or sends, counted as the MSS is; 0: the MSS.
  std::uint16_t max_packet = 0;
  std::uint32_t capabilities = 0;  ///< kGrowingWindows ...

  friend bool operator==(const CapabilityBlock&, const CapabilityBlock&) = default;
};

/// Body of a handshake, exactly as on the wire: fields hold whatever the peer wrote and must be
/// validated before use.
struct Handshake {
  std::uint32_t version = kUdtVersion;  ///< 0 in repeated answers of a connected stock socket
  std::uint32_t socket_type = static_cast<std::uint32_t>(SocketType::stream);  ///< same
  std::uint32_t isn = 0;                         ///< invalid with the top bit set
  std::uint32_t mss = 0;                         ///< bytes, IPv4 and UDP headers included
  std::uint32_t flight_window = 0;               ///< packets the sender of this body can receive
  RequestType request = RequestType::induction;  ///< may hold a value without a name
  SocketId socket_id;                            ///< of the sender of this body
  std::uint32_t cookie = 0;
  std::array<std::uint32_t, 4> peer_ip{};  ///< informational; see encode_peer_ip()
  std::optional<CapabilityBlock> capabilities;

  friend bool operator==(const Handshake&, const Handshake&) = default;
};

inline constexpr std::size_t kHandshakeSize = 48;
inline constexpr std::size_t kCapabilityBlockSize = 12;

/// Decodes a handshake body: 48 bytes, or 60 with a capability block.
///   ErrorCode::truncated  fewer than 48 bytes
///   ErrorCode::malformed  any other length, or an extension that is not ours: ignore the packet,
///   as stock does.
Result<Handshake> decode_handshake(ByteView body);
void encode(const Handshake& handshake, ByteWriter& out);

/// Words 8..11: each 4-byte group of the address as a little-endian number (wire facts, 4.1), as
/// stock writes on x86.
std::array<std::uint32_t, 4> encode_peer_ip(const SocketAddress& address);

}  // namespace xfer::wire

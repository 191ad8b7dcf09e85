#pragma once

#include <sys/uio.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.hpp"

namespace xfer::netlab {

/// What precedes each packet on a TUN device with IFF_VNET_HDR: which checksum is still to be made,
/// and whether the packet is to be cut. In the byte order of the host. The layout is that of
/// virtio_net_hdr (linux/virtio_net.h, which is not C++).
struct OffloadHeader {
  std::uint8_t flags = 0;
  std::uint8_t gso_type = 0;
  std::uint16_t header_length = 0;
  std::uint16_t segment_size = 0;  ///< payload of each packet it is to be cut into
  std::uint16_t checksum_start = 0;
  std::uint16_t checksum_offset = 0;  ///< of the checksum field, from checksum_start
};
static_assert(sizeof(OffloadHeader) == 10);

inline constexpr std::uint8_t kNeedsChecksum = 1;  ///< flag
inline constexpr std::uint8_t kCutNothing = 0;     ///< types
inline constexpr std::uint8_t kCutTcp4 = 1;
inline constexpr std::uint8_t kCutUdp = 5;
inline constexpr std::uint8_t kCutTcpEcn = 0x80;  ///< may be added to a type

/// Longest IP packet.
inline constexpr std::size_t kMaxIpLength = 65'535;
/// Most segments the kernel takes in one packet to be cut.
inline constexpr std::size_t kMaxSegments = 64;

enum class Protocol : std::uint8_t { other, tcp, udp };

/// Where the headers of an IP packet end.
struct Layout {
  Protocol protocol = Protocol::other;  ///< IPv4 and no fragment, unless other
  std::uint16_t ip_header = 0;          ///< bytes of the IP header, if not other
  std::uint16_t headers = 0;            ///< bytes of the IP and the TCP or UDP header, if not other
};

/// Looks at the headers of an IP packet. Anything odd is `other`.
Layout layout_of(ByteView packet);

/// A packet as it is on the wire. The memory behind it belongs to its PacketPool.
struct WirePacket {
  std::byte* data = nullptr;
  std::uint16_t length = 0;
  Layout layout;
  /// The checksum field holds the sum of the pseudo header only, the rest is left to whoever puts
  /// the packet onto a real wire.
  bool partial_checksum = false;
  std::uint16_t checksum_start = 0;
  std::uint16_t checksum_offset = 0;

  [[nodiscard]] ByteView bytes() const { return {data, length}; }
  [[nodiscard]] MutByteView bytes() { return {data, length}; }
  [[nodiscard]] ByteView payload() const { return bytes().subspan(layout.headers); }
};

/// Memory for packets of one size, reused, never given back before the end.
class PacketPool {
 public:
  /// @param capacity   bytes of the longest packet.
  /// @param max_bytes  how much memory may be taken in all.
  PacketPool(std::size_t capacity, std::size_t max_bytes);

  /// An empty packet; nullptr when the memory is used up.
  WirePacket* take();
  void give_back(WirePacket* packet) { free_.push_back(packet); }

  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  bool grow();

  std::size_t capacity_;
  std::size_t packets_left_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<std::unique_ptr<WirePacket[]>> packets_;
  std::vector<WirePacket*> free_;
};

/// Cuts what was read from a TUN device into the packets that would be on the wire.
class Cutter {
 public:
  /// `packet` must outlive the object. count() is 0 if it cannot be understood.
  Cutter(const OffloadHeader& header, ByteView packet);

  [[nodiscard]] std::size_t count() const { return count_; }
  /// Length of the longest one, bytes.
  [[nodiscard]] std::size_t longest() const;
  /// Writes packet `index` to `out`, which has room for longest() bytes.
  void write(std::size_t index, WirePacket& out) const;

 private:
  OffloadHeader header_;
  ByteView packet_;
  Layout layout_;
  std::size_t segment_ = 0;  ///< payload bytes of all but the last; 0: not to be cut
  std::size_t count_ = 0;
};

/// Neighbouring packets of one flow that can be handed over as one, the reverse of Cutter: TCP
/// segments that continue each other, or UDP datagrams of one size.
class Train {
 public:
  /// Adds the packet if it is the first one, or can follow; it must stay until clear().
  bool append(WirePacket& packet);
  /// Whether the packet is between the same ports as those of this train. Never for `other`.
  [[nodiscard]] bool same_flow(const WirePacket& packet) const;

  [[nodiscard]] const std::vector<WirePacket*>& packets() const { return packets_; }
  [[nodiscard]] bool empty() const { return packets_.empty(); }
  void clear();

  /// What to write to a TUN device, in pieces. Valid until the next call or change.
  std::vector<iovec>& pieces();

 private:
  [[nodiscard]] bool continues(const WirePacket& packet) const;
  void write_headers();

  std::vector<WirePacket*> packets_;
  std::size_t length_ = 0;  ///< bytes of the whole: headers once, and all payloads
  OffloadHeader offload_{};
  std::array<std::byte, 128> headers_{};
  std::vector<iovec> pieces_;
};

/// The ICMP message "fragmentation needed" with which a router answers a packet that is longer than
/// `mtu`; nullopt if it would not: fragments are allowed, or it is no IPv4 packet.
std::optional<std::vector<std::byte>> fragmentation_needed(ByteView packet, std::size_t mtu);

}  // namespace xfer::netlab

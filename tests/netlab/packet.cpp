#include "packet.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace xfer::netlab {
namespace {

constexpr std::uint8_t kIpProtocolIcmp = 1;
constexpr std::uint8_t kIpProtocolTcp = 6;
constexpr std::uint8_t kIpProtocolUdp = 17;
constexpr std::size_t kMinIpHeader = 20;
constexpr std::size_t kMinTcpHeader = 20;
constexpr std::size_t kUdpHeader = 8;

// Offsets of fields: in the IP header,
constexpr std::size_t kIpTotalLength = 2;
constexpr std::size_t kIpId = 4;
constexpr std::size_t kIpFragment = 6;
constexpr std::size_t kIpProtocol = 9;
constexpr std::size_t kIpChecksum = 10;
constexpr std::size_t kIpSource = 12;
constexpr std::size_t kIpDestination = 16;
// in the TCP header,
constexpr std::size_t kTcpSequence = 4;
constexpr std::size_t kTcpAcknowledgement = 8;
constexpr std::size_t kTcpHeaderLength = 12;
constexpr std::size_t kTcpFlags = 13;
constexpr std::size_t kTcpWindow = 14;
constexpr std::size_t kTcpChecksum = 16;
constexpr std::size_t kTcpUrgent = 18;
// and in the UDP header.
constexpr std::size_t kUdpLength = 4;
constexpr std::size_t kUdpChecksum = 6;

constexpr std::uint8_t kTcpFin = 0x01;
constexpr std::uint8_t kTcpSyn = 0x02;
constexpr std::uint8_t kTcpRst = 0x04;
constexpr std::uint8_t kTcpPush = 0x08;
constexpr std::uint8_t kTcpUrg = 0x20;
constexpr std::uint8_t kTcpWindowReduced = 0x80;
constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::uint16_t kFragmentMask = 0x3FFF;  ///< "more fragments" and the offset

std::uint8_t byte_at(ByteView bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}
std::uint16_t word_at(ByteView bytes, std::size_t at) {
  return static_cast<std::uint16_t>((byte_at(bytes, at) << 8U) | byte_at(bytes, at + 1));
}
std::uint32_t long_at(ByteView bytes, std::size_t at) {
  return (std::uint32_t{word_at(bytes, at)} << 16U) | word_at(bytes, at + 2);
}
void put_word(MutByteView bytes, std::size_t at, std::size_t value) {
  bytes[at] = static_cast<std::byte>(value >> 8U);
  bytes[at + 1] = static_cast<std::byte>(value);
}
void put_long(MutByteView bytes, std::size_t at, std::uint32_t value) {
  put_word(bytes, at, value >> 16U);
  put_word(bytes, at + 2, value & 0xFFFFU);
}

/// Sum of 16-bit words in ones' complement (RFC 1071), not inverted.
std::uint16_t folded_sum(ByteView bytes, std::uint32_t sum = 0) {
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) sum += word_at(bytes, i);
  if (bytes.size() % 2 != 0) sum += std::uint32_t{byte_at(bytes, bytes.size() - 1)} << 8U;
  while (sum > 0xFFFF) sum = (sum & 0xFFFFU) + (sum >> 16U);
  return static_cast<std::uint16_t>(sum);
}

/// Makes the lengths of an IPv4 packet of `length` bytes true, and the sums that depend on them:
/// that of the IP header, and that of the pseudo header.
void set_length(MutByteView headers, const Layout& layout, std::size_t length) {
  put_word(headers, kIpTotalLength, length);
  put_word(headers, kIpChecksum, 0);
  put_word(headers, kIpChecksum,
           static_cast<std::uint16_t>(~folded_sum(headers.first(layout.ip_header))));
  const std::size_t above_ip = length - layout.ip_header;
  const MutByteView inner = headers.subspan(layout.ip_header);
  const bool udp = layout.protocol == Protocol::udp;
  if (udp) put_word(inner, kUdpLength, above_ip);
  const auto addresses = ByteView(headers).subspan(kIpSource, 8);
  put_word(
      inner, udp ? kUdpChecksum : kTcpChecksum,
      folded_sum(addresses, byte_at(headers, kIpProtocol) + static_cast<std::uint32_t>(above_ip)));
}

bool equal_bytes(ByteView a, ByteView b, std::size_t begin, std::size_t end) {
  return std::memcmp(a.data() + begin, b.data() + begin, end - begin) == 0;
}

/// Everything in the IP header but length, identification and checksum.
bool equal_ip(ByteView a, ByteView b) {
  return equal_bytes(a, b, 0, kIpTotalLength) && equal_bytes(a, b, kIpFragment, kIpChecksum) &&
         equal_bytes(a, b, kIpSource, kMinIpHeader);
}

/// Everything in the TCP header that a receiver must see of each segment; `first` is the earlier.
bool equal_tcp(ByteView first, ByteView next, std::size_t length) {
  constexpr unsigned kMayEnd = kTcpPush | kTcpFin;
  return equal_bytes(first, next, kTcpAcknowledgement, kTcpFlags) &&
         ((byte_at(first, kTcpFlags) ^ byte_at(next, kTcpFlags)) & ~kMayEnd) == 0 &&
         equal_bytes(first, next, kTcpWindow, kTcpChecksum) &&
         equal_bytes(first, next, kTcpUrgent, length);
}

}  // namespace

Layout layout_of(ByteView packet) {
  if (packet.size() < kMinIpHeader || byte_at(packet, 0) >> 4U != 4) return {};
  const std::size_t ip = (byte_at(packet, 0) & 0x0FU) * 4U;
  if (ip < kMinIpHeader || packet.size() < ip || word_at(packet, kIpTotalLength) != packet.size() ||
      (word_at(packet, kIpFragment) & kFragmentMask) != 0)
    return {};
  Layout layout;
  layout.ip_header = static_cast<std::uint16_t>(ip);
  std::size_t inner = 0;
  if (byte_at(packet, kIpProtocol) == kIpProtocolUdp && packet.size() >= ip + kUdpHeader) {
    layout.protocol = Protocol::udp;
    inner = kUdpHeader;
  } else if (byte_at(packet, kIpProtocol) == kIpProtocolTcp &&
             packet.size() >= ip + kMinTcpHeader) {
    layout.protocol = Protocol::tcp;
    inner = (byte_at(packet, ip + kTcpHeaderLength) >> 4U) * 4U;
    if (inner < kMinTcpHeader || packet.size() < ip + inner) return {};
  } else {
    return {};
  }
  layout.headers = static_cast<std::uint16_t>(ip + inner);
  return layout;
}

PacketPool::PacketPool(std::size_t capacity, std::size_t max_bytes)
    : capacity_((capacity + 63) / 64 * 64), packets_left_(max_bytes / capacity_) {}

WirePacket* PacketPool::take() {
  if (free_.empty() && !grow()) return nullptr;
  WirePacket* packet = free_.back();
  free_.pop_back();
  return packet;
}

bool PacketPool::grow() {
  const std::size_t count = std::min<std::size_t>(packets_left_, 1024);
  if (count == 0) return false;
  packets_left_ -= count;
  memory_.emplace_back(new std::byte[count * capacity_]);
  packets_.emplace_back(new WirePacket[count]);
  for (std::size_t i = count; i-- > 0;) {
    packets_.back()[i].data = memory_.back().get() + i * capacity_;
    free_.push_back(&packets_.back()[i]);
  }
  return true;
}

Cutter::Cutter(const OffloadHeader& header, ByteView packet) : header_(header), packet_(packet) {
  if (header.gso_type == kCutNothing) {
    if (packet.empty() || packet.size() > kMaxIpLength) return;
    layout_ = layout_of(packet);
    count_ = 1;
    return;
  }
  layout_ = layout_of(packet);
  const auto type = static_cast<std::uint8_t>(header.gso_type & ~kCutTcpEcn);
  const bool known = (type == kCutTcp4 && layout_.protocol == Protocol::tcp) ||
                     (type == kCutUdp && layout_.protocol == Protocol::udp);
  const std::size_t payload = packet.size() - layout_.headers;
  if (!known || header.segment_size == 0 || payload == 0) return;
  segment_ = header.segment_size;
  count_ = (payload + segment_ - 1) / segment_;
}

std::size_t Cutter::longest() const {
  return segment_ == 0 ? packet_.size() : std::min(packet_.size(), layout_.headers + segment_);
}

void Cutter::write(std::size_t index, WirePacket& out) const {
  out.layout = layout_;
  out.partial_checksum = (header_.flags & kNeedsChecksum) != 0;
  out.checksum_start = header_.checksum_start;
  out.checksum_offset = header_.checksum_offset;
  if (segment_ == 0) {
    out.length = static_cast<std::uint16_t>(packet_.size());
    std::memcpy(out.data, packet_.data(), packet_.size());
    return;
  }
  const std::size_t headers = layout_.headers;
  const ByteView payload = packet_.subspan(headers + index * segment_);
  const std::size_t size = std::min(payload.size(), segment_);
  std::memcpy(out.data, packet_.data(), headers);
  std::memcpy(out.data + headers, payload.data(), size);
  out.length = static_cast<std::uint16_t>(headers + size);
  out.partial_checksum = true;

  const MutByteView ip = out.bytes();
  put_word(ip, kIpId, word_at(packet_, kIpId) + index);
  if (layout_.protocol == Protocol::tcp) {
    const MutByteView tcp = ip.subspan(layout_.ip_header);
    put_long(tcp, kTcpSequence,
             long_at(tcp, kTcpSequence) + static_cast<std::uint32_t>(index * segment_));
    unsigned flags = byte_at(tcp, kTcpFlags);
    if (index + 1 < count_) flags &= ~unsigned{kTcpFin | kTcpPush};
    if (index > 0) flags &= ~unsigned{kTcpWindowReduced};
    tcp[kTcpFlags] = static_cast<std::byte>(flags);
  }
  set_length(ip, layout_, out.length);
}

bool Train::append(WirePacket& packet) {
  if (!empty() && !continues(packet)) return false;
  length_ = empty() ? packet.length : length_ + packet.payload().size();
  packets_.push_back(&packet);
  return true;
}

bool Train::same_flow(const WirePacket& packet) const {
  if (empty() || packet.layout.protocol == Protocol::other) return false;
  const WirePacket& first = *packets_.front();
  const std::size_t ip = first.layout.ip_header;
  return first.layout.protocol == packet.layout.protocol && ip == packet.layout.ip_header &&
         equal_bytes(first.bytes(), packet.bytes(), kIpSource, kMinIpHeader) &&
         equal_bytes(first.bytes(), packet.bytes(), ip, ip + 4);
}

bool Train::continues(const WirePacket& packet) const {
  const WirePacket& first = *packets_.front();
  const WirePacket& last = *packets_.back();
  const Layout& layout = first.layout;
  const std::size_t segment = first.payload().size();
  const std::size_t size = packet.payload().size();
  if (!same_flow(packet) || layout.ip_header != kMinIpHeader ||
      packet.layout.headers != layout.headers || !first.partial_checksum ||
      !packet.partial_checksum || !equal_ip(first.bytes(), packet.bytes()))
    return false;
  if (size == 0 || size > segment || last.payload().size() != segment ||
      packets_.size() == kMaxSegments || length_ + size > kMaxIpLength)
    return false;
  if (layout.protocol == Protocol::udp) return true;
  const ByteView before = last.bytes().subspan(kMinIpHeader);
  const ByteView next = packet.bytes().subspan(kMinIpHeader);
  constexpr unsigned kAlone = kTcpSyn | kTcpRst | kTcpUrg | kTcpWindowReduced;
  return long_at(next, kTcpSequence) ==
             long_at(before, kTcpSequence) + static_cast<std::uint32_t>(segment) &&
         (byte_at(before, kTcpFlags) & (kAlone | kTcpFin | kTcpPush)) == 0 &&
         (byte_at(next, kTcpFlags) & kAlone) == 0 &&
         equal_tcp(before, next, layout.headers - kMinIpHeader);
}

void Train::clear() {
  packets_.clear();
  length_ = 0;
}

void Train::write_headers() {
  const WirePacket& first = *packets_.front();
  offload_ = {};
  if (first.partial_checksum) {
    offload_.flags = kNeedsChecksum;
    offload_.checksum_start = first.checksum_start;
    offload_.checksum_offset = first.checksum_offset;
  }
  if (packets_.size() == 1) return;
  const Layout& layout = first.layout;
  const bool tcp = layout.protocol == Protocol::tcp;
  offload_.gso_type = tcp ? kCutTcp4 : kCutUdp;
  offload_.segment_size = static_cast<std::uint16_t>(first.payload().size());
  offload_.header_length = layout.headers;
  const MutByteView headers = MutByteView(headers_).first(layout.headers);
  std::copy_n(first.data, layout.headers, headers.begin());
  if (tcp)
    headers[layout.ip_header + kTcpFlags] |= packets_.back()->data[layout.ip_header + kTcpFlags];
  set_length(headers, layout, length_);
}

std::vector<iovec>& Train::pieces() {
  XFER_ASSERT(!empty());
  write_headers();
  pieces_.clear();
  pieces_.push_back({&offload_, sizeof offload_});
  if (packets_.size() == 1) {
    pieces_.push_back({packets_.front()->data, packets_.front()->length});
    return pieces_;
  }
  const std::size_t headers = packets_.front()->layout.headers;
  pieces_.push_back({headers_.data(), headers});
  for (const WirePacket* packet : packets_)
    pieces_.push_back({packet->data + headers, packet->length - headers});
  return pieces_;
}

std::optional<std::vector<std::byte>> fragmentation_needed(ByteView packet, std::size_t mtu) {
  if (packet.size() < kMinIpHeader || byte_at(packet, 0) >> 4U != 4 ||
      (word_at(packet, kIpFragment) & kDontFragment) == 0)
    return std::nullopt;
  constexpr std::size_t kIcmpHeader = 8;
  constexpr std::uint8_t kUnreachable = 3;
  constexpr std::uint8_t kFragmentationNeeded = 4;
  // As much of the packet as fits into 576 bytes (RFC 1812, 4.3.2.3).
  const ByteView quoted = packet.first(std::min<std::size_t>(packet.size(), 548));
  std::vector<std::byte> answer(kMinIpHeader + kIcmpHeader + quoted.size());
  const MutByteView ip(answer);
  ip[0] = std::byte{0x45};
  put_word(ip, kIpTotalLength, answer.size());
  ip[8] = std::byte{64};  // time to live
  ip[kIpProtocol] = std::byte{kIpProtocolIcmp};
  std::copy_n(packet.begin() + kIpDestination, 4, ip.begin() + kIpSource);
  std::copy_n(packet.begin() + kIpSource, 4, ip.begin() + kIpDestination);
  put_word(ip, kIpChecksum, static_cast<std::uint16_t>(~folded_sum(ip.first(kMinIpHeader))));
  const MutByteView icmp = ip.subspan(kMinIpHeader);
  icmp[0] = std::byte{kUnreachable};
  icmp[1] = std::byte{kFragmentationNeeded};
  put_word(icmp, 6, mtu);
  std::copy(quoted.begin(), quoted.end(), icmp.begin() + kIcmpHeader);
  put_word(icmp, 2, static_cast<std::uint16_t>(~folded_sum(icmp)));
  return answer;
}

}  // namespace xfer::netlab

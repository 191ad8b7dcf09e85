#include "wire/handshake.hpp"

#include "base/byte_reader.hpp"

namespace xfer::wire {
namespace {
constexpr std::uint32_t kCapabilityMagic = 0x58464552U;  // "XFER"
}

Result<Handshake> decode_handshake(ByteView body) {
  if (body.size() < kHandshakeSize) return ErrorCode::truncated;
  if (body.size() != kHandshakeSize && body.size() != kHandshakeSize + kCapabilityBlockSize)
    return ErrorCode::malformed;

  ByteReader in(body);
  Handshake handshake;
  handshake.version = in.u32();
  handshake.socket_type = in.u32();
  handshake.isn = in.u32();
  handshake.mss = in.u32();
  handshake.flight_window = in.u32();
  handshake.request = static_cast<RequestType>(static_cast<std::int32_t>(in.u32()));
  handshake.socket_id = SocketId(in.u32());
  handshake.cookie = in.u32();
  for (auto& word : handshake.peer_ip) word = in.u32();
  if (in.remaining() == 0) return handshake;

  if (in.u32() != kCapabilityMagic) return ErrorCode::malformed;
  CapabilityBlock block;
  block.version = in.u16();
  block.max_packet = in.u16();
  block.capabilities = in.u32();
  if (block.version == 0) return ErrorCode::malformed;
  handshake.capabilities = block;
  return handshake;
}

void encode(const Handshake& handshake, ByteWriter& out) {
  out.u32(handshake.version);
  out.u32(handshake.socket_type);
  out.u32(handshake.isn);
  out.u32(handshake.mss);
  out.u32(handshake.flight_window);
  out.u32(static_cast<std::uint32_t>(static_cast<std::int32_t>(handshake.request)));
  out.u32(handshake.socket_id.value());
  out.u32(handshake.cookie);
  for (const auto word : handshake.peer_ip) out.u32(word);
  if (!handshake.capabilities) return;
  out.u32(kCapabilityMagic);
  out.u16(handshake.capabilities->version);
  out.u16(handshake.capabilities->max_packet);
  out.u32(handshake.capabilities->capabilities);
}

std::array<std::uint32_t, 4> encode_peer_ip(const SocketAddress& address) {
  std::array<std::uint32_t, 4> words{};
  const std::size_t count = address.family == SocketAddress::Family::ipv6 ? 4 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 4; b-- > 0;) words[i] = (words[i] << 8U) | address.ip[4 * i + b];
  }
  return words;
}

}  // namespace xfer::wire

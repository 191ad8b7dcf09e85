#pragma once

#include <vector>

#include "base/byte_writer.hpp"
#include "wire/packet.hpp"

namespace xfer::sim {

/// A data packet with that sequence number.
inline std::vector<std::byte> data_packet(std::uint32_t seq, std::uint32_t destination = 5) {
  std::vector<std::byte> bytes(wire::kHeaderSize + 100);
  wire::DataHeader header;
  header.seq = wire::SeqNo(seq);
  header.destination = wire::SocketId(destination);
  ByteWriter out{MutByteView(bytes)};
  wire::encode(header, out);
  return bytes;
}

}  // namespace xfer::sim

#include "wire/packet.hpp"

#include "base/byte_reader.hpp"

namespace xfer::wire {
namespace {

struct Field {
  unsigned shift;
  unsigned width;
  [[nodiscard]] constexpr std::uint32_t mask() const { return (std::uint32_t{1} << width) - 1; }
  [[nodiscard]] constexpr std::uint32_t of(std::uint32_t word) const {
    return (word >> shift) & mask();
  }
  [[nodiscard]] constexpr std::uint32_t put(std::uint32_t value) const {
    return (value & mask()) << shift;
  }
};

constexpr Field kIsControl{31, 1};
constexpr Field kControlType{16, 15};
constexpr Field kExtendedType{0, 16};
constexpr Field kBoundary{30, 2};
constexpr Field kInOrder{29, 1};
constexpr Field kMessage{0, 29};

}  // namespace

Result<Header> decode_header(ByteView packet) {
  ByteReader in(packet);
  const std::uint32_t word0 = in.u32();
  const std::uint32_t word1 = in.u32();
  const std::uint32_t timestamp = in.u32();
  const SocketId destination(in.u32());
  if (!in.ok()) return ErrorCode::truncated;

  if (kIsControl.of(word0) != 0) {
    return Header(ControlHeader{static_cast<ControlType>(kControlType.of(word0)),
                                static_cast<std::uint16_t>(kExtendedType.of(word0)), word1,
                                timestamp, destination});
  }
  return Header(DataHeader{SeqNo(word0), static_cast<Boundary>(kBoundary.of(word1)),
                           kInOrder.of(word1) != 0, MsgNo(kMessage.of(word1)), timestamp,
                           destination});
}

void encode(const DataHeader& header, ByteWriter& out) {
  out.u32(header.seq.value());
  out.u32(kBoundary.put(static_cast<std::uint32_t>(header.boundary)) |
          kInOrder.put(header.in_order ? 1 : 0) | kMessage.put(header.message.value()));
  out.u32(header.timestamp_us);
  out.u32(header.destination.value());
}

void encode(const ControlHeader& header, ByteWriter& out) {
  out.u32(kIsControl.put(1) | kControlType.put(static_cast<std::uint32_t>(header.type)) |
          kExtendedType.put(header.extended));
  out.u32(header.info);
  out.u32(header.timestamp_us);
  out.u32(header.destination.value());
}

}  // namespace xfer::wire

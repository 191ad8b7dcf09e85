// Time per operation of the wire codecs: run it without arguments.

#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <array>
#include <catch2/catch.hpp>

#include "base/byte_writer.hpp"
#include "wire/control.hpp"
#include "wire/handshake.hpp"
#include "wire/loss_list_codec.hpp"
#include "wire/packet.hpp"

namespace xfer::wire {
namespace {

using Buffer = std::array<std::byte, 1472>;

/// Encodes `values` one after the other; the bytes written.
template <typename... Values>
ByteView encoded(Buffer& buffer, const Values&... values) {
  ByteWriter out(buffer);
  (encode(values, out), ...);
  return ByteView(buffer).first(out.written().size());
}

}  // namespace

TEST_CASE("headers") {
  Buffer buffer{};
  const DataHeader data{.seq = SeqNo(1000), .message = MsgNo(1), .destination = SocketId(888)};
  const ControlHeader control{.type = ControlType::ack, .info = 1, .destination = SocketId(777)};
  BENCHMARK("encode a data header") { return encoded(buffer, data).size(); };
  BENCHMARK("encode a control header") { return encoded(buffer, control).size(); };
  const ByteView packet = encoded(buffer, data);
  BENCHMARK("decode a data header") { return decode_header(packet).has_value(); };
  Buffer other{};
  const ByteView ack = encoded(other, control);
  BENCHMARK("decode a control header") { return decode_header(ack).has_value(); };
}

TEST_CASE("bodies") {
  Buffer buffer{};
  const AckBody ack{
      .kind = AckBody::Kind::full, .next = SeqNo(1001), .rtt_us = 300, .window = 8190};
  BENCHMARK("encode a full ACK") { return encoded(buffer, ack).size(); };
  const ByteView ack_bytes = encoded(buffer, ack);
  BENCHMARK("decode a full ACK") { return decode_ack(ack_bytes).has_value(); };

  Buffer other{};
  const Handshake handshake{.isn = 1000,
                            .mss = 1500,
                            .flight_window = 8192,
                            .socket_id = SocketId(777),
                            .capabilities = {}};
  BENCHMARK("encode a handshake") { return encoded(other, handshake).size(); };
  const ByteView handshake_bytes = encoded(other, handshake);
  BENCHMARK("decode a handshake") { return decode_handshake(handshake_bytes).has_value(); };
}

TEST_CASE("loss lists") {
  Buffer buffer{};
  const auto fill = [&] {
    ByteWriter out(buffer);
    for (std::uint32_t i = 0; encode_loss_range({SeqNo(i * 10), SeqNo(i * 10 + i % 3)}, out); ++i) {
    }
    return out.written().size();
  };
  BENCHMARK("encode a full NAK") { return fill(); };
  const ByteView body = ByteView(buffer).first(fill());
  BENCHMARK("read a full NAK") {
    LossListReader reader(body);
    std::uint32_t sum = 0;
    while (const auto range = reader.next()) sum += range->last.value();
    return sum;
  };
}

}  // namespace xfer::wire

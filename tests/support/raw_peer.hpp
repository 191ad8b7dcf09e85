#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "base/byte_writer.hpp"
#include "udt/endpoint.hpp"
#include "wire/control.hpp"
#include "wire/handshake.hpp"
#include "wire/loss_list_codec.hpp"
#include "wire/packet.hpp"

namespace xfer::test {

using Bytes = std::vector<std::byte>;

/// One packet taken apart, with its own copy of what follows the header.
struct RawPacket {
  SocketAddress destination;
  wire::Header header;
  Bytes body;

  [[nodiscard]] bool is_data() const { return std::holds_alternative<wire::DataHeader>(header); }
  [[nodiscard]] bool is(wire::ControlType type) const {
    const auto* control = std::get_if<wire::ControlHeader>(&header);
    return control != nullptr && control->type == type;
  }
  /// REQUIRES: is_data().
  [[nodiscard]] const wire::DataHeader& data() const { return std::get<wire::DataHeader>(header); }
  /// REQUIRES: !is_data().
  [[nodiscard]] const wire::ControlHeader& control() const {
    return std::get<wire::ControlHeader>(header);
  }
  [[nodiscard]] std::optional<wire::Handshake> handshake() const {
    if (!is(wire::ControlType::handshake)) return std::nullopt;
    auto decoded = wire::decode_handshake(body);
    if (!decoded) return std::nullopt;
    return *decoded;
  }
  [[nodiscard]] std::optional<wire::AckBody> ack() const {
    if (!is(wire::ControlType::ack)) return std::nullopt;
    auto decoded = wire::decode_ack(body);
    if (!decoded) return std::nullopt;
    return *decoded;
  }
  /// The well-formed ranges of a NAK.
  [[nodiscard]] std::vector<wire::LossRange> losses() const {
    std::vector<wire::LossRange> ranges;
    if (!is(wire::ControlType::nak)) return ranges;
    wire::LossListReader reader(body);
    while (auto range = reader.next()) ranges.push_back(*range);
    return ranges;
  }
};

/// nullopt: no whole header.
inline std::optional<RawPacket> parse_packet(ByteView datagram,
                                             const SocketAddress& destination = {}) {
  const auto header = wire::decode_header(datagram);
  if (!header) return std::nullopt;
  const ByteView body = datagram.subspan(wire::kHeaderSize);
  return RawPacket{destination, *header, Bytes(body.begin(), body.end())};
}

/// A peer made of hand-written packets: it can say anything, in any order, right or wrong. It keeps
/// the numbers that its packets need and has no other behaviour.
class RawPeer {
 public:
  SocketAddress address;
  wire::SocketId id{777};
  wire::SocketId peer_id;  ///< known after the handshake
  wire::SeqNo isn{1000};   ///< of our data; a listening peer adopts the caller's
  wire::SeqNo peer_isn{1000};
  std::uint32_t mss = 1500;
  std::uint32_t window = 8192;
  std::uint32_t cookie = 0;
  bool connected = false;

  // Builders: whole datagrams to the peer's socket.

  [[nodiscard]] Bytes control(wire::ControlType type, std::uint32_t info, ByteView body) const {
    Bytes datagram(wire::kHeaderSize + body.size());
    wire::ControlHeader header;
    header.type = type;
    header.info = info;
    header.destination = peer_id;
    ByteWriter out{MutByteView(datagram)};
    wire::encode(header, out);
    out.bytes(body);
    return datagram;
  }
  [[nodiscard]] Bytes handshake(wire::RequestType request) const {
    wire::Handshake body;
    body.isn = isn.value();
    body.mss = mss;
    body.flight_window = window;
    body.request = request;
    body.socket_id = id;
    body.cookie = cookie;
    return handshake(body);
  }
  [[nodiscard]] Bytes handshake(const wire::Handshake& body) const {
    std::array<std::byte, wire::kHandshakeSize + wire::kCapabilityBlockSize> memory;
    ByteWriter out{MutByteView(memory)};
    wire::encode(body, out);
    return control(wire::ControlType::handshake, 0, out.written());
  }
  [[nodiscard]] Bytes data(wire::SeqNo seq, ByteView payload) const {
    Bytes datagram(wire::kHeaderSize + payload.size());
    wire::DataHeader header;
    header.seq = seq;
    header.message = wire::MsgNo(1);
    header.destination = peer_id;
    ByteWriter out{MutByteView(datagram)};
    wire::encode(header, out);
    out.bytes(payload);
    return datagram;
  }
  /// `number` is the ACK sub-sequence number, 0 in light ACKs.
  [[nodiscard]] Bytes ack(std::uint32_t number, const wire::AckBody& body) const {
    std::array<std::byte, 24> memory;
    ByteWriter out{MutByteView(memory)};
    wire::encode(body, out);
    return control(wire::ControlType::ack, number, out.written());
  }
  [[nodiscard]] Bytes light_ack(wire::SeqNo next) const {
    wire::AckBody body;
    body.next = next;
    return ack(0, body);
  }
  [[nodiscard]] Bytes full_ack(std::uint32_t number, wire::SeqNo next,
                               std::uint32_t free_window) const {
    wire::AckBody body;
    body.kind = wire::AckBody::Kind::full;
    body.next = next;
    body.rtt_us = 100'000;
    body.rtt_var_us = 50'000;
    body.window = free_window;
    return ack(number, body);
  }
  [[nodiscard]] Bytes nak(std::initializer_list<wire::LossRange> ranges) const {
    Bytes body(ranges.size() * wire::kMaxLossRangeSize);
    ByteWriter out{MutByteView(body)};
    for (const auto& range : ranges) wire::encode_loss_range(range, out);
    body.resize(out.size());
    return control(wire::ControlType::nak, 0, body);
  }
  [[nodiscard]] Bytes ack2(std::uint32_t number) const {
    return control(wire::ControlType::ack2, number, kPadding);
  }
  [[nodiscard]] Bytes keep_alive() const {
    return control(wire::ControlType::keep_alive, 0, kPadding);
  }
  [[nodiscard]] Bytes shutdown() const { return control(wire::ControlType::shutdown, 0, kPadding); }

  // Handshakes.

  /// As a listener: what to answer to a packet of a caller, with the cookie round. nullopt: nothing
  /// to answer.
  std::optional<Bytes> answer_as_listener(const RawPacket& packet) {
    const auto request = packet.handshake();
    if (!request) return std::nullopt;
    peer_id = request->socket_id;
    wire::Handshake reply = *request;
    reply.capabilities.reset();
    if (request->request == wire::RequestType::induction) {
      cookie = 0x5EED5EED;
      reply.cookie = cookie;
      return handshake(reply);
    }
    if (request->request != wire::RequestType::conclusion) return std::nullopt;
    isn = peer_isn = wire::SeqNo(request->isn);
    mss = std::min(mss, request->mss);
    reply.mss = mss;
    reply.flight_window = window;
    reply.socket_id = id;
    connected = true;
    return handshake(reply);
  }
  /// As a caller, after sending handshake(induction): what to answer to a packet of the listener.
  std::optional<Bytes> answer_as_caller(const RawPacket& packet) {
    const auto reply = packet.handshake();
    if (!reply) return std::nullopt;
    if (reply->request == wire::RequestType::induction) {
      cookie = reply->cookie;
      return handshake(wire::RequestType::conclusion);
    }
    if (reply->request == wire::RequestType::conclusion) {
      peer_id = reply->socket_id;
      peer_isn = wire::SeqNo(reply->isn);
      mss = reply->mss;
      connected = true;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::array<std::byte, wire::kPaddingSize> kPadding{};
};

// An endpoint without a network, as its unit tests use it.

/// Gives a datagram to an endpoint as a driver without lent room does.
inline void feed(udt::Endpoint& endpoint, const SocketAddress& from, ByteView datagram,
                 TimePoint now) {
  udt::ReceivedDatagram received;
  received.from = from;
  received.head = datagram.first(std::min(datagram.size(), wire::kHeaderSize));
  received.payload = datagram.subspan(received.head.size());
  received.arrival = now;
  endpoint.handle_datagram(received, now);
}

/// Everything an endpoint wants to send now.
inline std::vector<RawPacket> drain(udt::Endpoint& endpoint, TimePoint now) {
  std::vector<RawPacket> packets;
  auto train = std::make_unique<udt::TrainBuffer>();
  while (const auto transmit = endpoint.poll_transmit(now, *train)) {
    for (std::size_t i = 0; i < transmit->segments; ++i) {
      Bytes datagram(train->heads[i].begin(), train->heads[i].end());
      for (const ByteView part : {train->payloads[i].first, train->payloads[i].second})
        datagram.insert(datagram.end(), part.begin(), part.end());
      if (auto packet = parse_packet(datagram, transmit->destination))
        packets.push_back(std::move(*packet));
    }
  }
  return packets;
}

/// Connects `peer` to a listening endpoint in no time. What the endpoint sends after the handshake
/// is returned.
inline std::vector<RawPacket> connect_raw(RawPeer& peer, udt::Endpoint& listener, TimePoint now) {
  feed(listener, peer.address, peer.handshake(wire::RequestType::induction), now);
  std::vector<RawPacket> rest;
  for (int round = 0; round < 2; ++round) {
    for (auto& packet : drain(listener, now)) {
      if (!packet.handshake()) {
        rest.push_back(std::move(packet));
      } else if (const auto reply = peer.answer_as_caller(packet)) {
        feed(listener, peer.address, *reply, now);
      }
    }
  }
  return rest;
}

/// Answers a connecting endpoint's handshakes in no time, as a listener. What else it sends is
/// returned.
inline std::vector<RawPacket> accept_raw(RawPeer& peer, udt::Endpoint& caller, TimePoint now) {
  std::vector<RawPacket> rest;
  for (int round = 0; round < 3; ++round) {
    for (auto& packet : drain(caller, now)) {
      if (const auto reply = peer.answer_as_listener(packet))
        feed(caller, peer.address, *reply, now);
      else
        rest.push_back(std::move(packet));
    }
  }
  return rest;
}

}  // namespace xfer::test

#include "flow_watch.hpp"

#include <algorithm>

#include "udt/limits.hpp"
#include "wire/loss_list_codec.hpp"

namespace xfer::sim {
namespace {

/// The index nearest to `near` that has this number.
std::int64_t unwrap(std::uint32_t isn, std::int64_t near, wire::SeqNo seq) {
  return near + wire::SeqNo::distance(wire::SeqNo(isn).advanced(near), seq);
}

}  // namespace

void FlowWatch::sent(ByteView datagram, const SocketAddress& to) {
  const auto header = wire::decode_header(datagram);
  if (!header) return fail("a datagram without a header");
  const ByteView body = datagram.subspan(wire::kHeaderSize);
  const auto fields = [](const auto& any) { return any.destination.value(); };
  const Flow* known = by_peer_id(to, std::visit(fields, *header));
  const std::size_t longest = std::max<std::size_t>(
      mss_, known == nullptr || known->max_packet == 0
                ? 0
                : known->max_packet + ip_udp_overhead(to.family) - wire::kIpUdpOverhead);
  // A handshake may be longer than the smallest MSS.
  constexpr std::size_t kLongestHandshake =
      wire::kHeaderSize + wire::kHandshakeSize + wire::kCapabilityBlockSize;
  if (datagram.size() > kLongestHandshake && datagram.size() + ip_udp_overhead(to.family) > longest)
    fail("an IP packet longer than the MSS");
  if (const auto* data = std::get_if<wire::DataHeader>(&*header)) {
    Flow* flow = by_peer_id(to, data->destination.value());
    if (flow == nullptr) return fail("data to a connection that was never set up");
    return data_sent(*flow, *data, body.size());
  }
  const auto& control = std::get<wire::ControlHeader>(*header);
  const std::uint32_t destination = control.destination.value();
  using Type = wire::ControlType;
  if (control.type == Type::handshake) {
    const auto handshake = wire::decode_handshake(body);
    if (!handshake) return fail("a malformed handshake");
    if (body.size() != wire::kHandshakeSize && !may_carry_block(*handshake, destination))
      return fail("I-2: a handshake not of 48 bytes to a peer that may be stock");
    return handshake_sent(*handshake, destination, to);
  }
  Flow* flow = by_peer_id(to, destination);
  if (flow == nullptr) return fail("a control packet to a connection that was never set up");
  switch (control.type) {
    case Type::ack:
      return ack_sent(*flow, control.info, body);
    case Type::nak:
      return nak_sent(*flow, body);
    case Type::user_defined:
      if ((flow->capabilities & wire::kPathMtuProbing) == 0)
        fail("a path MTU packet to a peer that knows none");
      return;
    case Type::keep_alive:
    case Type::shutdown:
    case Type::ack2:
      if (!body.empty() && body.size() != wire::kPaddingSize) fail("I-14: odd padding");
      return;
    default:
      return fail("I-22: a control packet that no stream connection sends");
  }
}

void FlowWatch::received(ByteView datagram, const SocketAddress& from) {
  const auto header = wire::decode_header(datagram);
  if (!header) return;
  const ByteView body = datagram.subspan(wire::kHeaderSize);
  if (const auto* data = std::get_if<wire::DataHeader>(&*header)) {
    Flow* flow = by_local_id(from, data->destination.value());
    if (flow == nullptr) return;
    const std::int64_t index = unwrap(flow->peer_isn, flow->prefix, data->seq);
    if (index < flow->prefix || index > flow->prefix + udt::kMaxFlightWindow) return;
    flow->newest_in = std::max(flow->newest_in, index);
    const auto at = static_cast<std::size_t>(index);
    if (at >= flow->have.size()) flow->have.resize(at + 1);
    flow->have[at] = true;
    while (static_cast<std::size_t>(flow->prefix) < flow->have.size() &&
           flow->have[static_cast<std::size_t>(flow->prefix)])
      ++flow->prefix;
    return;
  }
  const auto& control = std::get<wire::ControlHeader>(*header);
  if (control.type == wire::ControlType::handshake) {
    if (const auto handshake = wire::decode_handshake(body))
      handshake_received(*handshake, control.destination.value(), from);
    return;
  }
  if (control.type != wire::ControlType::ack) return;
  Flow* flow = by_local_id(from, control.destination.value());
  const auto ack = wire::decode_ack(body);
  if (flow == nullptr || !ack) return;
  const std::int64_t next = unwrap(flow->own_isn, flow->next_new, ack->next);
  if (next > flow->next_new) return;
  flow->acked = std::max(flow->acked, next);
  if (ack->kind != wire::AckBody::Kind::light)
    flow->window_end = std::max(flow->window_end, next + std::max<std::int64_t>(ack->window, 2));
}

/// A cookie answer always may: stock reads only its first 48 bytes. Others only to a peer that has
/// shown its own.
bool FlowWatch::may_carry_block(const wire::Handshake& body, std::uint32_t destination) const {
  const auto shown = [&](std::uint32_t id) {
    return std::find(block_shown_.begin(), block_shown_.end(), id) != block_shown_.end();
  };
  return body.request == wire::RequestType::induction || shown(body.socket_id.value()) ||
         shown(destination);
}

void FlowWatch::agree(const SocketAddress& peer, std::uint32_t local_id,
                      const wire::Handshake& answer) {
  Flow* flow = by_local_id(peer, local_id);
  if (flow == nullptr || !answer.capabilities || answer.request != wire::RequestType::conclusion)
    return;
  flow->capabilities = answer.capabilities->capabilities;
  flow->max_packet = answer.capabilities->max_packet;
}

void FlowWatch::handshake_sent(const wire::Handshake& body, std::uint32_t destination,
                               const SocketAddress& to) {
  // An echo of somebody else's request (cookie answer, rejection) says nothing about us.
  const bool echo = std::any_of(callers_.begin(), callers_.end(), [&](const Caller& c) {
    return c.peer == to && c.body.socket_id == body.socket_id;
  });
  if (echo) return;
  auto own = std::find_if(own_.begin(), own_.end(),
                          [&](const wire::Handshake& h) { return h.socket_id == body.socket_id; });
  if (own == own_.end())
    own_.push_back(body);
  else
    *own = body;
  if (destination == 0) return;
  if (by_local_id(to, body.socket_id.value()) != nullptr) return;
  const auto caller = std::find_if(callers_.begin(), callers_.end(), [&](const Caller& c) {
    return c.peer == to && c.body.socket_id.value() == destination;
  });
  if (caller == callers_.end()) return fail("a handshake to a socket nobody announced");
  open(to, body.socket_id.value());
  Flow& flow = flows_.back();
  flow.peer_id = destination;
  flow.peer_isn = caller->body.isn;
  flow.peer_window = caller->body.flight_window;
  flow.peer_mss = caller->body.mss;
  flow.window_end = flow.peer_window;
  agree(to, body.socket_id.value(), body);
}

void FlowWatch::handshake_received(const wire::Handshake& body, std::uint32_t destination,
                                   const SocketAddress& from) {
  if (body.capabilities) block_shown_.push_back(body.socket_id.value());
  // A cookie answer carries our own body.
  const auto ours = std::find_if(own_.begin(), own_.end(), [&](const wire::Handshake& h) {
    return h.socket_id == body.socket_id;
  });
  if (ours != own_.end()) return;
  auto caller = std::find_if(callers_.begin(), callers_.end(), [&](const Caller& c) {
    return c.peer == from && c.body.socket_id == body.socket_id;
  });
  if (caller == callers_.end()) callers_.push_back({from, body});
  if (destination == 0 || body.request == wire::RequestType::rejected) return;
  if (by_local_id(from, destination) != nullptr) return;
  const auto own = std::find_if(own_.begin(), own_.end(), [&](const wire::Handshake& h) {
    return h.socket_id.value() == destination;
  });
  if (own == own_.end()) return;
  open(from, destination);
  Flow& flow = flows_.back();
  flow.peer_id = body.socket_id.value();
  flow.peer_isn = body.isn;
  flow.peer_window = body.flight_window;
  flow.peer_mss = body.mss;
  flow.window_end = flow.peer_window;
  agree(from, destination, body);
}

void FlowWatch::open(const SocketAddress& peer, std::uint32_t local_id) {
  const auto own = std::find_if(own_.begin(), own_.end(), [&](const wire::Handshake& h) {
    return h.socket_id.value() == local_id;
  });
  Flow flow;
  flow.peer = peer;
  flow.local_id = local_id;
  flow.own_isn = own->isn;
  flow.own_window = own->flight_window;
  flows_.push_back(std::move(flow));
}

void FlowWatch::data_sent(Flow& flow, const wire::DataHeader& header, std::size_t length) {
  const std::int64_t index = unwrap(flow.own_isn, flow.next_new, header.seq);
  if (length == 0) fail("an empty data packet");
  if (length + wire::kPayloadOverhead > std::max(flow.peer_mss, flow.max_packet))
    fail("I-20: data longer than the peer's MSS");
  if (index > flow.next_new || index < 0) return fail("a data packet out of turn");
  if (index < flow.next_new) {
    if (flow.lengths[static_cast<std::size_t>(index)] != length)
      fail("a retransmission of another length");
    if (index < flow.acked) fail("a retransmission of what the peer acknowledged");
    return;
  }
  if (index >= flow.window_end) fail("new data beyond the peer's window");
  ++flow.next_new;
  flow.lengths.push_back(static_cast<std::uint16_t>(length));
}

void FlowWatch::ack_sent(Flow& flow, std::uint32_t number, ByteView body) {
  const auto ack = wire::decode_ack(body);
  const bool reports = (flow.capabilities & wire::kDeliveryReports) != 0;
  const bool stock_length = body.size() == 4 || body.size() == 16 || body.size() == 24;
  const bool report_length = reports && (body.size() == 12 || body.size() == 40);
  if (!ack || !(stock_length || report_length))
    return fail("I-7: an ACK of a length a stock peer misreads");
  const std::int64_t next = unwrap(flow.peer_isn, flow.prefix, ack->next);
  if (next > flow.prefix) fail("I-9: an ACK for data that was not received");
  if (next < flow.acked_in) fail("an ACK number that went back");
  flow.acked_in = std::max(flow.acked_in, next);
  if (ack->kind == wire::AckBody::Kind::light) {
    if (number != 0) fail("a light ACK with a number");
    return;
  }
  if (number != ((flow.ack_number + 1) & wire::AckNo::kMax)) fail("ACK numbers out of order");
  flow.ack_number = number;
  const bool growing = (flow.capabilities & wire::kGrowingWindows) != 0;
  if (ack->window > (growing ? udt::kMaxFlightWindow : flow.own_window))
    fail("I-9: a window larger than announced");
  if (ack->rtt_us >= udt::kMaxWireRttUs) fail("I-10: RTT too large for a stock peer");
  if (ack->kind != wire::AckBody::Kind::full) return;
  if (ack->arrival_rate > udt::kMaxWireRate || ack->capacity > udt::kMaxWireRate)
    fail("I-10: a rate too large for a stock peer");
}

void FlowWatch::nak_sent(const Flow& flow, ByteView body) {
  wire::LossListReader reader(body);
  bool any = false;
  while (const auto range = reader.next()) {
    any = true;
    const std::int64_t first = unwrap(flow.peer_isn, flow.prefix, range->first);
    const std::int64_t last = unwrap(flow.peer_isn, flow.prefix, range->last);
    if (first > last) fail("I-9: a reversed range in a NAK");
    if (last > flow.newest_in) fail("I-9: a NAK beyond the newest packet");
    if (first < flow.acked_in) fail("a NAK for what was acknowledged");
  }
  if (reader.malformed() > 0 || !any) fail("D7, D8: a malformed NAK");
}

FlowWatch::Flow* FlowWatch::by_peer_id(const SocketAddress& peer, std::uint32_t id) {
  for (auto& flow : flows_)
    if (flow.peer_id == id && flow.peer == peer) return &flow;
  return nullptr;
}

FlowWatch::Flow* FlowWatch::by_local_id(const SocketAddress& peer, std::uint32_t id) {
  for (auto& flow : flows_)
    if (flow.local_id == id && flow.peer == peer) return &flow;
  return nullptr;
}

void FlowWatch::fail(const char* what) {
  if (failure_.empty()) failure_ = what;
}

}  // namespace xfer::sim

#include "udt/endpoint.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace xfer::udt {

Endpoint::Endpoint(RandomSource& random, const KeyedHash& cookie_hash, trace::Sink* sink)
    : random_(random), cookie_hash_(cookie_hash), sink_(sink) {}

void Endpoint::check_time(TimePoint now) {
  XFER_ASSERT(now >= last_now_);
  last_now_ = now;
}

Connection* Endpoint::find(wire::SocketId id) {
  const auto it = by_id_.find(id.value());
  return it == by_id_.end() ? nullptr : it->second;
}

// Commands.

wire::SocketId Endpoint::new_id() {
  for (;;) {
    const wire::SocketId id(static_cast<std::uint32_t>(1 + random_.below(wire::SocketId::kMax)));
    if (find(id) == nullptr) return id;
  }
}

namespace {

/// UDT's MSS counts an IPv4 header; the IPv6 header is longer (rule I-24).
std::uint32_t mss_of(std::uint32_t mtu, const SocketAddress& peer) {
  if (peer.family != SocketAddress::Family::ipv6) return mtu;
  return std::max(kMinMss, mtu - std::min(mtu, kIpv6ExtraOverhead));
}

/// What we offer a peer. An MSS below the default is a wish for small packets: none is larger.
std::optional<wire::CapabilityBlock> offer(const ConnectionConfig& config,
                                           const SocketAddress& peer, std::uint32_t interface_mtu) {
  if (!config.capabilities) return std::nullopt;
  wire::CapabilityBlock block;
  block.capabilities = wire::kGrowingWindows | wire::kPathMtuProbing | wire::kDeliveryReports;
  const std::uint32_t automatic =
      interface_mtu == 0 ? kMaxAutoMtu : std::min(interface_mtu, kMaxAutoMtu);
  const std::uint32_t mtu = config.max_mtu.value_or(automatic);
  if (config.mss >= kDefaultMss && mtu > config.mss)
    block.max_packet = static_cast<std::uint16_t>(mss_of(mtu, peer));
  return block;
}

}  // namespace

std::uint32_t Endpoint::interface_mtu(const SocketAddress& peer) const {
  return routes_ == nullptr ? 0 : routes_->interface_mtu(peer);
}

LocalParameters Endpoint::make_local(const SocketAddress& peer, const ConnectionConfig& config) {
  LocalParameters local;
  local.id = new_id();
  local.isn = config.isn.value_or(wire::SeqNo(static_cast<std::uint32_t>(random_.next_u64())));
  local.mss = mss_of(std::min(config.mss, config.max_mtu.value_or(config.mss)), peer);
  local.peer = peer;
  local.capabilities = offer(config, peer, interface_mtu(peer));
  const std::uint32_t largest =
      std::max<std::uint32_t>(local.mss, local.capabilities ? local.capabilities->max_packet : 0);
  local.window = std::min(config.receive_window, window_within(config.max_memory, largest));
  return local;
}

Connection& Endpoint::add(std::unique_ptr<Connection> connection) {
  Connection& added = *connection;
  by_id_[added.id().value()] = &added;
  connections_.push_back(std::move(connection));
  return added;
}

Result<wire::SocketId> Endpoint::start(HandshakeFsm::Role role, const SocketAddress& peer,
                                       const ConnectionConfig& config, TimePoint now) {
  check_time(now);
  XFER_TRY(config.validate());
  const LocalParameters local = make_local(peer, config);
  return add(std::make_unique<Connection>(role, local, config, random_, sink_, now)).id();
}

Result<wire::SocketId> Endpoint::connect(const SocketAddress& peer, const ConnectionConfig& config,
                                         TimePoint now) {
  return start(HandshakeFsm::Role::caller, peer, config, now);
}

Result<wire::SocketId> Endpoint::rendezvous(const SocketAddress& peer,
                                            const ConnectionConfig& config, TimePoint now) {
  return start(HandshakeFsm::Role::rendezvous, peer, config, now);
}

Result<void> Endpoint::listen(const ListenConfig& config) {
  XFER_TRY(config.validate());
  listening_.emplace(Listening{config, Listener(cookie_hash_)});
  return {};
}

void Endpoint::forget(wire::SocketId id) {
  by_id_.erase(id.value());
  std::erase_if(connections_, [&](const auto& connection) { return connection->id() == id; });
}

// Handle.

std::size_t Endpoint::lend(std::span<ReceiveSlot> slots) {
  // One byte more than the largest payload of any connection, so that an oversized datagram shows
  // (fault D14).
  std::size_t largest = kDefaultMss - wire::kPayloadOverhead;
  for (const auto& connection : connections_)
    largest = std::max<std::size_t>(largest, connection->largest_payload());
  if (largest + 1 > staged_payload_) {
    staged_payload_ = largest + 1;
    staging_.resize(staged_payload_ * kMaxReceiveBatch);
  }
  const std::size_t count = std::min(slots.size(), kMaxReceiveBatch);
  for (std::size_t i = 0; i < count; ++i)
    slots[i] = {staged_heads_[i],
                MutByteView(staging_).subspan(i * staged_payload_, staged_payload_)};
  return count;
}

void Endpoint::handle_datagram(const ReceivedDatagram& datagram, TimePoint now) {
  check_time(now);
  ++stats_.datagrams_received;
  if (datagram.truncated) {
    ++stats_.datagrams_truncated;
    return;
  }
  const auto header = wire::decode_header(datagram.head);
  if (!header) {
    ++stats_.datagrams_short;
    return;
  }
  const auto* data = std::get_if<wire::DataHeader>(&*header);
  const auto* control = std::get_if<wire::ControlHeader>(&*header);
  const wire::SocketId destination =
      std::visit([](const auto& fields) { return fields.destination; }, *header);

  if (destination == wire::SocketId(0)) {
    if (control != nullptr && control->type == wire::ControlType::handshake)
      handle_unaddressed(*control, datagram.payload, datagram.from, now);
    else
      ++stats_.datagrams_foreign;
    return;
  }
  Connection* connection = find(destination);
  if (connection == nullptr || connection->peer() != datagram.from) {
    ++stats_.datagrams_foreign;
    return;
  }
  if (data != nullptr)
    connection->handle_data(*data, datagram.payload, now, datagram.arrival);
  else
    connection->handle_control(*control, datagram.payload, now);
}

/// A handshake to socket ID 0: for a rendezvous with that peer, a repeated request of an accepted
/// connection, or for the listener.
void Endpoint::handle_unaddressed(const wire::ControlHeader& header, ByteView body,
                                  const SocketAddress& from, TimePoint now) {
  for (const auto& connection : connections_) {
    if (connection->is_rendezvous() && connection->peer() == from) {
      connection->handle_control(header, body, now);
      return;
    }
  }
  const auto handshake = wire::decode_handshake(body);
  // Who sends a block has seen ours, with the cookie.
  if (!handshake ||
      (handshake->capabilities && handshake->request != wire::RequestType::conclusion)) {
    ++stats_.handshakes_malformed;
    return;
  }
  if (handle_repeated(header, *handshake, body, from, now)) return;
  if (!listening_) {
    ++stats_.datagrams_foreign;
    return;
  }
  if (handshake->capabilities && !listening_->config.connection.capabilities) {
    ++stats_.handshakes_malformed;
    return;
  }
  switch (listening_->listener.judge(*handshake, from, now)) {
    case Listener::Answer::ignore:
      ++stats_.cookies_refused;
      break;
    case Listener::Answer::cookie:
      ++stats_.cookies_sent;
      reply(*handshake, from, wire::RequestType::induction,
            listening_->listener.cookie(*handshake, from, now),
            offer(listening_->config.connection, from, 0));
      break;
    case Listener::Answer::accept:
      if (connections_.size() < listening_->config.max_connections) {
        accept(*handshake, from, now);
        break;
      }
      [[fallthrough]];
    case Listener::Answer::reject:
      ++stats_.rejected;
      reply(*handshake, from, wire::RequestType::rejected, handshake->cookie, std::nullopt);
      break;
  }
}

/// A caller that missed our answers repeats its request or begins again with an induction request.
/// It needs the answer, not a new cookie, and gets it although nobody may be listening any more
/// (rule I-4, fault C11). @return whether it was one.
bool Endpoint::handle_repeated(const wire::ControlHeader& header, const wire::Handshake& handshake,
                               ByteView body, const SocketAddress& from, TimePoint now) {
  if (handshake.request != wire::RequestType::conclusion &&
      handshake.request != wire::RequestType::induction)
    return false;
  for (const auto& connection : connections_) {
    if (connection->peer() == from && connection->accepted_from(handshake)) {
      connection->handle_control(header, body, now);
      return true;
    }
  }
  return false;
}

void Endpoint::accept(const wire::Handshake& request, const SocketAddress& from, TimePoint now) {
  listening_->listener.remember(request, from, now);
  const ConnectionConfig& config = listening_->config.connection;
  LocalParameters local = make_local(from, config);
  local.isn = wire::SeqNo(request.isn);  // both directions start at the client's number (rule I-3)
  local.mss = std::min(local.mss, request.mss);

  const Agreement agreement{request.socket_id,
                            local.isn,
                            local.isn,
                            local.mss,
                            std::min(request.flight_window, kMaxFlightWindow),
                            std::nullopt,
                            common_capabilities(local.capabilities, request.capabilities)};
  wire::Handshake answer = make_handshake(local, wire::RequestType::conclusion, request.cookie);
  answer.capabilities = agreement.common;
  add(std::make_unique<Connection>(agreement, answer, local, config, random_, sink_, now));
}

void Endpoint::reply(const wire::Handshake& request, const SocketAddress& to,
                     wire::RequestType type, std::uint32_t cookie,
                     const std::optional<wire::CapabilityBlock>& capabilities) {
  if (reply_count_ == kMaxReplies) return;  // a flood: those who mean it will ask again
  Reply& reply = replies_[(reply_first_ + reply_count_++) % kMaxReplies];
  reply = {to, request, request.socket_id};
  reply.handshake.request = type;
  reply.handshake.cookie = cookie;
  reply.handshake.capabilities = capabilities;
}

void Endpoint::handle_timeout(TimePoint now) {
  check_time(now);
  for (const auto& connection : connections_) connection->handle_timeout(now);
}

void Endpoint::handle_unreachable(const SocketAddress& peer, bool port_refused, TimePoint now) {
  check_time(now);
  for (const auto& connection : connections_) {
    if (connection->peer() == peer) connection->handle_unreachable(port_refused, now);
  }
}

// Poll.

std::optional<Transmit> Endpoint::poll_transmit(TimePoint now, TrainBuffer& out,
                                                std::size_t max_segments) {
  check_time(now);
  XFER_ASSERT(max_segments > 0);
  if (reply_count_ > 0) {
    const Reply& reply = replies_[reply_first_];
    reply_first_ = (reply_first_ + 1) % kMaxReplies;
    --reply_count_;
    ByteWriter head(out.heads[0]);
    wire::encode(wire::ControlHeader{wire::ControlType::handshake, 0, 0, 0, reply.destination},
                 head);
    ByteWriter body(out.control);
    wire::encode(reply.handshake, body);
    out.payloads[0] = {body.written(), {}};
    return Transmit{reply.to, 1, head.size() + body.size()};
  }
  for (std::size_t tried = 0; tried < connections_.size(); ++tried) {
    next_to_send_ = (next_to_send_ + 1) % connections_.size();
    if (auto transmit = connections_[next_to_send_]->poll_transmit(now, out, max_segments))
      return transmit;
  }
  return std::nullopt;
}

std::optional<Event> Endpoint::poll_event() {
  for (const auto& connection : connections_) {
    if (auto event = connection->poll_event()) return event;
  }
  return std::nullopt;
}

std::optional<TimePoint> Endpoint::next_deadline() const {
  std::optional<TimePoint> deadline;
  for (const auto& connection : connections_)
    deadline = earlier(deadline, connection->next_deadline());
  return deadline;
}

}  // namespace xfer::udt

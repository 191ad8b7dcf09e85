#include "udt/connection.hpp"

#include <algorithm>
#include <limits>

#include "base/byte_reader.hpp"
#include "wire/control.hpp"
#include "wire/loss_list_codec.hpp"

namespace xfer::udt {
namespace {

constexpr std::uint32_t bit(Event::Kind kind) {
  return std::uint32_t{1} << static_cast<unsigned>(kind);
}
/// Refused for this long while connecting: nothing listens there.
constexpr Duration kRefusedWhileConnecting = 400ms;
/// Refused for this long and nothing heard while connected: the peer's program is gone.
constexpr Duration kRefusedWhileConnected = 2s;
/// A peer heard of within this time lives.
constexpr Duration kRecently = 2s;
/// What probes of the path MTU are padded with.
const std::array<std::byte, kMaxMss> kZeros{};

}  // namespace

Connection::Connection(HandshakeFsm::Role role, const LocalParameters& local,
                       const ConnectionConfig& config, RandomSource& random, trace::Sink* sink,
                       TimePoint now)
    : local_(local),
      config_(config),
      random_(random),
      tracer_{sink, local.id.value()},
      opened_(now),
      fsm_(HandshakeFsm(role, local, now)),
      last_sent_(now),
      last_heard_(now) {
  timers_.set(TimerId::handshake, now + config.connect_timeout);
}

Connection::Connection(const Agreement& agreement, const wire::Handshake& answer,
                       const LocalParameters& local, const ConnectionConfig& config,
                       RandomSource& random, trace::Sink* sink, TimePoint now)
    : local_(local),
      config_(config),
      random_(random),
      tracer_{sink, local.id.value()},
      opened_(now),
      repeat_answer_(answer),
      requester_(agreement.peer_id),
      answer_due_(true),
      accepted_at_(now),
      last_sent_(now),
      last_heard_(now) {
  establish(agreement, now);
  raise(Event::Kind::incoming);
}

void Connection::establish(const Agreement& agreement, TimePoint now) {
  peer_id_ = agreement.peer_id;
  constexpr auto kOverhead = static_cast<std::uint32_t>(wire::kPayloadOverhead);
  payload_size_ = agreement.mss - kOverhead;
  largest_payload_ = agreement.largest_packet() - kOverhead;
  capabilities_ = agreement.common ? agreement.common->capabilities : 0;
  if (agreement.rtt) rtt_.sample(*agreement.rtt);

  // Larger packets than every link takes have to be found to work first.
  const bool probing = agreement.can(wire::kPathMtuProbing);
  const bool ipv6 = local_.peer.family == SocketAddress::Family::ipv6;
  const std::uint32_t first =
      probing ? std::min(agreement.mss, kDefaultMss - (ipv6 ? kIpv6ExtraOverhead : 0))
              : agreement.mss;
  path_.emplace(PathMtu::Setup{first, agreement.largest_packet(), probing}, random_, stats_);

  ControllerSetup controller;
  controller.mss = first;
  controller.peer_window = agreement.peer_window;
  controller.max_window =
      agreement.can(wire::kGrowingWindows) ? kMaxFlightWindow : agreement.peer_window;
  controller.rtt = rtt_.rtt();
  controller.max_rate = config_.max_rate;

  const bool reports = agreement.can(wire::kDeliveryReports);
  ControllerKind kind = config_.controller;
  if (kind == ControllerKind::automatic)
    kind = reports ? ControllerKind::bbr : ControllerKind::udt_native;

  SendHalf::Setup setup;
  setup.isn = agreement.local_isn;
  setup.destination = peer_id_;
  setup.payload_size = first - kOverhead;
  setup.peer_window = agreement.peer_window;
  setup.max_flight = config_.send_window;
  setup.growing_window = agreement.can(wire::kGrowingWindows);
  setup.recovery = config_.audt_recovery;
  setup.duplicate_ack_threshold = config_.duplicate_ack_threshold;
  setup.opened = opened_;
  send_.emplace(setup, make_controller(kind, controller, random_), rtt_, stats_, tracer_);
  RecvHalf::Setup receive;
  receive.isn = agreement.peer_isn;
  receive.window = receive.max_window = local_.window_with(agreement.common);
  if (agreement.can(wire::kGrowingWindows))
    receive.max_window =
        std::max(receive.window, window_within(config_.max_memory, agreement.largest_packet()));
  receive.payload_size = first - kOverhead;
  receive.largest_payload = largest_payload_;
  receive.varying = probing;
  receive.block_packets = config_.block_packets;
  receive.reports = reports;
  receive.recovery = config_.audt_recovery;
  receive.nak_repeat_threshold = config_.nak_repeat_threshold;
  recv_.emplace(receive, rtt_, stats_, tracer_);
  if (source_ != nullptr) send_->set_source(*source_);

  timers_.cancel(TimerId::handshake);
  timers_.set(TimerId::keep_alive, now + kKeepAliveInterval);
  timers_.set(TimerId::idle, now + config_.idle_timeout);
  enter(State::connected, now);
}

void Connection::enter(State state, TimePoint now) {
  tracer_.record(now, trace::StateChanged{static_cast<std::uint8_t>(state_),
                                          static_cast<std::uint8_t>(state)});
  state_ = state;
}

void Connection::raise(Event::Kind kind) { raised_ |= bit(kind); }

// The application's side.

void Connection::set_source(const ByteSource& source) {
  source_ = &source;
  if (send_) send_->set_source(source);
}

void Connection::offer(std::uint64_t end, std::uint64_t flush, TimePoint now) {
  if (state_ == State::connected) send_->offer(end, flush, now);
}

std::optional<ByteView> Connection::take_readable() {
  return recv_ ? recv_->take_readable() : std::nullopt;
}

void Connection::consume(std::uint64_t bytes, TimePoint now) {
  if (recv_) recv_->consume(bytes, now);
}

void Connection::close(TimePoint now) {
  switch (state_) {
    case State::connecting:
      finish_closing(std::nullopt, now);
      break;
    case State::connected:
      enter(State::draining, now);
      timers_.set(TimerId::linger, now + config_.linger);
      check_drained(now);
      break;
    case State::peer_closed:
      finish_closing(
          send_->all_acknowledged() ? std::nullopt : std::optional(ErrorCode::peer_closed), now);
      break;
    default:
      break;  // on its way already
  }
}

void Connection::abort(TimePoint now) {
  switch (state_) {
    case State::connecting:
    case State::peer_closed:
      finish_closing(std::nullopt, now);
      break;
    case State::connected:
    case State::draining:
      begin_shutdown(now);
      break;
    default:
      break;
  }
}

// The end of the connection.

/// From draining, or from connected and draining by abort().
void Connection::begin_shutdown(TimePoint now) {
  enter(State::shutting_down, now);
  timers_.cancel_all();
  shutdowns_left_ = kShutdownCount;
  shutdown_due_ = true;
  recv_->acknowledge_rest();  // or the peer ends with bytes in doubt (fault F6)
}

void Connection::check_drained(TimePoint now) {
  if (state_ == State::draining && send_->all_acknowledged()) begin_shutdown(now);
}

void Connection::finish_closing(std::optional<ErrorCode> error, TimePoint now) {
  enter(State::closed, now);
  timers_.cancel_all();
  shutdown_due_ = false;
  has_error_ = error.has_value();
  if (error) error_ = {*error, 0, nullptr};
  raise(Event::Kind::closed);
}

void Connection::fail(ErrorCode code, const char* what, TimePoint now) {
  enter(State::failed, now);
  timers_.cancel_all();
  error_ = {code, 0, what};
  has_error_ = true;
  raise(Event::Kind::failed);
}

void Connection::handle_peer_shutdown(TimePoint now) {
  switch (state_) {
    case State::connected:
      // What has arrived in order can still be read (fault F4).
      enter(State::peer_closed, now);
      timers_.cancel_all();
      raise(Event::Kind::peer_closed);
      break;
    case State::draining:
      finish_closing(
          send_->all_acknowledged() ? std::nullopt : std::optional(ErrorCode::peer_closed), now);
      break;
    case State::shutting_down:
      finish_closing(close_error_, now);
      break;
    default:
      break;
  }
}

// Handle.

bool Connection::accepted_from(const wire::Handshake& request) const {
  return repeat_answer_ && !fsm_ && requester_ == request.socket_id &&
         repeat_answer_->isn == request.isn;
}

void Connection::heard(TimePoint now) {
  last_heard_ = now;
  refused_since_.reset();
  if (send_) send_->on_heard();
}

/// The accepting side keeps no state before it accepts, so it measures the round trip by the first
/// packet that follows its answer (fault A9). A caller with nothing to say may take its time: only
/// what is below the start value counts.
void Connection::measure_first_reply(TimePoint now) {
  if (!accepted_at_) return;
  const Duration reply_time = now - *accepted_at_;
  if (reply_time < kInitialRtt && !rtt_.measured()) rtt_.sample(reply_time);
  accepted_at_.reset();
}

void Connection::handle_handshake(const wire::Handshake& handshake, TimePoint now) {
  if (state_ == State::connecting) {
    if (!fsm_) return;
    fsm_->handle(handshake, now);
    check_handshake(now);
    return;
  }
  // The peer has missed our answer (rules I-4, I-23; fault C11). An agreement and an answer need
  // none.
  if (is_up() && repeat_answer_ && handshake.request != wire::RequestType::agreement &&
      handshake.request != wire::RequestType::rejected)
    answer_due_ = true;
}

/// From connecting, after the handshake moved.
void Connection::check_handshake(TimePoint now) {
  if (fsm_->state() == HandshakeFsm::State::rejected) {
    fail(ErrorCode::connect_rejected, nullptr, now);
  } else if (fsm_->agreement()) {
    establish(*fsm_->agreement(), now);
    if (is_rendezvous()) {
      LocalParameters local = local_;
      local.mss = fsm_->agreement()->mss;
      repeat_answer_ = make_handshake(local, wire::RequestType::agreement, 0);
    }
    raise(Event::Kind::connected);
  }
}

/// A packet other than a handshake shows that a rendezvous peer takes us for connected.
void Connection::handle_implied_handshake(TimePoint now) {
  if (state_ != State::connecting || !is_rendezvous()) return;
  fsm_->handle_other_packet();
  check_handshake(now);
}

void Connection::handle_control(const wire::ControlHeader& header, ByteView body, TimePoint now) {
  if (header.type == wire::ControlType::handshake) {
    const auto handshake = wire::decode_handshake(body);
    if (!handshake) {
      ++stats_.control_malformed;
      return;
    }
    heard(now);
    handle_handshake(*handshake, now);
    return;
  }
  handle_implied_handshake(now);
  if (header.type == wire::ControlType::shutdown) {
    heard(now);
    handle_peer_shutdown(now);
    return;
  }
  if (!is_up()) return;
  heard(now);
  measure_first_reply(now);

  switch (header.type) {
    case wire::ControlType::keep_alive:
      break;
    case wire::ControlType::ack:
      handle_ack(header, body, now);
      break;
    case wire::ControlType::nak:
      send_->handle_nak(body, now);
      break;
    case wire::ControlType::ack2:
      recv_->handle_ack2(wire::AckNo(header.info), now);
      break;
    case wire::ControlType::message_drop:
      // Streams have no messages to drop. Parsed only to tell damage from nonsense (rule I-22,
      // faults D11 to D13).
      ++(wire::decode_message_drop(body) ? stats_.control_implausible : stats_.control_malformed);
      break;
    case wire::ControlType::error_signal:
      raise(Event::Kind::error_signal);  // rule I-26
      break;
    case wire::ControlType::user_defined:
      handle_path_packet(header, body, now);
      break;
    default:
      ++stats_.control_ignored;  // congestion warning, user-defined, unknown (rule I-26)
      break;
  }
}

void Connection::handle_ack(const wire::ControlHeader& header, ByteView body, TimePoint now) {
  auto ack = wire::decode_ack(body);
  const bool light = ack && ack->kind == wire::AckBody::Kind::light;
  const bool reports = (capabilities_ & wire::kDeliveryReports) != 0;
  if (!ack || (light && ack->report && !reports)) {
    ++stats_.control_malformed;
    return;
  }
  if (!reports) ack->report.reset();
  const wire::AckNo number(header.info);
  if (!light) {
    // Every one is answered (rule I-13).
    if (ack2_count_ == kMaxPendingAck2) {
      ack2_first_ = (ack2_first_ + 1) % kMaxPendingAck2;
      --ack2_count_;
    }
    ack2_pending_[(ack2_first_ + ack2_count_++) % kMaxPendingAck2] = number;
  }
  send_->handle_ack(number, *ack, now);
  if (const std::uint32_t delivered = send_->take_delivered(); delivered != 0)
    path_->on_delivered(delivered + static_cast<std::uint32_t>(wire::kPayloadOverhead), now);
  follow_path();
  note_progress();
  check_drained(now);
}

void Connection::handle_path_packet(const wire::ControlHeader& header, ByteView body,
                                    TimePoint now) {
  if ((capabilities_ & wire::kPathMtuProbing) == 0) {
    ++stats_.control_ignored;
  } else if (header.extended == wire::kPathMtuProbe) {
    if (confirmation_count_ == confirmations_.size()) return;
    const auto payload = static_cast<std::uint32_t>(body.size());
    if (payload > largest_payload_) return;
    confirmations_[confirmation_count_++] = {
        payload + static_cast<std::uint32_t>(wire::kPayloadOverhead), header.info};
    recv_->expect_payload(payload);
  } else if (header.extended == wire::kPathMtuConfirmation) {
    path_->on_confirmed({ByteReader(body).u32(), header.info}, now);
    follow_path();
  } else {
    ++stats_.control_ignored;
  }
}

/// Packets are from now on as large as the path takes them.
void Connection::follow_path() {
  constexpr auto kOverhead = static_cast<std::uint32_t>(wire::kPayloadOverhead);
  const std::uint32_t unfragmented = path_->unfragmented();
  send_->set_packet_size(path_->size() - kOverhead,
                         unfragmented == 0 ? 0 : unfragmented - kOverhead);
}

void Connection::handle_path_mtu(std::uint32_t mtu, TimePoint now) {
  if (!is_up()) return;
  path_->on_hint(mtu, now);
  follow_path();
}

void Connection::note_progress() {
  if (send_->acked_offset() != reported_acked_) {
    reported_acked_ = send_->acked_offset();
    raise(Event::Kind::acknowledged);
  }
}

void Connection::handle_data(const wire::DataHeader& header, ByteView payload, TimePoint now,
                             TimePoint arrival) {
  handle_implied_handshake(now);
  if (!is_up()) return;
  heard(now);
  measure_first_reply(now);
  recv_->handle_data(header.seq, payload, now, arrival);
  if (recv_->has_readable()) raise(Event::Kind::readable);
}

std::size_t Connection::lend(std::span<MutByteView> rooms) {
  return recv_ ? recv_->lend(rooms) : 0;
}

void Connection::end_loan() {
  if (recv_) recv_->end_loan();
}

void Connection::handle_timeout(TimePoint now) {
  if (timers_.take_if_due(TimerId::handshake, now)) {
    const auto complaint = fsm_->complaint();
    fail(
        complaint.value_or(unreachable_seen_ ? ErrorCode::unreachable : ErrorCode::connect_timeout),
        nullptr, now);
  }
  if (state_ == State::connecting) fsm_->handle_timeout(now);

  if (timers_.take_if_due(TimerId::idle, now)) {
    const TimePoint due = last_heard_ + config_.idle_timeout;
    if (due <= now)
      fail(ErrorCode::peer_lost, nullptr, now);
    else
      timers_.set(TimerId::idle, due);
  }
  if (timers_.take_if_due(TimerId::keep_alive, now)) {
    const TimePoint due = last_sent_ + kKeepAliveInterval;
    if (due <= now)
      keep_alive_due_ = true;
    else
      timers_.set(TimerId::keep_alive, due);
  }
  if (timers_.take_if_due(TimerId::linger, now)) {
    close_error_ = ErrorCode::stalled;
    begin_shutdown(now);
  }
  if (timers_.take_if_due(TimerId::shutdown, now)) {
    if (shutdowns_left_ == 0)
      finish_closing(close_error_, now);
    else
      shutdown_due_ = true;
  }
  if (is_up()) {
    send_->handle_timeout(now);
    recv_->handle_timeout(now);
    if (send_->stuck()) path_->on_stuck(now - last_heard_ < kRecently, now);
    path_->handle_timeout(rtt_.timeout(), now);
    follow_path();
  }
}

void Connection::handle_unreachable(bool port_refused, TimePoint now) {
  unreachable_seen_ = unreachable_seen_ || !port_refused;
  if (!port_refused || state_ == State::closed || state_ == State::failed) return;
  if (!refused_since_) {
    refused_since_ = now;
    return;
  }
  const Duration refused = now - *refused_since_;
  if (state_ == State::connecting && refused >= kRefusedWhileConnecting)
    fail(ErrorCode::connect_refused, nullptr, now);
  else if (is_up() && refused >= kRefusedWhileConnected)
    fail(ErrorCode::peer_lost, nullptr, now);
  else if (state_ == State::shutting_down)
    finish_closing(close_error_, now);
}

// Poll.

Transmit Connection::build_control(TrainBuffer& out, wire::ControlHeader header,
                                   std::size_t body_size, TimePoint now) {
  ByteWriter head(out.heads[0]);
  wire::encode(header, head);
  out.payloads[0] = {ByteView(out.control).first(body_size), {}};
  last_sent_ = now;
  return {local_.peer, 1, wire::kHeaderSize + body_size};
}

Transmit Connection::build_handshake(TrainBuffer& out, wire::SocketId destination,
                                     const wire::Handshake& handshake, TimePoint now) {
  ByteWriter body(out.control);
  wire::encode(handshake, body);
  return build_control(out, {wire::ControlType::handshake, 0, 0, 0, destination}, body.size(), now);
}

Transmit Connection::build_ack(TrainBuffer& out, const RecvHalf::Ack& ack, TimePoint now) {
  ByteWriter body(out.control);
  wire::encode(ack.body, body);
  return build_control(out, {wire::ControlType::ack, 0, ack.number.value(), 0, peer_id_},
                       body.size(), now);
}

std::optional<Transmit> Connection::poll_control(TimePoint now, TrainBuffer& out) {
  const auto padded = [&](wire::ControlType type, std::uint32_t info) {
    ByteWriter body(out.control);
    wire::encode_padding(body);
    return build_control(out, {type, 0, info, 0, peer_id_}, body.size(), now);
  };

  if (answer_due_) {
    answer_due_ = false;
    return build_handshake(out, peer_id_, *repeat_answer_, now);
  }
  if (state_ == State::shutting_down) {
    if (const auto ack = recv_->poll_ack(now)) return build_ack(out, *ack, now);
  }
  if (shutdown_due_) {
    shutdown_due_ = false;
    --shutdowns_left_;
    timers_.set(TimerId::shutdown,
                now + (shutdowns_left_ == 0 ? Duration::zero() : kShutdownInterval));
    return padded(wire::ControlType::shutdown, 0);
  }
  if (!is_up()) return std::nullopt;

  if (ack2_count_ > 0) {
    const wire::AckNo number = ack2_pending_[ack2_first_];
    ack2_first_ = (ack2_first_ + 1) % kMaxPendingAck2;
    --ack2_count_;
    ++stats_.ack2s_sent;
    return padded(wire::ControlType::ack2, number.value());
  }
  ByteWriter body(
      MutByteView(out.control).first(std::min<std::size_t>(kMaxNakSize, payload_size_)));
  if (recv_->poll_nak(now, body))
    return build_control(out, {wire::ControlType::nak, 0, 0, 0, peer_id_}, body.size(), now);
  if (const auto ack = recv_->poll_ack(now)) return build_ack(out, *ack, now);
  if (keep_alive_due_) {
    keep_alive_due_ = false;
    timers_.set(TimerId::keep_alive, now + kKeepAliveInterval);
    return padded(wire::ControlType::keep_alive, 0);
  }
  return poll_path(now, out);
}

std::optional<Transmit> Connection::poll_path(TimePoint now, TrainBuffer& out) {
  wire::ControlHeader header{wire::ControlType::user_defined, 0, 0, 0, peer_id_};
  if (confirmation_count_ > 0) {
    const PathMtu::Probe probe = confirmations_[--confirmation_count_];
    header.extended = wire::kPathMtuConfirmation;
    header.info = probe.token;
    ByteWriter body(out.control);
    body.u32(probe.size);
    return build_control(out, header, body.size(), now);
  }
  const auto probe = path_->poll(rtt_.timeout(), now);
  if (!probe) return std::nullopt;
  header.extended = wire::kPathMtuProbe;
  header.info = probe->token;
  const std::size_t padding = probe->size - wire::kPayloadOverhead;
  Transmit transmit = build_control(out, header, 0, now);
  out.payloads[0] = {ByteView(kZeros).first(padding), {}};
  transmit.segment_size += padding;
  transmit.path_probe = true;
  return transmit;
}

std::optional<Transmit> Connection::poll_transmit(TimePoint now, TrainBuffer& out,
                                                  std::size_t max_segments) {
  if (state_ == State::connecting) {
    const auto handshake = fsm_->poll(now);
    if (!handshake) return std::nullopt;
    return build_handshake(out, handshake->destination, handshake->handshake, now);
  }
  if (auto control = poll_control(now, out)) return control;
  if (!is_up()) return std::nullopt;

  Transmit train;
  train.destination = local_.peer;
  train.segments = send_->poll_train(now, out, std::min(max_segments, kMaxTrainSegments),
                                     train.segment_size, train.may_fragment);
  if (train.segments == 0) return std::nullopt;
  last_sent_ = now;
  return train;
}

std::optional<Event> Connection::poll_event() {
  if (raised_ == 0 || finished_) return std::nullopt;
  for (unsigned kind = 0; kind <= static_cast<unsigned>(Event::Kind::failed); ++kind) {
    const auto event_kind = static_cast<Event::Kind>(kind);
    if ((raised_ & bit(event_kind)) == 0) continue;
    raised_ &= ~bit(event_kind);
    Event event{local_.id, event_kind, {}, false};
    if (event_kind == Event::Kind::closed || event_kind == Event::Kind::failed) {
      event.error = error_;
      event.has_error = has_error_;
      finished_ = true;
    }
    return event;
  }
  return std::nullopt;
}

std::optional<TimePoint> Connection::next_deadline() const {
  std::optional<TimePoint> deadline = timers_.next();
  if (state_ == State::connecting) return earlier(deadline, fsm_->next_deadline());
  if (is_up())
    deadline = earlier(earlier(deadline, path_->next_deadline()),
                       earlier(send_->next_deadline(), recv_->next_deadline()));
  return deadline;
}

ConnectionStats Connection::stats() const {
  ConnectionStats stats = stats_;
  stats.rtt = rtt_.rtt();
  stats.rtt_var = rtt_.rtt_var();
  stats.min_rtt = rtt_.min_rtt();
  if (recv_) {
    stats.arrival_rate_pps = recv_->arrival_rate();
    stats.capacity_pps = recv_->capacity();
  }
  if (send_) send_->fill_stats(stats);
  if (path_) stats.packet_size = path_->size();
  stats.capabilities = capabilities_;
  if (recv_) stats.receive_window = recv_->window();
  return stats;
}

}  // namespace xfer::udt

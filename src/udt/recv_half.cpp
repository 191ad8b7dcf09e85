#include "udt/recv_half.hpp"

#include <algorithm>

#include "wire/loss_list_codec.hpp"

namespace xfer::udt {

RecvHalf::RecvHalf(const Setup& setup, RttEstimator& rtt, ConnectionStats& stats,
                   const Tracer& tracer)
    : mapper_(setup.isn),
      window_(setup.window),
      max_window_(setup.max_window),
      payload_size_(setup.payload_size),
      largest_payload_(setup.largest_payload),
      full_payload_(setup.payload_size),
      varying_(setup.varying),
      reports_(setup.reports),
      recovery_(setup.recovery),
      nak_repeat_threshold_(setup.nak_repeat_threshold),
      rtt_(rtt),
      stats_(stats),
      tracer_(tracer),
      units_({setup.max_window + kWindowReserve, setup.largest_payload, setup.block_packets,
              setup.payload_size}),
      buffer_(setup.max_window + kWindowReserve, setup.largest_payload, units_),
      last_window_end_(setup.window) {}

void RecvHalf::handle_data(wire::SeqNo seq, ByteView payload, TimePoint now, TimePoint arrival) {
  ++stats_.packets_received;
  const PacketIndex index = mapper_.to_index(seq, buffer_.end());
  arrival_rate_.on_packet(arrival);
  if (index == buffer_.end())
    capacity_.on_in_order(mapper_.pair_position(index), arrival);
  else
    capacity_.on_other();

  if (payload.size() > largest_payload_) {
    ++stats_.control_malformed;
    return;
  }
  const RecvBuffer::Outcome outcome = buffer_.check(index);
  if (outcome != RecvBuffer::Outcome::stored) {
    tracer_.record(now,
                   trace::PacketReceived{index, static_cast<std::uint32_t>(payload.size()), true});
    ++(outcome == RecvBuffer::Outcome::duplicate ? stats_.packets_duplicate
                                                 : stats_.packets_outside_window);
    repeat_ack_ = true;
    arm_ack_timer(now + kSynInterval);
    return;
  }
  if (holes_.full() &&
      index != holes_.front()) {  // one more might be needed; the packet will be sent again
    ++stats_.packets_outside_window;
    return;
  }

  const PacketIndex expected = buffer_.end();
  if (index > expected) {
    holes_.append(expected, index, now);
    tracer_.record(now, trace::LossDetected{expected, index, false});
    stats_.packets_lost += static_cast<std::uint64_t>(index - expected);
    stats_.peak_reordered_ranges =
        std::max<std::uint64_t>(stats_.peak_reordered_ranges, holes_.size());
    nak_due_ = nak_due_ || reorder_window_ == Duration::zero();
    nak_timer_ = earlier(nak_timer_, now + nak_tick());
  } else if (index < expected) {
    if (const auto hole = holes_.remove(index)) note_reordering(*hole, now);
  }
  tracer_.record(now,
                 trace::PacketReceived{index, static_cast<std::uint32_t>(payload.size()), false});
  buffer_.store(index, payload);
  ++received_;
  if (index >= expected) newest_arrival_ = arrival;
  stats_.payload_bytes_received += payload.size();
  stats_.payload_copies = units_.copies();

  grow_window(now);
  ++packets_since_ack_;
  arm_ack_timer(now + kSynInterval);
  full_payload_ = std::max(full_payload_, static_cast<std::uint32_t>(payload.size()));
  if (!is_full(payload.size())) {
    // A packet that is not full ends a burst: acknowledge at once, as stock does (rule I-20).
    ack_due_ = Due::regular;
  } else if (ack_due_ == Due::none &&
             packets_since_ack_ >= light_ack_interval_ * (light_acks_since_ack_ + 1)) {
    ack_due_ = Due::light;
    count_standstill();
  }
}

/// Algorithm 1 of A-UDT at the receiver. At each ACK opportunity: the number stands still although
/// packets arrive, so the repair of the oldest hole may be lost as well. Report again what has not
/// been answered in time.
void RecvHalf::count_standstill() {
  standstills_ = ack_value() == last_opportunity_ ? standstills_ + 1 : 0;
  last_opportunity_ = ack_value();
  if (!recovery_ || standstills_ <= nak_repeat_threshold_) return;
  standstills_ = 0;
  nak_due_ = nak_due_ || !holes_.empty();
}

/// Whether a packet of that many bytes is as long as the sender makes them. One that is not ends a
/// burst.
bool RecvHalf::is_full(std::size_t payload) const {
  constexpr std::size_t kBase = kBasePathMtu - wire::kPayloadOverhead;
  constexpr std::size_t kLeast = kLeastPathMtu - wire::kPayloadOverhead;
  return payload == payload_size_ || payload == full_payload_ ||
         (varying_ && (payload == kBase || payload == kLeast));
}

/// Once per round trip: room for four times the bandwidth-delay product, by the rate of arrival and
/// the shortest round trip seen, or for twice what waits behind a hole. So the window never holds
/// up a sender that doubles its rate each round trip; one that fills a queue, be it our own
/// socket's, does not make it grow, for a queue makes round trips longer only.
void RecvHalf::grow_window(TimePoint now) {
  const Duration elapsed = now - window_measured_at_;
  const Duration span = std::max(rtt_.rtt(), kSynInterval);
  if (window_ >= max_window_ || elapsed < span) return;
  const PacketIndex arrived = buffer_.end() - window_measured_from_;
  window_measured_at_ = now;
  window_measured_from_ = buffer_.end();
  if (!shortest_rtt_ || elapsed >= 2 * span) return;  // a pause is no rate
  const double product =
      static_cast<double>(arrived) * to_seconds(*shortest_rtt_) / to_seconds(elapsed);
  const PacketIndex held = buffer_.end() - buffer_.contiguous();
  const PacketIndex wanted = std::max(static_cast<PacketIndex>(4 * product), 2 * held);
  window_ = static_cast<std::uint32_t>(
      std::clamp(wanted, PacketIndex{window_}, PacketIndex{max_window_}));
}

void RecvHalf::handle_ack2(wire::AckNo number, TimePoint now) {
  const auto entry = history_.take(number);
  if (!entry) {
    ++stats_.control_implausible;
    return;
  }
  rtt_.sample(now - entry->sent);
  shortest_rtt_ = std::min(shortest_rtt_.value_or(now - entry->sent), now - entry->sent);
  confirmed_ = std::max(confirmed_, entry->next);
}

void RecvHalf::handle_timeout(TimePoint now) {
  if (ack_timer_ && *ack_timer_ <= now) on_ack_timer(now);
  if (nak_timer_ && *nak_timer_ <= now) on_nak_timer(now);
}

/// Decides whether an ACK is due: a new number, or an old one that may not have reached the peer.
void RecvHalf::on_ack_timer(TimePoint now) {
  ack_timer_.reset();
  count_standstill();
  const bool unconfirmed = last_ack_time_ && confirmed_ < last_ack_;
  if (ack_value() > last_ack_ || repeat_ack_ || (reports_ && received_ != last_reported_)) {
    ack_due_ = Due::regular;
  } else if (unconfirmed) {
    const TimePoint repeat_at = *last_ack_time_ + std::max(rtt_.timeout(), kSynInterval);
    if (repeat_at <= now)
      ack_due_ = Due::regular;
    else
      arm_ack_timer(repeat_at);
  }
}

void RecvHalf::on_nak_timer(TimePoint now) {
  nak_timer_.reset();
  if (holes_.empty()) return;
  for (const auto& hole : holes_) {
    if (report_due(hole, now)) {
      nak_due_ = true;
      break;
    }
  }
  nak_timer_ = now + nak_tick();
}

Duration RecvHalf::nak_tick() const {
  return reorder_window_ == Duration::zero()
             ? kSynInterval
             : std::clamp(reorder_window_, kLeastNakTick, kSynInterval);
}

/// A hole was filled: by a packet that came late, if that was before a repair could have come, else
/// by a repair. Holes are reported at once, as stock does, until the path is seen to reorder; then
/// as late as packets come. Repairs make that shorter again.
void RecvHalf::note_reordering(const HoleList::Hole& hole, TimePoint now) {
  if (!shortest_rtt_) return;
  const bool late =
      hole.naks == 0 || (hole.naks == 1 && now - hole.last_nak < *shortest_rtt_ * 3 / 4);
  if (late)
    reorder_window_ =
        std::max(reorder_window_, std::min((now - hole.opened) * 5 / 4, *shortest_rtt_ / 2));
  else
    reorder_window_ -= reorder_window_ / 16;
  if (reorder_window_ < kLeastReordering) reorder_window_ = Duration::zero();
}

/// How old the last report of a hole must be before the next (rule I-16): the time an answer needs;
/// more each time once that many answers were lost that the path itself is in doubt.
Duration RecvHalf::nak_interval(std::uint32_t naks) const {
  const Duration answer = std::max(rtt_.timeout(), kNakRepeatFloor);
  const std::uint32_t factor = naks < kNaksBeforeBackoff ? 1 : naks - kNaksBeforeBackoff + 2;
  return std::min(answer * std::min<std::uint32_t>(factor, 16), std::max(answer, kMaxBackoff));
}

bool RecvHalf::report_due(const HoleList::Hole& hole, TimePoint now) const {
  if (hole.naks == 0) return hole.opened + reorder_window_ <= now;
  return recovery_ && hole.last_nak + nak_interval(hole.naks) <= now;
}

void RecvHalf::add_report(Ack& ack, TimePoint now) {
  if (!reports_) return;
  last_reported_ = received_;
  wire::DeliveryReport report;
  report.received = received_;
  report.end = mapper_.to_seq(buffer_.end());
  report.duplicates = static_cast<std::uint32_t>(stats_.packets_duplicate);
  report.delay_us = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(to_us(now - newest_arrival_), 0, kMaxWireRttUs));
  ack.body.report = report;
}

void RecvHalf::arm_ack_timer(TimePoint at) {
  if (!ack_timer_ || at < *ack_timer_) ack_timer_ = at;
}

void RecvHalf::consume(std::uint64_t bytes, TimePoint now) {
  buffer_.consume(bytes);
  // Tell the peer when a window that was nearly closed opens: a sender that fills it waits for just
  // this (fault A5).
  const PacketIndex left = last_window_end_ - buffer_.end();
  const PacketIndex step = std::max<PacketIndex>(window_ / 4, 1);
  if (left < step && window_end() - last_window_end_ >= step) {
    ack_due_ = Due::regular;
  }
  if (ack_value() > last_ack_) arm_ack_timer(now + kSynInterval);
}

std::optional<RecvHalf::Ack> RecvHalf::poll_ack(TimePoint now) {
  if (ack_due_ == Due::none) return std::nullopt;
  Ack ack;
  ack.body.next = mapper_.to_seq(ack_value());

  if (ack_due_ == Due::light) {
    ack_due_ = Due::none;
    ++light_acks_since_ack_;
    if (ack_value() == confirmed_ && !reports_) return std::nullopt;
    add_report(ack, now);
    ++stats_.light_acks_sent;
    tracer_.record(now, trace::AckSent{ack_value(), 0, true});
    return ack;
  }

  ack_due_ = Due::none;
  repeat_ack_ = false;
  const bool full = reports_ || !last_full_ack_time_ || now - *last_full_ack_time_ >= kSynInterval;
  last_number_ = last_number_.advanced(1);
  last_ack_ = ack_value();
  last_window_end_ = std::max(window_end(), last_ack_ + kWindowReserve);
  last_ack_time_ = now;
  if (full) last_full_ack_time_ = now;
  packets_since_ack_ = 0;
  light_acks_since_ack_ = 0;
  ack_timer_ = now + std::max(rtt_.timeout(), kSynInterval);  // to repeat it, unless ACK2 comes

  ack.number = last_number_;
  ack.body.kind = full ? wire::AckBody::Kind::full : wire::AckBody::Kind::partial;
  ack.body.rtt_us =
      static_cast<std::uint32_t>(std::min<std::int64_t>(to_us(rtt_.rtt()), kMaxWireRttUs));
  ack.body.rtt_var_us =
      static_cast<std::uint32_t>(std::min<std::int64_t>(to_us(rtt_.rtt_var()), kMaxWireRttUs));
  ack.body.window = static_cast<std::uint32_t>(last_window_end_ - last_ack_);
  if (full) {
    ack.body.arrival_rate = arrival_rate();
    // Reports are frequent also where packets are not.
    if (reports_)
      light_ack_interval_ =
          std::clamp(static_cast<std::uint32_t>(ack.body.arrival_rate * to_seconds(kReportSpacing)),
                     kFewestPerReport, kLightAckInterval);
    ack.body.capacity = capacity();
  }
  add_report(ack, now);
  history_.store({last_number_, last_ack_, now});
  ++stats_.acks_sent;
  tracer_.record(now, trace::AckSent{last_ack_, ack.body.window, false});
  return ack;
}

bool RecvHalf::poll_nak(TimePoint now, ByteWriter& out) {
  if (!nak_due_) return false;
  bool any = false;
  for (auto& hole : holes_) {
    if (!report_due(hole, now)) continue;
    if (!wire::encode_loss_range({mapper_.to_seq(hole.first), mapper_.to_seq(hole.end - 1)}, out))
      break;
    tracer_.record(now, trace::NakSent{hole.first, hole.end, hole.naks});
    if (hole.naks != 0) ++stats_.nak_repeats;
    hole.last_nak = now;
    ++hole.naks;
    any = true;
  }
  if (any)
    ++stats_.naks_sent;
  else
    nak_due_ = false;
  return any;
}

std::optional<TimePoint> RecvHalf::next_deadline() const { return earlier(ack_timer_, nak_timer_); }

}  // namespace xfer::udt

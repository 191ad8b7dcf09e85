#include "udt/recv_half.hpp"

#include <algorithm>

#include "wire/loss_list_codec.hpp"

namespace xfer::udt {

RecvHalf::RecvHalf(wire::SeqNo isn, const Sizes& sizes, RttEstimator& rtt, ConnectionStats& stats,
                   const Tracer& tracer)
    : mapper_(isn),
      window_(sizes.window),
      max_window_(sizes.max_window),
      payload_size_(sizes.payload_size),
      largest_payload_(sizes.largest_payload),
      full_payload_(sizes.payload_size),
      varying_(sizes.varying),
      rtt_(rtt),
      stats_(stats),
      tracer_(tracer),
      units_(sizes.max_window + kWindowReserve, sizes.largest_payload),
      buffer_(sizes.max_window + kWindowReserve, sizes.largest_payload, units_),
      last_window_end_(sizes.window) {}

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
    holes_.append(expected, index);
    tracer_.record(now, trace::LossDetected{expected, index, false});
    stats_.packets_lost += static_cast<std::uint64_t>(index - expected);
    stats_.peak_reordered_ranges =
        std::max<std::uint64_t>(stats_.peak_reordered_ranges, holes_.size());
    nak_due_ = true;
    if (!nak_timer_) nak_timer_ = now + kSynInterval;
  } else if (index < expected) {
    holes_.remove(index);
  }
  tracer_.record(now,
                 trace::PacketReceived{index, static_cast<std::uint32_t>(payload.size()), false});
  buffer_.store(index, payload);
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
             packets_since_ack_ >= kLightAckInterval * (light_acks_since_ack_ + 1)) {
    ack_due_ = Due::light;
  }
}

/// Whether a packet of that many bytes is as long as the sender makes them. One that is not ends a
/// burst.
bool RecvHalf::is_full(std::size_t payload) const {
  constexpr std::size_t kBase = kBasePathMtu - wire::kPayloadOverhead;
  constexpr std::size_t kLeast = kLeastPathMtu - wire::kPayloadOverhead;
  return payload == payload_size_ || payload == full_payload_ ||
         (varying_ && (payload == kBase || payload == kLeast));
}

/// Once per round trip: room for twice the bandwidth-delay product, by the rate of arrival and the
/// shortest round trip seen. A sender that uses all of its window doubles it this way; one that
/// fills a queue, be it our own socket's, does not, for a queue makes round trips longer only.
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
  window_ = static_cast<std::uint32_t>(std::clamp(static_cast<PacketIndex>(2 * product),
                                                  PacketIndex{window_}, PacketIndex{max_window_}));
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
  const bool unconfirmed = last_ack_time_ && confirmed_ < last_ack_;
  if (ack_value() > last_ack_ || repeat_ack_) {
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
    if (hole.naks == 0 || hole.last_nak + nak_interval(hole.naks) <= now) {
      nak_due_ = true;
      break;
    }
  }
  nak_timer_ = now + kSynInterval;
}

/// How old the last report of a hole must be before the next (rule I-16): the time an answer needs,
/// more each time.
Duration RecvHalf::nak_interval(std::uint32_t naks) const {
  const Duration answer = std::max(rtt_.timeout(), kNakRepeatFloor);
  return std::min(answer * std::min<std::uint32_t>(naks, 16), std::max(answer, kMaxBackoff));
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
    if (ack_value() == confirmed_) return std::nullopt;
    ++stats_.light_acks_sent;
    tracer_.record(now, trace::AckSent{ack_value(), 0, true});
    return ack;
  }

  ack_due_ = Due::none;
  repeat_ack_ = false;
  const bool full = !last_full_ack_time_ || now - *last_full_ack_time_ >= kSynInterval;
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
    ack.body.capacity = capacity();
  }
  history_.store({last_number_, last_ack_, now});
  ++stats_.acks_sent;
  tracer_.record(now, trace::AckSent{last_ack_, ack.body.window, false});
  return ack;
}

bool RecvHalf::poll_nak(TimePoint now, ByteWriter& out) {
  if (!nak_due_) return false;
  bool any = false;
  for (auto& hole : holes_) {
    if (hole.naks != 0 && hole.last_nak + nak_interval(hole.naks) > now) continue;
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

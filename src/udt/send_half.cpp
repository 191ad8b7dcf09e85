#include "udt/send_half.hpp"

#include <algorithm>

#include "wire/loss_list_codec.hpp"

namespace xfer::udt {
namespace {

/// A stock receiver's estimator starts with this many intervals of one second each. Until packets
/// that arrived have replaced them, the rate it reports means nothing: believing it would cost
/// seconds (fault B1).
constexpr PacketIndex kStockArrivalWindow = 16;

/// UDT's smoothing of the rates in ACKs, in 64 bits (fault B8); 0 is "unknown" and anything absurd
/// is left out.
std::uint32_t smoothed_rate(std::uint32_t current, std::uint32_t reported) {
  if (reported == 0 || reported > kMaxWireRate) return current;
  if (current == 0) return reported;
  return static_cast<std::uint32_t>((std::uint64_t{current} * 7 + reported) / 8);
}

}  // namespace

SendHalf::SendHalf(const Setup& setup, std::unique_ptr<Controller> controller, RttEstimator& rtt,
                   ConnectionStats& stats, const Tracer& tracer)
    : mapper_(setup.isn),
      destination_(setup.destination),
      payload_size_(setup.payload_size),
      unfragmented_(setup.payload_size),
      max_peer_window_(setup.growing_window ? kMaxFlightWindow : setup.peer_window),
      max_flight_(setup.max_flight),
      recovery_(setup.recovery),
      duplicate_ack_threshold_(setup.duplicate_ack_threshold),
      opened_(setup.opened),
      controller_(std::move(controller)),
      rtt_(rtt),
      stats_(stats),
      tracer_(tracer),
      loss_list_(kMaxLossRanges),
      window_end_(setup.peer_window) {}

void SendHalf::offer(std::uint64_t end, std::uint64_t flush, TimePoint now) {
  XFER_ASSERT(end >= offered_ && flush <= end && source_ != nullptr);
  if (end > offered_ && packets_.in_flight() == 0) pacer_.reset(now);
  offered_ = end;
  flush_ = std::max(flush_, flush);
}

void SendHalf::handle_ack(wire::AckNo number, const wire::AckBody& body, TimePoint now) {
  const bool light = body.kind == wire::AckBody::Kind::light;
  ++(light ? stats_.light_acks_received : stats_.acks_received);
  const PacketIndex next = mapper_.to_index(body.next, packets_.begin());
  if (next > packets_.end()) {  // acknowledges what was never sent (fault D9)
    ++stats_.control_implausible;
    return;
  }
  if (next < packets_.begin()) return;  // overtaken by a newer one

  if (!light) {
    const bool newer = !last_number_ || wire::AckNo::distance(*last_number_, number) > 0;
    if (newer || next > packets_.begin()) {
      // Never more than the peer announced in its handshake (fault D15), unless it said it may.
      window_end_ = next + static_cast<PacketIndex>(std::min(body.window, max_peer_window_));
    }
    if (newer) last_number_ = number;
    firmly_acked_ = std::max(firmly_acked_, next);
    if (!body.report) rtt_.adopt(body.rtt_us, body.rtt_var_us);
    if (body.kind == wire::AckBody::Kind::full && next > kStockArrivalWindow) {
      stats_.peer_arrival_rate_pps = smoothed_rate(stats_.peer_arrival_rate_pps, body.arrival_rate);
      stats_.peer_capacity_pps = smoothed_rate(stats_.peer_capacity_pps, body.capacity);
    }
  }
  const PacketIndex newly_acked = next - packets_.begin();
  const Controller::Delivery delivery = note_delivery(body, next, now);
  if (newly_acked > 0) advance(next, now);
  if (recovery_) count_duplicate_ack(next, newly_acked, now);
  tracer_.record(now, trace::AckReceived{next, window_end_, light});
  controller_->on_ack({now, next, newly_acked, light, rtt_.rtt(), stats_.peer_arrival_rate_pps,
                       stats_.peer_capacity_pps, cwnd_limited_, delivery});
  trace_rate(now);
}

/// Counts what has been delivered and takes the samples of rate and round trip. Before the packets
/// are released.
Controller::Delivery SendHalf::note_delivery(const wire::AckBody& body, PacketIndex next,
                                             TimePoint now) {
  const PacketIndex known_end = std::max(reported_end_, packets_.begin());
  const std::uint64_t before = delivery_.delivered();
  const bool full = body.kind == wire::AckBody::Kind::full;
  if (body.report)
    note_report(*body.report, full, now);
  else if (!reports_)
    delivery_.on_delivered(static_cast<std::uint64_t>(next - packets_.begin()), now);

  Controller::Delivery result;
  // The newest packet that this ACK shows to have arrived stands for all of them.
  const PacketIndex newest = std::max(reported_end_, next) - 1;
  if (newest >= known_end && newest < packets_.end()) {
    const SentPackets::Record& packet = packets_[newest];
    if (packet.times_sent == 1 && body.report) {
      const Duration held = full ? std::chrono::microseconds(body.report->delay_us) : 0us;
      result.rtt = std::max(now - packet.last_sent - held, Duration(1us));
      if (full) rtt_.sample(*result.rtt);
    }
    take_sample(packet, now, result);
  } else if (delivery_.delivered() > before && next > packets_.begin()) {
    // Only repairs have arrived, the last of them just below the number acknowledged.
    take_sample(packets_[next - 1], now, result);
    result.limited = true;
  }
  result.delivered = delivery_.delivered();
  result.lost = delivery_.lost();
  result.eased_sent = delivery_.eased_sent();
  result.eased_lost = delivery_.eased_lost();
  result.pipe = pipe();
  return result;
}

void SendHalf::take_sample(const SentPackets::Record& packet, TimePoint now,
                           Controller::Delivery& result) {
  const auto sample = delivery_.sample(packet.stamp, packet.last_sent, now);
  if (!sample) return;
  result.rate = sample->packets_per_second;
  result.prior_delivered = sample->prior_delivered;
  result.limited = sample->limited;
}

void SendHalf::note_report(const wire::DeliveryReport& report, bool full, TimePoint now) {
  const PacketIndex end = mapper_.to_index(report.end, packets_.end());
  const auto grown = static_cast<std::int32_t>(report.received - reported_received_);
  if (end > packets_.end() || grown > static_cast<std::int64_t>(packets_.in_flight())) {
    ++stats_.control_implausible;
    return;
  }
  reports_ = true;
  if (grown < 0) return;  // overtaken by a newer one
  if (grown > 0) delivery_.on_delivered(static_cast<std::uint64_t>(grown), now);
  reported_received_ = report.received;
  reported_end_ = std::max(reported_end_, end);
  if (!full) return;
  const auto duplicates = static_cast<std::int32_t>(report.duplicates - reported_duplicates_);
  if (duplicates <= 0) return;
  reported_duplicates_ = report.duplicates;
  stats_.spurious_retransmits += static_cast<std::uint64_t>(duplicates);
}

/// Algorithm 1 of A-UDT at the sender: while the number in ACKs stands still and nothing is known
/// to be lost, the packet of that number is, with its repair, and a stock receiver will not say so
/// again.
void SendHalf::count_duplicate_ack(PacketIndex next, PacketIndex newly_acked, TimePoint now) {
  duplicate_acks_ = newly_acked == 0 && packets_.in_flight() > 0 ? duplicate_acks_ + 1 : 0;
  if (duplicate_acks_ <= duplicate_ack_threshold_ || !loss_list_.empty() || peer_full()) return;
  if (now - packets_[next].last_sent <= rtt_.timeout()) return;
  duplicate_acks_ = 0;
  stats_.dupack_retransmits += mark_lost(next, next + 1);
}

std::uint64_t SendHalf::mark_lost(PacketIndex begin, PacketIndex end) {
  const std::int64_t before = loss_list_.count();
  loss_list_.add(begin, end);
  const auto added = static_cast<std::uint64_t>(loss_list_.count() - before);
  delivery_.on_lost(added);
  return added;
}

std::uint32_t SendHalf::pipe() const {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(delivery_.pipe(), packets_.in_flight()));
}

std::uint32_t SendHalf::counted_flight() const {
  return controller_->limits_pipe() ? pipe() : packets_.in_flight();
}

/// Everything below `next` has arrived: progress.
void SendHalf::advance(PacketIndex next, TimePoint now) {
  const std::uint32_t newest = packets_[next - 1].size;
  if (newest <= unfragmented_) delivered_ = std::max(delivered_, newest);
  acked_offset_ = next == packets_.end() ? packetized_ : packets_[next].offset;
  packets_.release(next);
  const std::int64_t to_repair = loss_list_.count();
  loss_list_.remove_below(next);
  delivery_.on_found(static_cast<std::uint64_t>(to_repair - loss_list_.count()));
  if (packets_.in_flight() == 0) delivery_.settle();
  probes_ = 0;
  arm_probe(now);

  // The peer has just what a probe sent again and waits for packets sent long ago: they are missing
  // as well, and a stock receiver reports nothing twice (fault A1). Twice as many at a time, for
  // one packet per time-out could take minutes. Not when the peer goes on by itself, nor when it is
  // full: it may have the last packets and hold back their acknowledgement.
  if (probed_from_ == probed_to_ || next < probed_to_) return;
  const bool waits = next == probed_to_ && packets_.in_flight() > 0 && !peer_full() &&
                     now - packets_[next].last_sent > rtt_.rtt() + kProbeFloor;
  const PacketIndex run = std::min(2 * (probed_to_ - probed_from_), PacketIndex{kMaxProbeRun});
  probed_from_ = probed_to_ = next;
  if (waits) send_probe(now, run);
}

void SendHalf::handle_nak(ByteView body, TimePoint now) {
  ++stats_.naks_received;
  wire::LossListReader ranges(body);
  PacketIndex lowest_new = packets_.end();
  PacketIndex reported = 0;
  while (const auto range = ranges.next()) {
    const PacketIndex last = mapper_.to_index(range->last, packets_.begin());
    PacketIndex first = mapper_.to_index(range->first, packets_.begin());
    if (last >= packets_.end() || first > last) {  // reports what was never sent (fault D9)
      ++stats_.control_implausible;
      continue;
    }
    first = std::max(first, packets_.begin());
    reported += std::max<PacketIndex>(last + 1 - first, 0);
    if (reported >
        packets_.end() -
            packets_.begin()) {  // more than everything: overlapping ranges (compare D12)
      ++stats_.control_implausible;
      break;
    }
    for (PacketIndex i = first; i <= last; ++i) {
      const auto& packet = packets_[i];
      // A repeat that crossed our retransmission on the way says nothing about it.
      if (packet.times_sent > 1 && now - packet.last_sent < rtt_.rtt() / 2) continue;
      if (packet.times_sent == 1 && !loss_list_.contains(i)) lowest_new = std::min(lowest_new, i);
      if (mark_lost(i, i + 1) > 0) delivery_.on_reported_lost(packet.stamp);
    }
    if (first <= last) tracer_.record(now, trace::LossDetected{first, last + 1, true});
  }
  stats_.control_malformed += ranges.malformed();
  if (lowest_new < packets_.end()) {
    controller_->on_loss(
        {now, lowest_new, packets_.end() - 1, rtt_.rtt(), stats_.peer_arrival_rate_pps});
    trace_rate(now);
  }
}

void SendHalf::arm_probe(TimePoint now) {
  if (packets_.in_flight() == 0) {
    probe_timer_.reset();
    return;
  }
  // The first probe costs two packets at most and need not wait until RTTVar has settled.
  const Duration answer = probes_ == 0 ? std::min(rtt_.timeout(), 2 * rtt_.rtt()) : rtt_.timeout();
  const Duration timeout = answer + kProbeFloor;
  probe_timer_ = now + std::min(timeout * (std::int64_t{1} << std::min(probes_, 10U)),
                                std::max(timeout, kMaxBackoff));
}

void SendHalf::handle_timeout(TimePoint now) {
  if (probe_timer_ && *probe_timer_ <= now) on_probe_timer(now);
}

/// Nothing has been acknowledged for longer than an answer takes. Send the oldest packet, in case
/// it is the hole the peer waits for, and the newest, which shows a lost tail to the peer and makes
/// a stock peer send a due ACK (rules I-12, I-17, fault A7). Only acknowledgements restart this
/// timer, never keep-alives (rule I-18).
void SendHalf::on_probe_timer(TimePoint now) {
  ++probes_;
  const unsigned probes = recovery_ ? kProbesBeforeExp : 0;
  if (probes_ > probes && heard_since_probe_ && !peer_full()) {
    ++stats_.exp_fired;
    tracer_.record(now, trace::TimerFired{trace::TimerFired::Kind::exp});
    mark_lost(packets_.begin(), packets_.end());
    controller_->on_timeout({now, rtt_.rtt(), stats_.peer_arrival_rate_pps});
    trace_rate(now);
  } else {
    tracer_.record(now, trace::TimerFired{trace::TimerFired::Kind::probe});
    // As many as the last one has repaired so far: its ACK may only be late, and the newest packet
    // draws it.
    if (probed_from_ == probed_to_) probed_from_ = packets_.begin();
    send_probe(now, std::clamp<PacketIndex>(packets_.begin() - probed_from_, 1, kMaxProbeRun));
  }
  heard_since_probe_ = false;
  pacer_.reset(now);
  arm_probe(now);
}

/// Sends the `count` oldest packets again, and the newest.
void SendHalf::send_probe(TimePoint now, PacketIndex count) {
  ++stats_.probes_sent;
  const PacketIndex end = packets_.begin() + count;
  probed_to_ = std::max(probed_to_, end);
  mark_lost(packets_.begin(), std::min(end, packets_.end()));
  mark_lost(packets_.end() - 1, packets_.end());
  pacer_.reset(now);
}

void SendHalf::set_packet_size(std::uint32_t payload, std::uint32_t unfragmented) {
  unfragmented_ = unfragmented;
  if (payload == payload_size_) return;
  payload_size_ = payload;
  controller_->on_packet_size(payload + static_cast<std::uint32_t>(wire::kPayloadOverhead));
}

std::uint32_t SendHalf::next_new_size() const {
  const std::uint64_t waiting = offered_ - packetized_;
  if (waiting >= payload_size_) return payload_size_;
  return flush_ > packetized_ ? static_cast<std::uint32_t>(waiting) : 0;
}

std::optional<SendHalf::Choice> SendHalf::choose() const {
  if (!loss_list_.empty()) {
    const PacketIndex index = loss_list_.front();
    return Choice{index, packets_[index].size, true};
  }
  const std::uint32_t size = next_new_size();
  const std::uint32_t flight = packets_.in_flight();
  if (size == 0 || packets_.end() >= window_end_ || counted_flight() >= controller_->cwnd() ||
      flight >= max_flight_)
    return std::nullopt;
  return Choice{packets_.end(), size, false};
}

bool SendHalf::second_of_pair(const Choice& choice) const {
  return pair_open_ && !choice.retransmission &&
         mapper_.pair_position(choice.index) % kPacketPairInterval == 1;
}

/// Once per SYN interval the packets of a pair leave as trains of one: packets of a longer train
/// may share one arrival time, which says nothing about the link.
bool SendHalf::measures_capacity(const Choice& choice, TimePoint now) const {
  if (second_of_pair(choice)) return pair_measured_;
  return !choice.retransmission && mapper_.pair_position(choice.index) % kPacketPairInterval == 0 &&
         (!last_measured_ || now - *last_measured_ >= kSynInterval);
}

/// A packet that uses up the window is sent one byte short, at most once per SYN interval: a packet
/// that is not full is acknowledged at once, by stock receivers too, which otherwise may take 105
/// ms after a burst (rule I-12).
bool SendHalf::asks_for_ack(const Choice& choice, TimePoint now) const {
  const PacketIndex room =
      std::min({window_end_ - packets_.end(),
                PacketIndex{controller_->cwnd()} - PacketIndex{counted_flight()},
                PacketIndex{max_flight_} - PacketIndex{packets_.in_flight()}});
  return !choice.retransmission && room == 1 && choice.size == payload_size_ && payload_size_ > 1 &&
         (!last_asked_ || now - *last_asked_ >= kSynInterval);
}

std::size_t SendHalf::poll_train(TimePoint now, TrainBuffer& out, std::size_t max_segments,
                                 std::size_t& size, bool& may_fragment) {
  std::size_t count = 0;
  cwnd_limited_ = false;
  while (count < max_segments) {
    auto choice = choose();
    if (!choice) {
      cwnd_limited_ = next_new_size() != 0 && packets_.end() < window_end_;
      if (next_new_size() == 0) delivery_.on_limited();
      break;
    }
    if (!pacer_.ready(now) && !second_of_pair(*choice)) break;

    const bool measures = measures_capacity(*choice, now);
    if (measures && count > 0) break;
    const bool asks = asks_for_ack(*choice, now);
    if (asks) --choice->size;
    const std::size_t bytes = wire::kHeaderSize + choice->size;
    const bool fragments = choice->size > unfragmented_;
    if (count == 0) {
      size = bytes;
      may_fragment = fragments;
    } else if (bytes > size || fragments != may_fragment || (count + 1) * size > kMaxTrainBytes) {
      break;
    }
    if (asks) last_asked_ = now;
    if (measures) last_measured_ = now;
    pair_measured_ = measures;
    write_packet(*choice, now, out, count++);
    pacer_.on_sent(now, controller_->send_period());
    if (measures || bytes < size) break;
  }
  return count;
}

void SendHalf::write_packet(const Choice& choice, TimePoint now, TrainBuffer& out, std::size_t at) {
  pair_open_ =
      !choice.retransmission && mapper_.pair_position(choice.index) % kPacketPairInterval == 0;
  if (choice.retransmission) {
    loss_list_.pop_front();
    ++stats_.packets_retransmitted;
  } else {
    packets_.push_back({packetized_, choice.size, 0, now, {}});
    packetized_ += choice.size;
    if (!probe_timer_) arm_probe(now);
  }
  auto& packet = packets_[choice.index];
  packet.last_sent = now;
  packet.stamp = delivery_.on_sent(now, controller_->eased());
  ++packet.times_sent;

  const wire::DataHeader header{mapper_.to_seq(choice.index),
                                wire::Boundary::solo,
                                false,
                                wire::MsgNo::nth(static_cast<std::uint64_t>(choice.index)),
                                static_cast<std::uint32_t>(to_us(now - opened_)),
                                destination_};
  ByteWriter head(out.heads[at]);
  wire::encode(header, head);
  out.payloads[at] = source_->view(packet.offset, packet.size);

  ++stats_.packets_sent;
  stats_.payload_bytes_sent += packet.size;
  tracer_.record(now, trace::PacketSent{choice.index, packet.size, choice.retransmission});
  controller_->on_sent({now, choice.index, packet.size, choice.retransmission});
}

std::optional<TimePoint> SendHalf::next_deadline() const {
  std::optional<TimePoint> deadline = probe_timer_;
  if (choose()) deadline = earlier(deadline, pacer_.next());
  return deadline;
}

void SendHalf::trace_rate(TimePoint now) {
  if (tracer_.sink != nullptr)
    tracer_.record(now, trace::RateChanged{controller_->send_period(), controller_->cwnd()});
}

void SendHalf::fill_stats(ConnectionStats& stats) const {
  stats.cwnd = controller_->cwnd();
  stats.send_period = controller_->send_period();
  stats.flight = packets_.in_flight();
  stats.counted_flight = counted_flight();
  stats.peer_window =
      static_cast<std::uint32_t>(std::max<PacketIndex>(window_end_ - packets_.begin(), 0));
}

}  // namespace xfer::udt

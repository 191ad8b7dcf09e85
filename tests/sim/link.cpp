#include "link.hpp"

#include <algorithm>

namespace xfer::sim {
namespace {
constexpr std::uint64_t kBitNanoseconds = 8'000'000'000U;
}  // namespace

DropRule drop_data(std::int64_t index, unsigned retransmissions) {
  return [=](const PacketView& packet) {
    return packet.data_index == index && packet.transmission <= retransmissions;
  };
}

DropRule drop_every(std::int64_t every, unsigned retransmissions) {
  return [=](const PacketView& packet) {
    return packet.data_index >= 0 && packet.data_index % every == every - 1 &&
           packet.transmission <= retransmissions;
  };
}

DropRule drop_control(wire::ControlType type, unsigned count, unsigned skip) {
  return [type, count, skip, seen = 0U](const PacketView& packet) mutable {
    if (!packet.is(type)) return false;
    const unsigned number = seen++;
    return number >= skip && number - skip < count;
  };
}

DropRule drop_all() {
  return [](const PacketView&) { return true; };
}

Fate Link::decide(ByteView datagram, std::size_t header_overhead, TimePoint now,
                  bool may_fragment) {
  ++stats_.offered;
  if (!rules.empty()) {
    const PacketView packet = inspect(datagram, now);
    bool drop = false;
    for (auto& rule : rules) drop = rule(packet) || drop;
    if (drop) {
      ++stats_.dropped_script;
      return {};
    }
  }
  const std::size_t size = datagram.size() + header_overhead;
  if (size > options.mtu) {
    ++(may_fragment ? stats_.fragmented : stats_.dropped_mtu);
    if (!may_fragment) return {};
  }
  const auto dark = [now](const Interval& i) { return now >= i.begin && now < i.end; };
  if (std::any_of(options.blackouts.begin(), options.blackouts.end(), dark)) {
    ++stats_.dropped_blackout;
    return {};
  }
  const TimePoint departure = leave_queue(size, now);
  if (departure == TimePoint::max()) {
    ++stats_.dropped_queue;
    return {};
  }
  if (lost()) {
    ++stats_.dropped_loss;
    return {};
  }

  Delivery delivery{arrival(departure), datagram.size(), 0};
  if (options.corruption > 0 && random_.chance(options.corruption))
    delivery.damage_seed = random_.next_u64() | 1U;
  if (options.truncation > 0 && random_.chance(options.truncation))
    delivery.length = static_cast<std::size_t>(random_.below(datagram.size() + 1));
  if (delivery.damage_seed != 0 || delivery.length != datagram.size()) {
    if (!options.deliver_damaged) {
      ++stats_.dropped_damaged;
      return {};
    }
    ++stats_.damaged;
  }

  Fate fate;
  fate.copies[fate.count++] = delivery;
  stats_.delivered_bytes += delivery.length + header_overhead;
  if (options.duplication > 0 && random_.chance(options.duplication)) {
    ++stats_.duplicated;
    delivery.at = arrival(departure);
    fate.copies[fate.count++] = delivery;
    stats_.delivered_bytes += delivery.length + header_overhead;
  }
  stats_.delivered += fate.count;
  return fate;
}

PacketView Link::inspect(ByteView datagram, TimePoint now) {
  PacketView packet;
  packet.bytes = datagram;
  packet.now = now;
  const auto header = wire::decode_header(datagram);
  if (!header) return packet;
  packet.decoded = true;
  packet.header = *header;
  const auto* data = std::get_if<wire::DataHeader>(&packet.header);
  if (data == nullptr) return packet;
  const std::uint32_t destination = data->destination.value();
  auto flow = std::find_if(flows_.begin(), flows_.end(),
                           [&](const Flow& f) { return f.destination == destination; });
  if (flow == flows_.end()) {
    flows_.push_back({destination, data->seq, {}});
    flow = flows_.end() - 1;
  }
  // Unwrapped around the newest packet, so that flows longer than half the number space would work
  // as well.
  const auto seen = static_cast<std::int64_t>(flow->transmissions.size());
  const std::int64_t index = seen + wire::SeqNo::distance(flow->first.advanced(seen), data->seq);
  if (index < 0 || index > seen + (1 << 22)) return packet;
  if (index >= seen) flow->transmissions.resize(static_cast<std::size_t>(index) + 1);
  auto& count = flow->transmissions[static_cast<std::size_t>(index)];
  packet.data_index = index;
  packet.transmission = count;
  if (count < 255) ++count;
  return packet;
}

bool Link::lost() {
  if (options.burst.enter > 0) {
    if (random_.chance(in_burst_ ? options.burst.leave : options.burst.enter))
      in_burst_ = !in_burst_;
    if (in_burst_ && random_.chance(options.burst.loss_bad)) return true;
  }
  return options.loss > 0 && random_.chance(options.loss);
}

TimePoint Link::leave_queue(std::size_t size, TimePoint now) {
  if (options.rate == 0) return now;
  account_queue(now);
  if (busy_until_ < now) {
    busy_until_ = now;
    rate_remainder_ = 0;
  }
  const double bytes = backlog(now) + static_cast<double>(size);
  if (bytes > static_cast<double>(options.queue_limit) || !packets_fit(now))
    return TimePoint::max();
  // The remainder is carried over, so that the long-term rate is exact.
  const std::uint64_t work = size * kBitNanoseconds + rate_remainder_;
  busy_until_ += Duration(static_cast<std::int64_t>(work / options.rate));
  rate_remainder_ = work % options.rate;
  if (options.queue_packets > 0) departures_.push_back(busy_until_);
  queue_max_ = std::max(queue_max_, bytes);
  return busy_until_;
}

double Link::backlog(TimePoint now) const {
  if (busy_until_ <= now) return 0;
  return static_cast<double>((busy_until_ - now).count()) * static_cast<double>(options.rate) /
         static_cast<double>(kBitNanoseconds);
}

// Between two arrivals the backlog shrinks in a straight line, at the link's rate, down to nothing.
void Link::account_queue(TimePoint now) {
  const double before = backlog(queue_accounted_);
  const double after = backlog(now);
  const TimePoint drained = std::min(now, busy_until_);
  if (drained > queue_accounted_)
    queue_byte_seconds_ += (before + after) / 2 * to_seconds(drained - queue_accounted_);
  queue_accounted_ = now;
}

bool Link::packets_fit(TimePoint now) {
  if (options.queue_packets == 0) {
    departures_.clear();
    return true;
  }
  while (!departures_.empty() && departures_.front() <= now) departures_.pop_front();
  return departures_.size() < options.queue_packets;
}

QueueStats Link::queue_stats(TimePoint now) {
  account_queue(now);
  return {static_cast<std::uint64_t>(backlog(now)), static_cast<std::uint64_t>(queue_max_),
          queue_byte_seconds_};
}

TimePoint Link::arrival(TimePoint departure) {
  TimePoint at = departure + options.delay;
  if (options.jitter.count() > 0)
    at += Duration(static_cast<std::int64_t>(
        random_.below(static_cast<std::uint64_t>(options.jitter.count()) + 1)));
  if (options.reordering > 0 && random_.chance(options.reordering))
    return at + options.reordering_delay;
  if (!options.jitter_reorders) at = std::max(at, newest_arrival_);
  newest_arrival_ = std::max(at, newest_arrival_);
  return at;
}

void damage(MutByteView bytes, std::uint64_t seed) {
  if (bytes.empty()) return;
  SeededRandom random(seed);
  const std::uint64_t flips = 1 + 2 * random.below(4);  // odd: they cannot undo each other
  for (std::uint64_t i = 0; i < flips; ++i) {
    const std::uint64_t bit = random.below(bytes.size() * 8);
    bytes[static_cast<std::size_t>(bit / 8)] ^= static_cast<std::byte>(1U << (bit % 8));
  }
}

}  // namespace xfer::sim

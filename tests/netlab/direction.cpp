#include "direction.hpp"

#include <algorithm>
#include <cstring>

#include "net/clock.hpp"

namespace xfer::netlab {
namespace {

constexpr std::size_t kIpHeader = 20;
constexpr std::size_t kUdpHeaders = 28;

}  // namespace

void Lateness::add(Duration late) {
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(late.count(), 0) / kStep);
  ++counts_[std::min(step, counts_.size() - 1)];
  ++total_;
  max_ = std::max(max_, late);
}

Duration Lateness::percentile(double share) const {
  const double wanted = share * static_cast<double>(total_);
  std::uint64_t sum = 0;
  for (std::size_t step = 0; step < counts_.size() && total_ > 0; ++step) {
    sum += counts_[step];
    if (static_cast<double>(sum) >= wanted)
      return Duration((static_cast<std::int64_t>(step) + 1) * kStep);
  }
  return {};
}

Direction::Direction(Tun& from, Tun& to, PacketPool& pool, const Settings& settings,
                     std::size_t index, TimePoint now)
    : from_(from), to_(to), pool_(pool), link_({}, link_seed(settings, index)) {
  change(settings, index, true, now);
}

void Direction::change(const Settings& settings, std::size_t index, bool restart_outages,
                       TimePoint now) {
  if (restart_outages) outage_origin_ = now;
  link_.options = link_options(settings, index, outage_origin_);
  link_.rules = drop_rules(settings.directions[index]);
  icmp_ = settings.directions[index].icmp;
  coalesce_ = settings.coalesce;
}

std::size_t Direction::receive(std::size_t most) {
  std::size_t count = 0;
  for (; count < most; ++count) {
    const auto read = from_.read();
    if (!read) break;
    carry(*read, net::now());
  }
  stats_.reads += count;
  return count;
}

void Direction::carry(const Tun::Read& read, TimePoint now) {
  const Cutter cutter(read.header, read.packet);
  if (cutter.count() == 0 || cutter.longest() > pool_.capacity()) {
    ++stats_.dropped_malformed;
    return;
  }
  for (std::size_t i = 0; i < cutter.count(); ++i) {
    WirePacket* packet = pool_.take();
    if (packet == nullptr) {
      stats_.dropped_memory += cutter.count() - i;
      return;
    }
    cutter.write(i, *packet);
    enter_link(packet, now);
  }
}

void Direction::enter_link(WirePacket* packet, TimePoint now) {
  const bool plain_udp =
      packet->layout.protocol == Protocol::udp && packet->layout.ip_header == kIpHeader;
  const sim::Fate fate = plain_udp ? link_.decide(packet->payload(), kUdpHeaders, now)
                                   : link_.decide({}, packet->length, now);
  if (fate.count == 0) {
    if (icmp_ && packet->length > link_.options.mtu) answer_too_long(*packet);
    pool_.give_back(packet);
    return;
  }
  for (std::size_t i = 1; i < fate.count; ++i) {
    WirePacket* copy = copy_of(*packet);
    if (copy != nullptr) due_.push(fate.copies[i].at, copy);
  }
  due_.push(fate.copies[0].at, packet);
}

WirePacket* Direction::copy_of(const WirePacket& packet) {
  WirePacket* copy = pool_.take();
  if (copy == nullptr) {
    ++stats_.dropped_memory;
    return nullptr;
  }
  std::byte* const data = copy->data;
  *copy = packet;
  copy->data = data;
  std::memcpy(data, packet.data, packet.length);
  return copy;
}

void Direction::answer_too_long(const WirePacket& packet) {
  auto answer = fragmentation_needed(packet.bytes(), link_.options.mtu);
  if (!answer) return;
  OffloadHeader header{};
  if (from_.write({{&header, sizeof header}, {answer->data(), answer->size()}})) ++stats_.icmp_sent;
}

std::size_t Direction::deliver() {
  const TimePoint now = net::now();
  std::size_t count = 0;
  while (const auto due = due_.pop(now)) {
    lateness_.add(now - due->at);
    load(due->item);
    ++count;
  }
  unload_all();
  return count;
}

void Direction::load(WirePacket* packet) {
  const Protocol protocol = packet->layout.protocol;
  const bool may_join = coalesce_ && ((protocol == Protocol::tcp && to_.cuts_tcp()) ||
                                      (protocol == Protocol::udp && to_.cuts_udp()));
  if (!may_join) {
    // It may belong to any flow, so it overtakes none.
    unload_all();
    trains_.front().append(*packet);
    unload(trains_.front());
    return;
  }
  const auto find = [this](auto condition) {
    return std::find_if(trains_.begin(), trains_.end(), condition);
  };
  auto train = find([packet](const Train& t) { return t.same_flow(*packet); });
  if (train == trains_.end()) train = find([](const Train& t) { return t.empty(); });
  if (train == trains_.end()) {
    unload_all();
    train = trains_.begin();
  }
  if (train->append(*packet)) return;
  unload(*train);
  train->append(*packet);
}

void Direction::unload_all() {
  for (Train& train : trains_) unload(train);
}

void Direction::unload(Train& train) {
  if (train.empty()) return;
  const std::size_t count = train.packets().size();
  if (to_.write(train.pieces())) {
    ++stats_.writes;
    stats_.written += count;
  } else {
    stats_.dropped_write += count;
  }
  for (WirePacket* packet : train.packets()) pool_.give_back(packet);
  train.clear();
}

}  // namespace xfer::netlab

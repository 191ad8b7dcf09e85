#include "network.hpp"

#include <algorithm>

#include "base/byte_reader.hpp"
#include "base/check.hpp"

namespace xfer::sim {
namespace {

struct Later {
  template <typename E>
  bool operator()(const E& a, const E& b) const {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }
};

}  // namespace

void Host::wake_at(TimePoint at) {
  at = std::max(at, network_.now());
  if (wake_ && *wake_ <= at) return;
  wake_ = at;
  network_.push(at, Network::Kind::wake, index_, 0);
}

void Host::fail(const std::string& what) { network_.fail(what); }

Network::Network(std::uint64_t seed) : seed_(seed), now_(TimePoint{} + 1s) {}

Network::~Network() = default;

std::uint64_t Network::sub_seed(std::uint64_t purpose) const {
  return SeededRandom(seed_ * 0x9E3779B97F4A7C15U + purpose).next_u64();
}

Link& Network::link(const Host& from, const Host& to) {
  for (auto& path : paths_)
    if (path.from == from.index_ && path.to == to.index_) return *path.link;
  const std::uint64_t purpose = 0x11000 + from.index_ * 256 + to.index_;
  paths_.push_back(
      {from.index_, to.index_, std::make_unique<Link>(LinkOptions{}, sub_seed(purpose))});
  return *paths_.back().link;
}

void Network::set_path(const Host& a, const Host& b, const LinkOptions& options) {
  link(a, b).options = options;
  link(b, a).options = options;
}

void Network::send(const Host& from, const SocketAddress& to, ByteView head, const ByteView* parts,
                   std::size_t part_count, bool may_fragment) {
  outgoing_.assign(head.begin(), head.end());
  for (std::size_t i = 0; i < part_count; ++i)
    outgoing_.insert(outgoing_.end(), parts[i].begin(), parts[i].end());
  const auto host =
      std::find_if(hosts_.begin(), hosts_.end(), [&](const auto& h) { return h->address_ == to; });
  if (host == hosts_.end()) return;
  const Fate fate =
      link(from, **host).decide(outgoing_, ip_udp_overhead(to.family), now_, may_fragment);
  if (log_ != nullptr) log(fate.count == 0 ? "lost" : "sent", from.address(), to, outgoing_);
  for (std::size_t i = 0; i < fate.count; ++i) {
    const Delivery& delivery = fate.copies[i];
    const std::size_t item = allocate_packet();
    Packet& packet = *packets_[item];
    packet.from = from.address();
    packet.bytes.assign(outgoing_.begin(),
                        outgoing_.begin() + static_cast<std::ptrdiff_t>(delivery.length));
    if (delivery.damage_seed != 0) damage(packet.bytes, delivery.damage_seed);
    push(delivery.at, Kind::arrival, (*host)->index_, item);
  }
}

void Network::at(TimePoint when, std::function<void()> task) {
  tasks_.push_back(std::move(task));
  push(std::max(when, now_), Kind::task, 0, tasks_.size() - 1);
}

bool Network::run(TimePoint limit, const std::function<bool()>& done) {
  while (failure_.empty()) {
    if (done()) return true;
    if (queue_.empty() || queue_.front().at > limit) break;
    std::pop_heap(queue_.begin(), queue_.end(), Later{});
    const QueuedEvent event = queue_.back();
    queue_.pop_back();
    dispatch(event);
  }
  if (failure_.empty()) now_ = std::max(now_, limit);
  return false;
}

void Network::fail(const std::string& what) {
  if (failure_.empty()) failure_ = what;
}

void Network::adopt(std::unique_ptr<Host> host) {
  host->index_ = hosts_.size();
  hosts_.push_back(std::move(host));
}

void Network::push(TimePoint at, Kind kind, std::size_t host, std::size_t item) {
  queue_.push_back(
      {at, order_++, kind, static_cast<std::uint32_t>(host), static_cast<std::uint32_t>(item)});
  std::push_heap(queue_.begin(), queue_.end(), Later{});
}

void Network::dispatch(const QueuedEvent& event) {
  XFER_ASSERT(event.at >= now_);
  if (event.kind == Kind::wake) {
    Host& host = *hosts_[event.host];
    if (host.wake_ != event.at) return;  // an earlier turn has made it pointless
    host.wake_.reset();
  }
  now_ = event.at;
  ++event_count_;
  mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
  mix(static_cast<std::uint64_t>(event.kind) + event.host * 8U);
  switch (event.kind) {
    case Kind::arrival: {
      Packet& packet = *packets_[event.item];
      mix(packet.bytes.size());
      for (std::size_t i = 0; i + 4 <= std::min<std::size_t>(packet.bytes.size(), 24); i += 4)
        mix(std::to_integer<std::uint64_t>(packet.bytes[i]) << 24U |
            std::to_integer<std::uint64_t>(packet.bytes[i + 1]) << 16U |
            std::to_integer<std::uint64_t>(packet.bytes[i + 2]) << 8U |
            std::to_integer<std::uint64_t>(packet.bytes[i + 3]));
      if (log_ != nullptr) log("came", packet.from, hosts_[event.host]->address(), packet.bytes);
      hosts_[event.host]->arrive(packet.bytes, packet.from, now_);
      free_packets_.push_back(event.item);
      break;
    }
    case Kind::wake:
      hosts_[event.host]->turn(now_);
      break;
    case Kind::task: {
      const auto task = std::move(tasks_[event.item]);
      task();
      break;
    }
  }
}

std::size_t Network::allocate_packet() {
  if (free_packets_.empty()) {
    packets_.push_back(std::make_unique<Packet>());
    return packets_.size() - 1;
  }
  const std::size_t item = free_packets_.back();
  free_packets_.pop_back();
  return item;
}

void Network::log(const char* what, const SocketAddress& from, const SocketAddress& to,
                  ByteView datagram) const {
  const auto number = [](const SocketAddress& a) { return a.ip[3] + a.ip[15]; };
  std::fprintf(log_, "%12.6f %s %d>%d ", to_seconds(now_.time_since_epoch()), what, number(from),
               number(to));
  const auto header = wire::decode_header(datagram);
  if (!header) {
    std::fprintf(log_, "%zu bytes\n", datagram.size());
    return;
  }
  const ByteView body = datagram.subspan(wire::kHeaderSize);
  if (const auto* data = std::get_if<wire::DataHeader>(&*header)) {
    std::fprintf(log_, "data %u, %zu bytes\n", data->seq.value(), body.size());
    return;
  }
  const auto& control = std::get<wire::ControlHeader>(*header);
  constexpr std::array<const char*, 9> kNames{"handshake", "keep-alive", "ACK",  "NAK",  "warning",
                                              "shutdown",  "ACK2",       "drop", "error"};
  const auto type = static_cast<std::size_t>(control.type);
  std::fprintf(log_, "%s %u:", type < kNames.size() ? kNames[type] : "other", control.info);
  ByteReader words(body);
  while (words.remaining() >= 4 && words.remaining() <= body.size()) {
    const std::uint32_t word = words.u32();
    std::fprintf(log_, " %u", word);
  }
  std::fputc('\n', log_);
}

SocketAddress host_address(unsigned number, bool ipv6) {
  SocketAddress address;
  address.port = 9000;
  if (ipv6) {
    address.family = SocketAddress::Family::ipv6;
    address.ip[0] = 0xFD;
    address.ip[15] = static_cast<std::uint8_t>(number);
  } else {
    address.family = SocketAddress::Family::ipv4;
    address.ip[0] = 10;
    address.ip[3] = static_cast<std::uint8_t>(number);
  }
  return address;
}

}  // namespace xfer::sim

#include "interop/impair_proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <queue>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/check.hpp"
#include "base/random.hpp"
#include "wire/control.hpp"
#include "wire/handshake.hpp"
#include "wire/loss_list_codec.hpp"
#include "wire/packet.hpp"

namespace xfer::interop {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  XFER_ASSERT(inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1);
  return address;
}

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) { XFER_ASSERT(fd >= 0); }
  ~Descriptor() { close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return fd_; }

 private:
  int fd_;
};

int udp_socket() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  XFER_ASSERT(fd >= 0);
  // Room for whole bursts, so that the proxy loses only what it means to. The forced form needs a
  // privilege.
  const int size = 16 << 20;
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0)
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) != 0)
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  return fd;
}

std::uint16_t port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  XFER_ASSERT(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

/// A datagram that is under way.
struct InFlight {
  SteadyTime due;
  std::uint64_t order = 0;
  Way way = Way::forward;
  std::vector<std::byte> bytes;
  bool operator<(const InFlight& other) const {
    return due != other.due ? due > other.due : order > other.order;
  }
};

/// Appends ` name=value`.
template <typename T>
void put(std::string& text, const char* name, T value) {
  text += ' ';
  text += name;
  text += '=';
  text += std::to_string(value);
}

std::string describe_handshake(ByteView body) {
  const auto hs = wire::decode_handshake(body);
  if (!hs) return "handshake, malformed";
  std::string text = "handshake";
  put(text, "request", static_cast<std::int32_t>(hs->request));
  put(text, "version", hs->version);
  put(text, "type", hs->socket_type);
  put(text, "isn", hs->isn);
  put(text, "mss", hs->mss);
  put(text, "window", hs->flight_window);
  put(text, "id", hs->socket_id.value());
  put(text, "cookie", hs->cookie);
  return text;
}

std::string describe_ack(const wire::ControlHeader& header, ByteView body) {
  const auto ack = wire::decode_ack(body);
  if (!ack) return "ack, malformed";
  std::string text = ack->kind == wire::AckBody::Kind::light ? "light ack" : "ack";
  put(text, "number", header.info);
  put(text, "next", ack->next.value());
  if (ack->kind == wire::AckBody::Kind::light) return text;
  put(text, "rtt_us", ack->rtt_us);
  put(text, "rtt_var_us", ack->rtt_var_us);
  put(text, "window", ack->window);
  if (ack->kind == wire::AckBody::Kind::partial) return text;
  put(text, "rate", ack->arrival_rate);
  put(text, "capacity", ack->capacity);
  return text;
}

std::string describe_nak(ByteView body) {
  std::string text = "nak";
  wire::LossListReader reader(body);
  while (const auto range = reader.next()) {
    put(text, "first", range->first.value());
    put(text, "last", range->last.value());
  }
  return text;
}

std::string describe(ByteView datagram) {
  const auto header = wire::decode_header(datagram);
  if (!header) return "short datagram";
  const ByteView body = datagram.subspan(wire::kHeaderSize);
  std::string text;
  if (const auto* data = std::get_if<wire::DataHeader>(&*header)) {
    text = "data";
    put(text, "seq", data->seq.value());
    put(text, "bytes", body.size());
    put(text, "message", data->message.value());
    return text;
  }
  const auto& control = std::get<wire::ControlHeader>(*header);
  switch (control.type) {
    case wire::ControlType::handshake:
      return describe_handshake(body);
    case wire::ControlType::ack:
      return describe_ack(control, body);
    case wire::ControlType::nak:
      return describe_nak(body);
    case wire::ControlType::keep_alive:
      return "keep-alive";
    case wire::ControlType::shutdown:
      return "shutdown";
    case wire::ControlType::ack2:
      text = "ack2";
      put(text, "number", control.info);
      return text;
    default:
      text = "control";
      put(text, "type", static_cast<unsigned>(control.type));
      return text;
  }
}

}  // namespace

class ImpairProxy::Impl {
 public:
  Impl(std::uint16_t target_port, const Impairment& impairment)
      : impairment_(impairment),
        random_(impairment.seed),
        drops_(impairment.drop ? impairment.drop->count : 0),
        front_(udp_socket()),
        back_(udp_socket()),
        timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
        stop_(eventfd(0, EFD_CLOEXEC)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    const sockaddr_in any = address_of(impairment.listen_host, 0);
    XFER_ASSERT(bind(front_, generic(any), sizeof any) == 0);
    const sockaddr_in target = address_of(impairment.target_host, target_port);
    XFER_ASSERT(connect(back_, generic(target), sizeof target) == 0);
    for (const int fd : {int{front_}, int{back_}, int{timer_}, int{stop_}}) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = fd;
      XFER_ASSERT(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0);
    }
    start_ = std::chrono::steady_clock::now();
    thread_ = std::thread([this] { run(); });
  }

  ~Impl() { finish(); }

  [[nodiscard]] std::uint16_t port() const { return port_of(front_); }
  [[nodiscard]] std::uint16_t back_port() const { return port_of(back_); }

  ImpairStats finish() {
    if (thread_.joinable()) {
      const std::uint64_t one = 1;
      XFER_ASSERT(write(stop_, &one, sizeof one) == sizeof one);
      thread_.join();
    }
    return stats_;
  }

 private:
  void run() {
    for (;;) {
      std::array<epoll_event, 4> events{};
      const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == stop_) return;
        if (fd == front_) receive(Way::forward);
        if (fd == back_) receive(Way::back);
      }
      release_due();
    }
  }

  void receive(Way way) {
    const int fd = way == Way::forward ? front_ : back_;
    for (int turn = 0; turn < 64; ++turn) {
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const ssize_t count = recvfrom(fd, buffer_.data(), buffer_.size(), 0,
                                     reinterpret_cast<sockaddr*>(&from), &size);
      if (count < 0) return;
      if (way == Way::forward) client_ = from;
      admit(way, {buffer_.data(), static_cast<std::size_t>(count)});
    }
  }

  /// Decides the fate of one datagram.
  void admit(Way way, ByteView datagram) {
    auto& seen = way == Way::forward ? stats_.forward : stats_.back;
    ++seen.datagrams;
    seen.largest_datagram = std::max<std::uint64_t>(seen.largest_datagram, datagram.size());
    const SteadyTime now = std::chrono::steady_clock::now();
    const bool dropped = dropped_by_script(way, datagram, now) || random_.chance(impairment_.loss);
    if (impairment_.log) log(way, datagram, dropped, now);
    if (dropped) {
      ++seen.dropped;
      return;
    }
    note_forwarded(way, datagram);
    SteadyTime due = now + impairment_.delay;
    if (random_.chance(impairment_.reorder)) {
      ++seen.reordered;
      due += impairment_.reorder_delay;
    }
    unsigned copies = 1;
    if (random_.chance(impairment_.duplicate)) {
      ++seen.duplicated;
      ++copies;
    }
    for (; copies > 0; --copies) {
      if (due <= now) {
        forward(way, datagram);
      } else {
        in_flight_.push({due, order_++, way, {datagram.begin(), datagram.end()}});
      }
    }
  }

  bool dropped_by_script(Way way, ByteView datagram, SteadyTime now) {
    const auto header = wire::decode_header(datagram);
    if (!header) return false;
    if (const auto* control = std::get_if<wire::ControlHeader>(&*header)) {
      if (way == Way::forward && !stats_.isn && control->type == wire::ControlType::handshake) {
        if (const auto hs = wire::decode_handshake(datagram.subspan(wire::kHeaderSize)))
          stats_.isn = hs->isn;
      }
      return false;
    }
    if (!impairment_.drop || way != impairment_.drop->way || !stats_.isn) return false;
    const auto& script = *impairment_.drop;
    const auto& data = std::get<wire::DataHeader>(*header);
    const std::int64_t place =
        wire::SeqNo::distance(wire::SeqNo(*stats_.isn), data.seq) - std::int64_t{script.packet};
    if (place < 0 || place >= std::int64_t{script.count}) return false;
    unsigned& drops = drops_[static_cast<std::size_t>(place)];
    if (drops < script.times) {
      ++drops;
      if (stats_.scripted_drops++ == 0) first_drop_ = now;
      return true;
    }
    if (place == 0 && !stats_.repair_time) stats_.repair_time = now - first_drop_;
    return false;
  }

  void note_forwarded(Way way, ByteView datagram) {
    const auto header = wire::decode_header(datagram);
    if (!header || !std::holds_alternative<wire::DataHeader>(*header)) return;
    auto& seen = way == Way::forward ? stats_.forward : stats_.back;
    auto& numbers = way == Way::forward ? forwarded_ : returned_;
    ++seen.data_packets;
    if (!numbers.insert(std::get<wire::DataHeader>(*header).seq.value()).second)
      ++seen.data_repeated;
  }

  void release_due() {
    const SteadyTime now = std::chrono::steady_clock::now();
    while (!in_flight_.empty() && in_flight_.top().due <= now) {
      forward(in_flight_.top().way, in_flight_.top().bytes);
      in_flight_.pop();
    }
    itimerspec when{};
    if (!in_flight_.empty()) {
      const auto ns = std::chrono::nanoseconds(in_flight_.top().due.time_since_epoch()).count();
      when.it_value.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
      when.it_value.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    }
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
  }

  /// A failed send is a lost datagram, as on a real path.
  void forward(Way way, ByteView datagram) {
    if (way == Way::forward) {
      send(back_, datagram.data(), datagram.size(), 0);
    } else if (client_.sin_port != 0) {  // known: it has sent something
      sendto(front_, datagram.data(), datagram.size(), 0, generic(client_), sizeof client_);
    }
  }

  void log(Way way, ByteView datagram, bool dropped, SteadyTime now) const {
    const std::chrono::duration<double, std::milli> elapsed = now - start_;
    std::fprintf(stderr, "%10.3f %s %s%s\n", elapsed.count(), way == Way::forward ? "->" : "<-",
                 describe(datagram).c_str(), dropped ? "  DROPPED" : "");
  }

  const Impairment impairment_;
  SeededRandom random_;
  std::vector<unsigned> drops_;  ///< of each packet the script names
  Descriptor front_;
  Descriptor back_;
  Descriptor timer_;
  Descriptor stop_;
  Descriptor epoll_;
  SteadyTime start_;
  SteadyTime first_drop_;
  sockaddr_in client_{};
  std::array<std::byte, 65'536> buffer_{};
  std::priority_queue<InFlight> in_flight_;
  std::uint64_t order_ = 0;
  std::unordered_set<std::uint32_t> forwarded_;
  std::unordered_set<std::uint32_t> returned_;
  ImpairStats stats_;
  std::thread thread_;
};

ImpairProxy::ImpairProxy(std::uint16_t target_port, const Impairment& impairment)
    : impl_(std::make_unique<Impl>(target_port, impairment)) {}
ImpairProxy::~ImpairProxy() = default;
std::uint16_t ImpairProxy::port() const { return impl_->port(); }
std::uint16_t ImpairProxy::back_port() const { return impl_->back_port(); }
ImpairStats ImpairProxy::stop() { return impl_->finish(); }

std::string to_string(const ImpairStats& stats) {
  std::string text;
  const auto add = [&](const char* name, const ImpairStats::Direction& seen) {
    text += name;
    put(text, "datagrams", seen.datagrams);
    put(text, "dropped", seen.dropped);
    put(text, "duplicated", seen.duplicated);
    put(text, "reordered", seen.reordered);
    put(text, "data", seen.data_packets);
    put(text, "repeated", seen.data_repeated);
  };
  add("forward:", stats.forward);
  add("; back:", stats.back);
  return text;
}

}  // namespace xfer::interop

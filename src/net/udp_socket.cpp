#include "net/udp_socket.hpp"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "net/clock.hpp"
#include "net/sockaddr.hpp"
#include "net/udp_batch.hpp"

namespace xfer::net {

namespace {

/// Attempts after the first for errors that may be about an earlier datagram: the kernel reports
/// what went wrong with one on the next call, whatever that is for.
constexpr unsigned kSoftRetries = 8;

bool set_int(int fd, int level, int option, int value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

std::size_t get_size(int fd, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  if (::getsockopt(fd, SOL_SOCKET, option, &value, &size) != 0 || value < 0) return 0;
  return static_cast<std::size_t>(value);
}

/// Asks for a buffer beyond the system's limit if permitted, else up to it.
/// @return the size in force. The kernel doubles what it is given to account for its own
/// structures; so we halve.
std::size_t set_buffer(int fd, int force_option, int option, std::size_t bytes) {
  const int wanted = static_cast<int>(std::min<std::size_t>(bytes, INT_MAX / 2));
  if (!set_int(fd, SOL_SOCKET, force_option, wanted)) set_int(fd, SOL_SOCKET, option, wanted);
  return get_size(fd, option) / 2;
}

}  // namespace

UdpSocket::UdpSocket()
    : sending_(std::make_unique<SendBatch>()), receiving_(std::make_unique<ReceiveBatch>()) {}

UdpSocket::UdpSocket(UdpSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      family_(other.family_),
      faults_(other.faults_),
      next_failure_(other.next_failure_),
      local_(other.local_),
      stats_(other.stats_),
      local_error_(other.local_error_),
      not_segmented_(std::move(other.not_segmented_)),
      sending_(std::move(other.sending_)),
      receiving_(std::move(other.receiving_)) {}

UdpSocket::~UdpSocket() { close(); }

void UdpSocket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<UdpSocket> UdpSocket::open(const SocketOptions& options) {
  UdpSocket socket;
  XFER_TRY(socket.create(options));
  return socket;
}

Result<void> UdpSocket::create(const SocketOptions& options) {
  using Family = SocketAddress::Family;
  const Family family =
      options.bind.family == Family::none ? options.family_hint : options.bind.family;
  const bool bound =
      family == Family::ipv4 ? bind_to(options.bind, AF_INET) : bind_to(options.bind, AF_INET6);
  // A system without IPv6 still has all of IPv4.
  const bool fall_back = !bound && family == Family::none && errno == EAFNOSUPPORT;
  if (!bound && !(fall_back && bind_to(options.bind, AF_INET)))
    return Error{ErrorCode::bind_failed, errno, nullptr};

  sockaddr_storage name{};
  socklen_t size = sizeof name;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the system's own convention.
  if (::getsockname(fd_, reinterpret_cast<sockaddr*>(&name), &size) != 0)
    return Error{ErrorCode::bind_failed, errno, nullptr};
  local_ = from_sockaddr(name);
  set_options(options);
  return {};
}

bool UdpSocket::bind_to(const SocketAddress& address, int family) {
  fd_ = ::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return false;
  family_ = family;
  // One socket for both families, whatever the system's default is; of no effect with a specific
  // address.
  if (family == AF_INET6) set_int(fd_, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  sockaddr_storage name{};
  const socklen_t size = to_sockaddr(address, family, name);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the system's own convention.
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&name), size) == 0) return true;
  const int failure = errno;
  close();
  errno = failure;
  return false;
}

void UdpSocket::set_options(const SocketOptions& options) {
  stats_.batching = options.batched;
  not_segmented_ = RefusedPaths(options.segmentation_retry);
  faults_ = options.faults;
  stats_.receive_buffer = set_buffer(fd_, SO_RCVBUFFORCE, SO_RCVBUF, options.receive_buffer);
  stats_.send_buffer = set_buffer(fd_, SO_SNDBUFFORCE, SO_SNDBUF, options.send_buffer);
  // None of these is vital; what is missing shows as counters that stay 0.
  set_int(fd_, SOL_SOCKET, SO_RXQ_OVFL, 1);
  if (options.kernel_timestamps) set_int(fd_, SOL_SOCKET, SO_TIMESTAMPNS, 1);
  // Setting 0 tells whether the kernel knows it; each train brings its own size.
  if (options.gso && options.batched) stats_.segmenting = set_int(fd_, SOL_UDP, UDP_SEGMENT, 0);
  if (options.gro && options.batched) stats_.coalescing = set_int(fd_, SOL_UDP, UDP_GRO, 1);
  // An IPv6 socket needs the IPv4 options too, for its IPv4 peers.
  set_int(fd_, IPPROTO_IP, IP_RECVERR, 1);
  set_int(fd_, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  if (family_ == AF_INET6) {
    set_int(fd_, IPPROTO_IPV6, IPV6_RECVERR, 1);
    set_int(fd_, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
  }
}

/// Sets or clears "don't fragment" for what is sent from now on; @return whether that was a change.
/// Set, the kernel still goes by the interface alone (probing, ip(7)): what the network says about
/// the path may be forged, and is for the core to judge.
bool UdpSocket::allow_fragments(bool allow) {
  if (allow == fragments_allowed_) return false;
  fragments_allowed_ = allow;
  stats_.fragmenting = stats_.fragmenting || allow;
  set_int(fd_, IPPROTO_IP, IP_MTU_DISCOVER, allow ? IP_PMTUDISC_DONT : IP_PMTUDISC_PROBE);
  if (family_ == AF_INET6) {
    set_int(fd_, IPPROTO_IPV6, IPV6_MTU_DISCOVER, allow ? IPV6_PMTUDISC_DONT : IPV6_PMTUDISC_PROBE);
    // Routers never fragment IPv6: this host does, to what every link takes.
    constexpr int kLeastIpv6Mtu = 1280;
    set_int(fd_, IPPROTO_IPV6, IPV6_MTU, allow ? kLeastIpv6Mtu : 0);
  }
  return true;
}

bool UdpSocket::receive(std::span<const udt::ReceiveSlot> slots) {
  unsigned retries = 0;
  while (true) {
    ++stats_.receive_calls;
    if (receiving_->receive(fd_, slots, {stats_.batching, stats_.coalescing}) >= 0)
      return receiving_->full();
    if (is_over(retries)) return false;
  }
}

std::optional<udt::ReceivedDatagram> UdpSocket::next_datagram() {
  while (auto datagram = receiving_->next()) {
    ++stats_.datagrams_received;
    note_drops(receiving_->kernel_drops());
    if (faults_ == nullptr || !faults_->drop_received()) return datagram;
  }
  return std::nullopt;
}

/// After a receive call that failed: whether there is nothing to read for now.
bool UdpSocket::is_over(unsigned& retries) {
  if (errno == EINTR) return false;
  if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
  if (errno == ENOSYS) stats_.batching = false;  // some containers forbid recvmmsg
  // A pending network error, reported once and about something we sent: nothing was lost.
  ++stats_.receive_errors;
  return ++retries > kSoftRetries;
}

void UdpSocket::note_drops(std::optional<std::uint32_t> drops) {
  if (drops) stats_.kernel_drops += *drops - static_cast<std::uint32_t>(stats_.kernel_drops);
}

/// The train as one message for the kernel, or the network card, to cut. nullopt: not on this path,
/// or not any more.
std::optional<int> UdpSocket::send_segmented(const SocketAddress& destination, std::size_t first,
                                             std::size_t count) {
  if (!stats_.segmenting || count == 1 || fragments_allowed_) return std::nullopt;
  if (!not_segmented_.empty() && !not_segmented_.may_try(destination, now())) return std::nullopt;
  ++stats_.send_calls;
  errno =
      faults_ == nullptr ? 0 : faults_->segmentation_error(stats_.trains_segmented, destination);
  const int sent = errno == 0 ? sending_->send_segmented(fd_, first, count) : -1;
  if (sent >= 0) {
    ++stats_.trains_segmented;
    if (!not_segmented_.empty()) not_segmented_.worked(destination);
  } else if (errno == EIO || errno == EINVAL || errno == EMSGSIZE || errno == EOPNOTSUPP) {
    // No checksum offload, a tunnel, datagrams larger than the path's MTU: the same bytes go again
    // without, and those of this path for some time.
    ++stats_.trains_refused;
    not_segmented_.refused(destination, now());
  } else {
    return -1;
  }
  stats_.unsegmented_paths = not_segmented_.size();
  return sent >= 0 ? std::optional(sent) : std::nullopt;
}

/// One system call for as much of the train as it takes.
int UdpSocket::send_now(const SocketAddress& destination, std::size_t first, std::size_t count) {
  if (const auto sent = send_segmented(destination, first, count)) return *sent;
  ++stats_.send_calls;
  return sending_->send(fd_, first, count, stats_.batching);
}

int UdpSocket::send_some(const SocketAddress& destination, std::size_t first, std::size_t count) {
  if (faults_ == nullptr) return send_now(destination, first, count);
  for (std::size_t i = 0; i < count; ++i) {
    const int failure = i == 0 && next_failure_ != 0
                            ? std::exchange(next_failure_, 0)
                            : faults_->send_error(stats_.datagrams_sent + stats_.send_failed + i);
    if (failure == 0) continue;
    if (i == 0) {
      errno = failure;
      return -1;
    }
    // As the kernel does it: what comes before counts as success, the error waits for the next
    // call.
    next_failure_ = failure;
    count = i;
  }
  if (faults_->drop_sent()) return static_cast<int>(count);
  return send_now(destination, first, count);
}

UdpSocket::SendResult UdpSocket::send(const udt::Transmit& transmit, const udt::TrainBuffer& train,
                                      std::size_t first) {
  if (!sending_->prepare(transmit, train, family_)) {
    stats_.send_failed += transmit.segments - first;
    local_error_ = NetworkError{transmit.destination};
    return {transmit.segments - first, SendStatus::done};
  }
  allow_fragments(transmit.may_fragment);
  std::size_t next = first;
  unsigned retries = 0;
  while (next < transmit.segments) {
    const int count = send_some(transmit.destination, next, transmit.segments - next);
    if (count >= 0) {
      next += static_cast<std::size_t>(count);
      stats_.datagrams_sent += static_cast<std::size_t>(count);
      retries = 0;
      continue;
    }
    switch (errno) {
      case EINTR:
        break;
      case EAGAIN:
        ++stats_.send_blocked;
        return {next - first, SendStatus::blocked};
      case ENOBUFS:
      case ENOMEM:
        ++stats_.send_no_buffers;
        return {next - first, SendStatus::no_buffers};
      case EMSGSIZE:
        ++stats_.send_too_big;
        too_big_for_ = transmit.destination;
        // The first may be the network's word about an earlier datagram.
        if (++retries <= 1 || (!transmit.path_probe && allow_fragments(true))) break;
        // Larger than any UDP datagram, or a probe, which has its answer.
        if (!transmit.path_probe) ++stats_.send_failed;
        ++next;
        retries = 0;
        break;
      case ENOSYS:  // some containers forbid sendmmsg
        stats_.batching = false;
        [[fallthrough]];
      default:
        if (++retries <= kSoftRetries) {
          ++stats_.send_retried;
          break;
        }
        // It is about this destination, now: leave the train to retransmission, and the verdict to
        // the core.
        stats_.send_failed += transmit.segments - next;
        local_error_ = NetworkError{transmit.destination};
        return {transmit.segments - first, SendStatus::done};
    }
  }
  return {next - first, SendStatus::done};
}

std::optional<NetworkError> UdpSocket::next_error() {
  if (local_error_) return std::exchange(local_error_, std::nullopt);
  std::optional<NetworkError> error;
  while (!error && next_error_message(error)) {
  }
  return error;
}

bool UdpSocket::next_error_message(std::optional<NetworkError>& out) {
  sockaddr_storage peer{};
  struct alignas(cmsghdr) {
    std::byte bytes[512];
  } control{};
  msghdr message{};
  message.msg_name = &peer;
  message.msg_namelen = sizeof peer;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(fd_, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return false;
  ++stats_.network_errors;

  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    const bool ipv4 = part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR;
    const bool ipv6 = part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR;
    if (!ipv4 && !ipv6) continue;
    sock_extended_err details{};
    std::memcpy(&details, CMSG_DATA(part), sizeof details);
    switch (details.ee_errno) {
      case EMSGSIZE:
        stats_.path_mtu = details.ee_info;
        out = NetworkError{from_sockaddr(peer), false, details.ee_info};
        // The kernel's own refusal names no port.
        if (out->peer.port == 0) out->peer = too_big_for_;
        break;
      case ECONNREFUSED:
        out = NetworkError{from_sockaddr(peer), true, 0};
        break;
      case EHOSTUNREACH:
      case ENETUNREACH:
      case EHOSTDOWN:
      case ENETDOWN:
      case ENOPROTOOPT:
      case EACCES:
        out = NetworkError{from_sockaddr(peer), false, 0};
        break;
      default:
        break;
    }
  }
  return true;
}

}  // namespace xfer::net

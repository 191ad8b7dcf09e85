#include "lab_under_test.hpp"

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "lab.hpp"
#include "name_space.hpp"
#include "net/clock.hpp"
#include "support/process.hpp"

namespace xfer::netlab {
namespace {

constexpr std::uint16_t kPort = 9000;
constexpr std::size_t kProbeHeader = 16;
constexpr int kBuffer = 64 << 20;

sockaddr_in address_of(std::size_t end) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  ::inet_pton(AF_INET, kAddresses[end], &address.sin_addr);
  return address;
}

template <typename Address>
const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

FileDescriptor socket_in(const LabUnderTest& lab, std::size_t end, int type) {
  const InNamespace inside(LabNames(lab.name()).namespaces[end]);
  FileDescriptor socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  REQUIRE(socket.number() >= 0);
  return socket;
}

void set_option(const FileDescriptor& socket, int level, int name, int value) {
  REQUIRE(::setsockopt(socket.number(), level, name, &value, sizeof value) == 0);
}

std::byte filler(std::uint64_t number, std::size_t at) {
  return static_cast<std::byte>(number * 31 + at);
}

void fill(MutByteView datagram, std::uint64_t number, Duration sent) {
  const std::int64_t time = sent.count();
  std::memcpy(datagram.data(), &number, sizeof number);
  std::memcpy(datagram.data() + sizeof number, &time, sizeof time);
  for (std::size_t i = kProbeHeader; i < datagram.size(); ++i) datagram[i] = filler(number, i);
}

Arrival parsed(ByteView datagram) {
  Arrival arrival;
  arrival.length = datagram.size();
  if (datagram.size() < kProbeHeader) return arrival;
  std::int64_t time = 0;
  std::memcpy(&arrival.number, datagram.data(), sizeof arrival.number);
  std::memcpy(&time, datagram.data() + sizeof arrival.number, sizeof time);
  arrival.sent = Duration(time);
  arrival.intact = true;
  for (std::size_t i = kProbeHeader; i < datagram.size(); ++i)
    arrival.intact = arrival.intact && datagram[i] == filler(arrival.number, i);
  return arrival;
}

}  // namespace

Duration wall_clock() { return net::now_on_both().wall; }

Outcome netlab(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{NETLAB_BINARY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  test::Process process(command);
  Outcome outcome;
  outcome.status = process.wait();
  outcome.out = process.out();
  outcome.err = process.err();
  return outcome;
}

LabUnderTest::LabUnderTest(const std::vector<std::string>& options)
    : name_("nltest-" + std::to_string(::getpid())) {
  std::vector<std::string> arguments{"--name", name_, "up"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Outcome outcome = netlab(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
}

LabUnderTest::~LabUnderTest() { netlab({"--name", name_, "down"}); }

void LabUnderTest::set(const std::vector<std::string>& options) const {
  std::vector<std::string> arguments{"--name", name_, "set"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Outcome outcome = netlab(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
}

nlohmann::json LabUnderTest::stats() const {
  const Outcome outcome = netlab({"--name", name_, "stats"});
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  return nlohmann::json::parse(outcome.out);
}

nlohmann::json LabUnderTest::settled(const std::string& direction, std::uint64_t count) const {
  nlohmann::json stats;
  for (const TimePoint limit = net::now() + 10s; net::now() < limit;) {
    stats = this->stats()[direction];
    if (stats["offered"] >= count && stats["in_flight"] == 0) break;
  }
  return stats;
}

ProbeSocket::ProbeSocket(const LabUnderTest& lab, std::size_t end)
    : socket_(socket_in(lab, end, SOCK_DGRAM)) {
  const sockaddr_in own = address_of(end);
  const sockaddr_in peer = address_of(1 - end);
  set_option(socket_, SOL_SOCKET, SO_RCVBUFFORCE, kBuffer);
  set_option(socket_, SOL_SOCKET, SO_SNDBUFFORCE, kBuffer);
  set_option(socket_, SOL_SOCKET, SO_TIMESTAMPNS, 1);
  set_option(socket_, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
  REQUIRE(::bind(socket_.number(), generic(own), sizeof own) == 0);
  REQUIRE(::connect(socket_.number(), generic(peer), sizeof peer) == 0);
}

void ProbeSocket::send(std::uint64_t first, std::size_t count, std::size_t length) const {
  std::vector<std::byte> bytes(count * length);
  const Duration now = wall_clock();
  for (std::size_t i = 0; i < count; ++i)
    fill(MutByteView(bytes).subspan(i * length, length), first + i, now);
  set_option(socket_, SOL_UDP, UDP_SEGMENT, count > 1 ? static_cast<int>(length) : 0);
  REQUIRE(::send(socket_.number(), bytes.data(), bytes.size(), 0) ==
          static_cast<ssize_t>(bytes.size()));
}

bool ProbeSocket::send(ByteView datagram) const {
  const ssize_t sent = ::send(socket_.number(), datagram.data(), datagram.size(), 0);
  if (sent < 0) REQUIRE(errno == EMSGSIZE);
  return sent >= 0;
}

std::optional<Arrival> ProbeSocket::receive(Duration limit) const {
  pollfd polled{socket_.number(), POLLIN, 0};
  const int wait = static_cast<int>(to_us(limit) / 1000);
  if (::poll(&polled, 1, wait) <= 0) return std::nullopt;
  std::byte bytes[2048];
  alignas(cmsghdr) char control[256];
  iovec data{bytes, sizeof bytes};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(socket_.number(), &message, MSG_DONTWAIT);
  if (size < 0) return std::nullopt;
  Arrival arrival = parsed(ByteView(bytes).first(static_cast<std::size_t>(size)));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec stamp{};
    std::memcpy(&stamp, CMSG_DATA(header), sizeof stamp);
    arrival.arrived = std::chrono::seconds(stamp.tv_sec) + Duration(stamp.tv_nsec);
  }
  return arrival;
}

std::vector<Arrival> ProbeSocket::receive_all() const {
  std::vector<Arrival> arrivals;
  while (const auto arrival = receive(0ms)) arrivals.push_back(*arrival);
  return arrivals;
}

int ProbeSocket::path_mtu() const {
  int mtu = 0;
  socklen_t length = sizeof mtu;
  REQUIRE(::getsockopt(socket_.number(), IPPROTO_IP, IP_MTU, &mtu, &length) == 0);
  return mtu;
}

TcpPair::TcpPair(const LabUnderTest& lab) : a(socket_in(lab, 0, SOCK_STREAM)) {
  const FileDescriptor listener = socket_in(lab, 1, SOCK_STREAM);
  const sockaddr_in address = address_of(1);
  REQUIRE(::bind(listener.number(), generic(address), sizeof address) == 0);
  REQUIRE(::listen(listener.number(), 1) == 0);
  REQUIRE(::connect(a.number(), generic(address), sizeof address) == 0);
  b = FileDescriptor(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(b.number() >= 0);
}

}  // namespace xfer::netlab

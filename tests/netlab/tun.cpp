#include "tun.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <sstream>
#include <system_error>

namespace xfer::netlab {
namespace {

constexpr char kDeviceName[] = "nl0";
// The kernel's headers of Debian 12 are older than these (Linux 6.2, if_tun.h).
constexpr unsigned kOffloadUdp4 = 0x20;
constexpr unsigned kOffloadUdp6 = 0x40;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

ifreq request() {
  ifreq result{};
  std::memcpy(result.ifr_name, kDeviceName, sizeof kDeviceName);
  return result;
}

void configure(unsigned long what, ifreq& values, const char* name) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.number() < 0 || ::ioctl(socket.number(), what, &values) != 0) fail(name);
}

void set_address(unsigned long what, const std::string& address, const char* name) {
  sockaddr_in value{};
  value.sin_family = AF_INET;
  if (::inet_pton(AF_INET, address.c_str(), &value.sin_addr) != 1) fail(address.c_str());
  ifreq values = request();
  std::memcpy(&values.ifr_addr, &value, sizeof value);
  configure(what, values, name);
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) ::close(number_);
}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Tun::Tun(const TunOptions& options)
    : device_(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)),
      buffer_(sizeof(OffloadHeader) + kMaxIpLength + 1) {
  if (device_.number() < 0) fail("/dev/net/tun");
  ifreq values = request();
  values.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
  if (::ioctl(device_.number(), TUNSETIFF, &values) != 0) fail("TUNSETIFF");
  if (options.offload) ask_for_offloads();

  values = request();
  values.ifr_mtu = static_cast<int>(options.mtu);
  configure(SIOCSIFMTU, values, "interface MTU");
  values = request();
  values.ifr_qlen = static_cast<int>(options.queue);
  configure(SIOCSIFTXQLEN, values, "interface queue");
  set_address(SIOCSIFADDR, options.address, "interface address");
  set_address(SIOCSIFNETMASK, "255.255.255.0", "interface netmask");
  values = request();
  values.ifr_flags = IFF_UP | IFF_RUNNING;
  configure(SIOCSIFFLAGS, values, "interface up");
  // Stays that of this namespace wherever the thread goes.
  counters_ = FileDescriptor(::open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC));
  if (counters_.number() < 0) fail("/proc/thread-self/net/dev");
}

void Tun::ask_for_offloads() {
  const auto accepted = [this](unsigned offloads) {
    return ::ioctl(device_.number(), TUNSETOFFLOAD, static_cast<unsigned long>(offloads)) == 0;
  };
  constexpr unsigned kTcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO_ECN;
  // The kernel has UDP for both versions of IP or none.
  cuts_udp_ = accepted(kTcp | kOffloadUdp4 | kOffloadUdp6);
  cuts_tcp_ = cuts_udp_ || accepted(kTcp);
  if (!cuts_tcp_) accepted(0);
}

std::optional<Tun::Read> Tun::read() {
  const ssize_t length = ::read(device_.number(), buffer_.data(), buffer_.size());
  Read result{};
  if (length < static_cast<ssize_t>(sizeof result.header)) return std::nullopt;
  std::memcpy(&result.header, buffer_.data(), sizeof result.header);
  result.packet =
      ByteView(buffer_).first(static_cast<std::size_t>(length)).subspan(sizeof result.header);
  return result;
}

bool Tun::write(const std::vector<iovec>& pieces) {
  return ::writev(device_.number(), pieces.data(), static_cast<int>(pieces.size())) >= 0;
}

std::uint64_t Tun::dropped() const {
  char text[4096];
  const ssize_t length = ::pread(counters_.number(), text, sizeof text, 0);
  if (length <= 0) return 0;
  std::istringstream lines(std::string(text, static_cast<std::size_t>(length)));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.find(kDeviceName) > colon) continue;
    // Eight columns about receiving, then sent bytes, packets, errors, dropped.
    std::istringstream columns(line.substr(colon + 1));
    std::uint64_t value = 0;
    for (int i = 0; i < 12; ++i) columns >> value;
    return value;
  }
  return 0;
}

}  // namespace xfer::netlab

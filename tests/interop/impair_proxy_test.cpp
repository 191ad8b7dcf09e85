// The impairment proxy does what it says, or the interoperability tests mean nothing.

#include "interop/impair_proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

namespace xfer::interop {
namespace {

/// A UDP socket on a free loopback port.
class Udp {
 public:
  Udp() : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    // Room for everything a test sends, should the reader get no processor for a while.
    const int bytes = 4 << 20;
    if (setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    sockaddr_in address = at(0);
    REQUIRE(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    socklen_t size = sizeof address;
    REQUIRE(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  ~Udp() { close(fd_); }
  Udp(const Udp&) = delete;
  Udp& operator=(const Udp&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  void send_number(std::uint32_t number, std::uint16_t port) const {
    const sockaddr_in address = at(port);
    REQUIRE(sendto(fd_, &number, sizeof number, 0, reinterpret_cast<const sockaddr*>(&address),
                   sizeof address) == sizeof number);
  }
  /// The next number; nullopt: none within `limit`.
  [[nodiscard]] std::optional<std::uint32_t> receive_number(Duration limit) const {
    pollfd ready{fd_, POLLIN, 0};
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
    if (poll(&ready, 1, static_cast<int>(ms)) != 1) return std::nullopt;
    std::uint32_t number = 0;
    REQUIRE(recv(fd_, &number, sizeof number, 0) == sizeof number);
    return number;
  }

 private:
  static sockaddr_in at(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  int fd_;
  std::uint16_t port_ = 0;
};

/// Sends numbers in bursts that fit into any socket's buffer.
std::vector<std::uint32_t> pass_through(const Impairment& impairment, std::uint32_t count,
                                        ImpairStats& stats) {
  constexpr std::uint32_t kBurst = 64;
  Udp client;
  Udp target;
  ImpairProxy proxy(target.port(), impairment);
  std::vector<std::uint32_t> arrived;
  for (std::uint32_t i = 0; i < count; ++i) {
    client.send_number(i, proxy.port());
    if (i % kBurst != kBurst - 1) continue;
    while (const auto number = target.receive_number(3ms)) arrived.push_back(*number);
  }
  while (const auto number = target.receive_number(500ms)) arrived.push_back(*number);
  stats = proxy.stop();
  return arrived;
}

}  // namespace

TEST_CASE("an unimpaired path passes everything in order") {
  ImpairStats stats;
  const auto arrived = pass_through({}, 2000, stats);
  CHECK(arrived.size() == 2000);
  CHECK(std::is_sorted(arrived.begin(), arrived.end()));
  CHECK(stats.forward.datagrams == 2000);
}

TEST_CASE("loss and duplication have the rates asked for and repeat with the seed") {
  ImpairStats first;
  ImpairStats second;
  const Impairment impairment{.loss = 0.05, .duplicate = 0.05, .seed = 7};
  const auto arrived = pass_through(impairment, 4000, first);
  pass_through(impairment, 4000, second);
  CHECK(first.forward.dropped > 100);
  CHECK(first.forward.dropped < 300);
  CHECK(first.forward.duplicated > 100);
  CHECK(first.forward.duplicated < 300);
  CHECK(arrived.size() == 4000 - first.forward.dropped + first.forward.duplicated);
  CHECK(first.forward.dropped == second.forward.dropped);
  CHECK(first.forward.duplicated == second.forward.duplicated);
}

TEST_CASE("reordered datagrams arrive late, and all arrive") {
  ImpairStats stats;
  auto arrived = pass_through({.reorder = 0.05, .delay = 1ms}, 2000, stats);
  CHECK(stats.forward.reordered > 50);
  CHECK_FALSE(std::is_sorted(arrived.begin(), arrived.end()));
  std::sort(arrived.begin(), arrived.end());
  CHECK(std::unique(arrived.begin(), arrived.end()) == arrived.end());
  CHECK(arrived.size() == 2000);
}

TEST_CASE("the delay is never shorter than asked for, and seldom much longer") {
  Udp client;
  Udp target;
  ImpairProxy proxy(target.port(), {.delay = 2ms});
  std::vector<Duration> delays;
  for (std::uint32_t i = 0; i < 51; ++i) {
    const auto sent = std::chrono::steady_clock::now();
    client.send_number(i, proxy.port());
    REQUIRE(target.receive_number(1s));
    delays.push_back(std::chrono::steady_clock::now() - sent);
  }
  std::sort(delays.begin(), delays.end());
  CHECK(delays.front() >= 2ms);
  // Generous: other programs share the processor. On an idle machine the median is 2.1 ms.
  CHECK(delays[delays.size() / 2] < 4ms);
}

}  // namespace xfer::interop

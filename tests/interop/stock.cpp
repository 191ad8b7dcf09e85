#include "interop/stock.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <udt/udt.h>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace {
/// -1: the numbers of a small generator; else the number always returned.
std::atomic<int> g_fixed_random{-1};
std::atomic<std::uint32_t> g_random_state{1};
}  // namespace

// libudt takes initial sequence numbers from the C library's rand(), seeded with the time. These
// definitions come first in symbol resolution, so that a test can place the sequence numbers.
extern "C" {
void srand(unsigned seed) noexcept { g_random_state = seed * 2 + 1; }
int rand() noexcept {
  const int fixed = g_fixed_random;
  if (fixed >= 0) return fixed;
  std::uint32_t x = g_random_state;
  x ^= x << 13U;
  x ^= x >> 17U;
  x ^= x << 5U;
  g_random_state = x;
  return static_cast<int>(x & static_cast<std::uint32_t>(RAND_MAX));
}
}

namespace xfer::interop::stock {
namespace {

struct Address {
  sockaddr_storage storage{};
  int size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address make_address(const std::string& host, std::uint16_t port) {
  Address address;
  if (host.find(':') != std::string::npos) {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(port);
    inet_pton(AF_INET6, host.c_str(), &in6.sin6_addr);
    std::memcpy(&address.storage, &in6, sizeof in6);
    address.size = sizeof in6;
  } else {
    sockaddr_in in4{};
    in4.sin_family = AF_INET;
    in4.sin_port = htons(port);
    inet_pton(AF_INET, host.c_str(), &in4.sin_addr);
    std::memcpy(&address.storage, &in4, sizeof in4);
    address.size = sizeof in4;
  }
  return address;
}

bool set(Handle socket, UDT::SOCKOPT option, int value) {
  return value == 0 || UDT::setsockopt(socket, 0, option, &value, sizeof value) != UDT::ERROR;
}

}  // namespace

Handle open_bound(const std::string& host, std::uint16_t port, const SocketOptions& options) {
  const Address address = make_address(host, port);
  const Handle socket =
      UDT::socket(address.storage.ss_family, options.datagram ? SOCK_DGRAM : SOCK_STREAM, 0);
  if (socket == UDT::INVALID_SOCK) return kNone;
  if (options.rendezvous) {
    const bool on = true;
    if (UDT::setsockopt(socket, 0, UDT_RENDEZVOUS, &on, sizeof on) == UDT::ERROR) return kNone;
  }
  const bool ready =
      set(socket, UDT_MSS, options.mss) && set(socket, UDT_FC, options.window) &&
      set(socket, UDT_SNDBUF, options.udt_buffer) && set(socket, UDT_RCVBUF, options.udt_buffer) &&
      set(socket, UDP_SNDBUF, options.udp_buffer) && set(socket, UDP_RCVBUF, options.udp_buffer) &&
      UDT::bind(socket, address.get(), address.size) != UDT::ERROR;
  return ready ? socket : kNone;
}

bool listen(Handle socket) { return UDT::listen(socket, 10) != UDT::ERROR; }

std::optional<std::uint16_t> local_port(Handle socket) {
  sockaddr_storage storage{};
  int size = sizeof storage;
  if (UDT::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) == UDT::ERROR)
    return std::nullopt;
  // The port is at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

Handle accept(Handle listener) {
  sockaddr_storage storage{};
  int size = sizeof storage;
  const Handle socket = UDT::accept(listener, reinterpret_cast<sockaddr*>(&storage), &size);
  return socket == UDT::INVALID_SOCK ? kNone : socket;
}

bool connect(Handle socket, const std::string& host, std::uint16_t port) {
  const Address address = make_address(host, port);
  return UDT::connect(socket, address.get(), address.size) != UDT::ERROR;
}

bool send_all(Handle socket, const char* data, std::size_t size) {
  while (size > 0) {
    const int sent = UDT::send(socket, data, static_cast<int>(size), 0);
    if (sent == UDT::ERROR) return false;
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(Handle socket, char* data, std::size_t size) {
  while (size > 0) {
    const int received = receive_some(socket, data, static_cast<int>(size));
    if (received <= 0) return false;
    data += received;
    size -= static_cast<std::size_t>(received);
  }
  return true;
}

int receive_some(Handle socket, char* data, int size) {
  const int received = UDT::recv(socket, data, size, 0);
  if (received != UDT::ERROR) return received;
  const int code = UDT::getlasterror().getErrorCode();
  return code == CUDTException::ECONNLOST || code == CUDTException::ENOCONN ? 0 : -1;
}

bool send_file(Handle socket, const std::string& path, std::int64_t size) {
  std::fstream file(path, std::ios::in | std::ios::binary);
  std::int64_t offset = 0;
  return file && (size == 0 || UDT::sendfile(socket, file, offset, size) == size);
}

bool receive_file(Handle socket, const std::string& path, std::int64_t size) {
  std::fstream file(path, std::ios::out | std::ios::binary | std::ios::trunc);
  std::int64_t offset = 0;
  return file && (size == 0 || UDT::recvfile(socket, file, offset, size) == size) && file.flush();
}

void limit_receive(Handle socket, int milliseconds) {
  UDT::setsockopt(socket, 0, UDT_RCVTIMEO, &milliseconds, sizeof milliseconds);
}

void close(Handle socket) { UDT::close(socket); }

std::string facts(Handle socket) {
  UDT::TRACEINFO trace{};
  if (UDT::perfmon(socket, &trace, false) == UDT::ERROR) return "counters=gone";
  return "packets_sent=" + std::to_string(trace.pktSentTotal) +
         " retransmitted=" + std::to_string(trace.pktRetransTotal) +
         " packets_received=" + std::to_string(trace.pktRecvTotal) +
         " lost=" + std::to_string(trace.pktRcvLossTotal) +
         " naks_received=" + std::to_string(trace.pktRecvNAKTotal) +
         " rtt_ms=" + std::to_string(trace.msRTT);
}

std::string last_error(const char* where) {
  auto& error = UDT::getlasterror();
  return std::string(where) + ": " + std::to_string(error.getErrorCode()) + " " +
         error.getErrorMessage();
}

void start_sequence_numbers_near_wrap() { g_fixed_random = RAND_MAX - 200; }

}  // namespace xfer::interop::stock

#include "net/sockaddr.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace xfer::net {

namespace {
constexpr std::size_t kIpv4Size = 4;
constexpr std::array<std::uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
}  // namespace

// The copies through memcpy keep to the aliasing rules; compilers turn them into plain moves.

socklen_t to_sockaddr(const SocketAddress& address, int socket_family, sockaddr_storage& out) {
  if (socket_family == AF_INET) {
    if (address.family == SocketAddress::Family::ipv6) return 0;
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    std::memcpy(&v4.sin_addr, address.ip.data(), kIpv4Size);
    std::memcpy(&out, &v4, sizeof v4);
    return sizeof v4;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(address.port);
  if (address.family == SocketAddress::Family::ipv4) {
    std::memcpy(&v6.sin6_addr, kMappedPrefix.data(), kMappedPrefix.size());
    std::memcpy(&v6.sin6_addr.s6_addr[kMappedPrefix.size()], address.ip.data(), kIpv4Size);
  } else {
    std::memcpy(&v6.sin6_addr, address.ip.data(), address.ip.size());
    v6.sin6_scope_id = address.scope;
  }
  std::memcpy(&out, &v6, sizeof v6);
  return sizeof v6;
}

SocketAddress from_sockaddr(const sockaddr_storage& in) {
  SocketAddress address;
  if (in.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &in, sizeof v4);
    address.family = SocketAddress::Family::ipv4;
    address.port = ntohs(v4.sin_port);
    std::memcpy(address.ip.data(), &v4.sin_addr, kIpv4Size);
  } else if (in.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &in, sizeof v6);
    address.port = ntohs(v6.sin6_port);
    const auto& bytes = v6.sin6_addr.s6_addr;
    if (std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes)) {
      address.family = SocketAddress::Family::ipv4;
      std::memcpy(address.ip.data(), &bytes[kMappedPrefix.size()], kIpv4Size);
    } else {
      address.family = SocketAddress::Family::ipv6;
      address.scope = v6.sin6_scope_id;
      std::memcpy(address.ip.data(), bytes, sizeof bytes);
    }
  }
  return address;
}

}  // namespace xfer::net

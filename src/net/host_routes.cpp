#include "net/host_routes.hpp"

#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/sockaddr.hpp"

namespace xfer::net {

std::uint32_t HostRoutes::interface_mtu(const SocketAddress& peer) const {
  if (peer.family == SocketAddress::Family::none) return 0;
  const bool ipv6 = peer.family == SocketAddress::Family::ipv6;
  const int family = ipv6 ? AF_INET6 : AF_INET;
  sockaddr_storage name{};
  const socklen_t size = to_sockaddr(peer, family, name);
  const int fd = size == 0 ? -1 : ::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  int mtu = 0;
  socklen_t length = sizeof mtu;
  // Connecting sends nothing; it looks up the route.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the system's own convention.
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&name), size) != 0 ||
      ::getsockopt(fd, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, ipv6 ? IPV6_MTU : IP_MTU, &mtu, &length) !=
          0)
    mtu = 0;
  ::close(fd);
  return mtu > 0 ? static_cast<std::uint32_t>(mtu) : 0;
}

}  // namespace xfer::net

#pragma once

#include <sys/socket.h>

#include "base/socket_address.hpp"

namespace xfer::net {

/// Between our plain address and the system's. These two functions are the only ones that look
/// inside a sockaddr.

/// The address in the form a socket of family `socket_family` (AF_INET or AF_INET6) wants: IPv4 is
/// mapped into IPv6 for the latter, Family::none becomes the unspecified address.
/// @return bytes of `out` in use; 0: an IPv6 address cannot be reached through an IPv4 socket.
socklen_t to_sockaddr(const SocketAddress& address, int socket_family, sockaddr_storage& out);

/// IPv4 mapped into IPv6 becomes Family::ipv4; other families than the two become Family::none.
SocketAddress from_sockaddr(const sockaddr_storage& in);

}  // namespace xfer::net

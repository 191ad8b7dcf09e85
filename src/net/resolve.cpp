#include "net/resolve.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "net/sockaddr.hpp"

namespace xfer::net {

Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port) {
  if (host.empty()) {
    SocketAddress any;
    any.port = port;
    return std::vector{any};
  }
  // Not AI_ADDRCONFIG: it hides ::1 on machines whose only IPv6 address is that one. An address
  // that cannot be reached fails at once when it is tried.
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* raw = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), nullptr, &hints, &raw);
  if (failure != 0)
    return Error{ErrorCode::resolve_failed, failure == EAI_SYSTEM ? errno : 0,
                 ::gai_strerror(failure)};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(raw, &::freeaddrinfo);

  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    sockaddr_storage storage{};
    if (entry->ai_addrlen > sizeof storage) continue;
    std::memcpy(&storage, entry->ai_addr, entry->ai_addrlen);
    SocketAddress address = from_sockaddr(storage);
    address.port = port;
    const bool known = std::find(addresses.begin(), addresses.end(), address) != addresses.end();
    if (address.family != SocketAddress::Family::none && !known) addresses.push_back(address);
  }
  if (addresses.empty()) return Error{ErrorCode::resolve_failed, 0, "no IPv4 or IPv6 address"};
  return addresses;
}

}  // namespace xfer::net

#pragma once

#include <string>
#include <vector>

#include "net/address.hpp"

namespace xfer::net {

/// All addresses of a host in the system's order of preference (RFC 6724). A numeric address needs
/// no name service. An empty host gives one address of Family::none: any local address, IPv4 and
/// IPv6. Blocks while the name service answers.
///   ErrorCode::resolve_failed  `what` is the resolver's reason.
Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port);

}  // namespace xfer::net

#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/socket_address.hpp"

namespace xfer::net {

struct HostPort {
  std::string host;        ///< name or address without brackets; empty: any local address
  std::uint16_t port = 0;  ///< host byte order
};

/// Whether port 0 makes sense: it does where one listens (the system picks a port), not where one
/// connects to.
enum class PortZero : std::uint8_t { refused, allowed };

/// Takes apart `host:port`, `1.2.3.4:9000`, `[::1]:9000`, `[fe80::1%lo]:9000`, and `:9000` or
/// `[]:9000` for any address.
///   ErrorCode::usage  not of that form; `what` says what is wrong with it.
Result<HostPort> parse_host_port(std::string_view text, PortZero zero = PortZero::refused);

/// `1.2.3.4:9000`, `[::1]:9000`, `[fe80::1%eth0]:9000`, or `*:9000` for Family::none.
std::string to_string(const SocketAddress& address);

}  // namespace xfer::net

#include "net/address.hpp"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>

namespace xfer::net {

namespace {

Error usage(const char* what) { return {ErrorCode::usage, 0, what}; }

Result<std::uint16_t> parse_port(std::string_view text, PortZero zero) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (text.empty()) return usage("port missing after ':'");
  if (failure == std::errc::result_out_of_range) return usage("port above 65535");
  if (failure != std::errc() || stop != end) return usage("port is not a number");
  if (value > 65'535) return usage("port above 65535");
  if (value == 0 && zero == PortZero::refused) return usage("port 0");
  return static_cast<std::uint16_t>(value);
}

bool is_host_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte != 0x7F && c != '[' && c != ']';
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text, PortZero zero) {
  if (text.empty()) return usage("empty address, expected host:port");
  std::string_view host;
  std::string_view rest;  // ":port"
  if (text.front() == '[') {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return usage("']' missing after IPv6 address");
    host = text.substr(1, bracket - 1);
    rest = text.substr(bracket + 1);
    if (!host.empty() && host.find(':') == std::string_view::npos)
      return usage("brackets are for IPv6 addresses");
    if (rest.empty() || rest.front() != ':') return usage("port missing, expected [address]:port");
  } else {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return usage("port missing, expected host:port");
    host = text.substr(0, colon);
    rest = text.substr(colon);
    if (host.find(':') != std::string_view::npos)
      return usage("an IPv6 address needs brackets, as in [::1]:9000");
  }
  if (!std::all_of(host.begin(), host.end(), is_host_character))
    return usage("a host name cannot contain this character");
  const auto port = parse_port(rest.substr(1), zero);
  if (!port) return port.error();
  return HostPort{std::string(host), *port};
}

std::string to_string(const SocketAddress& address) {
  std::string text;
  char digits[INET6_ADDRSTRLEN] = {};
  switch (address.family) {
    case SocketAddress::Family::none:
      text += '*';
      break;
    case SocketAddress::Family::ipv4:
      ::inet_ntop(AF_INET, address.ip.data(), digits, sizeof digits);
      text += digits;
      break;
    case SocketAddress::Family::ipv6:
      ::inet_ntop(AF_INET6, address.ip.data(), digits, sizeof digits);
      text += '[';
      text += digits;
      if (address.scope != 0) {
        char interface[IF_NAMESIZE] = {};
        const bool named = ::if_indextoname(address.scope, interface) != nullptr;
        text += '%';
        text += named ? std::string(interface) : std::to_string(address.scope);
      }
      text += ']';
      break;
  }
  text += ':';
  text += std::to_string(address.port);
  return text;
}

}  // namespace xfer::net

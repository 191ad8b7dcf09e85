#pragma once

#include <array>
#include <cstdint>

namespace xfer {

/// An IP address and UDP port as a plain value; `net/` converts it to and from the system's form.
struct SocketAddress {
  enum class Family : std::uint8_t { none, ipv4, ipv6 };

  Family family = Family::none;
  std::uint16_t port = 0;             ///< host byte order
  std::uint32_t scope = 0;            ///< IPv6 link-local interface index, else 0
  std::array<std::uint8_t, 16> ip{};  ///< network byte order; IPv4 uses the first four

  friend bool operator==(const SocketAddress&, const SocketAddress&) = default;
};

}  // namespace xfer

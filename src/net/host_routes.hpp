#pragma once

#include "udt/endpoint.hpp"

namespace xfer::net {

/// The ways out of this host, as the kernel knows them: asked anew each time, on any thread.
class HostRoutes final : public udt::Routes {
 public:
  /// MTU of the route (ip(7), IP_MTU): the interface's, or less where the network has said so.
  [[nodiscard]] std::uint32_t interface_mtu(const SocketAddress& peer) const override;
};

}  // namespace xfer::net

#include "transfer/host_limits.hpp"

#include <algorithm>
#include <climits>

namespace xfer::transfer {

std::optional<std::string> receive_buffer_warning(std::size_t asked, std::size_t granted) {
  // More than the system can count is not granted, whatever is set (socket(7), SO_RCVBUF).
  asked = std::min<std::size_t>(asked, INT_MAX / 2);
  if (granted >= asked) return std::nullopt;
  const std::string wanted = std::to_string(asked);
  return "net.core.rmem_max is " + std::to_string(granted) +
         ", so the socket's receive buffer has " + std::to_string(granted) + " of the " + wanted +
         " bytes asked for: at high speed, packets that find no room are lost and have to be sent "
         "again. To allow it: sysctl -w net.core.rmem_max=" +
         wanted + " (costs up to " + std::to_string(2 * asked) +
         " bytes of kernel memory for each such socket, while packets wait in it)";
}

}  // namespace xfer::transfer

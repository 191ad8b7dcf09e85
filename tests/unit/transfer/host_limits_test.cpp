#include "transfer/host_limits.hpp"

#include <catch2/catch.hpp>

namespace xfer::transfer {
namespace {

// Pins the words that a user can act on, and when there are none.
TEST_CASE("the warning about the receive buffer names limit, value, remedy and cost") {
  CHECK(receive_buffer_warning(12'582'912, 212'992) ==
        "net.core.rmem_max is 212992, so the socket's receive buffer has 212992 of the 12582912 "
        "bytes asked for: at high speed, packets that find no room are lost and have to be sent "
        "again. To allow it: sysctl -w net.core.rmem_max=12582912 (costs up to 25165824 bytes of "
        "kernel memory for each such socket, while packets wait in it)");
  CHECK_FALSE(receive_buffer_warning(12'582'912, 12'582'912));
  CHECK_FALSE(receive_buffer_warning(4096, 212'992));
  // The system counts up to here; no setting gives more.
  CHECK_FALSE(receive_buffer_warning(std::size_t{1} << 30U, 1'073'741'823));
}

}  // namespace
}  // namespace xfer::transfer

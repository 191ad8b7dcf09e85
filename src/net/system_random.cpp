#include "net/system_random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <span>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace xfer::net {

std::uint64_t SystemRandom::next_u64() {
  if (used_ == block_.size()) {
    MutByteView bytes = std::as_writable_bytes(std::span(block_));
    while (!bytes.empty()) {
      const ssize_t count = ::getrandom(bytes.data(), bytes.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      XFER_ASSERT(count >
                  0);  // every kernel since 3.17 has it, and it does not fail once it has started
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    used_ = 0;
  }
  const std::uint64_t value = block_[used_];
  block_[used_++] = 0;  // a number that was handed out is not left lying about
  return value;
}

}  // namespace xfer::net

#pragma once

#include <array>
#include <cstddef>

#include "base/random.hpp"

namespace xfer::net {

/// Random numbers from the operating system (getrandom), read in blocks. Good for secrets. Not
/// thread-safe.
class SystemRandom final : public RandomSource {
 public:
  std::uint64_t next_u64() override;

 private:
  std::array<std::uint64_t, 64> block_{};
  std::size_t used_ = block_.size();
};

}  // namespace xfer::net

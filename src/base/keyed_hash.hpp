#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace xfer {

/// A pseudorandom function under a secret key, as connection cookies need it. `crypto/` has the
/// real one.
class KeyedHash {
 public:
  virtual ~KeyedHash() = default;
  /// 64 bits of the keyed hash of `message`.
  [[nodiscard]] virtual std::uint64_t hash(ByteView message) const = 0;
};

}  // namespace xfer

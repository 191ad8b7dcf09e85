#pragma once

#include "base/bytes.hpp"

namespace xfer {

/// A byte stream kept in memory, addressed by absolute offset from its first byte.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Bytes [offset, offset + size). The caller asks only for bytes it was offered and has not
  /// released; they stay in place and unchanged until then.
  [[nodiscard]] virtual Slices view(std::uint64_t offset, std::size_t size) const = 0;
};

}  // namespace xfer

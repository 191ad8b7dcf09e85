#pragma once

#include <array>
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"

/// Thin wrappers: the only code that includes xxHash and OpenSSL's digests.
namespace xfer::crypto {

/// Canonical (big-endian) bytes of an XXH3-128 hash, as printed by `xxh128sum`.
using Hash128 = std::array<std::byte, 16>;
using Sha256 = std::array<std::byte, 32>;

/// XXH3-128 of a stream of bytes. Finds damage, not forgery.
class Xxh128 {
 public:
  Xxh128();
  ~Xxh128();
  Xxh128(Xxh128&&) noexcept;
  Xxh128& operator=(Xxh128&&) noexcept;

  /// Starts over, as if new.
  void reset();
  void update(ByteView bytes);
  /// The hash of all bytes since reset(); update() may go on afterwards.
  [[nodiscard]] Hash128 digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Hash128 xxh128(ByteView bytes);

///   ErrorCode::internal  the library has no SHA-256 (a broken installation).
Result<Sha256> sha256(ByteView bytes);

/// Lower-case hexadecimal digits.
std::string to_hex(ByteView bytes);

}  // namespace xfer::crypto

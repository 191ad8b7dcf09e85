#pragma once

#include <array>
#include <memory>

#include "base/keyed_hash.hpp"
#include "base/result.hpp"

namespace xfer::crypto {

/// SipHash-2-4 (Aumasson and Bernstein, 2012) with a 64-bit result, for connection cookies. Not
/// thread-safe: one per endpoint.
class CookieHash final : public KeyedHash {
 public:
  using Key = std::array<std::byte, 16>;

  /// With a fresh random key.
  ///   ErrorCode::system  no SipHash or no randomness in this OpenSSL.
  static Result<CookieHash> create();
  /// With a given key, for known answers.
  static Result<CookieHash> with_key(const Key& key);

  CookieHash(CookieHash&&) noexcept;
  CookieHash& operator=(CookieHash&&) noexcept;
  ~CookieHash() override;

  /// The result's bytes read as a little-endian number, as in the SipHash paper.
  [[nodiscard]] std::uint64_t hash(ByteView message) const override;

 private:
  struct Impl;
  explicit CookieHash(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xfer::crypto

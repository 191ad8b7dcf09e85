#include "crypto/hash.hpp"

#include <openssl/evp.h>
#include <xxhash.h>

namespace xfer::crypto {
namespace {

Hash128 canonical(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Hash128 out;
  static_assert(sizeof(bytes.digest) == sizeof(out));
  const auto view = std::as_bytes(std::span(bytes.digest));
  std::copy(view.begin(), view.end(), out.begin());
  return out;
}

}  // namespace

struct Xxh128::State {
  XXH3_state_t* xxh = XXH3_createState();

  State() { XFER_ASSERT(xxh != nullptr); }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Xxh128::Xxh128() : state_(std::make_unique<State>()) { reset(); }
Xxh128::~Xxh128() = default;
Xxh128::Xxh128(Xxh128&&) noexcept = default;
Xxh128& Xxh128::operator=(Xxh128&&) noexcept = default;

void Xxh128::reset() { XFER_ASSERT(XXH3_128bits_reset(state_->xxh) == XXH_OK); }

void Xxh128::update(ByteView bytes) {
  if (bytes.empty()) return;
  XFER_ASSERT(XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size()) == XXH_OK);
}

Hash128 Xxh128::digest() const { return canonical(XXH3_128bits_digest(state_->xxh)); }

Hash128 xxh128(ByteView bytes) { return canonical(XXH3_128bits(bytes.data(), bytes.size())); }

Result<Sha256> sha256(ByteView bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1 ||
      size != digest.size())
    return Error{ErrorCode::internal, 0, "SHA-256"};
  Sha256 out;
  const auto view = std::as_bytes(std::span(digest));
  std::copy(view.begin(), view.end(), out.begin());
  return out;
}

std::string to_hex(ByteView bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) {
    const auto value = std::to_integer<unsigned>(b);
    text += kDigits[value >> 4U];
    text += kDigits[value & 15U];
  }
  return text;
}

}  // namespace xfer::crypto

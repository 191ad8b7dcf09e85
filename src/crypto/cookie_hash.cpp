#include "crypto/cookie_hash.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <utility>

#include "base/check.hpp"

namespace xfer::crypto {

namespace {
constexpr std::size_t kResultSize = 8;

struct FreeContext {
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};
const unsigned char* data_of(ByteView bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): unsigned char may alias anything.
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
}  // namespace

struct CookieHash::Impl {
  // Set up once; starting it again with the key is all that a message costs.
  std::unique_ptr<EVP_MAC_CTX, FreeContext> context;
  Key key{};

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { OPENSSL_cleanse(key.data(), key.size()); }
};

CookieHash::CookieHash(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CookieHash::CookieHash(CookieHash&&) noexcept = default;
CookieHash& CookieHash::operator=(CookieHash&&) noexcept = default;
CookieHash::~CookieHash() = default;

Result<CookieHash> CookieHash::create() {
  Key key{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  if (RAND_bytes(reinterpret_cast<unsigned char*>(key.data()), static_cast<int>(key.size())) != 1)
    return Error{ErrorCode::system, 0, "random key"};
  auto made = with_key(key);
  OPENSSL_cleanse(key.data(), key.size());
  return made;
}

Result<CookieHash> CookieHash::with_key(const Key& key) {
  auto impl = std::make_unique<Impl>();
  impl->key = key;

  EVP_MAC* mac = EVP_MAC_fetch(nullptr, OSSL_MAC_NAME_SIPHASH, nullptr);
  if (mac == nullptr) return Error{ErrorCode::system, 0, "OpenSSL has no SipHash"};
  impl->context.reset(EVP_MAC_CTX_new(mac));
  EVP_MAC_free(mac);  // the context keeps its own reference
  if (!impl->context) return Error{ErrorCode::system, 0, "SipHash context"};

  std::size_t size = kResultSize;
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size),
                                   OSSL_PARAM_construct_end()};
  if (EVP_MAC_init(impl->context.get(), data_of(impl->key), impl->key.size(), parameters) != 1)
    return Error{ErrorCode::system, 0, "SipHash set-up"};
  return CookieHash(std::move(impl));
}

std::uint64_t CookieHash::hash(ByteView message) const {
  EVP_MAC_CTX* context = impl_->context.get();
  std::array<unsigned char, kResultSize> result{};
  std::size_t size = 0;
  // This worked once, in with_key(), and none of it allocates: it cannot fail for another reason
  // than a bug.
  const bool done = EVP_MAC_init(context, data_of(impl_->key), impl_->key.size(), nullptr) == 1 &&
                    EVP_MAC_update(context, data_of(message), message.size()) == 1 &&
                    EVP_MAC_final(context, result.data(), &size, result.size()) == 1;
  XFER_ASSERT(done);
  XFER_ASSERT(size == kResultSize);

  std::uint64_t value = 0;
  for (std::size_t i = kResultSize; i > 0; --i) value = (value << 8U) | result[i - 1];
  return value;
}

}  // namespace xfer::crypto

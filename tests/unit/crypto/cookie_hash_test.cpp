#include "crypto/cookie_hash.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace xfer;

namespace {
std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}
}  // namespace

TEST_CASE("The cookie hash is SipHash-2-4: known answers of its paper and reference vectors") {
  crypto::CookieHash::Key key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  const auto hash = crypto::CookieHash::with_key(key);
  REQUIRE(hash.has_value());
  CHECK(hash->hash({}) == 0x726FDB47DD0E0E31U);
  CHECK(hash->hash(counting(1)) == 0x74F839C593DC67FDU);
  CHECK(hash->hash(counting(15)) == 0xA129CA6149BE45E5U);
  // The context starts afresh each time.
  CHECK(hash->hash(counting(15)) == 0xA129CA6149BE45E5U);
}

TEST_CASE("Fresh keys differ, and one instance is a function") {
  auto one = crypto::CookieHash::create();
  auto other = crypto::CookieHash::create();
  REQUIRE(one.has_value());
  REQUIRE(other.has_value());
  const auto message = counting(30);
  const std::uint64_t value = one->hash(message);
  CHECK(one->hash(message) == value);
  CHECK(other->hash(message) != value);
  CHECK(one->hash(counting(31)) != value);
  // Moving takes the key along.
  const crypto::CookieHash moved = std::move(*one);
  CHECK(moved.hash(message) == value);
}

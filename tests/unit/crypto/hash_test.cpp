#include "crypto/hash.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace xfer::crypto {
namespace {

TEST_CASE("XXH3-128 agrees with xxh128sum") {
  // Pins algorithm and byte order against the values of the reference tool.
  CHECK(to_hex(xxh128({})) == "99aa06d3014798d86001c324468d497f");
  CHECK(to_hex(xxh128(as_byte_view("abc"))) == "06b05ab6733a618578af5f94892f3950");
}

TEST_CASE("a hash taken in pieces is the hash of the whole") {
  // Pins the streaming form, whatever the pieces, and that reset() starts over.
  std::string content(10'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 + i / 256);
  const ByteView all = as_byte_view(content);
  Xxh128 hash;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{239}, std::size_t{4096}}) {
    hash.reset();
    for (std::size_t at = 0; at < all.size(); at += piece)
      hash.update(all.subspan(at, std::min(piece, all.size() - at)));
    CHECK(hash.digest() == xxh128(all));
  }
}

TEST_CASE("SHA-256 agrees with its standard") {
  // Pins the digest of FIPS 180-4's example.
  const auto digest = sha256(as_byte_view("abc"));
  REQUIRE(digest.has_value());
  CHECK(to_hex(*digest) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace xfer::crypto

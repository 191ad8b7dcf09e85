#include "wire/handshake.hpp"

#include <array>
#include <vector>

#include "base/random.hpp"

#include <catch2/catch.hpp>

namespace xfer::wire {
namespace {

constexpr std::size_t kLongest = kHandshakeSize + kCapabilityBlockSize;

Handshake random_handshake(SeededRandom& random) {
  const auto word = [&random] { return static_cast<std::uint32_t>(random.next_u64()); };
  Handshake handshake;
  handshake.version = word();
  handshake.socket_type = word();
  handshake.isn = word();
  handshake.mss = word();
  handshake.flight_window = word();
  handshake.request = static_cast<RequestType>(static_cast<std::int32_t>(word()));
  handshake.socket_id = SocketId(word());
  handshake.cookie = word();
  for (auto& part : handshake.peer_ip) part = word();
  if (random.chance(0.5)) {
    handshake.capabilities =
        CapabilityBlock{static_cast<std::uint16_t>(1 + random.below(65'535)),
                        static_cast<std::uint16_t>(random.below(65'536)), word()};
  }
  return handshake;
}

std::vector<std::byte> encoded(const Handshake& handshake) {
  std::vector<std::byte> memory(kLongest);
  ByteWriter out(memory);
  encode(handshake, out);
  REQUIRE(out.ok());
  memory.resize(out.size());
  return memory;
}

// decode(encode(x)) == x for every content, nonsense included: judging it is not the codec's
// business.
TEST_CASE("Handshakes survive a round trip [I-2][I-6]", "[wire]") {
  SeededRandom random(1);
  for (int i = 0; i < 2000; ++i) {
    const Handshake handshake = random_handshake(random);
    const auto body = encoded(handshake);
    REQUIRE(body.size() == (handshake.capabilities ? kLongest : kHandshakeSize));
    const auto decoded = decode_handshake(body);
    REQUIRE(decoded);
    REQUIRE(*decoded == handshake);
  }
}

// 48 bytes are a handshake, 60 one with our extension; every other length is refused and nothing
// stale is read.
TEST_CASE("A handshake has exactly one of two lengths [I-2][D13]", "[wire]") {
  SeededRandom random(2);
  Handshake handshake = random_handshake(random);
  handshake.capabilities = CapabilityBlock{1, 9000, 5};
  auto body = encoded(handshake);
  body.resize(100);
  for (std::size_t size = 0; size <= body.size(); ++size) {
    CAPTURE(size);
    const auto decoded = decode_handshake(ByteView(body).first(size));
    REQUIRE(decoded.has_value() == (size == kHandshakeSize || size == kLongest));
    if (!decoded)
      CHECK(decoded.error().code ==
            (size < kHandshakeSize ? ErrorCode::truncated : ErrorCode::malformed));
  }
}

// Without capabilities no extension is written: a stock listener ignores every handshake that is
// not 48 bytes long.
TEST_CASE("A handshake without capabilities is a stock handshake [I-2]", "[wire]") {
  CHECK(encoded(Handshake{}).size() == 48);
}

// The extension is ours only with its magic and a version from 1.
TEST_CASE("Foreign handshake extensions are refused", "[wire]") {
  Handshake handshake;
  handshake.capabilities = CapabilityBlock{};
  const auto good = encoded(handshake);
  REQUIRE(decode_handshake(good));
  for (const std::size_t at : {std::size_t{48}, std::size_t{51}}) {
    auto body = good;
    body[at] ^= std::byte{1};
    CAPTURE(at);
    const auto decoded = decode_handshake(body);
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == ErrorCode::malformed);
  }
  auto version_zero = good;
  version_zero[53] = std::byte{0};
  CHECK_FALSE(decode_handshake(version_zero));
}

// Request types are signed on the wire; the named ones are these bits.
TEST_CASE("Request types have their wire values [I-3][I-5][I-23]", "[wire]") {
  const auto word5 = [](RequestType request) {
    Handshake handshake;
    handshake.request = request;
    const auto body = encoded(handshake);
    std::vector<unsigned> bytes;
    for (std::size_t i = 20; i < 24; ++i) bytes.push_back(std::to_integer<unsigned>(body[i]));
    return bytes;
  };
  CHECK(word5(RequestType::induction) == std::vector<unsigned>{0, 0, 0, 1});
  CHECK(word5(RequestType::rendezvous) == std::vector<unsigned>{0, 0, 0, 0});
  CHECK(word5(RequestType::conclusion) == std::vector<unsigned>{0xFF, 0xFF, 0xFF, 0xFF});
  CHECK(word5(RequestType::agreement) == std::vector<unsigned>{0xFF, 0xFF, 0xFF, 0xFE});
  CHECK(word5(RequestType::rejected) == std::vector<unsigned>{0, 0, 0x03, 0xEA});
}

// The address field has stock's byte order whatever this host's is: each group of four bytes
// reversed.
TEST_CASE("The peer address is written as stock does on x86 [I7]", "[wire]") {
  SocketAddress address;
  address.family = SocketAddress::Family::ipv4;
  address.ip = {127, 0, 0, 1};
  CHECK(encode_peer_ip(address) == std::array<std::uint32_t, 4>{0x0100007F, 0, 0, 0});

  address.family = SocketAddress::Family::ipv6;
  address.ip = {0x20, 0x01, 0x0D, 0xB8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  CHECK(encode_peer_ip(address) ==
        std::array<std::uint32_t, 4>{0xB80D0120, 0x04030201, 0x08070605, 0x0C0B0A09});

  CHECK(encode_peer_ip(SocketAddress{}) == std::array<std::uint32_t, 4>{});
}

}  // namespace
}  // namespace xfer::wire

#include <array>

#include "base/check.hpp"
#include "fuzz_input.hpp"
#include "wire/handshake.hpp"

// Any handshake body: it decodes exactly at its two lengths (and with an extension only if that is
// ours), and encoding gives the same bytes again.
XFER_FUZZ_TARGET(xfer::ByteView input) {
  using namespace xfer;
  constexpr std::size_t kLongest = wire::kHandshakeSize + wire::kCapabilityBlockSize;
  const auto handshake = wire::decode_handshake(input);
  if (input.size() == wire::kHandshakeSize) XFER_ASSERT(handshake.has_value());
  if (input.size() < wire::kHandshakeSize)
    XFER_ASSERT(handshake.error().code == ErrorCode::truncated);
  if (!handshake) return;

  XFER_ASSERT(input.size() == (handshake->capabilities ? kLongest : wire::kHandshakeSize));
  std::array<std::byte, kLongest> again{};
  ByteWriter out(again);
  wire::encode(*handshake, out);
  XFER_ASSERT(out.ok());
  XFER_ASSERT(std::equal(input.begin(), input.end(), out.written().begin(), out.written().end()));
}

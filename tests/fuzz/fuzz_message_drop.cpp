#include <array>

#include "base/check.hpp"
#include "fuzz_input.hpp"
#include "wire/control.hpp"

// Any message-drop body: what decodes is no reversed range (fault D12) and encodes to the same two
// words.
XFER_FUZZ_TARGET(xfer::ByteView input) {
  using namespace xfer;
  const auto drop = wire::decode_message_drop(input);
  if (!drop) return;

  XFER_ASSERT(wire::SeqNo::distance(drop->first, drop->last) >= 0);
  std::array<std::byte, 8> again{};
  ByteWriter out(again);
  wire::encode(*drop, out);
  XFER_ASSERT(out.ok());
  XFER_ASSERT(std::equal(again.begin(), again.end(), input.begin()));
}

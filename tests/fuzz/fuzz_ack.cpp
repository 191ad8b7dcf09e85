#include <array>

#include "base/check.hpp"
#include "fuzz_input.hpp"
#include "wire/control.hpp"

// Any ACK body: the length alone decides the kind (rule I-7), and encoding gives back the bytes
// that mattered.
XFER_FUZZ_TARGET(xfer::ByteView input) {
  using namespace xfer;
  const auto ack = wire::decode_ack(input);
  if (!ack) return;

  std::array<std::byte, 40> again{};
  ByteWriter out(again);
  wire::encode(*ack, out);
  XFER_ASSERT(out.ok());
  std::size_t size = input.size() < 12 ? 4 : input.size() < 16 ? 12 : input.size() < 24 ? 16 : 24;
  if (size == 24 && ack->report) size = 40;
  XFER_ASSERT(out.size() == size);
  XFER_ASSERT(std::equal(out.written().begin(), out.written().end(), input.begin()));
}

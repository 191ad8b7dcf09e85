#include <array>

#include "base/check.hpp"
#include "fuzz_input.hpp"
#include "wire/packet.hpp"

// Any datagram: its header decodes or is refused for being short, and what decodes encodes to the
// same 16 bytes, for every bit of a header belongs to some field.
XFER_FUZZ_TARGET(xfer::ByteView input) {
  using namespace xfer;
  const auto header = wire::decode_header(input);
  XFER_ASSERT(header.has_value() == (input.size() >= wire::kHeaderSize));
  if (!header) return;

  std::array<std::byte, wire::kHeaderSize> again{};
  ByteWriter out(again);
  std::visit([&out](const auto& fields) { wire::encode(fields, out); }, *header);
  XFER_ASSERT(out.ok());
  XFER_ASSERT(std::equal(again.begin(), again.end(), input.begin()));
}

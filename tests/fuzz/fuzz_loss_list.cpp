#include <vector>

#include "base/check.hpp"
#include "fuzz_input.hpp"
#include "wire/loss_list_codec.hpp"

namespace {

struct Decoded {
  std::vector<xfer::wire::LossRange> ranges;
  std::uint32_t malformed = 0;
};

Decoded decode(xfer::ByteView body) {
  Decoded decoded;
  xfer::wire::LossListReader reader(body);
  while (const auto range = reader.next()) decoded.ranges.push_back(*range);
  decoded.malformed = reader.malformed();
  return decoded;
}

}  // namespace

// Any NAK body: no more entries than words, no reversed range, and the entries survive being
// encoded and read again.
XFER_FUZZ_TARGET(xfer::ByteView input) {
  using namespace xfer;
  const Decoded first = decode(input);
  XFER_ASSERT(first.ranges.size() + first.malformed <= input.size() / 4 + 1);
  for (const auto& range : first.ranges)
    XFER_ASSERT(wire::SeqNo::distance(range.first, range.last) >= 0);

  std::vector<std::byte> memory(first.ranges.size() * wire::kMaxLossRangeSize);
  ByteWriter out(memory);
  for (const auto& range : first.ranges) XFER_ASSERT(wire::encode_loss_range(range, out));
  const Decoded second = decode(out.written());
  XFER_ASSERT(second.malformed == 0);
  XFER_ASSERT(second.ranges == first.ranges);
}

#include <map>
#include <vector>

#include "base/check.hpp"
#include "fuzz_input.hpp"
#include "udt/recv_buffer.hpp"

namespace {

using namespace xfer;
using udt::PacketIndex;
using udt::RecvBuffer;

constexpr std::size_t kPayloadSize = 5;

/// What the buffer is to do, in the simplest words: packets by index, and three counters.
struct Model {
  std::size_t slots;
  std::map<PacketIndex, std::vector<std::byte>> packets{};  ///< not fully consumed
  PacketIndex base = 0;
  PacketIndex taken = 0;
  std::uint64_t consumed_of_base = 0;
  std::vector<std::byte> outstanding{};  ///< bytes taken and not consumed, oldest first

  [[nodiscard]] PacketIndex contiguous() const {
    PacketIndex index = taken;
    while (packets.contains(index)) ++index;
    return index;
  }
  [[nodiscard]] RecvBuffer::Outcome check(PacketIndex index) const {
    if (index < contiguous()) return RecvBuffer::Outcome::duplicate;
    if (index >= base + static_cast<PacketIndex>(slots)) return RecvBuffer::Outcome::outside;
    return packets.contains(index) ? RecvBuffer::Outcome::duplicate : RecvBuffer::Outcome::stored;
  }
  void consume(std::uint64_t bytes) {
    consumed_of_base += bytes;
    outstanding.erase(outstanding.begin(),
                      outstanding.begin() + static_cast<std::ptrdiff_t>(bytes));
    while (base < taken && consumed_of_base >= packets.at(base).size()) {
      consumed_of_base -= packets.at(base).size();
      packets.erase(base++);
    }
  }
};

}  // namespace

// Packets of 0 ... 5 bytes stored in any order, taken and consumed in any portions: what the
// application gets is the stream, in order and once, and it stays unchanged until consumed.
XFER_FUZZ_TARGET(xfer::ByteView input) {
  fuzz::Choices choices(input);
  const std::size_t slots = 1 + choices.below(40);
  udt::UnitPool units({slots, kPayloadSize, 1 + choices.below(8)});
  RecvBuffer buffer(slots, kPayloadSize, units);
  Model model{slots};
  std::vector<ByteView> views;  // handed out and not consumed, oldest first
  std::uint8_t stamp = 0;

  while (!choices.empty()) {
    switch (choices.below(4)) {
      case 0:
      case 1: {
        const PacketIndex index =
            model.base + static_cast<PacketIndex>(choices.below(slots + 4)) - 2;
        if (index < 0) break;
        const auto expected = model.check(index);
        XFER_ASSERT(buffer.check(index) == expected);
        if (expected != RecvBuffer::Outcome::stored) break;
        std::vector<std::byte> payload(choices.flag() ? kPayloadSize
                                                      : choices.below(kPayloadSize + 1));
        for (auto& byte : payload) byte = static_cast<std::byte>(++stamp);
        buffer.store(index, payload);
        model.packets[index] = payload;
        break;
      }
      case 2: {
        const auto run = buffer.take();
        const PacketIndex end = buffer.taken();
        XFER_ASSERT(end >= model.taken && end <= model.contiguous());
        std::vector<std::byte> expected;
        for (; model.taken < end; ++model.taken) {
          const auto& payload = model.packets.at(model.taken);
          expected.insert(expected.end(), payload.begin(), payload.end());
        }
        XFER_ASSERT(run.has_value() == !expected.empty());
        if (run) {
          XFER_ASSERT(std::equal(run->begin(), run->end(), expected.begin(), expected.end()));
          views.push_back(*run);
          model.outstanding.insert(model.outstanding.end(), expected.begin(), expected.end());
        } else {
          XFER_ASSERT(model.taken == model.contiguous());
          model.consume(0);
        }
        break;
      }
      default: {
        const std::uint64_t bytes = choices.below(model.outstanding.size() + 1);
        buffer.consume(bytes);
        model.consume(bytes);
        std::uint64_t left = bytes;
        while (left > 0) {
          const std::size_t part =
              std::min<std::size_t>(views.front().size(), static_cast<std::size_t>(left));
          views.front() = views.front().subspan(part);
          if (views.front().empty()) views.erase(views.begin());
          left -= part;
        }
        break;
      }
    }

    XFER_ASSERT(buffer.base() == model.base);
    XFER_ASSERT(buffer.taken() == model.taken);
    XFER_ASSERT(buffer.contiguous() == model.contiguous());
    XFER_ASSERT(buffer.end() >= buffer.contiguous());
    XFER_ASSERT(buffer.end() <= buffer.base() + static_cast<PacketIndex>(slots));
    // What was handed out is still there.
    auto at = model.outstanding.begin();
    for (const ByteView view : views) {
      XFER_ASSERT(std::equal(view.begin(), view.end(), at));
      at += static_cast<std::ptrdiff_t>(view.size());
    }
    XFER_ASSERT(at == model.outstanding.end());
  }
}

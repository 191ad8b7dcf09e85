#pragma once

#include <cstdint>

namespace xfer::wire {

/// A number on a circle of 2^Bits values. There is no operator<: order on a circle is not
/// transitive. Compare with distance(), and unwrap into a 64-bit index where storage needs order.
template <typename Tag, unsigned Bits>
class CircularNumber {
 public:
  static constexpr std::uint32_t kModulus = std::uint32_t{1} << Bits;
  static constexpr std::uint32_t kMax = kModulus - 1;

  constexpr CircularNumber() = default;
  /// The low bits of `value`.
  explicit constexpr CircularNumber(std::uint32_t value) : value_(value & kMax) {}

  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
  [[nodiscard]] constexpr CircularNumber advanced(std::int64_t steps) const {
    return CircularNumber(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value_) +
                                                     static_cast<std::uint64_t>(steps)));
  }
  /// Steps from `from` to `to` by the shorter way, in [-2^(Bits-1), 2^(Bits-1)).
  static constexpr std::int64_t distance(CircularNumber from, CircularNumber to) {
    const std::uint32_t forward = (to.value_ - from.value_) & kMax;
    return forward < kModulus / 2
               ? static_cast<std::int64_t>(forward)
               : static_cast<std::int64_t>(forward) - static_cast<std::int64_t>(kModulus);
  }

  friend constexpr bool operator==(CircularNumber, CircularNumber) = default;

 private:
  std::uint32_t value_ = 0;
};

/// Packet sequence number (UDT draft, section 2): one per data packet, 31 bits.
using SeqNo = CircularNumber<struct SeqNoTag, 31>;
/// ACK sub-sequence number, which ACK2 confirms, 31 bits.
using AckNo = CircularNumber<struct AckNoTag, 31>;

static_assert(SeqNo(SeqNo::kMax).advanced(1) == SeqNo(0));
static_assert(SeqNo(0).advanced(-1) == SeqNo(SeqNo::kMax));
static_assert(SeqNo::distance(SeqNo(SeqNo::kMax), SeqNo(0)) == 1);
static_assert(SeqNo::distance(SeqNo(0), SeqNo(SeqNo::kMax)) == -1);
static_assert(SeqNo::distance(SeqNo(5), SeqNo(5)) == 0);
static_assert(SeqNo::distance(SeqNo(0), SeqNo(0x40000000U)) == -0x40000000LL);
static_assert(SeqNo::distance(SeqNo(0), SeqNo(0x3FFFFFFFU)) == 0x3FFFFFFFLL);

/// Message number (29 bits). UDT4 numbers the first message 1 and wraps to 1 when it reaches 2^29 -
/// 1, so that 0 and 2^29 - 1 never appear on the wire.
class MsgNo {
 public:
  static constexpr std::uint32_t kMax = (std::uint32_t{1} << 29U) - 1;

  constexpr MsgNo() = default;
  explicit constexpr MsgNo(std::uint32_t value) : value_(value & kMax) {}
  /// The number of the `index`-th message of a connection, counted from 0.
  static constexpr MsgNo nth(std::uint64_t index) {
    return MsgNo(static_cast<std::uint32_t>(1 + index % (kMax - 1)));
  }
  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
  friend constexpr bool operator==(MsgNo, MsgNo) = default;

 private:
  std::uint32_t value_ = 0;
};

static_assert(MsgNo::nth(0).value() == 1);
static_assert(MsgNo::nth(MsgNo::kMax - 2).value() == MsgNo::kMax - 1);
static_assert(MsgNo::nth(MsgNo::kMax - 1).value() == 1);

/// UDT socket ID: 1 ... 2^31-1, or 0 for "the listener, or a rendezvous peer whose ID is not known
/// yet".
class SocketId {
 public:
  static constexpr std::uint32_t kMax = 0x7FFFFFFFU;

  constexpr SocketId() = default;
  explicit constexpr SocketId(std::uint32_t value) : value_(value) {}
  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
  /// Whether a peer may own it (wire rule I-2).
  [[nodiscard]] constexpr bool valid() const { return value_ != 0 && value_ <= kMax; }
  friend constexpr bool operator==(SocketId, SocketId) = default;

 private:
  std::uint32_t value_ = 0;
};

}  // namespace xfer::wire

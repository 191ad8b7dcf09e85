#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/bytes.hpp"

namespace xfer::udt {

/// A received payload where it stays until it is released.
struct Unit {
  const std::byte* data = nullptr;  ///< nullptr: none
  std::uint32_t size = 0;
  std::uint32_t block = 0;  ///< the allocator's own
};

/// Where received payloads live from their arrival until the application is done with them. One per
/// connection. It lends room for what is to come; a payload that was read into lent room stays
/// there, wherever it belongs in the stream.
class ReceiveUnits {
 public:
  virtual ~ReceiveUnits() = default;
  /// Lends room for the next payloads, in the order of their arrival. Ends the loan before.
  /// @return how many entries of `rooms` were filled in; fewer than asked for, even none: memory is
  ///         short, or no read can bring more.
  virtual std::size_t lend(std::span<MutByteView> rooms) = 0;
  /// Takes back the room that was lent and not used.
  virtual void end_loan() = 0;
  /// Keeps a payload until it is released: in place if it begins where a lent room begins, else by
  /// a copy. Payloads that were read one behind the other and have the usual size are adjacent.
  /// REQUIRES: fewer payloads are held than the limit; it is no larger than the largest; of a lent
  /// room no payload was committed before.
  virtual Unit commit(ByteView payload) = 0;
  virtual void release(const Unit& unit) = 0;
  /// Payloads moved inside user space so far.
  [[nodiscard]] virtual std::uint64_t copies() const = 0;
};

/// Blocks of adjacent slots, taken from a stack when they are needed and put back when the last
/// payload in them is released: as long as the application keeps up, the same few blocks are used
/// again and again, and stay in the processor's cache.
///
/// Slots are used in the order of arrival. Which packet a slot holds is for the caller to know: a
/// loss, a duplicate or a packet out of order moves nothing, it only ends a run of adjacent
/// payloads (the continuity flag of the A-UDT paper's Algorithm 2 is "its memory follows that of
/// its predecessor").
///
/// Slots are as far apart as full payloads are large at present, which is found out from what
/// comes: at once when payloads grow, after some equal ones when they shrink. Payloads that are too
/// large for a slot, or that come while all blocks are in use (each may be held by one payload),
/// are kept apart one by one.
class UnitPool final : public ReceiveUnits {
 public:
  struct Limits {
    std::size_t packets = 0;        ///< payloads held at a time
    std::size_t payload_size = 0;   ///< largest payload
    std::size_t block_packets = 1;  ///< slots per block; fewer if they are large
    std::size_t first_size = 0;     ///< full payloads at first; 0: as the largest
  };
  explicit UnitPool(const Limits& limits);

  std::size_t lend(std::span<MutByteView> rooms) override;
  void end_loan() override;
  Unit commit(ByteView payload) override;
  void release(const Unit& unit) override;
  [[nodiscard]] std::uint64_t copies() const override { return copies_; }

  // For tests.

  [[nodiscard]] std::size_t block_slots() const { return block_slots_; }
  /// Blocks that exist, and that may.
  [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }
  [[nodiscard]] std::size_t max_blocks() const { return max_blocks_; }
  /// Blocks that nobody needs now.
  [[nodiscard]] std::size_t free_blocks() const { return free_.size(); }
  /// Payloads kept apart now.
  [[nodiscard]] std::size_t apart() const { return apart_.size() - apart_free_.size(); }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::uint32_t stride = 0;  ///< from slot to slot
    std::uint32_t held = 0;    ///< payloads in it
    bool open = false;         ///< in open_
  };
  /// A slot, counted from the first one of the oldest open block.
  using Place = std::size_t;

  bool open_block();
  void close_oldest();
  bool has(Place place);
  [[nodiscard]] MutByteView slot(Place place) const;
  [[nodiscard]] bool is_lent(const std::byte* data, Place& place) const;
  Unit keep(Place place, ByteView payload);
  Unit keep_copy(ByteView payload);
  Unit keep_apart(ByteView payload);
  void note_size(std::size_t size);

  std::size_t payload_size_;
  std::size_t block_slots_;
  std::size_t max_blocks_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> free_;  ///< a stack
  std::vector<std::uint32_t> open_;  ///< in use for what comes: the oldest partly, others not yet
  Place next_ = 0;                   ///< everything below is used or given up
  Place loan_begin_ = 0;
  Place loan_end_ = 0;

  std::size_t stride_;         ///< what new blocks get
  std::size_t last_size_ = 0;  ///< of the last payload
  unsigned equal_sizes_ = 0;   ///< payloads of that size in a row

  std::vector<std::unique_ptr<std::byte[]>> apart_;
  std::vector<std::uint32_t> apart_free_;
  std::uint64_t copies_ = 0;
};

}  // namespace xfer::udt

#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "base/time.hpp"
#include "crypto/hash.hpp"
#include "file/destination.hpp"
#include "net/stream.hpp"
#include "udt/config.hpp"

namespace xfer::transfer {

/// Bytes gathered (or a block, if that is more) before they are written, though more would follow:
/// few enough to be still in the processor's cache when they are written after having been hashed
/// (docs/decisions/0011).
inline constexpr std::size_t kWriteSize = std::size_t{256} << 10U;
/// How long a run shorter than a block waits for more of it before it is written: the protocol's
/// tick.
inline constexpr Duration kRunPatience = 10ms;

/// Bytes of a block of receive memory, as far as the receive window has room for several.
std::size_t block_size(const udt::ConnectionConfig& config, const net::Stream& stream);

/// The writer of the A-UDT paper (its Algorithm 3): gathers the in-order content of one file as
/// views into the receive buffer, contiguous ones as one piece, and writes a run with one call.
/// Whoever uses it writes when the run ends, when it is full(), or when nothing more has arrived
/// and patience() is over. For one thread.
class RunWriter {
 public:
  /// @param block bytes below which a run is worth waiting for more (FP packets).
  explicit RunWriter(std::size_t block) : block_(block) {}

  /// Adds content that follows what was added before. `bytes` must live until write() or drop().
  /// REQUIRES: not full().
  void add(ByteView bytes);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool full() const {
    return count_ == pieces_.size() || size_ >= std::max(kWriteSize, block_);
  }
  /// Bytes gathered.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// While nothing more arrives: how long to wait for more before write(). nullopt: not at all.
  std::optional<Duration> patience(TimePoint now);

  /// Appends what is gathered to `file`, and to `hash` if there is one; it is gathered no more,
  /// whatever happens.
  Result<void> write(file::OutputFile& file, crypto::Xxh128* hash);
  void drop();

  /// Calls that wrote, and bytes they wrote, of all files together.
  [[nodiscard]] std::uint64_t writes() const { return writes_; }
  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_; }
  /// Counts what a file did by itself (OutputFile::complete(), write_some()).
  template <typename Work>
  auto counted(file::OutputFile& file, Work work) {
    const std::uint64_t before = file.writes();
    auto result = work();
    writes_ += file.writes() - before;
    return result;
  }

  /// What is gathered, one piece for each contiguous part.
  [[nodiscard]] std::span<const ByteView> pieces() const { return {pieces_.data(), count_}; }

 private:
  std::size_t block_;
  std::array<ByteView, file::kMaxPieces> pieces_;
  std::size_t count_ = 0;
  std::size_t size_ = 0;
  std::optional<TimePoint> give_up_at_;  ///< end of the patience with this run
  std::uint64_t writes_ = 0;
  std::uint64_t bytes_written_ = 0;
};

}  // namespace xfer::transfer

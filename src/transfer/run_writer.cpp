#include "transfer/run_writer.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace xfer::transfer {

std::size_t block_size(const udt::ConnectionConfig& config, const net::Stream& stream) {
  const std::uint32_t packets = std::min(config.block_packets, config.receive_window / 4);
  return std::size_t{packets} * stream.payload_size();
}

void RunWriter::add(ByteView bytes) {
  XFER_ASSERT(!full());
  size_ += bytes.size();
  if (count_ > 0) {
    ByteView& last = pieces_[count_ - 1];
    if (last.data() + last.size() == bytes.data()) {
      last = {last.data(), last.size() + bytes.size()};
      return;
    }
  }
  pieces_[count_++] = bytes;
}

std::optional<Duration> RunWriter::patience(TimePoint now) {
  if (empty() || size_ >= block_) return std::nullopt;
  if (!give_up_at_) give_up_at_ = now + kRunPatience;
  if (now >= *give_up_at_) return std::nullopt;
  return *give_up_at_ - now;
}

Result<void> RunWriter::write(file::OutputFile& file, crypto::Xxh128* hash) {
  if (empty()) return {};
  if (hash != nullptr)
    for (const ByteView piece : pieces()) hash->update(piece);
  const auto done = counted(file, [&] { return file.write(pieces()); });
  if (done) bytes_written_ += size_;
  drop();
  return done;
}

void RunWriter::drop() {
  count_ = 0;
  size_ = 0;
  give_up_at_.reset();
}

}  // namespace xfer::transfer

#include "net/stream.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "net/clock.hpp"
#include "net/driver_core.hpp"

namespace xfer::net {

Stream::Stream(std::shared_ptr<DriverCore> core, std::shared_ptr<Channel> channel)
    : channel_(std::move(channel)), core_(std::move(core)) {}

Stream::~Stream() {
  channel_->requests.fetch_or(Channel::kLetGo, std::memory_order_acq_rel);
  core_->wake();
}

void Stream::tell_network() {
  told_consumed_ = channel_->consumed.load(std::memory_order_relaxed);
  unreported_ = false;
  core_->wake();
}

MutByteView Stream::write_space() { return channel_->ring.free_space(); }

void Stream::publish(std::size_t count, bool flush_too) {
  XFER_ASSERT(!finished_);
  channel_->ring.publish(count);
  if (flush_too) channel_->flush_mark.store(channel_->ring.published(), std::memory_order_release);
  core_->wake();
}

void Stream::flush() { publish(0, true); }

Result<void> Stream::write(ByteView data, bool flush_too) {
  while (true) {
    XFER_TRY(may_write());
    const MutByteView space = write_space();
    const std::size_t count = std::min(space.size(), data.size());
    std::copy_n(data.begin(), count, space.begin());
    data = data.subspan(count);
    if (count > 0 || data.empty()) publish(count, flush_too && data.empty());
    if (data.empty()) return {};
    if (space.size() == count) wait(kWritable, Duration::max());
  }
}

Result<void> Stream::may_write() {
  if (channel_->cancelled.load(std::memory_order_acquire)) return ErrorCode::interrupted;
  if (channel_->error_signal.exchange(false, std::memory_order_acq_rel))
    return Error{ErrorCode::peer_error, 0, "the peer could not use the data"};
  Error error;
  if (failed(&error)) return error;
  if (channel_->has(Channel::kDead) || channel_->has(Channel::kPeerClosed))
    return ErrorCode::peer_closed;
  return {};
}

Result<ByteView> Stream::try_read() {
  if (channel_->cancelled.load(std::memory_order_acquire)) return ErrorCode::interrupted;
  // The status is read first: once it says that nothing more comes, everything that came is in the
  // queue.
  const bool input_done = channel_->has(Channel::kInputDone);
  if (const auto slice = channel_->slices.pop()) {
    handed_out_ += slice->size();
    unreported_ = true;
    return *slice;
  }
  if (!input_done) return ErrorCode::would_block;
  Error error;
  if (!channel_->has(Channel::kPeerClosed) && failed(&error)) return error;
  return ByteView{};
}

void Stream::consume(std::size_t count) {
  const std::uint64_t total = channel_->consumed.load(std::memory_order_relaxed) + count;
  XFER_ASSERT(total <= handed_out_);
  channel_->consumed.store(total, std::memory_order_release);
  unreported_ = true;
  if (total - told_consumed_ >= channel_->consume_step) tell_network();
}

unsigned Stream::look(unsigned interest) const {
  const unsigned status = channel_->status.load(std::memory_order_acquire);
  const bool input_done = (status & Channel::kInputDone) != 0;
  unsigned ready = 0;
  if ((interest & kReadable) != 0 && (input_done || !channel_->slices.empty())) ready |= kReadable;
  if ((interest & kWritable) != 0 && !channel_->ring.free_space().empty()) ready |= kWritable;
  // To a reader, the end is where the last byte is.
  const bool ended = (status & (Channel::kPeerClosed | Channel::kDead)) != 0;
  if (ended && (input_done || (interest & kReadable) == 0)) ready |= kEnded;
  if (channel_->cancelled.load(std::memory_order_acquire)) ready |= kEnded;
  return ready;
}

unsigned Stream::wait(unsigned interest, Duration timeout) {
  unsigned news = Channel::kNewsStatus;
  if ((interest & kReadable) != 0) news |= Channel::kNewsReadable;
  if ((interest & kWritable) != 0) news |= Channel::kNewsWritable;
  return wait_until([&] { return look(interest); }, news, timeout);
}

template <typename Look>
unsigned Stream::wait_until(Look look_now, unsigned news, Duration timeout) {
  const TimePoint begin = now();
  while (true) {
    if (const unsigned ready = look_now(); ready != 0) return ready;
    const Duration left = timeout - (now() - begin);
    if (left <= Duration::zero()) return 0;
    // What was read makes room for what we are about to wait for.
    if (unreported_) tell_network();
    channel_->parker.prepare(news);
    if (look_now() != 0) {
      channel_->parker.unprepare();
    } else {
      channel_->parker.sleep(news, left);
    }
  }
}

void Stream::finish() {
  if (finished_) return;
  flush();
  finished_ = true;
  channel_->requests.fetch_or(Channel::kFinish, std::memory_order_acq_rel);
  core_->wake();
}

Result<void> Stream::wait_closed(Duration timeout) {
  const auto cancelled = [this] { return channel_->cancelled.load(std::memory_order_acquire); };
  const unsigned ready =
      wait_until([&] { return channel_->has(Channel::kDead) || cancelled() ? 1U : 0U; },
                 Channel::kNewsStatus, timeout);
  if (channel_->has(Channel::kDead)) {
    Error error;
    if (failed(&error)) return error;
    return {};
  }
  return ready != 0 ? ErrorCode::interrupted : ErrorCode::would_block;
}

void Stream::abort() {
  channel_->requests.fetch_or(Channel::kAbort, std::memory_order_acq_rel);
  core_->wake();
}

void Stream::vanish() {
  channel_->requests.fetch_or(Channel::kVanish, std::memory_order_acq_rel);
  core_->wake();
}

void Stream::cancel() {
  channel_->cancelled.store(true, std::memory_order_release);
  channel_->parker.notify(Channel::kAllNews);
}

bool Stream::failed(Error* error) const {
  if (!channel_->has(Channel::kDead) || !channel_->has_error) return false;
  if (error != nullptr) *error = channel_->error;
  return true;
}

SocketAddress Stream::peer() const { return channel_->peer; }

std::uint32_t Stream::payload_size() const { return channel_->payload_size; }

udt::ConnectionStats Stream::stats() const {
  const std::lock_guard lock(channel_->stats_mutex);
  return channel_->stats;
}

std::uint64_t Stream::acked_bytes() const {
  return channel_->acked.load(std::memory_order_acquire);
}

std::uint64_t Stream::published_bytes() const { return channel_->ring.published(); }

}  // namespace xfer::net

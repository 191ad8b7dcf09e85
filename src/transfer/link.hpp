#pragma once

#include "net/clock.hpp"
#include "net/stream.hpp"
#include "transfer/job.hpp"

namespace xfer::transfer {

/// Longest sleep of a worker: how late it notices an interruption.
inline constexpr Duration kTick = 100ms;
/// Pause between two signs of life while there is nothing to send. Well below every timeout.
inline constexpr Duration kAliveInterval = 250ms;
/// How long closing may take once everything is confirmed; whatever happens then changes no result.
inline constexpr Duration kCloseTimeout = 2s;

/// A worker's view of its connection: waiting that ends when the user interrupts, when the
/// connection dies, or when nothing has moved for the time limit. For the worker thread.
class Link {
 public:
  Link(net::Stream& stream, CancelToken cancel, Duration timeout)
      : stream_(&stream),
        cancel_(std::move(cancel)),
        timeout_(timeout),
        last_progress_(net::now()) {}

  [[nodiscard]] net::Stream& stream() { return *stream_; }

  /// Something moved: the time limit starts again.
  void progress() { last_progress_ = net::now(); }
  ///   ErrorCode::interrupted  the user asked for the end.
  [[nodiscard]] Result<void> check() const;
  /// Waits for one of `interest` (net::Stream::Ready), at most `limit`. Acknowledged bytes count as
  /// progress.
  /// @return what is ready; 0 after `limit` without news.
  ///   ErrorCode::interrupted, stalled
  Result<unsigned> wait(unsigned interest, Duration limit = kTick);
  /// The error of a connection that ended.
  [[nodiscard]] Error death() const;

  /// Gets rid of the connection after a failure: what was written gets a moment to arrive.
  void hang_up();

 private:
  net::Stream* stream_;
  CancelToken cancel_;
  Duration timeout_;
  TimePoint last_progress_;
  std::uint64_t acked_ = 0;
};

}  // namespace xfer::transfer

#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.hpp"

namespace xfer::net {

/// Lets one thread sleep until others have news for it, without a system call while it is awake.
///
/// The sleeper announces what it waits for (prepare), looks once more whether it is there already,
/// then sleeps. The others first make their news visible, then call notify, which costs a system
/// call only if the sleeper has announced itself. Both announce and notify are atomic
/// read-modify-writes of one word: whichever comes second in its order sees what the first one
/// published, so no news is slept through.

/// For a worker thread: sleeps on a futex.
class Parker {
 public:
  /// Sleeper: about to wait for any of the bits of `interest` (not 0).
  void prepare(std::uint32_t interest) {
    waiting_for_.exchange(interest, std::memory_order_acq_rel);
  }
  /// Sleeper: after prepare(), when there is no need to sleep after all.
  void unprepare() { waiting_for_.store(0, std::memory_order_relaxed); }
  /// Sleeper: after prepare(interest), sleeps until notified of one of those bits or until
  /// `timeout` has passed.
  void sleep(std::uint32_t interest, Duration timeout);

  /// Any thread; async-signal-safe.
  void notify(std::uint32_t news);

 private:
  std::atomic<std::uint32_t> waiting_for_{0};
};

/// For the network thread: the same over an eventfd, which epoll watches along with the socket
/// (edge-triggered: nobody reads it).
class EventWakeup {
 public:
  EventWakeup();
  ~EventWakeup();
  EventWakeup(const EventWakeup&) = delete;
  EventWakeup& operator=(const EventWakeup&) = delete;

  [[nodiscard]] bool ok() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }

  void prepare() { sleeping_.exchange(true, std::memory_order_acq_rel); }
  /// Sleeper: awake again, whatever the reason.
  void awake() { sleeping_.store(false, std::memory_order_relaxed); }

  /// Any thread; async-signal-safe.
  void notify();

 private:
  int fd_;
  std::atomic<bool> sleeping_{false};
};

}  // namespace xfer::net

#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "base/time.hpp"

namespace xfer::net {

/// What the network thread sleeps in: epoll over the socket, an eventfd and a timerfd.
class Poller {
 public:
  /// Watches `socket` and `wakeup` (an eventfd); both must outlive the poller.
  ///   ErrorCode::system  with the errno.
  static Result<Poller> open(int socket, int wakeup);

  Poller(Poller&& other) noexcept;
  Poller& operator=(Poller&&) = delete;
  ~Poller();

  struct Ready {
    bool readable = false;  ///< datagrams to read
    bool writable = false;  ///< only while want_writable(true)
    bool error = false;     ///< the socket's error queue has something
    bool wakeup = false;
  };
  /// Sleeps until something is ready or `deadline` has come; nullopt: no deadline.
  Ready wait(std::optional<TimePoint> deadline);
  /// Sleeps until `end`, whatever happens.
  static void nap(TimePoint end);

  /// Whether to report that the socket can be written to.
  void want_writable(bool wanted);

 private:
  Poller() = default;
  Ready collect();

  int epoll_ = -1;
  int timer_ = -1;
  int socket_ = -1;
  int wakeup_ = -1;
  bool want_writable_ = false;
  std::optional<TimePoint> armed_;  ///< when the timer will fire, if it has not yet
};

}  // namespace xfer::net

#include "net/poller.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace xfer::net {

namespace {

bool watch(int epoll, int operation, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll, operation, fd, &event) == 0;
}

/// Never zero, which would disarm a timer.
timespec to_timespec(TimePoint time) {
  const Duration since_boot = std::max(time.time_since_epoch(), Duration(1ns));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
  return {seconds.count(), (since_boot - seconds).count()};
}

}  // namespace

Result<Poller> Poller::open(int socket, int wakeup) {
  Poller poller;
  poller.socket_ = socket;
  poller.wakeup_ = wakeup;
  poller.epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (poller.epoll_ < 0) return Error{ErrorCode::system, errno, "epoll"};
  poller.timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (poller.timer_ < 0) return Error{ErrorCode::system, errno, "timerfd"};
  // The timer and the eventfd are edge-triggered: nobody has to read them after each event.
  if (!watch(poller.epoll_, EPOLL_CTL_ADD, socket, EPOLLIN) ||
      !watch(poller.epoll_, EPOLL_CTL_ADD, wakeup, EPOLLIN | EPOLLET) ||
      !watch(poller.epoll_, EPOLL_CTL_ADD, poller.timer_, EPOLLIN | EPOLLET))
    return Error{ErrorCode::system, errno, "epoll"};
  return poller;
}

Poller::Poller(Poller&& other) noexcept
    : epoll_(std::exchange(other.epoll_, -1)),
      timer_(std::exchange(other.timer_, -1)),
      socket_(other.socket_),
      wakeup_(other.wakeup_),
      want_writable_(other.want_writable_),
      armed_(other.armed_) {}

Poller::~Poller() {
  if (timer_ >= 0) ::close(timer_);
  if (epoll_ >= 0) ::close(epoll_);
}

Poller::Ready Poller::wait(std::optional<TimePoint> deadline) {
  // A timer that was left armed costs one wake-up too many, disarming it one call: leave it when it
  // is late, set it when it differs.
  if (deadline && deadline != armed_) {
    itimerspec when{};
    when.it_value = to_timespec(*deadline);
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
    armed_ = deadline;
  }
  return collect();
}

void Poller::nap(TimePoint end) {
  const timespec when = to_timespec(end);
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
}

Poller::Ready Poller::collect() {
  std::array<epoll_event, 3> events{};
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
  Ready ready;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.fd == socket_) {
      ready.readable = (event.events & EPOLLIN) != 0;
      ready.writable = want_writable_ && (event.events & EPOLLOUT) != 0;
      ready.error = (event.events & EPOLLERR) != 0;
    } else if (event.data.fd == wakeup_) {
      ready.wakeup = true;
    } else {
      armed_.reset();
    }
  }
  return ready;
}

void Poller::want_writable(bool wanted) {
  if (wanted == want_writable_) return;
  want_writable_ = wanted;
  watch(epoll_, EPOLL_CTL_MOD, socket_, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

}  // namespace xfer::net

#include "net/wakeup.hpp"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "net/clock.hpp"

namespace xfer::net {

namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// glibc has no wrapper for futex.
void futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
  ::syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
}

// Longest single sleep: keeps the arithmetic below from overflowing for "as long as it takes".
constexpr Duration kLongestSleep = std::chrono::hours(1);

}  // namespace

void Parker::sleep(std::uint32_t interest, Duration timeout) {
  const TimePoint begin = now();
  while (waiting_for_.load(std::memory_order_acquire) == interest) {
    const Duration left = timeout - (now() - begin);
    if (left <= Duration::zero()) break;
    const Duration slice = std::min(left, kLongestSleep);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(slice);
    const timespec limit{seconds.count(), (slice - seconds).count()};
    futex(waiting_for_, FUTEX_WAIT, interest, &limit);
  }
  unprepare();
}

void Parker::notify(std::uint32_t news) {
  const int saved = errno;
  const std::uint32_t before = waiting_for_.fetch_and(~news, std::memory_order_acq_rel);
  if ((before & news) != 0) futex(waiting_for_, FUTEX_WAKE, 1, nullptr);
  errno = saved;
}

EventWakeup::EventWakeup() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

EventWakeup::~EventWakeup() {
  if (fd_ >= 0) ::close(fd_);
}

void EventWakeup::notify() {
  if (!sleeping_.exchange(false, std::memory_order_acq_rel)) return;
  const int saved = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = ::write(fd_, &one, sizeof one);
  errno = saved;
}

}  // namespace xfer::net

#include "cli/signals.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/error.hpp"
#include "net/clock.hpp"

namespace xfer::cli {
namespace {

/// Wrappers and terminals may send the same wish twice at about the same time.
constexpr Duration kPatience = 1s;

bool is_ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Result<std::unique_ptr<SignalWatcher>> SignalWatcher::start() {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    if (!is_ignored(number)) ::sigaddset(&wanted, number);
  ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  const int signal_fd = ::signalfd(-1, &wanted, SFD_CLOEXEC);
  const int end_fd = ::eventfd(0, EFD_CLOEXEC);
  if (signal_fd >= 0 && end_fd >= 0)
    return std::unique_ptr<SignalWatcher>(new SignalWatcher(signal_fd, end_fd));
  const Error error{ErrorCode::system, errno, "waiting for signals"};
  if (signal_fd >= 0) ::close(signal_fd);
  return error;
}

SignalWatcher::SignalWatcher(int signal_fd, int end_fd)
    : end_fd_(end_fd), thread_([this, signal_fd] { watch(signal_fd); }) {}

SignalWatcher::~SignalWatcher() {
  ::eventfd_write(end_fd_, 1);
  thread_.join();
  ::close(end_fd_);
}

void SignalWatcher::watch(int signal_fd) {
  std::optional<TimePoint> first;
  for (;;) {
    pollfd waits[] = {{signal_fd, POLLIN, 0}, {end_fd_, POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0) continue;
    if (waits[1].revents != 0) break;
    signalfd_siginfo info{};
    if (::read(signal_fd, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) continue;
    const TimePoint now = net::now();
    if (first && now - *first > kPatience) ::_exit(exit_code(ErrorCode::interrupted));
    if (!first) first = now;
    stop_.request_stop();
  }
  ::close(signal_fd);
}

}  // namespace xfer::cli

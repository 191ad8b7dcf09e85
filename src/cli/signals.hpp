#pragma once

#include <stop_token>
#include <thread>

namespace xfer::cli {

/// Turns SIGINT, SIGTERM and SIGHUP into a stop request, on a thread of its own, and ignores
/// SIGPIPE. A signal that is ignored on entry (nohup, background jobs) stays ignored. Whoever asks
/// again later than kPatience after the first time ends the process at once with status 130.
///
/// Make it before any other thread: they inherit the blocked signals.
class SignalWatcher {
 public:
  SignalWatcher();
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  void watch(int signal_fd);

  std::stop_source stop_;
  int end_fd_ = -1;
  std::thread thread_;
};

}  // namespace xfer::cli

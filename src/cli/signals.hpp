#pragma once

#include <memory>
#include <stop_token>
#include <thread>

#include "base/result.hpp"

namespace xfer::cli {

/// Turns SIGINT, SIGTERM and SIGHUP into a stop request, on a thread of its own, and ignores
/// SIGPIPE. A signal that is ignored on entry (nohup, background jobs) stays ignored. Whoever asks
/// again later than kPatience after the first time ends the process at once with status 130.
///
/// Start it before any other thread: they inherit the blocked signals.
class SignalWatcher {
 public:
  ///   ErrorCode::system  a descriptor is missing; with the errno.
  static Result<std::unique_ptr<SignalWatcher>> start();
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  SignalWatcher(int signal_fd, int end_fd);
  void watch(int signal_fd);

  std::stop_source stop_;
  int end_fd_;
  std::thread thread_;
};

}  // namespace xfer::cli

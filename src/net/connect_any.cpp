#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>

#include "net/clock.hpp"
#include "net/driver.hpp"
#include "net/wakeup.hpp"

namespace xfer::net {

namespace {

/// How much an error says about why a host cannot be reached: an answer says more than silence.
int telling(ErrorCode code) {
  switch (code) {
    case ErrorCode::connect_rejected:
    case ErrorCode::version_mismatch:
    case ErrorCode::peer_error:
      return 4;
    case ErrorCode::connect_refused:
      return 3;
    case ErrorCode::connect_timeout:
      return 2;
    case ErrorCode::unreachable:
      return 1;
    default:
      return 0;
  }
}

/// The attempts of one connect_any(), a driver and a thread each.
class Race {
 public:
  Race(const DriverOptions& options, const udt::ConnectionConfig& config)
      : options_(options), config_(config) {}
  Race(const Race&) = delete;
  Race& operator=(const Race&) = delete;

  ~Race() {
    for (Attempt& attempt : attempts_)
      if (attempt.driver) attempt.driver->cancel();
    for (Attempt& attempt : attempts_)
      if (attempt.thread.joinable()) attempt.thread.join();
    // A stream that connected too late is let go of here, which shuts it down.
  }

  void start(const SocketAddress& address) {
    DriverOptions options = options_;
    if (options.bind.family == SocketAddress::Family::none) options.family_hint = address.family;
    auto driver = Driver::open(options);
    Attempt& attempt = attempts_.emplace_back();
    if (!driver) {
      attempt.result = driver.error();
      notify();
      return;
    }
    attempt.driver = std::move(*driver);
    attempt.thread = std::thread([this, &attempt, address] {
      auto result = attempt.driver->connect(address, config_);
      {
        const std::lock_guard lock(mutex_);
        attempt.result = std::move(result);
      }
      notify();
    });
  }

  struct Standing {
    std::optional<Connected> winner;
    std::size_t running = 0;
    std::size_t failed = 0;
    Error error{ErrorCode::unreachable, 0, nullptr};  ///< most telling of the failures
  };
  Standing standing() {
    Standing now;
    const std::lock_guard lock(mutex_);
    for (Attempt& attempt : attempts_) {
      if (!attempt.result) {
        ++now.running;
      } else if (*attempt.result) {
        if (now.winner) continue;
        attempt.thread.join();
        now.winner = Connected{std::move(attempt.driver), std::move(**attempt.result)};
      } else {
        const Error& error = attempt.result->error();
        if (now.failed == 0 || telling(error.code) > telling(now.error.code)) now.error = error;
        ++now.failed;
      }
    }
    return now;
  }

  /// Something happened that the caller of wait() should look at.
  void notify() {
    happened_.fetch_add(1, std::memory_order_acq_rel);
    parker_.notify(1);
  }
  [[nodiscard]] unsigned happened() const { return happened_.load(std::memory_order_acquire); }
  /// Sleeps until something has happened since happened() was `seen`.
  void wait(unsigned seen, Duration timeout) {
    parker_.prepare(1);
    if (happened() != seen) {
      parker_.unprepare();
    } else {
      parker_.sleep(1, timeout);
    }
  }

 private:
  struct Attempt {
    std::unique_ptr<Driver> driver;
    std::thread thread;
    std::optional<Result<std::shared_ptr<Stream>>> result;  ///< under mutex_
  };

  const DriverOptions& options_;
  const udt::ConnectionConfig& config_;
  std::mutex mutex_;
  std::deque<Attempt> attempts_;  // entries stay where they are
  std::atomic<unsigned> happened_{0};
  Parker parker_;
};

}  // namespace

std::vector<SocketAddress> connection_order(const std::vector<SocketAddress>& addresses) {
  std::deque<SocketAddress> ipv6;
  std::deque<SocketAddress> others;
  for (const SocketAddress& address : addresses)
    (address.family == SocketAddress::Family::ipv6 ? ipv6 : others).push_back(address);
  std::vector<SocketAddress> order;
  while (order.size() < addresses.size()) {
    for (auto* list : {&ipv6, &others}) {
      if (list->empty()) continue;
      order.push_back(list->front());
      list->pop_front();
    }
  }
  return order;
}

Result<Connected> connect_any(const std::vector<SocketAddress>& addresses,
                              const DriverOptions& options, const udt::ConnectionConfig& config,
                              std::stop_token cancel) {
  std::vector<SocketAddress> order = connection_order(addresses);
  if (options.bind.family != SocketAddress::Family::none)
    std::erase_if(order,
                  [&](const auto& address) { return address.family != options.bind.family; });

  Race race(options, config);
  const std::stop_callback on_cancel(cancel, [&race] { race.notify(); });
  std::size_t started = 0;
  std::size_t failures_seen = 0;
  TimePoint next_start = now();
  while (true) {
    const unsigned happened = race.happened();
    if (cancel.stop_requested()) return ErrorCode::interrupted;
    auto standing = race.standing();
    if (standing.winner) return std::move(*standing.winner);
    const bool more = started < order.size();
    if (more && (now() >= next_start || standing.failed > failures_seen)) {
      failures_seen = standing.failed;
      race.start(order[started++]);
      next_start = now() + kConnectionAttemptDelay;
      continue;
    }
    if (standing.running == 0) return standing.error;
    race.wait(happened, more ? next_start - now() : Duration::max());
  }
}

}  // namespace xfer::net

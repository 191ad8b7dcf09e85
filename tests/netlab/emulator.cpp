#include "emulator.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "net/clock.hpp"

namespace xfer::netlab {
namespace {

/// Ceiling of all packets on their way, bytes; taken as they are needed.
constexpr std::size_t kMaxMemory = std::size_t{1} << 30U;
/// Packets read in a row from one device, so that the other is not left waiting.
constexpr std::size_t kMaxReads = 64;
/// Above ordinary real-time threads of the system's own default, below its watchdogs.
constexpr int kPriority = 20;

double to_milliseconds(Duration d) { return static_cast<double>(d.count()) / 1e6; }
double to_microseconds(Duration d) { return static_cast<double>(d.count()) / 1e3; }

/// Of this process so far, user and system.
double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

Emulator::Emulator(Tun& a, Tun& b, const Settings& settings)
    : a_(a),
      b_(b),
      settings_(settings),
      pool_(settings.device_mtu, kMaxMemory),
      started_(net::now()),
      directions_{{{a, b, pool_, settings, 0, started_}, {b, a, pool_, settings, 1, started_}}} {}

void Emulator::watch(int descriptor, std::function<void()> readable) {
  watches_.push_back({descriptor, std::move(readable)});
}

void Emulator::run() {
  while (!stopped_) {
    const TimePoint begin = net::now();
    if (turn()) {
      wait(begin + settings_.tick, false);
    } else {
      wait(earlier(directions_[0].next_due(), directions_[1].next_due()), true);
    }
  }
}

bool Emulator::turn() {
  std::size_t packets = 0;
  for (auto& direction : directions_) packets += direction.receive(kMaxReads);
  for (auto& direction : directions_) packets += direction.deliver();
  return packets > 0;
}

void Emulator::wait(std::optional<TimePoint> until, bool for_packets) {
  std::vector<pollfd> polled;
  for (const auto& watch : watches_) polled.push_back({watch.descriptor, POLLIN, 0});
  if (for_packets)
    for (const Tun* tun : {&a_, &b_}) polled.push_back({tun->descriptor(), POLLIN, 0});
  timespec timeout{};
  if (until) {
    const Duration left = std::max(*until - net::now(), Duration{});
    timeout = {left.count() / 1'000'000'000, left.count() % 1'000'000'000};
  }
  if (::ppoll(polled.data(), polled.size(), until ? &timeout : nullptr, nullptr) <= 0) return;
  for (std::size_t i = 0; i < watches_.size(); ++i)
    if (polled[i].revents != 0) watches_[i].readable();
}

void Emulator::change(std::span<const std::string> options) {
  const auto outages = apply_options(settings_, options, false);
  const TimePoint now = net::now();
  // Both: the queue of one depends on the delay of the other.
  for (std::size_t i = 0; i < 2; ++i) directions_[i].change(settings_, i, outages[i], now);
}

nlohmann::json Emulator::stats() {
  const TimePoint now = net::now();
  return {{"seconds", to_seconds(now - started_)},
          {"cpu_seconds", cpu_seconds()},
          {"seed", settings_.seed},
          {"offload", {{"tcp", a_.cuts_tcp()}, {"udp", a_.cuts_udp()}}},
          {"a_to_b", direction_stats(0, now)},
          {"b_to_a", direction_stats(1, now)}};
}

nlohmann::json Emulator::direction_stats(std::size_t index, TimePoint now) {
  Direction& direction = directions_[index];
  const sim::LinkOptions& link = direction.link().options;
  const sim::LinkStats& model = direction.link().stats();
  const DirectionStats& own = direction.stats();
  const sim::QueueStats queue = direction.link().queue_stats(now);
  const double seconds = to_seconds(now - started_);
  nlohmann::json limit = link.queue_limit;
  if (link.rate == 0 || link.queue_packets > 0) limit = nullptr;
  return {
      {"rate_bit_per_s", link.rate},
      {"delay_ms", to_milliseconds(settings_.directions[index].delay)},
      {"offered", model.offered},
      {"delivered", model.delivered},
      {"delivered_bytes", model.delivered_bytes},
      {"duplicated", model.duplicated},
      {"dropped",
       {{"queue", model.dropped_queue},
        {"loss", model.dropped_loss},
        {"mtu", model.dropped_mtu},
        {"outage", model.dropped_blackout},
        {"udt", model.dropped_script},
        {"device", direction.device_drops()},
        {"memory", own.dropped_memory},
        {"malformed", own.dropped_malformed},
        {"write", own.dropped_write}}},
      {"icmp_sent", own.icmp_sent},
      {"in_flight", direction.in_flight()},
      {"handed_over", own.written},
      {"reads", own.reads},
      {"writes", own.writes},
      {"queue",
       {{"limit_bytes", limit},
        {"bytes", queue.bytes},
        {"max_bytes", queue.max_bytes},
        {"mean_bytes", seconds > 0 ? queue.byte_seconds / seconds : 0},
        {"byte_seconds", queue.byte_seconds}}},
      {"late_us",
       {{"median", to_microseconds(direction.lateness().percentile(0.5))},
        {"p99", to_microseconds(direction.lateness().percentile(0.99))},
        {"max", to_microseconds(direction.lateness().max())}}},
  };
}

void become_real_time() {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  sched_param parameters{};
  parameters.sched_priority = kPriority;
  if (::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) != 0)
    ::setpriority(PRIO_PROCESS, 0, -20);
}

}  // namespace xfer::netlab

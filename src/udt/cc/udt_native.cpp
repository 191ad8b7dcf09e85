#include "udt/cc/udt_native.hpp"

#include <algorithm>
#include <cmath>

namespace xfer::udt {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;
constexpr double kInitialCwnd = 16;
constexpr double kSlowStartPeriodUs = 1;
/// A rate is never lowered below ten packets a second.
constexpr double kMaxPeriodUs = 100'000;
constexpr double kDecreaseFactor = 1.125;
/// Rate cuts that later NAKs of one congestion period may add.
constexpr std::uint32_t kMaxExtraDecreases = 4;
const double kSynUs = static_cast<double>(to_us(kSynInterval));

double microseconds(Duration d) { return static_cast<double>(d.count()) / 1000.0; }

}  // namespace

UdtNative::UdtNative(const ControllerSetup& setup, RandomSource& random)
    : random_(random),
      mss_(setup.mss),
      slow_start_end_(std::max<double>(setup.peer_window, kInitialCwnd)),
      max_cwnd_(std::max<double>(setup.max_window, slow_start_end_)),
      min_period_us_(setup.max_rate ? static_cast<double>(setup.mss) * kMicrosecondsPerSecond /
                                          static_cast<double>(*setup.max_rate)
                                    : 0),
      cwnd_(kInitialCwnd),
      period_us_(std::max(kSlowStartPeriodUs, min_period_us_)),
      last_decrease_period_us_(period_us_) {}

void UdtNative::on_ack(const Ack& ack) {
  if (slow_start_ && ack.window_limited) {
    cwnd_ += static_cast<double>(ack.newly_acked);
    if (cwnd_ >= slow_start_end_) leave_slow_start(ack.arrival_rate_pps, ack.rtt);
  }
  if (ack.light || (updated_ && ack.now - last_update_ < kSynInterval)) return;
  updated_ = true;
  last_update_ = ack.now;
  if (slow_start_) return;

  if (ack.arrival_rate_pps > 0) {
    cwnd_ = std::min(max_cwnd_, ack.arrival_rate_pps / kMicrosecondsPerSecond *
                                        (microseconds(ack.rtt) + kSynUs) +
                                    kInitialCwnd);
  }
  if (loss_since_update_) {
    loss_since_update_ = false;
    return;
  }
  increase(ack);
}

/// inc = 10^ceil(log10(B * MSS * 8)) * 1.5e-6 / MSS packets per SYN, B being the estimated spare
/// capacity.
void UdtNative::increase(const Ack& ack) {
  constexpr double kSmallestIncrease = 0.01;
  const double rate = kMicrosecondsPerSecond / period_us_;
  const double capacity = ack.capacity_pps;
  double spare = capacity - rate;
  if (period_us_ > last_decrease_period_us_ && capacity / 9 < spare) spare = capacity / 9;
  double packets = kSmallestIncrease;
  if (spare > 0) {
    const double magnitude = std::pow(10.0, std::ceil(std::log10(spare * mss_ * 8.0)));
    packets = std::max(magnitude * 1.5e-6 / mss_, kSmallestIncrease);
  }
  set_period(period_us_ * kSynUs / (period_us_ * packets + kSynUs));
}

void UdtNative::on_loss(const Loss& loss) {
  if (slow_start_) {
    if (loss.arrival_rate_pps == 0) {  // B1: no rate is known yet
      cwnd_ = std::max(kInitialCwnd, cwnd_ / 2);
      return;
    }
    leave_slow_start(loss.arrival_rate_pps, loss.rtt);
    last_decrease_newest_ = loss.newest_sent;
    return;
  }
  loss_since_update_ = true;
  if (loss.first > last_decrease_newest_) {  // a new congestion period
    last_decrease_period_us_ = period_us_;
    decrease();
    average_naks_ = std::ceil(average_naks_ * 0.875 + nak_count_ * 0.125);
    nak_count_ = 1;
    decrease_count_ = 0;
    last_decrease_newest_ = loss.newest_sent;
    decrease_random_ = std::max<std::uint32_t>(
        1, static_cast<std::uint32_t>(std::ceil(average_naks_ * random_.unit())));
  } else if (decrease_count_++ < kMaxExtraDecreases) {
    ++nak_count_;
    if (nak_count_ % decrease_random_ == 0) {
      decrease();
      last_decrease_newest_ = loss.newest_sent;
    }
  }
}

void UdtNative::on_timeout(const Timeout& timeout) {
  if (slow_start_) leave_slow_start(timeout.arrival_rate_pps, timeout.rtt);
  last_decrease_period_us_ = period_us_;
  set_period(period_us_ * 2);
}

void UdtNative::leave_slow_start(std::uint32_t arrival_rate_pps, Duration rtt) {
  slow_start_ = false;
  cwnd_ = std::min(cwnd_, slow_start_end_);
  set_period(arrival_rate_pps > 0 ? kMicrosecondsPerSecond / arrival_rate_pps
                                  : (microseconds(rtt) + kSynUs) / cwnd_);
  last_decrease_period_us_ = period_us_;
}

void UdtNative::decrease() { set_period(period_us_ * kDecreaseFactor); }

void UdtNative::set_period(double period_us) {
  period_us_ = std::clamp(period_us, std::min(min_period_us_, kMaxPeriodUs),
                          std::max(kMaxPeriodUs, min_period_us_));
  period_us_ = std::max(period_us_, min_period_us_);
}

std::uint32_t UdtNative::cwnd() const { return static_cast<std::uint32_t>(cwnd_); }

Duration UdtNative::send_period() const {
  return Duration(static_cast<std::int64_t>(period_us_ * 1000.0));
}

}  // namespace xfer::udt

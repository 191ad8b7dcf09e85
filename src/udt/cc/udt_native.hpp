#pragma once

#include "udt/cc/controller.hpp"

namespace xfer::udt {

/// UDT4's own rate control: DAIMD (Gu and Grossman, Computer Networks 2007; wire facts,
/// section 11.1), so that it shares a path with stock flows, with the faults of group B mended:
///   B1  a loss before any rate is known halves the window and stays in slow start;
///   B2  the period is a real number, never rounded up to a whole microsecond;
///   B7  randomness is injected;
///   B9  a time-out (everything in flight is sent again) halves the rate.
class UdtNative final : public Controller {
 public:
  UdtNative(const ControllerSetup& setup, RandomSource& random);

  void on_sent(const Sent&) override {}
  void on_ack(const Ack& ack) override;
  void on_loss(const Loss& loss) override;
  void on_timeout(const Timeout& timeout) override;
  [[nodiscard]] std::uint32_t cwnd() const override;
  [[nodiscard]] Duration send_period() const override;

 private:
  void leave_slow_start(std::uint32_t arrival_rate_pps, Duration rtt);
  void decrease();
  void set_period(double period_us);
  void increase(const Ack& ack);

  RandomSource& random_;
  std::uint32_t mss_;
  double slow_start_end_;  ///< window that ends slow start, packets
  double max_cwnd_;
  double min_period_us_;

  bool slow_start_ = true;
  double cwnd_;
  double period_us_;  ///< real-valued microseconds per packet
  double last_decrease_period_us_;
  TimePoint last_update_{};
  bool updated_ = false;
  bool loss_since_update_ = false;

  double average_naks_ = 0;  ///< per congestion period, smoothed
  std::uint32_t nak_count_ = 0;
  std::uint32_t decrease_count_ = 0;  ///< later NAKs of this congestion period
  std::uint32_t decrease_random_ = 1;
  std::int64_t last_decrease_newest_ = -1;  ///< newest packet sent when the rate was last lowered
};

}  // namespace xfer::udt

#pragma once

#include "udt/cc/controller.hpp"

namespace xfer::udt {

/// The rate the operator gave (ControllerSetup::max_rate), window as large as the peer's. Where
/// more than kMostLoss of a second's packets were lost, the path cannot carry it: the rate falls by
/// a quarter, down to kLowestShare of what was asked, and comes back by a tenth each clean second.
class FixedRate final : public Controller {
 public:
  explicit FixedRate(const ControllerSetup& setup);

  void on_sent(const Sent& sent) override;
  void on_ack(const Ack& ack) override;
  void on_loss(const Loss&) override {}
  void on_timeout(const Timeout&) override {}
  [[nodiscard]] std::uint32_t cwnd() const override { return max_window_; }
  [[nodiscard]] Duration send_period() const override;

 private:
  static constexpr double kMostLoss = 0.1;
  static constexpr double kLowestShare = 1.0 / 64;
  static constexpr Duration kInterval = 1s;

  std::uint32_t max_window_;
  double period_ns_;
  double share_ = 1;  ///< of the rate asked for
  TimePoint interval_end_{};
  std::uint64_t sent_ = 0;
  std::uint64_t sent_again_ = 0;
};

}  // namespace xfer::udt

#include "udt/cc/fixed_rate.hpp"

#include <algorithm>

namespace xfer::udt {

FixedRate::FixedRate(const ControllerSetup& setup)
    : max_window_(std::max(setup.peer_window, setup.max_window)),
      period_ns_(setup.max_rate ? setup.mss * 1e9 / static_cast<double>(*setup.max_rate) : 0) {}

void FixedRate::on_sent(const Sent& sent) {
  ++sent_;
  if (sent.retransmission) ++sent_again_;
}

void FixedRate::on_ack(const Ack& ack) {
  if (ack.now < interval_end_) return;
  interval_end_ = ack.now + kInterval;
  if (static_cast<double>(sent_again_) > kMostLoss * static_cast<double>(sent_))
    share_ = std::max(share_ * 0.75, kLowestShare);
  else
    share_ = std::min(share_ * 1.1, 1.0);
  sent_ = sent_again_ = 0;
}

Duration FixedRate::send_period() const {
  return Duration(static_cast<std::int64_t>(period_ns_ / share_));
}

}  // namespace xfer::udt

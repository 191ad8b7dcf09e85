#include "udt/rtt_estimator.hpp"

#include <algorithm>
#include <chrono>

namespace xfer::udt {

void RttEstimator::sample(Duration rtt) {
  if (rtt < Duration::zero()) return;
  min_rtt_ = measured_ ? std::min(min_rtt_, rtt) : rtt;
  if (!measured_) {
    measured_ = true;
    rtt_ = rtt;
    rtt_var_ = rtt / 2;
    return;
  }
  rtt_var_ = (3 * rtt_var_ + std::chrono::abs(rtt - rtt_)) / 4;
  rtt_ = (7 * rtt_ + rtt) / 8;
}

void RttEstimator::adopt(std::uint32_t rtt_us, std::uint32_t rtt_var_us) {
  if (rtt_us == 0 || rtt_us > kMaxWireRttUs || rtt_var_us > kMaxWireRttUs) return;
  if (rtt_us == to_us(kInitialRtt) && rtt_var_us == to_us(kInitialRttVar)) return;
  sample(std::chrono::microseconds(rtt_us));
}

}  // namespace xfer::udt

#pragma once

#include "udt/limits.hpp"

namespace xfer::udt {

/// Smoothed round-trip time and its variance, by UDT's rule: RTTVar = (3 RTTVar + |rtt - RTT|) / 4,
/// RTT = (7 RTT + rtt) / 8 (wire facts, 7.6), in nanoseconds. The first sample replaces the start
/// values (fault A9).
class RttEstimator {
 public:
  void sample(Duration rtt);
  /// Takes the peer's smoothed values of an ACK, in microseconds; implausible ones and UDT's own
  /// start values, which say that the peer has not measured yet, are left out.
  void adopt(std::uint32_t rtt_us, std::uint32_t rtt_var_us);

  [[nodiscard]] bool measured() const { return measured_; }
  [[nodiscard]] Duration rtt() const { return rtt_; }
  [[nodiscard]] Duration rtt_var() const { return rtt_var_; }
  /// The least sample so far; zero if there is none.
  [[nodiscard]] Duration min_rtt() const { return min_rtt_; }
  /// RTT + 4 RTTVar: when something sent should have been answered.
  [[nodiscard]] Duration timeout() const { return rtt_ + 4 * rtt_var_; }

 private:
  bool measured_ = false;
  Duration rtt_ = kInitialRtt;
  Duration rtt_var_ = kInitialRttVar;
  Duration min_rtt_{};
};

}  // namespace xfer::udt

#pragma once

#include <algorithm>
#include <optional>

#include "udt/limits.hpp"

namespace xfer::udt {

/// What a path delivers: counts transmissions sent, delivered and lost, and takes a sample of the
/// delivery rate with each acknowledgement, by the method of draft-cheng-iccrg-delivery-rate-
/// estimation in whole packets: deliveries between a packet's sending and its acknowledgement, over
/// the longer of the times in which they were sent and acknowledged.
class DeliveryMeter {
 public:
  /// Goes with each packet from its last transmission to its acknowledgement.
  struct Stamp {
    std::uint64_t delivered = 0;  ///< in all, when it was sent
    TimePoint delivered_at{};     ///< when that number last grew
    TimePoint first_sent{};       ///< when the packets were sent that were delivered last
    bool limited = false;         ///< sending was limited by the application
    bool eased = false;           ///< the controller sent less than the path carries
  };

  struct Sample {
    double packets_per_second = 0;
    std::uint64_t prior_delivered = 0;  ///< when the sampled packet was sent
    bool limited = false;
  };

  Stamp on_sent(TimePoint now, bool eased) {
    if (pipe() == 0) first_sent_ = delivered_at_ = now;
    ++sent_;
    if (eased) ++eased_sent_;
    return {delivered_, delivered_at_, first_sent_, limited_until_ > delivered_, eased};
  }
  void on_delivered(std::uint64_t packets, TimePoint now) {
    delivered_ += packets;
    delivered_at_ = now;
  }
  /// A transmission was reported lost by the peer.
  void on_reported_lost(const Stamp& stamp) {
    if (stamp.eased) ++eased_lost_;
  }
  /// Transmissions are taken for lost.
  void on_lost(std::uint64_t packets) { lost_ += packets; }
  /// Some of them were not, and were not sent again.
  void on_found(std::uint64_t packets) { lost_ -= std::min(packets, lost_); }
  /// Everything sent has been acknowledged: whatever was counted wrong is forgotten.
  void settle() { sent_ = delivered_ + lost_; }
  /// There was nothing to send: samples until the present flight is delivered show what was asked
  /// of the path, not what it can do.
  void on_limited() { limited_until_ = std::max<std::uint64_t>(delivered_ + pipe(), 1); }

  /// The sample of a packet sent last at `sent`, known to be delivered at `now`; nullopt if no time
  /// has passed.
  std::optional<Sample> sample(const Stamp& stamp, TimePoint sent, TimePoint now) {
    const Duration interval = std::max(sent - stamp.first_sent, now - stamp.delivered_at);
    first_sent_ = std::max(first_sent_, sent);
    if (interval <= Duration::zero() || delivered_ <= stamp.delivered) return std::nullopt;
    return Sample{static_cast<double>(delivered_ - stamp.delivered) / to_seconds(interval),
                  stamp.delivered, stamp.limited};
  }

  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  /// Of the transmissions while the controller sent less than the path carries.
  [[nodiscard]] std::uint64_t eased_sent() const { return eased_sent_; }
  [[nodiscard]] std::uint64_t eased_lost() const { return eased_lost_; }
  /// Transmissions on their way, as far as is known.
  [[nodiscard]] std::uint64_t pipe() const {
    const std::uint64_t settled = delivered_ + lost_;
    return sent_ > settled ? sent_ - settled : 0;
  }

 private:
  std::uint64_t sent_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t eased_sent_ = 0;
  std::uint64_t eased_lost_ = 0;
  std::uint64_t limited_until_ = 0;
  TimePoint delivered_at_{};
  TimePoint first_sent_{};
};

}  // namespace xfer::udt

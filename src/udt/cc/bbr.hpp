#pragma once

#include <array>

#include "udt/cc/controller.hpp"

namespace xfer::udt {

/// Congestion control by a model of the path: the largest delivery rate of the last rounds and the
/// smallest round trip of the last seconds. After the public BBR drafts (draft-cardwell-iccrg-bbr-
/// congestion-control), with three differences:
///
///   random loss   what is lost while less is sent than the path carries is not congestion; the
///                 rate is raised by that share, so that the path stays full (see
///                 note_random_loss());
///   queue         the allowance above one bandwidth-delay product is a time, kQueueAllowance, and
///                 not a multiple of the round trip, so that flows of different round trips put
///                 equal shares into a queue;
///   start         at a larger window, for what is sent is big.
///
/// Counts what is on its way (limits_pipe()), which holes do not inflate.
class Bbr final : public Controller {
 public:
  Bbr(const ControllerSetup& setup, RandomSource& random);

  void on_sent(const Sent&) override {}
  void on_ack(const Ack& ack) override;
  void on_loss(const Loss&) override {}
  void on_timeout(const Timeout& timeout) override;
  void on_packet_size(std::uint32_t mss) override;
  [[nodiscard]] bool eased() const override { return rate_gain() < 1; }
  [[nodiscard]] std::uint32_t cwnd() const override;
  [[nodiscard]] Duration send_period() const override;
  [[nodiscard]] bool limits_pipe() const override { return true; }

 private:
  enum class State : std::uint8_t { startup, drain, cruise, probe_rtt };

  /// Largest delivery rate of the last kRounds rounds.
  class RateFilter {
   public:
    void add(double rate) { rates_[newest_] = std::max(rates_[newest_], rate); }
    void next_round() {
      newest_ = (newest_ + 1) % kRounds;
      rates_[newest_] = 0;
    }
    void scale(double factor) {
      for (double& rate : rates_) rate *= factor;
    }
    [[nodiscard]] double max() const { return *std::max_element(rates_.begin(), rates_.end()); }

   private:
    static constexpr std::size_t kRounds = 10;
    std::array<double, kRounds> rates_{};
    std::size_t newest_ = 0;
  };

  void update_rtt(const Ack& ack);
  void update_rate(const Delivery& delivery);
  void begin_round(const Delivery& delivery);
  void limit_inflight(std::uint64_t delivered, std::uint64_t lost);
  void note_random_loss(const Delivery& delivery);
  void check_full(const Delivery& delivery);
  void enter_cruise(TimePoint now);
  void advance_phase(const Ack& ack);
  void check_probe_rtt(const Ack& ack);
  [[nodiscard]] double rate_gain() const;
  [[nodiscard]] bool shows_queue(Duration rtt) const;
  [[nodiscard]] bool starts_fast() const;
  [[nodiscard]] double bdp() const;

  RandomSource& random_;
  std::uint32_t mss_;  ///< bytes
  double max_rate_;    ///< operator's ceiling, bytes/s; 0: none
  double max_cwnd_;

  State state_ = State::startup;
  RateFilter rates_;
  double rate_ = 0;  ///< packets/s
  Duration min_rtt_;
  Duration newest_rtt_{};
  bool rtt_measured_ = false;
  TimePoint min_rtt_seen_{};

  std::uint64_t round_end_ = 0;  ///< a packet sent when so many were delivered ends the round

  // Since it was last judged whether the queue holds what is in flight.
  unsigned watch_rounds_ = 0;
  std::uint64_t watch_delivered_ = 0;     ///< at the beginning
  std::uint64_t watch_lost_ = 0;          ///< same
  Duration watch_rtt_ = Duration::max();  ///< smallest
  double watch_pipe_ = 0;                 ///< largest
  bool overran_ = false;                  ///< the queue was, in this phase
  double inflight_limit_ = 0;             ///< packets; what the queue could not hold; 0: none

  // Transmissions while eased(), older ones counting ever less, and those of them that were lost.
  double eased_sent_ = 0;
  double eased_lost_ = 0;
  std::uint64_t eased_sent_seen_ = 0;
  std::uint64_t eased_lost_seen_ = 0;
  double random_loss_ = 0;

  double full_rate_ = 0;  ///< when it last grew as in startup
  unsigned full_rounds_ = 0;

  std::size_t phase_ = 0;
  TimePoint phase_began_{};
  std::optional<TimePoint> probe_rtt_until_;
};

}  // namespace xfer::udt

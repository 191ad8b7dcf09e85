#include "udt/cc/bbr.hpp"

#include <algorithm>

namespace xfer::udt {
namespace {

/// 2 / ln 2: the smallest gain at which the rate can double each round trip.
constexpr double kStartupGain = 2.885;
/// In flight while starting, in bandwidth-delay products: a queue of one is not overrun.
constexpr double kStartupCwndGain = 2.0;
constexpr unsigned kFullRounds = 3;
constexpr double kFullGrowth = 1.25;
/// Probe for more, give back what that queued, then six round trips at the rate found.
constexpr std::array<double, 8> kPhaseGains{1.25, 0.75, 1, 1, 1, 1, 1, 1};
constexpr std::size_t kDrainPhase = 1;

constexpr double kInitialCwnd = 128;
constexpr double kMinCwnd = 4;
/// Packets of acknowledgement granularity: an ACK each 64 packets, a train being built.
constexpr double kBatch = 2.0 * kLightAckInterval;
constexpr Duration kAckSpacing = 2 * kReportSpacing;
/// Most queue that one flow builds up: of a round trip at its own rate, and as time. Three quarters
/// share a queue of one round trip evenly with a loss-based flow (decision 0015).
constexpr double kQueueShare = 0.75;
constexpr Duration kQueueAllowance = 25ms;
/// Least: hosts that sleep and read in batches hold packets this long, which is no queue of the
/// path.
constexpr Duration kLeastAllowance = 2ms;

constexpr Duration kMinRttWindow = 10s;
constexpr Duration kProbeRttTime = 200ms;
constexpr double kProbeRttCwndGain = 0.5;

/// Most loss that is taken for random.
constexpr double kMaxRandomLoss = 0.15;
/// Fewest transmissions that say something about it, and what remains of them a cycle later.
constexpr double kFewestEased = 100;
constexpr double kEasedMemory = 0.5;

/// Loss beside a standing queue that does not count as an overflow of it.
constexpr double kTolerableLoss = 0.001;
constexpr double kRandomLossMargin = 1.5;
constexpr unsigned kWatchRounds = 3;
constexpr std::uint64_t kFewestWatched = 400;
constexpr double kLimitBackoff = 0.7;
constexpr double kLimitGrowth = 1.05;
/// Round trips differ by this much without a queue.
constexpr Duration kQueueNoise = 300us;

/// While starting and no queue is seen.
constexpr double kFastStartGain = 4.0;

}  // namespace

Bbr::Bbr(const ControllerSetup& setup, RandomSource& random)
    : random_(random),
      mss_(setup.mss),
      max_rate_(static_cast<double>(setup.max_rate.value_or(0))),
      max_cwnd_(std::max(setup.peer_window, setup.max_window)),
      min_rtt_(std::max(setup.rtt, Duration(1us))) {}

bool Bbr::shows_queue(Duration rtt) const { return rtt > min_rtt_ + min_rtt_ / 16 + kQueueNoise; }

/// As long as no queue has formed, the path carries more, perhaps far more.
bool Bbr::starts_fast() const { return !shows_queue(newest_rtt_); }

double Bbr::bdp() const { return rate_ * to_seconds(min_rtt_); }

void Bbr::on_ack(const Ack& ack) {
  update_rtt(ack);
  watch_pipe_ = std::max<double>(watch_pipe_, ack.delivery.pipe);
  const bool new_round = ack.delivery.rate > 0 && ack.delivery.prior_delivered >= round_end_;
  if (new_round) begin_round(ack.delivery);
  update_rate(ack.delivery);
  if (new_round) check_full(ack.delivery);
  if (state_ == State::drain && ack.delivery.pipe <= bdp()) enter_cruise(ack.now);
  if (state_ == State::cruise) advance_phase(ack);
  check_probe_rtt(ack);
}

void Bbr::update_rtt(const Ack& ack) {
  const Duration rtt = ack.delivery.rtt.value_or(ack.light ? Duration::max() : ack.rtt);
  watch_rtt_ = std::min(watch_rtt_, rtt);
  if (rtt != Duration::max()) newest_rtt_ = rtt;
  // A sample nearly as short as the shortest confirms it.
  const bool expired = rtt_measured_ && ack.now - min_rtt_seen_ > kMinRttWindow &&
                       state_ == State::probe_rtt && rtt != Duration::max();
  if (!rtt_measured_ || rtt <= min_rtt_ || expired) {
    if (rtt == Duration::max()) return;
    min_rtt_ = rtt;
    rtt_measured_ = true;
    min_rtt_seen_ = ack.now;
  } else if (rtt <= min_rtt_ + min_rtt_ / 32 + 100us) {
    min_rtt_seen_ = ack.now;
  }
}

void Bbr::begin_round(const Delivery& delivery) {
  round_end_ = delivery.delivered;
  rates_.next_round();
  // Rounds are looked at together: one probe's queue is gone after so many.
  const std::uint64_t delivered = delivery.delivered - watch_delivered_;
  if (++watch_rounds_ < kWatchRounds || delivered < kFewestWatched) return;
  watch_rounds_ = 0;
  limit_inflight(delivered, delivery.lost - std::min(watch_lost_, delivery.lost));
  watch_delivered_ = delivery.delivered;
  watch_lost_ = delivery.lost;
  watch_rtt_ = Duration::max();
  watch_pipe_ = 0;
}

/// A stretch with a queue all the time and more loss than the path has by itself: the queue does
/// not hold what was in flight.
void Bbr::limit_inflight(std::uint64_t delivered, std::uint64_t lost) {
  if (watch_rtt_ == Duration::max()) return;
  const double share = static_cast<double>(lost) / static_cast<double>(delivered + lost);
  if (!shows_queue(watch_rtt_) || share <= random_loss_ * kRandomLossMargin + kTolerableLoss)
    return;
  inflight_limit_ = kLimitBackoff * std::min<double>(watch_pipe_, cwnd());
  overran_ = true;
}

/// What is lost while less is sent than the path carries is not lost by our own congestion.
void Bbr::note_random_loss(const Delivery& delivery) {
  eased_sent_ =
      kEasedMemory * eased_sent_ + static_cast<double>(delivery.eased_sent - eased_sent_seen_);
  eased_lost_ =
      kEasedMemory * eased_lost_ + static_cast<double>(delivery.eased_lost - eased_lost_seen_);
  eased_sent_seen_ = delivery.eased_sent;
  eased_lost_seen_ = delivery.eased_lost;
  if (eased_sent_ >= kFewestEased)
    random_loss_ = std::min(eased_lost_ / eased_sent_, kMaxRandomLoss);
}

void Bbr::update_rate(const Delivery& delivery) {
  if (delivery.rate <= 0) return;
  if (!delivery.limited || delivery.rate > rate_) rates_.add(delivery.rate);
  rate_ = rates_.max();
}

/// The path is full when three rounds in a row did not bring a quarter more.
void Bbr::check_full(const Delivery& delivery) {
  if (state_ != State::startup || delivery.limited) return;
  if (rate_ >= full_rate_ * kFullGrowth) {
    full_rate_ = rate_;
    full_rounds_ = 0;
  } else if (++full_rounds_ >= kFullRounds) {
    state_ = State::drain;
  }
}

void Bbr::enter_cruise(TimePoint now) {
  overran_ = false;
  state_ = State::cruise;
  // Any phase but the one that drains, so that flows which started together probe apart.
  phase_ = kDrainPhase + 1 + random_.below(kPhaseGains.size() - 1);
  phase_ %= kPhaseGains.size();
  phase_began_ = now;
}

void Bbr::advance_phase(const Ack& ack) {
  const double gain = kPhaseGains[phase_];
  const bool elapsed = ack.now - phase_began_ > min_rtt_;
  const bool done = gain > 1   ? elapsed && (ack.delivery.pipe >= gain * bdp() ||
                                           ack.now - phase_began_ > 2 * min_rtt_)
                    : gain < 1 ? elapsed || ack.delivery.pipe <= bdp()
                               : elapsed;
  if (!done) return;
  // A probe that did not overrun the queue: perhaps it holds more now.
  if (gain > 1 && !overran_) inflight_limit_ *= kLimitGrowth;
  phase_ = (phase_ + 1) % kPhaseGains.size();
  phase_began_ = ack.now;
  overran_ = false;
  if (phase_ == 0) note_random_loss(ack.delivery);
}

void Bbr::check_probe_rtt(const Ack& ack) {
  if (state_ == State::probe_rtt) {
    if (!probe_rtt_until_ && ack.delivery.pipe <= cwnd())
      probe_rtt_until_ = ack.now + std::max(kProbeRttTime, min_rtt_);
    if (!probe_rtt_until_ || ack.now < *probe_rtt_until_) return;
    probe_rtt_until_.reset();
    min_rtt_seen_ = ack.now;
    if (full_rounds_ >= kFullRounds)
      enter_cruise(ack.now);
    else
      state_ = State::startup;
  } else if (rtt_measured_ && ack.now - min_rtt_seen_ > kMinRttWindow) {
    state_ = State::probe_rtt;
  }
}

void Bbr::on_timeout(const Timeout& timeout) {
  // Everything in flight is sent again, perhaps over another path: measure it anew.
  full_rate_ = 0;
  full_rounds_ = 0;
  state_ = State::startup;
  min_rtt_seen_ = timeout.now;
  random_loss_ = 0;
}

/// The path's bytes are what stays the same.
void Bbr::on_packet_size(std::uint32_t mss) {
  const double factor = static_cast<double>(mss_) / mss;
  mss_ = mss;
  rates_.scale(factor);
  rate_ *= factor;
  full_rate_ *= factor;
  inflight_limit_ *= factor;
}

double Bbr::rate_gain() const {
  switch (state_) {
    case State::startup:
      return starts_fast() ? kFastStartGain : kStartupGain;
    case State::drain:
      return 1 / kStartupGain;
    case State::cruise:
      return kPhaseGains[phase_];
    case State::probe_rtt:
      break;
  }
  return 1;
}

std::uint32_t Bbr::cwnd() const {
  double packets = kInitialCwnd;
  if (rate_ > 0) {
    const double allowance = std::clamp(kQueueShare * to_seconds(min_rtt_),
                                        to_seconds(kLeastAllowance), to_seconds(kQueueAllowance));
    const double batch = std::clamp(rate_ * to_seconds(kAckSpacing), kMinCwnd, kBatch);
    packets = bdp() + rate_ * allowance + batch;
    if (inflight_limit_ > 0)
      packets =
          std::clamp(inflight_limit_, std::max(rate_gain(), 1.0) * bdp() + batch, packets + batch);
    if (state_ == State::startup)
      packets = std::max((starts_fast() ? kFastStartGain : kStartupCwndGain) * bdp(), kInitialCwnd);
    if (state_ == State::probe_rtt) packets = kProbeRttCwndGain * bdp();
  }
  return static_cast<std::uint32_t>(std::clamp(packets, kMinCwnd, max_cwnd_));
}

Duration Bbr::send_period() const {
  double rate = rate_ > 0 ? rate_ : kInitialCwnd / to_seconds(min_rtt_);
  rate *= rate_gain() / (1 - random_loss_);
  if (max_rate_ > 0) rate = std::min(rate, max_rate_ / mss_);
  return Duration(static_cast<std::int64_t>(1e9 / rate));
}

}  // namespace xfer::udt

#include "udt/path_mtu.hpp"

#include <algorithm>

namespace xfer::udt {
namespace {

/// Unanswered probes of one size after which it counts as too large: with 10 % loss each way one
/// search in 4000 errs.
constexpr unsigned kMaxProbes = 5;
/// The same in doubt, where the network has said that packets are too large.
constexpr unsigned kMaxHintedProbes = 3;
/// Small probes that must have come through before large ones are given up.
constexpr unsigned kLivingProbes = 3;
/// The search ends when it is this close.
constexpr std::uint32_t kGrain = 16;
/// A probe that only shows that the path lives.
constexpr std::uint32_t kSmallProbe = static_cast<std::uint32_t>(wire::kPayloadOverhead) + 4;
constexpr Duration kShortestRound = 2 * kSynInterval;

}  // namespace

PathMtu::PathMtu(const Setup& setup, RandomSource& random, ConnectionStats& stats)
    : random_(random),
      stats_(stats),
      size_(setup.first),
      largest_(setup.largest),
      probing_(setup.probing),
      too_large_(setup.largest + 1),
      raise_after_(kPathMtuRaise) {}

void PathMtu::on_delivered(std::uint32_t size, TimePoint now) {
  if (!probing_ || size + 1 < size_) return;  // a full packet may be one byte short
  if (in_doubt()) end_doubt(now);
  if (state_ == State::waiting) search(now);
}

void PathMtu::on_stuck(bool heard, TimePoint now) {
  if (in_doubt() || fragmenting_) return;
  if (probing_) {
    doubt(kMaxProbes);
  } else if (heard) {
    fragmenting_ = true;
    ++stats_.path_black_holes;
    await_raise(now);
  }
}

void PathMtu::on_hint(std::uint32_t mtu, TimePoint now) {
  hint_ = std::max(mtu, kLeastPathMtu);
  if (hint_ >= size_) {
    if (state_ == State::searching && probe_.size > hint_) {
      too_large_ = probe_.size;
      choose_candidate(now);
    }
  } else if (!probing_) {
    fragmenting_ = true;
    await_raise(now);
  } else if (!in_doubt() && !fragmenting_) {
    doubt(kMaxHintedProbes);
  }
}

void PathMtu::on_confirmed(const Probe& probe, TimePoint now) {
  if (in_doubt() && probe == small_) {
    if (!small_answered_) ++small_confirmed_;
    small_answered_ = true;
  } else if (probe == probe_ && (in_doubt() || state_ == State::searching)) {
    ++stats_.path_probes_confirmed;
    if (in_doubt()) return end_doubt(now);
    size_ = probe_.size;
    fragmenting_ = false;
    choose_candidate(now);
  }
}

void PathMtu::handle_timeout(Duration answer, TimePoint now) {
  if (raise_at_ && *raise_at_ <= now) {
    raise_at_.reset();
    raise_after_ = std::min(2 * raise_after_, kPathMtuRaise);
    too_large_ = largest_ + 1;
    if (probing_)
      search(now);
    else
      fragmenting_ = false;
  }
  if (!round_ends_ || *round_ends_ > now) return;
  round_ends_.reset();
  if (state_ == State::searching) {
    if (rounds_ < kMaxProbes) return send_round();
    too_large_ = probe_.size;
    choose_candidate(now);
  } else if (in_doubt()) {
    if (rounds_ >= max_rounds_ && small_confirmed_ >= kLivingProbes) return fall(now);
    if (rounds_ < max_rounds_ + kLivingProbes) return send_round();
    // Nothing at all gets through, which says nothing about sizes: begin again, at leisure.
    rounds_ = small_confirmed_ = 0;
    probe_due_ = small_due_ = false;
    round_ends_ = now + std::max(answer, kMaxBackoff);
  }
}

/// From waiting or complete.
void PathMtu::search(TimePoint now) {
  state_ = State::searching;
  choose_candidate(now);
}

/// What to probe next; 0: the search is over. The largest size first, for it mostly works; then
/// where the network pointed; then half-way.
std::uint32_t PathMtu::candidate() const {
  if (fragmenting_) return too_large_ > size_ ? size_ : 0;
  if (too_large_ > largest_) return largest_ > size_ ? largest_ : 0;
  if (hint_ > size_ && hint_ < too_large_) return hint_;
  return too_large_ - size_ > kGrain ? (size_ + too_large_) / 2 & ~3U : 0;
}

void PathMtu::choose_candidate(TimePoint now) {
  probe_ = {candidate(), static_cast<std::uint32_t>(random_.next_u64())};
  rounds_ = 0;
  if (probe_.size != 0) return send_round();
  state_ = State::complete;
  round_ends_.reset();
  probe_due_ = false;
  if (size_ < largest_ || fragmenting_) await_raise(now);
}

/// From any state but doubting.
void PathMtu::doubt(unsigned rounds) {
  state_ = State::doubting;
  probe_ = {size_, static_cast<std::uint32_t>(random_.next_u64())};
  max_rounds_ = rounds;
  rounds_ = small_confirmed_ = 0;
  raise_at_.reset();
  send_round();
}

void PathMtu::end_doubt(TimePoint now) {
  state_ = State::waiting;
  hint_ = 0;
  round_ends_.reset();
  probe_due_ = small_due_ = false;
  search(now);
}

/// From doubting: a black hole. What is smaller is tried out by the data itself.
void PathMtu::fall(TimePoint now) {
  ++stats_.path_black_holes;
  state_ = State::waiting;
  too_large_ = size_;
  raise_after_ = kPathMtuFirstRaise;
  if (size_ <= kLeastPathMtu)
    fragmenting_ = true;
  else if (hint_ >= kLeastPathMtu && hint_ < size_)
    size_ = hint_;
  else
    size_ = size_ > kBasePathMtu ? kBasePathMtu : kLeastPathMtu;
  hint_ = 0;
  if (fragmenting_) await_raise(now);
}

/// One more try of the present probes; a round of doubt has a small one of its own.
void PathMtu::send_round() {
  ++rounds_;
  probe_due_ = true;
  if (!in_doubt()) return;
  small_ = {kSmallProbe, static_cast<std::uint32_t>(random_.next_u64())};
  small_due_ = true;
  small_answered_ = false;
}

void PathMtu::await_raise(TimePoint now) { raise_at_ = now + raise_after_; }

std::optional<PathMtu::Probe> PathMtu::poll(Duration answer, TimePoint now) {
  if (!probe_due_ && !small_due_) return std::nullopt;
  const Probe next = probe_due_ ? probe_ : small_;
  (probe_due_ ? probe_due_ : small_due_) = false;
  ++stats_.path_probes_sent;
  round_ends_ = now + std::max(answer, kShortestRound);
  return next;
}

std::optional<TimePoint> PathMtu::next_deadline() const { return earlier(round_ends_, raise_at_); }

}  // namespace xfer::udt

#pragma once

#include <optional>

#include "base/random.hpp"
#include "udt/limits.hpp"
#include "udt/stats.hpp"

namespace xfer::udt {

/// Finds out how large packets may be on the way to the peer (RFC 8899): padded probes, confirmed
/// by the peer, look for the largest size; probes of the size in use tell a black hole, which
/// swallows large packets without a word, from plain loss. Pure; the connection tells it what
/// happens, sends its probes and its packets by size().
///
///   waiting   -> searching  a packet of the size in use was acknowledged
///   searching -> complete   the largest size is found
///   complete  -> searching  the raise timer: the path may have changed
///   any       -> doubting   nothing gets through; the size in use is probed beside a small packet
///   doubting  -> waiting    only the small ones get through: a smaller size is used
///   doubting  -> back       a packet of the size in use gets through
///
/// Without a peer that confirms probes the size stays as it is, and packets may be fragmented for a
/// while when they do not get through. Sizes are bytes, counted as the MSS is.
class PathMtu {
 public:
  struct Setup {
    std::uint32_t first;    ///< size of the first packets; used without a probe
    std::uint32_t largest;  ///< never more, at least `first`
    bool probing;           ///< the peer confirms probes
  };
  /// `random` makes tokens that nobody guesses; it and `stats` must outlive this.
  PathMtu(const Setup& setup, RandomSource& random, ConnectionStats& stats);

  /// Size of a full packet now.
  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// Packets above this size may be fragmented on their way.
  [[nodiscard]] std::uint32_t unfragmented() const { return fragmenting_ ? 0 : size_; }

  // Handle. `answer` is how long an answer may take.

  /// A packet of that size, which could not be fragmented, was acknowledged.
  void on_delivered(std::uint32_t size, TimePoint now);
  /// Nothing is acknowledged although it was sent several times. @param heard  the peer lives.
  void on_stuck(bool heard, TimePoint now);
  struct Probe {
    std::uint32_t size = 0;
    std::uint32_t token = 0;
    friend bool operator==(const Probe&, const Probe&) = default;
  };
  /// The peer has got a probe.
  void on_confirmed(const Probe& probe, TimePoint now);
  /// The network says that packets above `mtu` do not fit. Only a hint, for it may be forged: it
  /// says where to look.
  void on_hint(std::uint32_t mtu, TimePoint now);
  void handle_timeout(Duration answer, TimePoint now);

  // Poll.

  /// The probe to send now, if one is due.
  std::optional<Probe> poll(Duration answer, TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

 private:
  enum class State : std::uint8_t { waiting, searching, complete, doubting };

  void search(TimePoint now);
  [[nodiscard]] std::uint32_t candidate() const;
  void choose_candidate(TimePoint now);
  void doubt(unsigned rounds);
  void end_doubt(TimePoint now);
  void fall(TimePoint now);
  void send_round();
  void await_raise(TimePoint now);
  [[nodiscard]] bool in_doubt() const { return state_ == State::doubting; }

  RandomSource& random_;
  ConnectionStats& stats_;
  State state_ = State::waiting;
  std::uint32_t size_;
  std::uint32_t largest_;
  bool probing_;
  bool fragmenting_ = false;
  std::uint32_t too_large_;  ///< smallest size that was found not to get through
  std::uint32_t hint_ = 0;   ///< 0: none

  // The probes on their way: the one that looks, and in doubt a small one beside it.
  Probe probe_{};
  Probe small_{};
  bool probe_due_ = false;
  bool small_due_ = false;
  unsigned rounds_ = 0;      ///< sent of the present ones
  unsigned max_rounds_ = 0;  ///< in doubt
  unsigned small_confirmed_ = 0;
  bool small_answered_ = false;  ///< this round's
  std::optional<TimePoint> round_ends_;

  Duration raise_after_;
  std::optional<TimePoint> raise_at_;
};

}  // namespace xfer::udt

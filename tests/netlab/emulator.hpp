#pragma once

#include <array>
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "direction.hpp"

namespace xfer::netlab {

/// Runs two directions between two devices in real time, in one thread.
///
/// A turn reads all packets that wait and hands over all that are due. After a turn with packets
/// the thread rests for a tick, so that dense traffic gathers; after one without it sleeps until
/// something happens.
class Emulator {
 public:
  /// The devices must outlive the object. `settings` are those of both directions.
  Emulator(Tun& a, Tun& b, const Settings& settings);

  /// Calls back when that descriptor is readable, for as long as the object lives.
  void watch(int descriptor, std::function<void()> readable);
  /// Until stop() is called from such a callback.
  void run();
  void stop() { stopped_ = true; }

  /// Options as from `netlab set`. @throws UsageError
  void change(std::span<const std::string> options);
  /// All counters and what they are about.
  [[nodiscard]] nlohmann::json stats();

 private:
  struct Watch {
    int descriptor;
    std::function<void()> readable;
  };
  bool turn();
  void wait(std::optional<TimePoint> until, bool for_packets);
  nlohmann::json direction_stats(std::size_t index, TimePoint now);

  Tun& a_;
  Tun& b_;
  Settings settings_;
  PacketPool pool_;
  TimePoint started_;
  std::array<Direction, 2> directions_;
  std::vector<Watch> watches_;
  bool stopped_ = false;
};

/// Gives the calling thread precedence over normal ones, if that is allowed, and exact sleeps.
/// Processes started later do not inherit it.
void become_real_time();

}  // namespace xfer::netlab

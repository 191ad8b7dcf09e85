#pragma once

#include <array>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "link.hpp"

namespace xfer::netlab {

/// An option that cannot be understood; what() says which, and what would be valid.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How much may wait for a link: an amount in one of four units.
struct QueueLimit {
  enum class Unit { bytes, packets, milliseconds, bdp };
  double amount = 1;
  Unit unit = Unit::bdp;
};

/// Every `every`-th data packet of a UDT flow and its first `repeats` retransmissions are dropped.
struct UdtDrop {
  std::int64_t every = 0;  ///< 0: none
  unsigned repeats = 0;
};

/// When nothing gets through; `start` counts from when the option was given.
struct Outage {
  Duration start{};
  Duration length{};
};

/// One direction of the path, as the options say it.
struct DirectionSettings {
  std::uint64_t rate = 0;  ///< bits/s of IP packets; 0: no limit
  Duration delay{};
  Duration jitter{};  ///< uniform between -jitter and +jitter
  bool jitter_reorders = false;
  QueueLimit queue;
  double loss = 0;
  sim::BurstLoss burst;
  double duplication = 0;
  double reordering = 0;
  Duration reordering_delay{};
  std::size_t mtu = 65'535;
  bool icmp = false;  ///< what is longer than the MTU is answered; else it vanishes
  UdtDrop udt_drop;
  std::vector<Outage> outages;
};

/// The whole lab.
struct Settings {
  std::array<DirectionSettings, 2> directions;  ///< a to b, b to a

  // Only when the lab is made.
  std::uint64_t seed = 1;
  std::size_t device_mtu = 1500;
  std::size_t tcp_buffer = 0;  ///< bytes a TCP socket may use each way; 0: the kernel's default
  Duration tick{50us};         ///< how long dense traffic may gather, so how late it may be
  std::size_t device_queue = 10'000;  ///< packets between the kernel and the emulator
  bool offload = true;
  bool coalesce = true;
};

/// Changes `settings` by command-line options. Those between `--ab` and `--ba` or `--both` concern
/// one direction.
///
/// @param making_lab whether the options that cannot be changed later are allowed.
/// @return the directions whose outages were given: their start counts from now on.
/// @throws UsageError and leaves `settings` as they were.
std::array<bool, 2> apply_options(Settings& settings, std::span<const std::string> options,
                                  bool making_lab);

/// A line for each option.
std::string options_help();

/// The model of one direction.
///
/// @param direction  0: a to b, 1: b to a.
/// @param outage_origin  what the starts of outages count from.
sim::LinkOptions link_options(const Settings& settings, std::size_t direction,
                              TimePoint outage_origin);

/// The drop rules that go with it.
std::vector<sim::DropRule> drop_rules(const DirectionSettings& settings);

/// Generator seed of one direction.
std::uint64_t link_seed(const Settings& settings, std::size_t direction);

}  // namespace xfer::netlab

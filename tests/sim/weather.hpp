#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/time.hpp"

namespace xfer::sim {

/// What one weather-then-calm run came to.
struct WeatherResult {
  std::string failure;      ///< empty: everything held
  std::string description;  ///< the run's parameters in one line
  /// Time from the healing of the link to completion, in units of what the whole transfer takes on
  /// an ideal link of that rate and delay; 0 if it was complete before, and for runs with damaged
  /// packets, which need not complete.
  double completion_ratio = 0;
  Duration simulated{};     ///< virtual time that passed
  std::uint64_t bytes = 0;  ///< delivered to applications
  std::uint64_t events = 0;
  std::uint64_t hash = 0;  ///< of everything that happened
};

/// One run: a random topology, transfer and application behaviour; random faults for a while, then
/// a perfect link, on which everything must complete within a bound. The seed determines all of it.
/// `log`: where to write every packet, or nullptr.
WeatherResult run_weather(std::uint64_t seed, std::FILE* log = nullptr);

}  // namespace xfer::sim

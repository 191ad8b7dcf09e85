// One transfer in the simulator, between two cores on a fast long path: its share of the capacity
// in steady state, the memory of the cores, and how fast the simulator runs. Prints one JSON
// object.

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "sim/scenario.hpp"

namespace xfer::sim {
namespace {

struct Options {
  double gigabits = 10;
  double rtt_ms = 100;
  double loss = 0;
  double warm_up_s = 5;
  double measured_s = 5;
  double window_bdp = 0;  ///< bandwidth-delay products; 0: as the cores size it themselves
  double memory_bdp = 4;
  unsigned packet = 1500;
  std::uint64_t seed = 1;
  udt::ControllerKind controller = udt::ConnectionConfig{}.controller;
};

PairOptions pair_options(const Options& options) {
  const auto rtt = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double, std::milli>(options.rtt_ms));
  const auto rate = static_cast<std::uint64_t>(options.gigabits * 1e9);
  const double bdp = options.gigabits * 1e9 / 8 * options.rtt_ms / 1e3;
  PairOptions pair = upload(std::uint64_t{1} << 50U, rate, rtt);
  pair.seed = options.seed;
  pair.path.loss = options.loss;
  pair.watch = false;
  pair.caller_app.ring = std::size_t{1} << 20U;
  while (static_cast<double>(pair.caller_app.ring) < std::max(options.window_bdp, 2.5) * bdp)
    pair.caller_app.ring *= 2;
  pair.listener_app.verify = false;
  pair.driver.socket_buffer = std::size_t{64} << 20U;
  for (auto* const config : {&pair.caller, &pair.listener}) {
    config->controller = options.controller;
    config->mss = options.packet;
    config->max_memory =
        std::max(config->max_memory, static_cast<std::uint64_t>(options.memory_bdp * bdp));
    if (options.window_bdp <= 0) continue;
    const auto packets = static_cast<std::uint32_t>(std::min(
        options.window_bdp * bdp / options.packet, static_cast<double>(udt::kMaxFlightWindow)));
    config->receive_window = std::max(config->receive_window, packets);
    config->send_window = std::max(config->send_window, packets);
  }
  return pair;
}

int run(const Options& options) {
  Pair pair(pair_options(options));
  const auto run_for = [&](double seconds) {
    pair.network.run_for(
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)));
  };
  const auto begin = std::chrono::steady_clock::now();
  pair.start();
  run_for(options.warm_up_s);
  const std::uint64_t before = pair.received();
  run_for(options.measured_s);
  const double goodput = static_cast<double>(pair.received() - before) * 8 / options.measured_s;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  if (!pair.network.failure().empty()) {
    std::fprintf(stderr, "%s\n", pair.network.failure().c_str());
    return 1;
  }
  const double payload = static_cast<double>(options.packet - 44) / options.packet;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      R"({"share":%.4f,"goodput_bits_per_s":%.0f,"sender_peak_bytes":%lld,)"
      R"("receiver_peak_bytes":%lld,"process_peak_bytes":%lld,"wall_s_per_simulated_s":%.3f})"
      "\n",
      goodput / (options.gigabits * 1e9 * payload), goodput,
      static_cast<long long>(pair.caller.memory().peak_bytes),
      static_cast<long long>(pair.listener.memory().peak_bytes),
      static_cast<long long>(usage.ru_maxrss) * 1024,
      wall.count() / (options.warm_up_s + options.measured_s));
  return 0;
}

}  // namespace
}  // namespace xfer::sim

int main(int argc, char** argv) {
  using xfer::udt::ControllerKind;
  xfer::sim::Options options;
  CLI::App app("A transfer on a fast long path in virtual time");
  app.add_option("--gbit", options.gigabits, "rate of the path");
  app.add_option("--rtt-ms", options.rtt_ms);
  app.add_option("--loss", options.loss, "probability, both ways");
  app.add_option("--warm-up", options.warm_up_s, "virtual seconds before measuring");
  app.add_option("--seconds", options.measured_s, "virtual seconds measured");
  app.add_option("--window-bdp", options.window_bdp,
                 "windows in bandwidth-delay products; 0: as the cores size them themselves");
  app.add_option("--memory-bdp", options.memory_bdp, "memory ceiling likewise");
  app.add_option("--packet", options.packet, "bytes");
  app.add_option("--seed", options.seed);
  const std::map<std::string, ControllerKind> controllers{{"udt", ControllerKind::udt_native},
                                                          {"bbr", ControllerKind::bbr}};
  app.add_option("--cc", options.controller)->transform(CLI::CheckedTransformer(controllers));
  CLI11_PARSE(app, argc, argv);
  return xfer::sim::run(options);
}

// Prints the table of docs/interop.md: how long one packet stays missing when it and its first
// retransmissions are lost, for every pairing of our implementation and stock UDT4, through the
// impairment proxy.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <vector>

#include "interop/pair.hpp"

namespace xfer::interop {
namespace {

struct Options {
  unsigned runs = 3;
  std::uint32_t packet = 1000;
  std::uint64_t bytes = 4'000'000;
  bool stock_only = false;
};

struct Pairing {
  Implementation sender;
  Implementation receiver;
};

struct Sample {
  double stall_ms = -1;
  std::uint64_t repeated = 0;
};

/// The middle of an odd number of values.
template <typename T, typename Key>
T median(std::vector<T> values, Key key) {
  std::sort(values.begin(), values.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
  return values[values.size() / 2];
}

std::optional<Sample> measure(const Options& options, Pairing pairing, Duration delay,
                              unsigned losses) {
  PairOptions pair;
  pair.caller = {pairing.sender, options.bytes, {}};
  pair.listener = {pairing.receiver, 0, {}};
  pair.impairment = Impairment{.delay = delay, .drop = {{Way::forward, options.packet, losses}}};
  pair.timeout = 30s;
  const PairResult result = run_pair(pair);
  if (!result.good() || !result.impairment.repair_time) {
    std::fprintf(stderr, "%s to %s failed\n%s\n", name(pairing.sender), name(pairing.receiver),
                 result.report().c_str());
    return std::nullopt;
  }
  return Sample{to_seconds(*result.impairment.repair_time) * 1e3,
                result.impairment.forward.data_repeated};
}

int run(const Options& options) {
  constexpr Duration kDelays[] = {150us, 5ms, 50ms};
  std::vector<Pairing> pairings;
  for (const auto sender : {Implementation::ours, Implementation::stock})
    for (const auto receiver : {Implementation::ours, Implementation::stock})
      if (!options.stock_only ||
          (sender == Implementation::stock && receiver == Implementation::stock))
        pairings.push_back({sender, receiver});

  std::printf("| sender | receiver | RTT, ms | lost once | lost twice | lost 3 times |\n");
  std::printf("| --- | --- | ---: | ---: | ---: | ---: |\n");
  bool complete = true;
  for (const Pairing pairing : pairings) {
    for (const Duration delay : kDelays) {
      std::printf("| %s | %s | %g |", name(pairing.sender), name(pairing.receiver),
                  to_seconds(delay) * 2e3);
      for (unsigned losses = 1; losses <= 3; ++losses) {
        std::vector<Sample> samples;
        for (unsigned i = 0; i < options.runs; ++i)
          if (const auto sample = measure(options, pairing, delay, losses))
            samples.push_back(*sample);
        if (samples.size() < options.runs) complete = false;
        if (samples.empty()) {
          std::printf(" failed |");
        } else {
          std::printf(" %.1f ms, %llu |",
                      median(samples, [](const Sample& s) { return s.stall_ms; }).stall_ms,
                      static_cast<unsigned long long>(
                          median(samples, [](const Sample& s) { return s.repeated; }).repeated));
        }
        std::fflush(stdout);
      }
      std::printf("\n");
    }
  }
  return complete ? 0 : 1;
}

}  // namespace
}  // namespace xfer::interop

int main(int argc, char** argv) {
  xfer::interop::Options options;
  CLI::App app("Stall after a packet and its first retransmissions are lost");
  app.add_option("--runs", options.runs, "runs per cell; the median is printed")
      ->check(CLI::PositiveNumber);
  app.add_option("--packet", options.packet, "index of the data packet to lose");
  app.add_option("--bytes", options.bytes, "bytes sent");
  app.add_flag("--stock-only", options.stock_only, "only the pairing stock to stock");
  CLI11_PARSE(app, argc, argv);
  return xfer::interop::run(options);
}

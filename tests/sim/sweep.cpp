// Runs many weather-then-calm simulations and reports what failed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "weather.hpp"

namespace {

using xfer::sim::WeatherResult;

struct Options {
  std::uint64_t seeds = 20'000;
  std::uint64_t first = 1;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  bool verbose = false;
  bool packets = false;
};

struct Totals {
  std::mutex mutex;
  std::uint64_t runs = 0;
  std::vector<std::uint64_t> failed;
  std::vector<std::pair<double, std::uint64_t>> ratios;  ///< with seeds
  double simulated_s = 0;
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
};

thread_local std::uint64_t running_seed = 0;

/// A failed assertion aborts: say which run it was.
extern "C" void on_abort(int) {
  char text[64];
  const int length = std::snprintf(text, sizeof text, "aborted in seed %llu\n",
                                   static_cast<unsigned long long>(running_seed));
  if (length > 0) std::fwrite(text, 1, static_cast<std::size_t>(length), stderr);
}

void run_one(std::uint64_t seed, const Options& options, Totals& totals) {
  running_seed = seed;
  const WeatherResult result = xfer::sim::run_weather(seed, options.packets ? stdout : nullptr);
  const std::lock_guard lock(totals.mutex);
  ++totals.runs;
  totals.ratios.emplace_back(result.completion_ratio, seed);
  totals.simulated_s += xfer::to_seconds(result.simulated);
  totals.bytes += result.bytes;
  totals.events += result.events;
  if (!result.failure.empty()) totals.failed.push_back(seed);
  if (!result.failure.empty() || options.verbose)
    std::printf("seed %llu: %s; ratio %.2f, %.2f s, %llu events, hash %016llx\n    %s\n",
                static_cast<unsigned long long>(seed),
                result.failure.empty() ? "ok" : result.failure.c_str(), result.completion_ratio,
                xfer::to_seconds(result.simulated), static_cast<unsigned long long>(result.events),
                static_cast<unsigned long long>(result.hash), result.description.c_str());
}

/// Returns whether the arguments make sense.
bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--verbose") == 0) {
      options.verbose = true;
      continue;
    }
    if (std::strcmp(argv[i], "--packets") == 0) {
      options.packets = true;
      options.jobs = 1;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seeds") == 0)
      options.seeds = value;
    else if (std::strcmp(argv[i], "--first") == 0)
      options.first = value;
    else if (std::strcmp(argv[i], "--jobs") == 0)
      options.jobs = std::max(1U, static_cast<unsigned>(value));
    else
      return false;
    ++i;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: xfer_sweep [--seeds N] [--first S] [--jobs J] [--verbose] [--packets]\n"
                 "XFER_SEED=n replays run n alone\n");
    return 2;
  }
  if (const char* seed = std::getenv("XFER_SEED")) {
    options.first = std::strtoull(seed, nullptr, 10);
    options.seeds = 1;
    options.verbose = true;
  }
  std::signal(SIGABRT, on_abort);
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);

  const auto begin = std::chrono::steady_clock::now();
  Totals totals;
  std::atomic<std::uint64_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.jobs; ++i)
    threads.emplace_back([&] {
      for (std::uint64_t n = next++; n < options.seeds; n = next++)
        run_one(options.first + n, options, totals);
    });
  for (auto& thread : threads) thread.join();
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  std::sort(totals.ratios.begin(), totals.ratios.end());
  std::sort(totals.failed.begin(), totals.failed.end());
  const auto quantile = [&](double q) {
    return totals
        .ratios[static_cast<std::size_t>(q * static_cast<double>(totals.ratios.size() - 1))];
  };
  std::printf("runs                    %llu\n", static_cast<unsigned long long>(totals.runs));
  std::printf("failures                %zu\n", totals.failed.size());
  for (const auto seed : totals.failed)
    std::printf("  XFER_SEED=%llu\n", static_cast<unsigned long long>(seed));
  if (!totals.ratios.empty()) {
    std::printf("completion ratio        median %.2f, 99 %% %.2f, worst %.2f (seed %llu)\n",
                quantile(0.5).first, quantile(0.99).first, totals.ratios.back().first,
                static_cast<unsigned long long>(totals.ratios.back().second));
  }
  std::printf("delivered               %.1f MB\n", static_cast<double>(totals.bytes) * 1e-6);
  std::printf("events                  %llu\n", static_cast<unsigned long long>(totals.events));
  std::printf("simulated seconds       %.0f\n", totals.simulated_s);
  std::printf("wall seconds            %.1f\n", wall);
  std::printf("simulated per wall      %.1f\n", totals.simulated_s / wall);
  return totals.failed.empty() ? 0 : 1;
}

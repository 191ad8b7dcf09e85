// How long it takes to write a run of packets with calls of one size: the run is 64 payloads of
// 1456 bytes (93 184 bytes), a call writes FP of them, FP = 1 ... 64. Prints one JSON object a
// line:
//
//   {"fp":8,"bytes":11648,"median_us":31.5,"min_us":30.1,"max_us":90.2}
//
//   write_sizes FILE [RUNS]     FILE is created and removed; RUNS of each size, default 2000

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace xfer::bench {
namespace {

constexpr std::size_t kPayload = 1456;
constexpr std::size_t kPackets = 64;
constexpr std::size_t kSizes[] = {1, 2, 4, 8, 16, 32, 64};

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// Microseconds for one run of packets, appended to `file`.
double write_run(int file, const std::vector<std::byte>& run, std::size_t packets_a_call) {
  const std::size_t size = packets_a_call * kPayload;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t offset = 0; offset < run.size(); offset += size)
    if (write(file, &run[offset], size) != static_cast<ssize_t>(size)) fail("write");
  const std::chrono::duration<double, std::micro> elapsed =
      std::chrono::steady_clock::now() - begin;
  return elapsed.count();
}

}  // namespace
}  // namespace xfer::bench

int main(int argc, char** argv) {
  using namespace xfer::bench;
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: write_sizes FILE [RUNS]\n");
    return 2;
  }
  const std::size_t runs = argc > 2 ? std::max(1UL, std::strtoul(argv[2], nullptr, 10)) : 2000;
  const std::vector<std::byte> run(kPackets * kPayload, std::byte{0x5a});
  std::vector<std::vector<double>> times(std::size(kSizes));
  const int file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) fail(argv[1]);
  // One run of each size in turn, so that what the machine does meanwhile meets all alike. The file
  // starts again before it is large.
  for (std::size_t i = 0; i < runs; ++i) {
    if (i % 64 == 0 && (ftruncate(file, 0) != 0 || lseek(file, 0, SEEK_SET) != 0)) fail(argv[1]);
    for (std::size_t k = 0; k < std::size(kSizes); ++k)
      times[k].push_back(write_run(file, run, kSizes[k]));
  }
  close(file);
  unlink(argv[1]);
  for (std::size_t k = 0; k < std::size(kSizes); ++k) {
    auto& all = times[k];
    std::sort(all.begin(), all.end());
    std::printf(R"({"fp":%zu,"bytes":%zu,"median_us":%.2f,"min_us":%.2f,"max_us":%.2f})"
                "\n",
                kSizes[k], kSizes[k] * kPayload, all[all.size() / 2], all.front(), all.back());
  }
}

// `xfer_bench loopback`: one big file from tmpfs to tmpfs over the loopback interface, with our
// command and with stock UDT4's sample file transfer, in alternating order. Prints a table, and
// JSON with every run.

#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "interop/child.hpp"
#include "interop/peer.hpp"

namespace xfer::bench {
namespace {

using interop::Child;
using nlohmann::json;
namespace fs = std::filesystem;

constexpr Duration kLimit = 180s;
/// The buffers with which stock UDT4 is at its best on a fast path, bytes, and a window that does
/// not cut them.
constexpr int kTunedBuffer = 100'000'000;
constexpr int kTunedWindow = 100'000;

volatile std::sig_atomic_t g_interrupted = 0;

struct Options {
  std::uint64_t mebibytes = 1024;
  unsigned runs = 5;
  std::string directory = "/dev/shm";
  std::string xfer = XFER_BINARY;
  std::string json_file;
  std::vector<std::string> only;
  std::vector<std::string> send_arguments;
  std::vector<std::string> receive_arguments;
};

struct Processor {
  double user = 0;    ///< seconds
  double system = 0;  ///< seconds
};

struct Run {
  double seconds = 0;
  Processor sender;
  Processor receiver;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}
Processor processor(const Child::Exit& exit) {
  return {seconds(exit.usage.ru_utime), seconds(exit.usage.ru_stime)};
}

/// A kernel setting raised for a while, if that is permitted.
class RaisedSetting {
 public:
  RaisedSetting(std::string path, std::int64_t value) : path_(std::move(path)) {
    std::ifstream(path_) >> before_;
    if (before_ < value) std::ofstream(path_) << value;
    std::ifstream(path_) >> now_;
  }
  ~RaisedSetting() {
    if (now_ != before_) std::ofstream(path_) << before_;
  }
  RaisedSetting(const RaisedSetting&) = delete;
  RaisedSetting& operator=(const RaisedSetting&) = delete;
  [[nodiscard]] std::int64_t value() const { return now_; }

 private:
  std::string path_;
  std::int64_t before_ = 0;
  std::int64_t now_ = 0;
};

/// Where one run's files are; removed with it.
struct Place {
  fs::path source;
  fs::path directory;
};

std::optional<Run> complain(const char* what, const Child::Exit& sender,
                            const Child::Exit& receiver) {
  std::fprintf(stderr, "%s failed\nsender (status %d):\n%s\nreceiver (status %d):\n%s\n", what,
               sender.status, sender.output.c_str(), receiver.status, receiver.output.c_str());
  return std::nullopt;
}

/// `xfer recv` and `xfer send`. Time: from the start of the sending command to its end, which comes
/// after the receiver has verified the file.
std::optional<Run> run_xfer(const Options& options, const Place& place) {
  std::vector<std::string> receive{options.xfer,  "recv",   "--plain",
                                   "--json",      "--once", "--listen",
                                   "127.0.0.1:0", "--dir",  place.directory.string()};
  receive.insert(receive.end(), options.receive_arguments.begin(), options.receive_arguments.end());
  Child receiver(receive);
  std::optional<std::string> address;
  while (const auto line = receiver.read_line(10s)) {
    const json object = json::parse(*line, nullptr, false);
    if (object.is_object() && object.value("event", "") == "start") {
      address = object.value("listen", "");
      break;
    }
  }
  if (!address) return complain("xfer recv", {}, receiver.wait(0s));
  std::vector<std::string> send{options.xfer, "send", "--plain", "--json"};
  send.insert(send.end(), options.send_arguments.begin(), options.send_arguments.end());
  send.insert(send.end(), {place.source.string(), *address});
  const auto start = std::chrono::steady_clock::now();
  Child sender(send);
  const auto sent = sender.wait(kLimit);
  const double elapsed = to_seconds(std::chrono::steady_clock::now() - start);
  const auto received = receiver.wait(kLimit);
  if (!sent.good() || !received.good()) return complain("xfer", sent, received);
  return Run{elapsed, processor(sent), processor(received)};
}

/// Stock UDT4's sample pair. Time: the client's own, from before connect() to the end of
/// recvfile(), without the start of the process, in which the library measures its clock for 100
/// ms.
std::optional<Run> run_stock(const Place& place, bool tuned) {
  std::vector<std::string> options;
  if (tuned)
    options = {"--window=" + std::to_string(kTunedWindow),
               "--udt-buffer=" + std::to_string(kTunedBuffer),
               "--udp-buffer=" + std::to_string(kTunedBuffer)};
  std::vector<std::string> serve{XFER_STOCK_SAMPLE, "sendfile"};
  serve.insert(serve.end(), options.begin(), options.end());
  Child server(serve);
  const auto port = server.read_after("port ", 10s);
  if (!port) return complain("stock sendfile", server.wait(0s), {});
  std::vector<std::string> fetch{
      XFER_STOCK_SAMPLE,     "recvfile",
      "127.0.0.1",           *port,
      place.source.string(), (place.directory / place.source.filename()).string()};
  fetch.insert(fetch.end(), options.begin(), options.end());
  Child client(fetch);
  const auto received = client.wait(kLimit);
  const auto sent = server.wait(kLimit);
  const std::size_t at = received.output.rfind("seconds=");
  if (!sent.good() || !received.good() || at == std::string::npos)
    return complain("stock", sent, received);
  return Run{std::stod(received.output.substr(at + 8)), processor(sent), processor(received)};
}

bool same_content(const fs::path& a, const fs::path& b) {
  std::ifstream left(a, std::ios::binary);
  std::ifstream right(b, std::ios::binary);
  std::vector<char> left_block(1 << 20);
  std::vector<char> right_block(1 << 20);
  for (;;) {
    left.read(left_block.data(), static_cast<std::streamsize>(left_block.size()));
    right.read(right_block.data(), static_cast<std::streamsize>(right_block.size()));
    if (left.gcount() != right.gcount()) return false;
    if (left.gcount() == 0) return true;
    if (!std::equal(left_block.begin(), left_block.begin() + left.gcount(), right_block.begin()))
      return false;
  }
}

void make_file(const fs::path& path, std::uint64_t mebibytes) {
  std::ofstream file(path, std::ios::binary);
  std::vector<std::byte> block(1 << 20);
  const interop::Pattern pattern(42);
  for (std::uint64_t i = 0; i < mebibytes; ++i) {
    pattern.fill(i << 20U, block);
    file.write(reinterpret_cast<const char*>(block.data()),
               static_cast<std::streamsize>(block.size()));
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

template <typename Key>
std::vector<double> column(const std::vector<Run>& runs, Key key) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(key(run));
  return values;
}

std::string machine() {
  utsname system{};
  uname(&system);
  std::string model = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  return model + ", " + std::to_string(std::thread::hardware_concurrency()) +
         " processors, Linux " + system.release;
}

struct Contestant {
  std::string name;
  std::function<std::optional<Run>(const Place&)> run;
  std::vector<Run> runs{};
};

int loopback(const Options& options, const std::string& command) {
  std::string root = options.directory + "/xfer-bench-XXXXXX";
  if (mkdtemp(root.data()) == nullptr) {
    std::perror(root.c_str());
    return 1;
  }
  const Place place{fs::path(root) / "source.bin", fs::path(root) / "target"};
  make_file(place.source, options.mebibytes);
  std::int64_t tuned_rmem = 0;
  std::vector<Contestant> contestants;
  const auto add = [&](const char* key, const char* name, auto run) {
    if (options.only.empty() || std::count(options.only.begin(), options.only.end(), key) > 0)
      contestants.push_back({name, run});
  };
  add("xfer", "xfer --plain", [&](const Place& at) { return run_xfer(options, at); });
  add("stock", "stock UDT4, defaults", [](const Place& at) { return run_stock(at, false); });
  add("tuned", "stock UDT4, 10^8-byte buffers", [&](const Place& at) {
    const RaisedSetting rmem("/proc/sys/net/core/rmem_max", kTunedBuffer);
    const RaisedSetting wmem("/proc/sys/net/core/wmem_max", kTunedBuffer);
    tuned_rmem = rmem.value();
    return run_stock(at, true);
  });

  bool complete = true;
  for (unsigned i = 0; i < options.runs; ++i) {
    for (std::size_t k = 0; k < contestants.size() && g_interrupted == 0; ++k) {
      // Each round starts with another one.
      Contestant& contestant = contestants[(k + i) % contestants.size()];
      fs::create_directory(place.directory);
      const auto run = contestant.run(place);
      if (run && same_content(place.source, place.directory / place.source.filename())) {
        contestant.runs.push_back(*run);
        std::fprintf(stderr, "%s: %.3f s\n", contestant.name.c_str(), run->seconds);
      } else {
        std::fprintf(stderr, "%s: failed\n", contestant.name.c_str());
        complete = false;
      }
      fs::remove_all(place.directory);
    }
  }
  fs::remove_all(root);
  if (g_interrupted != 0) return 130;

  const double bits = static_cast<double>(options.mebibytes << 20U) * 8;
  json report{{"version", 1},
              {"benchmark", "loopback"},
              {"command", command},
              {"machine", machine()},
              {"build", XFER_BUILD},
              {"mebibytes", options.mebibytes},
              {"tuned_rmem_max", tuned_rmem},
              {"results", json::array()}};
  std::printf("%s\nbuild: %s\ncommand: %s\n\n", machine().c_str(), XFER_BUILD, command.c_str());
  std::printf(
      "| | runs | goodput, Mbit/s: median (min ... max) | sender CPU, s: user + system | receiver "
      "CPU, s: user + system |\n");
  std::printf("| --- | ---: | ---: | ---: | ---: |\n");
  for (const auto& contestant : contestants) {
    const auto& runs = contestant.runs;
    if (runs.empty()) {
      std::printf("| %s | 0 | failed | | |\n", contestant.name.c_str());
      continue;
    }
    const auto rate = column(runs, [&](const Run& r) { return bits / r.seconds / 1e6; });
    std::printf("| %s | %zu | %.0f (%.0f ... %.0f) | %.2f + %.2f | %.2f + %.2f |\n",
                contestant.name.c_str(), runs.size(), median(rate),
                *std::min_element(rate.begin(), rate.end()),
                *std::max_element(rate.begin(), rate.end()),
                median(column(runs, [](const Run& r) { return r.sender.user; })),
                median(column(runs, [](const Run& r) { return r.sender.system; })),
                median(column(runs, [](const Run& r) { return r.receiver.user; })),
                median(column(runs, [](const Run& r) { return r.receiver.system; })));
    json all = json::array();
    for (const Run& run : runs)
      all.push_back({{"seconds", run.seconds},
                     {"mbit_per_s", bits / run.seconds / 1e6},
                     {"sender_user_s", run.sender.user},
                     {"sender_system_s", run.sender.system},
                     {"receiver_user_s", run.receiver.user},
                     {"receiver_system_s", run.receiver.system}});
    report["results"].push_back(
        {{"name", contestant.name}, {"median_mbit_per_s", median(rate)}, {"runs", all}});
  }
  if (options.json_file.empty()) {
    std::printf("\n%s\n", report.dump().c_str());
  } else {
    std::ofstream(options.json_file) << report.dump(2) << "\n";
  }
  return complete ? 0 : 1;
}

}  // namespace
}  // namespace xfer::bench

int main(int argc, char** argv) {
  xfer::bench::Options options;
  CLI::App app("End-to-end measurements");
  app.require_subcommand(1);
  auto* const loopback =
      app.add_subcommand("loopback", "a file from tmpfs to tmpfs over the loopback interface");
  loopback->add_option("--mebibytes", options.mebibytes, "size of the file");
  loopback->add_option("--runs", options.runs, "of each contestant")->check(CLI::PositiveNumber);
  loopback->add_option("--directory", options.directory, "where the files are; a tmpfs");
  loopback->add_option("--xfer", options.xfer, "our command");
  loopback->add_option("--json", options.json_file, "write JSON there instead of behind the table");
  loopback->add_option("--only", options.only, "contestants: xfer, stock, tuned");
  loopback->add_option("--send-arguments", options.send_arguments, "more arguments of `xfer send`");
  loopback->add_option("--receive-arguments", options.receive_arguments,
                       "more arguments of `xfer recv`");
  CLI11_PARSE(app, argc, argv);

  struct sigaction interrupt {};
  interrupt.sa_handler = [](int) { xfer::bench::g_interrupted = 1; };
  sigaction(SIGINT, &interrupt, nullptr);
  sigaction(SIGTERM, &interrupt, nullptr);
  std::string command;
  for (int i = 0; i < argc; ++i) command += (i == 0 ? "" : " ") + std::string(argv[i]);
  return xfer::bench::loopback(options, command);
}

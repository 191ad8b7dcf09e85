#include "interop/peer.hpp"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>

namespace xfer::interop {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

void print_line(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

[[noreturn]] void leave(int status) {
  std::fflush(stdout);
  _exit(status);
}

void on_time_limit(int) {
  constexpr char kText[] = "error timeout: the peer program ran out of time\n";
  const auto ignored = write(STDOUT_FILENO, kText, sizeof kText - 1);
  (void)ignored;
  _exit(3);
}

void limit_time(unsigned milliseconds) {
  signal(SIGALRM, on_time_limit);
  itimerval limit{};
  limit.it_value.tv_sec = static_cast<time_t>(milliseconds / 1000);
  limit.it_value.tv_usec = static_cast<suseconds_t>(milliseconds % 1000) * 1000;
  setitimer(ITIMER_REAL, &limit, nullptr);
}

PeerOptions parse(int argc, char** argv) {
  PeerOptions options;
  CLI::App app("One end of a test transfer");
  const std::map<std::string, Role> roles{
      {"listen", Role::listen}, {"connect", Role::connect}, {"rendezvous", Role::rendezvous}};
  app.add_option("role", options.role)->required()->transform(CLI::CheckedTransformer(roles));
  app.add_option("--bind", options.bind_host);
  app.add_option("--peer-host", options.peer_host);
  app.add_option("--peer-port", options.peer_port);
  app.add_option("--send", options.send);
  app.add_option("--receive", options.receive);
  app.add_option("--send-seed", options.send_seed);
  app.add_option("--receive-seed", options.receive_seed);
  app.add_flag("--close-last", options.close_last);
  app.add_option("--end-wait-ms", options.end_wait_ms);
  app.add_option("--read-pause-ms", options.read_pause_ms);
  app.add_option("--timeout-ms", options.timeout_ms);
  app.add_option("--mss", options.mss);
  app.add_option("--window", options.window);
  app.add_option("--udt-buffer", options.udt_buffer);
  app.add_option("--udp-buffer", options.udp_buffer);
  app.add_flag("--datagram", options.datagram);
  app.add_flag("--wrap", options.near_wrap);
  app.add_option("--isn", options.isn);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    leave(app.exit(error));
  }
  return options;
}

}  // namespace

std::uint64_t Pattern::word(std::uint64_t index) const {
  std::uint64_t z = seed_ * 0x9E3779B97F4A7C15U + index;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

void Pattern::fill(std::uint64_t offset, MutByteView out) const {
  while (!out.empty()) {
    const std::uint64_t value = word(offset / kWord);
    std::byte raw[kWord];
    std::memcpy(raw, &value, kWord);
    const std::size_t skip = offset % kWord;
    const std::size_t count = std::min(kWord - skip, out.size());
    if (count == kWord) {
      std::memcpy(out.data(), raw, kWord);
    } else {
      std::copy_n(raw + skip, count, out.data());
    }
    out = out.subspan(count);
    offset += count;
  }
}

std::optional<std::size_t> Pattern::mismatch(std::uint64_t offset, ByteView bytes) const {
  std::byte expected[4096];
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t count = std::min(sizeof expected, bytes.size() - done);
    fill(offset + done, {expected, count});
    if (std::memcmp(expected, bytes.data() + done, count) != 0) {
      const auto* const wrong =
          std::mismatch(expected, expected + count, bytes.data() + done).first;
      return done + static_cast<std::size_t>(wrong - expected);
    }
    done += count;
  }
  return std::nullopt;
}

Flow::Flow(const PeerOptions& options)
    : options_(options), out_(options.send_seed), in_(options.receive_seed) {}

std::size_t Flow::produce(MutByteView out) {
  const auto count =
      static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), options_.send - sent_));
  out_.fill(sent_, out.first(count));
  sent_ += count;
  return count;
}

void Flow::consume(ByteView bytes) {
  if (!first_wrong_) {
    if (const auto wrong = in_.mismatch(received_, bytes)) first_wrong_ = received_ + *wrong;
  }
  received_ += bytes.size();
}

bool Flow::correct() const {
  const bool end_required = options_.close_last && options_.end_wait_ms == 0;
  return sent_ == options_.send && received_ == options_.receive && !first_wrong_ &&
         (ended_ || !end_required);
}

std::string Flow::report() const {
  std::string text = "sent=" + std::to_string(sent_) + "/" + std::to_string(options_.send) +
                     " received=" + std::to_string(received_) + "/" +
                     std::to_string(options_.receive) + " end=" + (ended_ ? "1" : "0");
  if (first_wrong_) text += " first_wrong_byte=" + std::to_string(*first_wrong_);
  return text;
}

void run_peer(int argc, char** argv, std::unique_ptr<Link> link) {
  PeerOptions options = parse(argc, argv);
  limit_time(options.timeout_ms);

  const auto port = link->open(options);
  if (!port) {
    print_line("error " + link->error());
    leave(1);
  }
  print_line("port " + std::to_string(*port));
  if (options.role == Role::rendezvous && !(std::cin >> options.peer_port)) {
    print_line("error input: no peer port");
    leave(2);
  }
  if (!link->establish(options)) {
    print_line("error " + link->error());
    leave(1);
  }
  print_line("connected");

  Flow flow(options);
  const auto start = std::chrono::steady_clock::now();
  const bool moved = link->transfer(options, flow);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const bool good = moved && flow.correct();
  std::string line = good ? "done " : "error ";
  line += flow.report() + " seconds=" + std::to_string(elapsed.count()) + " " + link->facts();
  if (!moved) line += " " + link->error();
  print_line(line);
  (void)link.release();
  leave(good ? 0 : 1);
}

}  // namespace xfer::interop

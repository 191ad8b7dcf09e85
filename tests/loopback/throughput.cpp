// Moves bytes from memory to memory over loopback and prints what it took: for measuring, not a
// test. Usage: loopback_throughput [MiB] [mss] [Mbit/s, 0: no limit] [packets per block]

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "net/clock.hpp"
#include "pair.hpp"

using namespace xfer;

namespace {

double cpu_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::uint64_t drain(net::Stream& stream) {
  std::uint64_t total = 0;
  while (true) {
    const auto run = stream.try_read();
    if (!run) {
      if (run.error().code != ErrorCode::would_block) return total;
      stream.wait(net::Stream::kReadable, 10s);
      continue;
    }
    if (run->empty()) return total;
    total += run->size();
    stream.consume(run->size());
  }
}

void print(const char* name, const net::DriverStats& stats) {
  std::printf(
      "%s: sent %lu in %lu calls, received %lu in %lu calls, turns %lu, sleeps %lu, drops %lu\n",
      name, stats.socket.datagrams_sent, stats.socket.send_calls, stats.socket.datagrams_received,
      stats.socket.receive_calls, stats.turns, stats.sleeps, stats.socket.kernel_drops);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t size = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024) << 20U;
  udt::ListenConfig listen;
  udt::ConnectionConfig connect;
  if (argc > 2)
    connect.mss = listen.connection.mss =
        static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  if (argc > 3 && std::strtoull(argv[3], nullptr, 10) > 0) {
    connect.controller = udt::ControllerKind::fixed_rate;
    connect.max_rate = std::strtoull(argv[3], nullptr, 10) * 125'000;
  }
  if (argc > 4)
    listen.connection.block_packets =
        static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10));
  auto listener = net::Driver::open({.bind = test::loopback4()});
  auto caller = net::Driver::open({.bind = test::loopback4()});
  if (!listener || !caller || !(*listener)->listen(listen)) return 1;
  auto out = (*caller)->connect((*listener)->local_address(), connect);
  if (!out) return 1;
  auto in = (*listener)->accept(5s);
  if (!in) return 1;

  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  const TimePoint begin = net::now();
  std::uint64_t received = 0;
  std::thread reader([&] { received = drain(**in); });
  std::uint64_t sent = 0;
  while (sent < size) {
    const MutByteView space = (*out)->write_space();
    const std::size_t count = std::min<std::size_t>({space.size(), 1U << 20U, size - sent});
    if (count == 0) {
      if (((*out)->wait(net::Stream::kWritable, 10s) & net::Stream::kEnded) != 0) break;
      continue;
    }
    std::fill_n(space.begin(), count, std::byte{1});
    (*out)->publish(count, false);
    sent += count;
  }
  (*out)->finish();
  const auto closed = (*out)->wait_closed(60s);
  reader.join();
  const double seconds = to_seconds(net::now() - begin);
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);

  const auto stats = (*out)->stats();
  const auto in_stats = (*in)->stats();
  std::printf("%s: %.2f Gbit/s, %.3f s, user %.2f s, system %.2f s\n",
              closed && received == size ? "ok" : "FAILED",
              static_cast<double>(received) * 8e-9 / seconds, seconds,
              cpu_seconds(after.ru_utime) - cpu_seconds(before.ru_utime),
              cpu_seconds(after.ru_stime) - cpu_seconds(before.ru_stime));
  std::printf("payload copies %lu, at the sender %lu\n", in_stats.payload_copies,
              stats.payload_copies);
  std::printf(
      "packets %lu, retransmitted %lu, lost %lu, naks %lu, acks %lu, light acks %lu, exp %lu, rtt "
      "%.3f ms\n",
      stats.packets_sent, stats.packets_retransmitted, in_stats.packets_lost, in_stats.naks_sent,
      in_stats.acks_sent, in_stats.light_acks_sent, stats.exp_fired, to_seconds(stats.rtt) * 1e3);
  out->reset();
  in->reset();
  print("caller  ", (*caller)->stats());
  print("listener", (*listener)->stats());
  return closed && received == size ? 0 : 1;
}

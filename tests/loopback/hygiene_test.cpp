#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "pair.hpp"

using namespace xfer;
using namespace xfer::test;

namespace {

/// Sanitizers keep freed memory back.
#ifdef XFER_SANITIZED
constexpr bool kMemoryTells = false;
#else
constexpr bool kMemoryTells = true;
#endif

std::size_t entries(const char* directory) {
  namespace fs = std::filesystem;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}
std::size_t open_descriptors() { return entries("/proc/self/fd"); }
std::size_t threads() { return entries("/proc/self/task"); }

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// A connection from a driver of its own, used for a few bytes and closed.
std::string visit(net::Driver& listener) {
  Pair pair;
  pair.caller = make_driver();
  auto connected = pair.caller->connect(loopback4(listener.local_address().port), {});
  if (!connected) return to_string(connected.error());
  auto accepted = listener.accept(kPatience);
  if (!accepted) return to_string(accepted.error());
  pair.connected = std::move(*connected);
  pair.accepted = std::move(*accepted);
  const std::string exchanged = exchange(pair, 5000, 5000);
  return exchanged.empty() ? close_in_order(pair) : exchanged;
}

}  // namespace

TEST_CASE("100 connections in a row leave no descriptor, thread or memory behind") {
  auto listener = make_listener();
  // The first ones fill the allocator's and the kernel's caches.
  for (int i = 0; i < 10; ++i) REQUIRE(visit(*listener).empty());
  const std::size_t descriptors = open_descriptors();
  const std::size_t tasks = threads();
  const std::size_t memory = resident_bytes();
  for (int i = 0; i < 100; ++i) REQUIRE(visit(*listener).empty());
  CHECK(open_descriptors() == descriptors);
  CHECK(threads() == tasks);
  if (kMemoryTells) CHECK(resident_bytes() < memory + (4U << 20U));
}

TEST_CASE("The listener forgets ended connections once their streams are gone") {
  auto listener = make_listener();
  for (int i = 0; i < 3; ++i) REQUIRE(visit(*listener).empty());
  // The counters are published when the loop goes to sleep, at once when idle.
  const TimePoint begin = net::now();
  while (listener->stats().connections > 0 && net::now() - begin < kPatience)
    static_cast<void>(listener->accept(1ms));
  CHECK(listener->stats().connections == 0);
}

TEST_CASE("An idle listener and an idle connection sleep") {
  auto waiting = make_listener();
  Pair pair = make_pair();
  REQUIRE(exchange(pair, 100'000, 100'000).empty());
  // What the transfer left to do has been done after a moment.
  CHECK(pair.accepted->wait(net::Stream::kReadable, 200ms) == 0);

  const double cpu_before = cpu_seconds();
  const net::DriverStats before = pair.listener->stats();
  const net::DriverStats waiting_before = waiting->stats();
  const TimePoint begin = net::now();
  CHECK(pair.accepted->wait(net::Stream::kReadable, 3s) == 0);
  const double seconds = to_seconds(net::now() - begin);
  const double cpu = cpu_seconds() - cpu_before;
  const net::DriverStats after = pair.listener->stats();
  const net::DriverStats waiting_after = waiting->stats();

  CHECK(static_cast<double>(after.turns - before.turns) / seconds < 10);
  CHECK(waiting_after.turns == waiting_before.turns);
  // Three drivers.
  CHECK(cpu / seconds < 0.005);
}

TEST_CASE("Opening and closing drivers at any moment of a connection's life is clean") {
  // For the sanitizers: nothing to see otherwise.
  for (int i = 0; i < 20; ++i) {
    Pair pair = make_pair();
    REQUIRE(pair.connected->write(as_byte_view("some bytes"), i % 2 == 0).has_value());
    switch (i % 5) {
      case 0:
        break;
      case 1:
        pair.connected.reset();
        break;
      case 2:
        pair.caller.reset();
        break;
      case 3:
        pair.accepted->abort();
        pair.listener.reset();
        break;
      default:
        pair.connected->finish();
        pair.connected.reset();
        break;
    }
  }
  for (int i = 0; i < 20; ++i) make_listener();
}

TEST_CASE("A listener closed under a storm of callers is clean") {
  auto listener = make_listener();
  const SocketAddress address = listener->local_address();
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&address] {
      auto driver = net::Driver::open({});
      if (!driver) return;
      for (int k = 0; k < 5; ++k)
        static_cast<void>((*driver)->connect(address, {.connect_timeout = 500ms}));
    });
  }
  REQUIRE(listener->accept(kPatience).has_value());
  listener.reset();
  for (auto& caller : callers) caller.join();
}

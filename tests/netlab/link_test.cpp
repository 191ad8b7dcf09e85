#include "link.hpp"

#include <catch2/catch.hpp>

#include "data_packet.hpp"
#include "due_queue.hpp"

namespace xfer::sim {
namespace {

constexpr TimePoint kStart = TimePoint{} + 1s;

/// Whether a packet of `size` bytes got through.
bool send(Link& link, std::size_t size, TimePoint now) {
  return link.decide({}, size, now).count > 0;
}

/// Which of `count` packets were lost.
std::vector<int> losses(const LinkOptions& options, std::uint64_t seed, int count) {
  Link link(options, seed);
  std::vector<int> lost;
  for (int i = 0; i < count; ++i)
    if (!send(link, 1000, kStart)) lost.push_back(i);
  return lost;
}

}  // namespace

// A limit in packets holds whatever their sizes, and a place is free as soon as a packet has left.
TEST_CASE("link: queue limit in packets") {
  LinkOptions options;
  options.rate = 8'000'000;  // a byte per microsecond
  options.queue_limit = ~std::size_t{0};
  options.queue_packets = 3;
  Link link(options, 1);
  CHECK(send(link, 100, kStart));
  CHECK(send(link, 1500, kStart));
  CHECK(send(link, 100, kStart));
  CHECK_FALSE(send(link, 20, kStart + 99us));
  CHECK(send(link, 20, kStart + 100us));
  CHECK(link.stats().dropped_queue == 1);
}

// The integral of the backlog is the area under a saw tooth: two packets that arrive together need
// 1 ms each, so there are 2000 bytes, then ever fewer, none after 2 ms; and so again after a pause.
TEST_CASE("link: queue occupancy over time") {
  LinkOptions options;
  options.rate = 8'000'000;
  Link link(options, 1);
  for (const TimePoint at : {kStart, kStart + 10ms}) {
    send(link, 1000, at);
    send(link, 1000, at);
  }
  CHECK(link.queue_stats(kStart + 11ms).bytes == 1000);
  const QueueStats stats = link.queue_stats(kStart + 1s);
  CHECK(stats.bytes == 0);
  CHECK(stats.max_bytes == 2000);
  CHECK(stats.byte_seconds == Approx(2 * 2000 * 0.002 / 2));
}

// Arrivals while packets wait add to the area exactly, also where they meet a backlog that is not
// empty.
TEST_CASE("link: queue occupancy with a standing queue") {
  LinkOptions options;
  options.rate = 8'000'000;
  Link link(options, 1);
  send(link, 5000, kStart);
  for (int i = 1; i <= 100; ++i) send(link, 1000, kStart + i * 1ms);
  // From 1 ms on it swings between 5000 and 4000 bytes.
  CHECK(link.queue_stats(kStart + 100ms).byte_seconds == Approx(4500 * 0.1));
}

// The same seed loses the same packets, another one others.
TEST_CASE("link: seeds") {
  LinkOptions options;
  options.loss = 0.05;
  options.burst = {0.01, 0.3, 1};
  const auto first = losses(options, 7, 10'000);
  CHECK(first.size() > 500);
  CHECK(first == losses(options, 7, 10'000));
  CHECK(first != losses(options, 8, 10'000));
}

// Every Nth data packet is dropped, and as many retransmissions of it as asked for; each flow
// counts by itself, what is no data packet does not count.
TEST_CASE("link: every Nth data packet and its retransmissions") {
  Link link({}, 1);
  link.rules.push_back(drop_every(50, 2));
  constexpr std::uint32_t kFirst = 0x7FFF'FFF0;  // wraps
  const auto passes = [&](std::uint32_t index, std::uint32_t destination) {
    const auto packet = data_packet((kFirst + index) & 0x7FFF'FFFFU, destination);
    return link.decide(packet, 28, kStart).count > 0;
  };
  for (const std::uint32_t destination : {5U, 6U}) {
    std::vector<std::uint32_t> dropped;
    for (std::uint32_t i = 0; i < 200; ++i) {
      if (!passes(i, destination)) dropped.push_back(i);
      send(link, 40, kStart);
    }
    CHECK(dropped == std::vector<std::uint32_t>{49, 99, 149, 199});
    CHECK_FALSE(passes(49, destination));
    CHECK_FALSE(passes(49, destination));
    CHECK(passes(49, destination));
    CHECK(passes(48, destination));
  }
  CHECK(link.stats().dropped_script == 12);
}

}  // namespace xfer::sim

namespace xfer::netlab {

// What overtakes comes out by its time, what is due at the same time as it went in, and nothing
// before it is due.
TEST_CASE("due queue: order") {
  const TimePoint start{};
  DueQueue<int> queue;
  queue.push(start + 20us, 1);
  queue.push(start + 30us, 2);
  queue.push(start + 10us, 3);
  queue.push(start + 20us, 4);
  queue.push(start + 30us, 5);
  CHECK(queue.size() == 5);
  CHECK(queue.next() == start + 10us);
  CHECK_FALSE(queue.pop(start + 9us));
  std::vector<int> order;
  while (const auto due = queue.pop(start + 29us)) order.push_back(due->item);
  CHECK(order == std::vector<int>{3, 1, 4});
  CHECK(queue.next() == start + 30us);
  while (const auto due = queue.pop(start + 30us)) order.push_back(due->item);
  CHECK(order == std::vector<int>{3, 1, 4, 2, 5});
  CHECK(queue.empty());
}

}  // namespace xfer::netlab

#include <catch2/catch.hpp>

#include "core_memory.hpp"
#include "data_packet.hpp"
#include "network.hpp"

namespace xfer::sim {
namespace {

constexpr TimePoint kStart = TimePoint{} + 1s;

/// A datagram of `size` bytes of payload, and 28 bytes of headers.
std::vector<std::byte> datagram(std::size_t size) { return std::vector<std::byte>(size); }

double delivered_share(const LinkOptions& options, std::uint64_t count) {
  Link link(options, 7);
  for (std::uint64_t i = 0; i < count; ++i) link.decide(datagram(1000), 28, kStart);
  return static_cast<double>(link.stats().delivered) / static_cast<double>(count);
}

}  // namespace

// A saturated link delivers exactly its rate, headers counted, and each datagram one delay after it
// left the queue.
TEST_CASE("link: rate and delay") {
  LinkOptions options;
  options.rate = 1'000'000'000;
  options.delay = 5ms;
  options.queue_limit = 1 << 30;
  Link link(options, 1);
  Fate fate;
  for (int i = 0; i < 10'000; ++i) fate = link.decide(datagram(1472), 28, kStart);
  // 10 000 x 1500 bytes x 8 = 120 Mbit.
  REQUIRE(fate.count == 1);
  CHECK(fate.copies[0].at == kStart + 120ms + 5ms);
}

// The queue drops what does not fit behind the datagrams that wait, and only that.
TEST_CASE("link: queue limit") {
  LinkOptions options;
  options.rate = 8'000'000;  // a byte per microsecond
  options.queue_limit = 10'000;
  Link link(options, 1);
  for (int i = 0; i < 20; ++i) link.decide(datagram(972), 28, kStart);
  CHECK(link.stats().delivered == 10);
  CHECK(link.stats().dropped_queue == 10);
  link.decide(datagram(972), 28, kStart + 999us);
  CHECK(link.stats().dropped_queue == 11);
  link.decide(datagram(972), 28, kStart + 1000us);
  CHECK(link.stats().delivered == 11);
}

// Losses come at the rate asked for: independent ones, and bursts at their stationary share and
// mean length.
TEST_CASE("link: loss statistics") {
  LinkOptions options;
  options.loss = 0.03;
  CHECK(delivered_share(options, 200'000) == Approx(0.97).margin(0.002));

  options = {};
  options.burst = {0.01, 0.1, 1.0};
  CHECK(delivered_share(options, 200'000) == Approx(1 - 0.01 / 0.11).margin(0.005));
  Link link(options, 3);
  int bursts = 0;
  int lost = 0;
  bool in_burst = false;
  for (int i = 0; i < 200'000; ++i) {
    const bool drop = link.decide(datagram(100), 28, kStart).count == 0;
    bursts += drop && !in_burst ? 1 : 0;
    lost += drop ? 1 : 0;
    in_burst = drop;
  }
  CHECK(static_cast<double>(lost) / bursts == Approx(10).margin(0.5));
}

// Damage is dropped like a kernel does, unless asked for; duplicates come as a second copy.
TEST_CASE("link: corruption, truncation, duplication, MTU, blackout") {
  LinkOptions options;
  options.corruption = 0.5;
  CHECK(delivered_share(options, 20'000) == Approx(0.5).margin(0.02));
  options.deliver_damaged = true;
  CHECK(delivered_share(options, 20'000) == 1.0);
  options = {};
  options.truncation = 0.5;
  options.deliver_damaged = true;
  Link link(options, 9);
  std::size_t shorter = 0;
  for (int i = 0; i < 10'000; ++i)
    shorter += link.decide(datagram(1000), 28, kStart).copies[0].length < 1000 ? 1U : 0U;
  CHECK(static_cast<double>(shorter) == Approx(5'000).margin(200));
  options = {};
  options.duplication = 0.25;
  CHECK(delivered_share(options, 20'000) == Approx(1.25).margin(0.02));
  options = {};
  options.mtu = 1027;
  CHECK(delivered_share(options, 100) == 0.0);
  options.mtu = 1028;
  CHECK(delivered_share(options, 100) == 1.0);
  options = {};
  options.blackouts = {{kStart, kStart + 1s}};
  Link dark(options, 1);
  CHECK(dark.decide(datagram(10), 28, kStart + 999ms).count == 0);
  CHECK(dark.decide(datagram(10), 28, kStart + 1s).count == 1);
}

// Jitter keeps the order unless it is told not to; reordering holds back its share.
TEST_CASE("link: jitter and reordering") {
  const auto overtakings = [](const LinkOptions& options) {
    Link link(options, 5);
    TimePoint newest{};
    int count = 0;
    for (int i = 0; i < 10'000; ++i) {
      const TimePoint at = link.decide(datagram(100), 28, kStart + i * 10us).copies[0].at;
      count += at < newest ? 1 : 0;
      newest = std::max(newest, at);
    }
    return count;
  };
  LinkOptions options;
  options.delay = 10ms;
  options.jitter = 1ms;
  CHECK(overtakings(options) == 0);
  options.jitter_reorders = true;
  CHECK(overtakings(options) > 5'000);
  options = {};
  options.delay = 10ms;
  options.reordering = 0.01;
  options.reordering_delay = 15us;  // the next one overtakes
  CHECK(overtakings(options) == Approx(100).margin(40));
}

// Scripts count first transmissions and retransmissions of each data packet, across the wrap of its
// number and flow by flow.
TEST_CASE("link: scripted loss by index and retransmission count") {
  Link link({}, 1);
  link.rules.push_back(drop_data(2, 1));
  const auto passes = [&](std::uint32_t seq) {
    return link.decide(data_packet(seq), 28, kStart).count == 1;
  };
  CHECK(passes(0x7FFFFFFE));  // index 0
  CHECK(passes(0x7FFFFFFF));
  CHECK_FALSE(passes(0));  // index 2
  CHECK(passes(1));
  CHECK_FALSE(passes(0));
  CHECK(passes(0));
  CHECK(passes(0x7FFFFFFE));
  // Another flow starts at its own number.
  CHECK(link.decide(data_packet(0, 6), 28, kStart).count == 1);
  CHECK(link.decide(data_packet(2, 6), 28, kStart).count == 0);
}

// drop_control drops packets of its type only, after those it lets pass, as many as it was told.
TEST_CASE("link: scripted loss of control packets") {
  const auto control = [](wire::ControlType type) {
    std::vector<std::byte> bytes(wire::kHeaderSize + 4);
    wire::ControlHeader header;
    header.type = type;
    ByteWriter out{MutByteView(bytes)};
    wire::encode(header, out);
    return bytes;
  };
  Link link({}, 1);
  link.rules.push_back(drop_control(wire::ControlType::ack2, 2, 1));
  std::string passed;
  for (int i = 0; i < 5; ++i)
    passed += link.decide(control(wire::ControlType::ack2), 28, kStart).count == 1 ? '1' : '0';
  CHECK(passed == "10011");
  CHECK(link.decide(control(wire::ControlType::ack), 28, kStart).count == 1);
}

// Damage flips at least one bit, and the same ones for the same seed.
TEST_CASE("link: damage") {
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    std::vector<std::byte> a(50);
    std::vector<std::byte> b(50);
    damage(a, seed);
    damage(b, seed);
    CHECK(a == b);
    CHECK(a != std::vector<std::byte>(50));
  }
}

// Two runs of one seed have the same history; another seed has another one.
TEST_CASE("network: a seed fixes everything that happens") {
  const auto history = [](std::uint64_t seed) {
    /// Echoes what it gets, a hundred times.
    class Echo final : public Host {
     public:
      Echo(Network& network, unsigned number) : Host(network, host_address(number)) {}
      void arrive(ByteView bytes, const SocketAddress& from, TimePoint) override {
        if (++count < 100) network_.send(*this, from, bytes);
      }
      void turn(TimePoint) override {}
      int count = 0;
    };
    Network network(seed);
    Echo& a = network.add<Echo>(1U);
    Echo& b = network.add<Echo>(2U);
    LinkOptions options;
    options.delay = 1ms;
    options.jitter = 3ms;
    options.jitter_reorders = true;
    options.duplication = 0.3;
    options.loss = 0.1;
    network.set_path(a, b, options);
    for (std::uint32_t i = 0; i < 10; ++i) network.send(a, b.address(), data_packet(i));
    network.run_for(10s);
    CHECK(network.event_count() > 50);
    return network.event_hash();
  };
  CHECK(history(1) == history(1));
  CHECK(history(1) != history(2));
}

// What the core allocates is booked on its account, what tests allocate is not.
TEST_CASE("core memory: only allocations in scope count") {
  CoreMemory memory;
  std::vector<int> outside(1000);
  {
    const CoreScope core(memory);
    const auto inside = std::make_unique<std::array<std::byte, 4096>>();
    CHECK(memory.live_bytes >= 4096);
    const OutsideScope out;
    outside.resize(100'000);
  }
  CHECK(memory.live_bytes < 4096);
  CHECK(memory.allocations >= 1);
  CHECK(memory.peak_bytes < 100'000);
}

}  // namespace xfer::sim

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

#include "base/byte_writer.hpp"
#include "base/random.hpp"
#include "lab.hpp"
#include "lab_under_test.hpp"
#include "support/process.hpp"
#include "wire/packet.hpp"

// The netlab program as a black box: what two ends of a lab see, and what it counts. Counts are
// exact. Times are medians, judged by the kernel's stamps; they depend on the machine, so that a
// measurement is repeated before it counts as wrong.

namespace xfer::netlab {
namespace {

/// What the wall clock, which stamps arrivals, may gain on the emulator's in one measurement.
constexpr Duration kClockSlew = 100us;

/// A sanitizer makes the emulator slow, not wrong.
#ifdef __SANITIZE_ADDRESS__
constexpr Duration kRttTolerance = 5ms;
#else
constexpr Duration kRttTolerance = 500us;
#endif

/// Repeats a measurement that other load can spoil until it is right, five times at most.
template <typename Measure>
void eventually(const Measure& right) {
  constexpr int kTries = 5;
  for (int i = 1; i < kTries; ++i)
    if (right()) return;
  CHECK(right());
}

Duration median(std::vector<Duration> values) {
  REQUIRE(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Waits until a moment of the wall clock: a sender's pace.
void wait_until(Duration moment) {
  const Duration left = moment - wall_clock();
  if (left > 0ns) std::this_thread::sleep_for(left);
}

constexpr std::size_t kTrain = 50;

/// Sends `count` small datagrams in trains.
void send_trains(const ProbeSocket& from, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kTrain) from.send(i, kTrain, 100);
}

/// Numbers below `count` that did not arrive.
std::vector<std::uint64_t> missing(const std::vector<Arrival>& arrivals, std::uint64_t count) {
  std::vector<bool> arrived(count);
  for (const auto& arrival : arrivals) arrived.at(arrival.number) = true;
  std::vector<std::uint64_t> result;
  for (std::uint64_t i = 0; i < count; ++i)
    if (!arrived[i]) result.push_back(i);
  return result;
}

std::vector<std::uint64_t> lost_with_seed(const std::string& seed, std::uint64_t count) {
  const LabUnderTest lab({"--loss", "5%", "--burst-loss", "1%,0.4", "--seed", seed});
  const ProbeSocket a(lab, 0);
  const ProbeSocket b(lab, 1);
  send_trains(a, count);
  lab.settled("a_to_b", count);
  return missing(b.receive_all(), count);
}

/// The two one-way times of a probe and its echo, without what the test takes in between.
Duration round_trip(const ProbeSocket& a, const ProbeSocket& b) {
  a.send(0, 1, 100);
  const auto there = b.receive(2s);
  REQUIRE(there);
  b.send(0, 1, 100);
  const auto back = a.receive(2s);
  REQUIRE(back);
  return there->took() + back->took();
}

}  // namespace

// The median round trip is at most 0.5 ms longer than twice the delay, and never shorter.
TEST_CASE("netlab: round trip time") {
  const LabUnderTest lab({});
  const ProbeSocket a(lab, 0);
  const ProbeSocket b(lab, 1);
  for (const auto& [rtt, text] : {std::pair{Duration(0ms), "0"},
                                  {Duration(1ms), "1"},
                                  {Duration(10ms), "10"},
                                  {Duration(100ms), "100"}}) {
    lab.set({"--rtt", text});
    eventually([&, wanted = rtt] {
      std::vector<Duration> times;
      for (int i = 0; i < 11; ++i) times.push_back(round_trip(a, b));
      CHECK(*std::min_element(times.begin(), times.end()) >= wanted - kClockSlew);
      const Duration excess = median(times) - wanted;
      UNSCOPED_INFO("RTT " << to_us(wanted) << " us, median excess " << to_us(excess) << " us");
      return excess <= kRttTolerance;
    });
  }
}

// Independent loss is within 4 sigma of what was asked for; what arrives is what the lab counts,
// intact.
TEST_CASE("netlab: loss") {
  constexpr std::uint64_t kCount = 60'000;
  for (const double loss : {0.001, 0.01, 0.1}) {
    CAPTURE(loss);
    const LabUnderTest lab({"--loss", std::to_string(loss), "--seed", "7"});
    const ProbeSocket a(lab, 0);
    const ProbeSocket b(lab, 1);
    send_trains(a, kCount);
    const auto stats = lab.settled("a_to_b", kCount);
    const auto arrivals = b.receive_all();
    CHECK(stats["offered"] == kCount);
    CHECK(stats["delivered"] == arrivals.size());
    CHECK(stats["dropped"]["loss"] == kCount - arrivals.size());
    CHECK(std::all_of(arrivals.begin(), arrivals.end(),
                      [](const Arrival& arrival) { return arrival.intact; }));
    const double sigma = std::sqrt(kCount * loss * (1 - loss));
    CHECK(static_cast<double>(kCount - arrivals.size()) == Approx(kCount * loss).margin(4 * sigma));
  }
}

// Loss in bursts has the share p / (p + r) and the mean length 1 / r.
TEST_CASE("netlab: burst loss") {
  constexpr std::uint64_t kCount = 60'000;
  const LabUnderTest lab({"--burst-loss", "0.005,0.2", "--seed", "7"});
  const ProbeSocket a(lab, 0);
  const ProbeSocket b(lab, 1);
  send_trains(a, kCount);
  lab.settled("a_to_b", kCount);
  const auto lost = missing(b.receive_all(), kCount);
  std::size_t bursts = 0;
  for (std::size_t i = 0; i < lost.size(); ++i)
    bursts += i == 0 || lost[i] != lost[i - 1] + 1 ? 1U : 0U;
  REQUIRE(bursts > 0);
  CHECK(static_cast<double>(lost.size()) / kCount == Approx(0.005 / 0.205).epsilon(0.2));
  CHECK(static_cast<double>(lost.size()) / static_cast<double>(bursts) == Approx(5).epsilon(0.2));
}

// The same seed loses the same packets in a second lab, another one others.
TEST_CASE("netlab: same seed, same losses") {
  constexpr std::uint64_t kCount = 5'000;
  const auto first = lost_with_seed("7", kCount);
  CHECK(first.size() > 100);
  CHECK(lost_with_seed("7", kCount) == first);
  CHECK(lost_with_seed("8", kCount) != first);
}

// A link that is offered more delivers its rate, within 2 %.
TEST_CASE("netlab: rate") {
  constexpr std::size_t kCount = 880;
  constexpr std::size_t kLength = 1472;  // 1500 with headers
  const LabUnderTest lab({"--rate", "50mbit", "--queue", "10m"});
  const ProbeSocket a(lab, 0);
  const ProbeSocket b(lab, 1);
  std::uint64_t sent = 0;
  eventually([&] {
    for (std::size_t i = 0; i < kCount; i += 44) a.send(i, 44, kLength);
    sent += kCount;
    const auto stats = lab.settled("a_to_b", sent);
    const auto arrivals = b.receive_all();
    REQUIRE(arrivals.size() == kCount);
    const Duration took = arrivals.back().arrived - arrivals.front().arrived;
    const double rate = (kCount - 1) * 1500 * 8 / to_seconds(took);
    UNSCOPED_INFO("rate " << rate << " bit/s; late: " << stats["late_us"]);
    return std::abs(rate / 50e6 - 1) < 0.02;
  });
}

// A queue of 100 packets takes 100 of those that come at once and drops the rest; the last one that
// it took waits for all before it.
TEST_CASE("netlab: queue") {
  const LabUnderTest lab({"--rate", "10mbit", "--queue", "100p"});
  const ProbeSocket a(lab, 0);
  const ProbeSocket b(lab, 1);
  constexpr Duration kEach = 1'200us;  // 1500 bytes at 10 Mbit/s
  std::uint64_t sent = 0;
  eventually([&] {
    for (std::size_t i = 0; i < 220; i += 44) a.send(i, 44, 1472);
    sent += 220;
    const auto stats = lab.settled("a_to_b", sent);
    const auto arrivals = b.receive_all();
    CHECK(stats["delivered"].get<std::uint64_t>() +
              stats["dropped"]["queue"].get<std::uint64_t>() ==
          sent);
    CHECK(arrivals.size() >= 100);
    CHECK(stats["queue"]["max_bytes"] <= 100 * 1500);
    const Duration longest = arrivals.at(99).arrived - arrivals.front().sent;
    CHECK(longest >= 100 * kEach - kClockSlew);
    UNSCOPED_INFO(arrivals.size() << " arrived, the 100th after " << to_us(longest) << " us");
    // Nearly all came before a packet had left.
    return arrivals.size() <= 103 && longest <= 100 * kEach + 3ms;
  });
  CHECK(lab.stats()["a_to_b"]["queue"]["max_bytes"] > 98 * 1500);
}

// During an outage nothing gets through, before and after it everything, and it is as long as asked
// for.
TEST_CASE("netlab: outage") {
  const LabUnderTest lab({});
  const ProbeSocket a(lab, 0);
  const ProbeSocket b(lab, 1);
  std::uint64_t dropped = 0;
  std::uint64_t offered = 0;
  eventually([&] {
    constexpr std::uint64_t kCount = 300;
    lab.set({"--ab", "--outage", "100ms,200ms"});
    std::vector<Duration> sent;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      sent.push_back(wall_clock());
      a.send(i, 1, 100);
      wait_until(sent.front() + static_cast<std::int64_t>(i + 1) * 1500us);
    }
    offered += kCount;
    const auto stats = lab.settled("a_to_b", offered);
    const auto lost = missing(b.receive_all(), kCount);
    const auto all = stats["dropped"]["outage"].get<std::uint64_t>();
    CHECK(all - std::exchange(dropped, all) == lost.size());
    if (lost.empty() || lost.front() == 0 || lost.back() + 1 == kCount) return false;
    CHECK(lost.back() - lost.front() + 1 == lost.size());
    const Duration at_least = sent[lost.back()] - sent[lost.front()];
    const Duration at_most = sent[lost.back() + 1] - sent[lost.front() - 1];
    UNSCOPED_INFO("between " << to_us(at_least) << " and " << to_us(at_most) << " us");
    return at_least <= 201ms && at_most >= 199ms && at_most - at_least < 20ms;
  });
}

// Jitter keeps the order unless it may change it, and lies on both sides of the delay.
TEST_CASE("netlab: jitter") {
  constexpr std::uint64_t kCount = 500;
  const LabUnderTest lab({"--delay", "20", "--jitter", "10"});
  const ProbeSocket a(lab, 0);
  const ProbeSocket b(lab, 1);
  const auto by_number = [](const Arrival& x, const Arrival& y) { return x.number < y.number; };
  send_trains(a, kCount);
  lab.settled("a_to_b", kCount);
  auto arrivals = b.receive_all();
  CHECK(arrivals.size() == kCount);
  CHECK(std::is_sorted(arrivals.begin(), arrivals.end(), by_number));

  lab.set({"--jitter-reorders"});
  send_trains(a, kCount);
  lab.settled("a_to_b", 2 * kCount);
  arrivals = b.receive_all();
  CHECK(arrivals.size() == kCount);
  CHECK_FALSE(std::is_sorted(arrivals.begin(), arrivals.end(), by_number));
  std::vector<Duration> times;
  for (const auto& arrival : arrivals) times.push_back(arrival.took());
  CHECK(*std::min_element(times.begin(), times.end()) >= 10ms);
  CHECK(*std::min_element(times.begin(), times.end()) < 15ms);
  CHECK(median(times) > 17ms);
}

// A packet longer than the link's MTU vanishes, or is answered, which the sender's kernel learns
// from; shorter ones pass.
TEST_CASE("netlab: MTU") {
  const LabUnderTest lab({"--mtu", "1300"});
  const ProbeSocket a(lab, 0);
  const ProbeSocket b(lab, 1);
  a.send(0, 1, 1273);
  a.send(1, 1, 1272);
  auto stats = lab.settled("a_to_b", 2);
  CHECK(stats["dropped"]["mtu"] == 1);
  CHECK(stats["icmp_sent"] == 0);
  CHECK(missing(b.receive_all(), 2) == std::vector<std::uint64_t>{0});
  CHECK(a.path_mtu() == 1500);

  lab.set({"--icmp", "on"});
  a.send(0, 1, 1273);
  stats = lab.settled("a_to_b", 3);
  CHECK(stats["icmp_sent"] == 1);
  CHECK(a.path_mtu() == 1300);
  CHECK_FALSE(a.send(std::vector<std::byte>(1273)));
}

// Of a UDT flow every tenth data packet is dropped, and its first retransmission, no control
// packet.
TEST_CASE("netlab: data packets of UDT") {
  const LabUnderTest lab({"--ab", "--udt-drop", "every=10,repeats=1"});
  const ProbeSocket a(lab, 0);
  const ProbeSocket b(lab, 1);
  const auto send_all = [&a] {
    for (std::uint32_t i = 0; i < 100; ++i) {
      std::vector<std::byte> bytes(200);
      ByteWriter out{MutByteView(bytes)};
      wire::DataHeader header;
      header.seq = wire::SeqNo(1000 + i);
      header.destination = wire::SocketId(5);
      wire::encode(header, out);
      REQUIRE(a.send(bytes));
      wire::ControlHeader control;
      control.destination = wire::SocketId(5);
      ByteWriter control_out{MutByteView(bytes)};
      wire::encode(control, control_out);
      REQUIRE(a.send(bytes));
    }
  };
  for (const std::uint64_t dropped : {10U, 20U, 20U}) {
    send_all();
    const auto offered = lab.stats()["a_to_b"]["offered"].get<std::uint64_t>();
    const auto stats = lab.settled("a_to_b", (offered + 199) / 200 * 200);
    CHECK(stats["dropped"]["udt"] == dropped);
  }
}

// TCP, whose super-packets are cut and joined, delivers every byte over a link that loses, repeats
// and reorders; with and without offloads.
TEST_CASE("netlab: TCP stays intact") {
  const std::vector<std::string> weather{"--rtt",       "2",    "--loss",    "0.5%",
                                         "--duplicate", "0.5%", "--reorder", "1%,1ms"};
  for (const std::string extra : {"", "--no-offload", "--no-coalesce"}) {
    CAPTURE(extra);
    auto options = weather;
    if (!extra.empty()) options.push_back(extra);
    const LabUnderTest lab(options);
    const TcpPair pair(lab);
    std::vector<std::byte> sent(4 << 20);
    SeededRandom random(3);
    for (auto& b : sent) b = static_cast<std::byte>(random.next_u64());
    std::thread sender([&] {
      std::size_t done = 0;
      while (done < sent.size()) {
        const ssize_t n = ::send(pair.a.number(), sent.data() + done, sent.size() - done, 0);
        if (n <= 0) break;
        done += static_cast<std::size_t>(n);
      }
      ::shutdown(pair.a.number(), SHUT_WR);
    });
    std::vector<std::byte> got(sent.size() + 1);
    std::size_t size = 0;
    while (size < got.size()) {
      const ssize_t n = ::recv(pair.b.number(), got.data() + size, got.size() - size, 0);
      if (n <= 0) break;
      size += static_cast<std::size_t>(n);
    }
    sender.join();
    CHECK(size == sent.size());
    CHECK(std::equal(sent.begin(), sent.end(), got.begin()));
    const auto stats = lab.stats();
    CHECK(stats["a_to_b"]["dropped"]["malformed"] == 0);
    CHECK(stats["a_to_b"]["dropped"]["loss"] > 0);
    if (extra.empty() && stats["offload"]["tcp"] == true) {
      // Super-packets were read and written.
      CHECK(stats["a_to_b"]["reads"] < stats["a_to_b"]["offered"]);
      CHECK(stats["a_to_b"]["writes"] < stats["a_to_b"]["handed_over"]);
    }
  }
}

// `down` leaves nothing, no process in the lab either; nor does a crash that the next `up` could
// not clear; a second lab of the same name is refused.
TEST_CASE("netlab: up, down and crash") {
  const auto exists = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  std::string name;
  std::optional<test::Process> inside;
  {
    const LabUnderTest lab({});
    name = lab.name();
    const LabNames names(name);
    CHECK(exists("/run/netns/" + names.namespaces[0]));
    CHECK(netlab({"--name", name, "up"}).status != 0);

    const pid_t first = running(names);
    REQUIRE(first > 0);
    ::kill(first, SIGKILL);
    while (running(names) == first) std::this_thread::yield();
    CHECK(netlab({"--name", name, "stats"}).status != 0);
    CHECK(netlab({"--name", name, "up"}).status == 0);
    CHECK(running(names) != first);
    const ProbeSocket a(lab, 0);
    const ProbeSocket b(lab, 1);
    CHECK(round_trip(a, b) < 1s);
    inside.emplace(std::vector<std::string>{NETLAB_BINARY, "--name", name, "exec", "b", "--", "sh",
                                            "-c", "echo started; exec sleep 100"});
    inside->wait_for_output("started");
  }
  CHECK(inside->wait() == 128 + SIGTERM);
  CHECK_FALSE(exists("/run/netns/" + name + "-a"));
  CHECK_FALSE(exists("/run/netns/" + name + "-b"));
  CHECK_FALSE(exists(LabNames(name).folder));
  CHECK(netlab({"--name", name, "down"}).status != 0);
}

// `run` tells its command where it is, gives its exit status, and leaves the counters.
TEST_CASE("netlab: run") {
  const std::string script =
      "test \"$NETLAB_A\" = \"$NETLAB_NAME-a\" && test \"$NETLAB_B\" = \"$NETLAB_NAME-b\" && "
      "test -n \"$NETLAB_ADDR_A\" && test -n \"$NETLAB_ADDR_B\" && "
      "\"$NETLAB\" set --loss 1% && \"$NETLAB\" exec b -- grep -q nl0 /proc/net/dev && "
      "! grep -q nl0 /proc/net/dev && exit 7";
  const Outcome outcome = netlab({"run", "--stats", "-", "--seed", "9", "--", "sh", "-c", script});
  INFO(outcome.err);
  CHECK(outcome.status == 7);
  const auto stats = nlohmann::json::parse(outcome.err, nullptr, false);
  REQUIRE(stats.is_object());
  CHECK(stats["seed"] == 9);
  CHECK(netlab({"run", "--", "/no/such/program"}).status == 127);
  CHECK(netlab({"run", "--rate", "fast", "--", "true"}).status == 2);
}

}  // namespace xfer::netlab

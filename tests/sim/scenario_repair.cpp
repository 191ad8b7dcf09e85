#include <catch2/catch.hpp>
#include <cstdio>

#include "scenario.hpp"
#include "support/raw_peer.hpp"

namespace xfer::sim {
namespace {

constexpr std::uint64_t kGigabit = 1'000'000'000;

struct Repair {
  Duration stall{};  ///< longest time without progress
  udt::ConnectionStats stats;
};

/// Sends 4 MB at 1 Gbit/s and loses data packet `index` and its first `times` - 1 retransmissions.
Repair lose(Duration rtt, std::int64_t index, unsigned times) {
  Pair pair(upload(4'000'000, kGigabit, rtt));
  if (times > 0) pair.up.rules.push_back(drop_data(index, times - 1));
  pair.start();
  StallMeter meter(pair, 50us);
  REQUIRE(pair.run_to_end(60s));
  CHECK(pair.network.failure().empty());
  return {meter.longest(), pair.sender().last_stats};
}

}  // namespace

// A1: a packet lost once, twice and three times is repaired each time within twice the time an
// answer takes and two ticks, without EXP and without sending the flight again. Stock UDT4 stalls
// for 307, 664 and 980 ms.
TEST_CASE("repair: thrice-lost packet", "[A1]") {
  std::printf(
      "stall after data packet 1000 is lost, ms (4 MB at 1 Gbit/s)\n"
      "  RTT      no loss    lost 1x    lost 2x    lost 3x    lost 4x\n");
  for (const Duration rtt : {Duration(300us), Duration(10ms), Duration(100ms)}) {
    const Repair clean = lose(rtt, 1000, 0);
    std::printf("%5.1f %12.1f", to_seconds(rtt) * 1e3, to_seconds(clean.stall) * 1e3);
    for (unsigned times = 1; times <= 4; ++times) {
      const Repair repair = lose(rtt, 1000, times);
      std::printf(" %10.1f", to_seconds(repair.stall) * 1e3);
      CAPTURE(to_us(rtt), times, to_us(clean.stall), to_us(repair.stall));
      const Duration answer = rtt + 4 * std::max(repair.stats.rtt_var, clean.stats.rtt_var);
      CHECK(repair.stall <= clean.stall + (2 * answer + 20ms) * times);
      CHECK(repair.stats.exp_fired == 0);
      CHECK(repair.stats.packets_retransmitted <=
            clean.stats.packets_retransmitted + times + 2 * repair.stats.probes_sent + 27);
    }
    std::printf("\n");
  }
}

// A7: the last packet of a transfer, which nothing behind it can show to be missing, is repaired by
// a probe in about a round trip.
TEST_CASE("repair: tail loss", "[A7]") {
  const Duration rtt = GENERATE(Duration(300us), Duration(10ms), Duration(100ms));
  const auto completion = [&](unsigned lost) {
    Pair pair(upload(100 * 1456, kGigabit, rtt));
    if (lost > 0)
      pair.up.rules.push_back([=](const PacketView& packet) {
        return packet.data_index >= 100 - static_cast<std::int64_t>(lost) &&
               packet.transmission == 0;
      });
    pair.start();
    REQUIRE(pair.run_to_end(60s));
    CHECK(pair.sender().last_stats.exp_fired == 0);
    return *pair.receiver().received_all_at;
  };
  const unsigned lost = GENERATE(1U, 2U, 5U);
  CAPTURE(to_us(rtt), lost);
  // A probe after RTT + 4 RTTVar + 20 ms, where RTTVar is still half of the RTT it started from;
  // behind it the peer's NAK, if more is missing, takes another round trip and a half.
  CHECK(completion(lost) - completion(0) <= (lost == 1 ? 3 : 5) * rtt + 40ms);
}

// A2: keep-alives of the peer show that it lives, not that data arrived: they put no retransmission
// off.
TEST_CASE("repair: keep-alives do not postpone it", "[A2][I-18]") {
  const auto completion = [](Duration keep_alives) {
    Pair pair(upload(200 * 1456, kGigabit, 10ms));
    // All data and all NAKs are lost for a while.
    pair.up.rules.push_back([](const PacketView& packet) {
      return packet.is_data() && packet.data_index >= 100 && packet.now < TimePoint{} + 2s;
    });
    pair.start();
    std::function<void()> inject = [&] {
      if (pair.accepted() && !pair.sender().ended()) {
        test::RawPeer peer;
        peer.peer_id = pair.sender().id();
        pair.network.send(pair.listener, pair.caller.address(), peer.keep_alive());
      }
      pair.network.after(keep_alives, inject);
    };
    if (keep_alives.count() > 0) inject();
    REQUIRE(pair.run_to_completion(60s));
    return *pair.receiver().received_all_at;
  };
  const TimePoint undisturbed = completion({});
  for (const Duration interval : {Duration(5ms), Duration(50ms), Duration(250ms)})
    CHECK(completion(interval) <= undisturbed + 50ms);
}

// A lost NAK is repeated by the receiver: the hole is filled although the sender heard of it late.
TEST_CASE("repair: NAKs lost", "[A1][I-16][I-17]") {
  const unsigned naks = GENERATE(1U, 2U, 3U);
  Pair pair(upload(4'000'000, kGigabit, 10ms));
  pair.up.rules.push_back(drop_data(1000));
  pair.down.rules.push_back(drop_control(wire::ControlType::nak, naks));
  pair.start();
  StallMeter meter(pair, 100us);
  REQUIRE(pair.run_to_end(60s));
  CAPTURE(naks, to_us(meter.longest()));
  CHECK(meter.longest() <= (2 * 15ms + 20ms) * (naks + 1));
  CHECK(pair.sender().last_stats.exp_fired == 0);
}

// A path that is dark for five seconds in the middle of a transfer: it goes on soon after, on the
// same connection.
TEST_CASE("repair: blackout of five seconds") {
  const Duration rtt = GENERATE(Duration(300us), Duration(10ms), Duration(100ms));
  Pair pair(upload(60'000'000, 200'000'000, rtt));
  const TimePoint begin = TimePoint{} + 2s;
  const TimePoint end = begin + 5s;
  pair.up.options.blackouts = pair.down.options.blackouts = {{begin, end}};
  pair.start();
  pair.network.run_for(5800ms);
  REQUIRE(pair.network.now() < end);
  const std::uint64_t dark = pair.received();
  // The next probe comes at most kMaxBackoff after the last one.
  REQUIRE(pair.run_until(udt::kMaxBackoff + 500ms, [&] { return pair.received() > dark; }));
  CAPTURE(to_us(pair.network.now() - end));
  CHECK(pair.network.now() - end <= udt::kMaxBackoff + 2 * rtt);
  REQUIRE(pair.run_to_end(120s));
  CHECK_FALSE(pair.sender().error);
  CHECK(pair.network.failure().empty());
}

}  // namespace xfer::sim

#include "udt/cc/bbr.hpp"

#include <catch2/catch.hpp>
#include <cmath>

namespace xfer::udt {
namespace {

/// A path of a fixed rate, round trip and queue in front of a Bbr: each step is one round trip in
/// which the controller sends what it may. Everything in packets.
struct Path {
  explicit Path(double pps, Duration round_trip) : rate(pps), rtt(round_trip) {}

  double rate;               ///< packets/s
  Duration rtt;              ///< without queue
  double queue_limit = 1e9;  ///< packets
  double loss = 0;           ///< of what gets through
  SeededRandom random{1};
  Bbr bbr{ControllerSetup{1500, 1'000'000, 1'000'000, 100ms, std::nullopt}, random};
  TimePoint now{100s};
  Controller::Delivery total{};
  double queue = 0;
  double lost_in_all = 0;
  double eased_sent = 0;
  double eased_lost = 0;
  Duration queued_rtt{};

  /// Packets sent in the round trip.
  double round_trip() {
    const double per_rtt = to_seconds(rtt) * 1e9 / static_cast<double>(bbr.send_period().count());
    const double sent = std::min<double>(per_rtt, bbr.cwnd());
    const bool eased = bbr.eased();
    const double carried = rate * to_seconds(rtt);
    double arrived = std::min(queue + sent, carried);
    queue = queue + sent - arrived;
    double lost = std::max(0.0, queue - queue_limit);
    queue -= lost;
    lost += arrived * loss;
    arrived -= arrived * loss;
    queued_rtt = rtt + Duration(static_cast<std::int64_t>(queue / rate * 1e9));
    now += queued_rtt;
    lost_in_all += lost;
    if (eased) {
      eased_sent += sent;
      eased_lost += sent * loss;
    }

    const std::uint64_t before = total.delivered;
    total.delivered += static_cast<std::uint64_t>(std::llround(arrived));
    total.lost = static_cast<std::uint64_t>(std::llround(lost_in_all));
    total.eased_sent = static_cast<std::uint64_t>(std::llround(eased_sent));
    total.eased_lost = static_cast<std::uint64_t>(std::llround(eased_lost));
    total.pipe = static_cast<std::uint32_t>(std::min<double>(bbr.cwnd(), sent + queue));
    total.rate = arrived / to_seconds(rtt);
    total.prior_delivered = before;
    total.rtt = queued_rtt;
    bbr.on_ack(
        {now, static_cast<std::int64_t>(total.delivered), 1, false, queued_rtt, 0, 0, true, total});
    return sent;
  }
  void round_trips(int count) {
    for (int i = 0; i < count; ++i) round_trip();
  }
  [[nodiscard]] double paced_rate() const {
    return 1e9 / static_cast<double>(bbr.send_period().count());
  }
};

}  // namespace

TEST_CASE("Bbr finds the rate of a path within some doublings and stays at it", "[udt]") {
  const double rate = GENERATE(1e3, 8e4, 8e5);
  const Duration rtt = GENERATE(Duration(1ms), Duration(20ms), Duration(100ms));
  CAPTURE(rate, to_us(rtt));
  Path path(rate, rtt);
  path.round_trips(40);
  double sent = 0;
  for (int i = 0; i < 80; ++i) sent += path.round_trip();
  CHECK(sent / (80 * to_seconds(rtt)) == Approx(rate).epsilon(0.05));
}

// A path that loses at random gets what it carries and the losses on top, so that it stays full.
TEST_CASE("Bbr makes up for random loss", "[udt]") {
  const double loss = GENERATE(0.01, 0.05);
  Path path(8e4, 100ms);
  path.loss = loss;
  path.round_trips(60);
  double delivered = 0;
  for (int i = 0; i < 80; ++i) {
    const std::uint64_t before = path.total.delivered;
    path.round_trip();
    delivered += static_cast<double>(path.total.delivered - before);
  }
  CHECK(delivered / (80 * 0.1) >= 0.97 * 8e4 * (1 - loss));
}

// But loss never raises the rate by more than kMaxRandomLoss would.
TEST_CASE("Bbr does not chase heavy loss", "[udt]") {
  Path path(8e4, 20ms);
  path.loss = 0.5;
  path.round_trips(100);
  CHECK(path.paced_rate() <= 1.25 * 8e4 * 0.5 / (1 - 0.15) * 1.05);
}

// With a queue that another flow keeps full, losses make it take less, down to about one
// bandwidth-delay product.
TEST_CASE("Bbr yields when a standing queue overflows", "[udt]") {
  Path path(8e4, 20ms);
  path.round_trips(60);
  const std::uint32_t alone = path.bbr.cwnd();
  for (int i = 0; i < 30; ++i) {
    Controller::Delivery& total = path.total;
    path.now += 30ms;
    total.prior_delivered = total.delivered;
    total.delivered += 1600;
    total.lost += 10;
    total.pipe = path.bbr.cwnd();
    total.rate = 8e4;
    total.rtt = 30ms;  // never without a queue
    path.bbr.on_ack({path.now, 0, 1, false, 30ms, 0, 0, true, total});
  }
  CHECK(path.bbr.cwnd() < 0.9 * alone);
  CHECK(path.bbr.cwnd() >= 1600);
}

TEST_CASE("Bbr starts over after a time-out", "[udt]") {
  Path path(8e4, 20ms);
  path.round_trips(60);
  path.bbr.on_timeout({path.now, 20ms, 0});
  path.rate = 3.2e5;
  path.round_trips(30);
  CHECK(path.paced_rate() >= 0.7 * 3.2e5);
}

TEST_CASE("Bbr stays below the operator's rate", "[udt]") {
  SeededRandom random(1);
  Path path(8e4, 20ms);
  Bbr limited({1500, 1000, 1000, 20ms, 15'000'000}, random);
  for (int i = 0; i < 50; ++i) {
    path.round_trip();
    Controller::Delivery seen = path.total;
    limited.on_ack({path.now, 0, 1, false, 20ms, 0, 0, true, seen});
  }
  CHECK(limited.send_period() >= 100us);
  CHECK(limited.cwnd() <= 1000);
}

}  // namespace xfer::udt

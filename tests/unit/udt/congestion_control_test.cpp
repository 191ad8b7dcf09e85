#include "udt/cc/controller.hpp"
#include "udt/cc/fixed_rate.hpp"
#include "udt/cc/udt_native.hpp"

#include <catch2/catch.hpp>

namespace xfer::udt {
namespace {

constexpr TimePoint kStart{100s};

/// Answers 0 or a chosen number, so that the randomised decrease is what the test wants.
class ChosenRandom final : public RandomSource {
 public:
  std::uint64_t value = 0;
  std::uint64_t next_u64() override { return value; }
};

/// A controller with its events spelled shortly.
struct Native {
  explicit Native(const ControllerSetup& setup = {}) : control(setup, random) {}

  /// 10 ms after the last one, so that each counts.
  void ack(std::int64_t newly_acked, std::uint32_t rate, std::uint32_t capacity,
           Duration rtt = 90ms) {
    now += 10ms;
    control.on_ack({now, 0, newly_acked, false, rtt, rate, capacity, true});
  }
  void loss(std::int64_t first, std::int64_t newest, std::uint32_t rate = 0, Duration rtt = 90ms) {
    control.on_loss({now, first, newest, rtt, rate});
  }
  /// Ends slow start at that rate.
  void start_at(std::uint32_t rate) { loss(0, 100, rate); }
  [[nodiscard]] std::int64_t period_ns() const { return control.send_period().count(); }

  ChosenRandom random;
  TimePoint now = kStart;
  UdtNative control;
};

// Slow start: 16 packets at 1 us, and each acknowledged packet opens the window by one - stock adds
// one too many per ACK.
TEST_CASE("Slow start opens the window by what was acknowledged [E6]", "[udt][E6]") {
  Native native;
  CHECK(native.control.cwnd() == 16);
  CHECK(native.period_ns() == 1000);
  native.ack(16, 0, 0);
  CHECK(native.control.cwnd() == 32);
  native.ack(32, 5000, 5000);
  CHECK(native.control.cwnd() == 64);
  CHECK(native.period_ns() == 1000);
}

// An application that sends little learns nothing about the path: the window stays.
TEST_CASE("Slow start does not grow what is not used", "[udt]") {
  Native native;
  native.control.on_ack({kStart, 8, 8, false, 1ms, 0, 0, false});
  CHECK(native.control.cwnd() == 16);
}

// Slow start ends at the peer's window, at the rate of arrival: 10 000 packets/s are 100 us; with
// no rate known at window / (RTT + SYN): 110 000 us / 8192 = 13.427 us. The same ACK already makes
// the first increase, by 0.01: 100 us become 99.990.
TEST_CASE("Slow start ends at the peer's window", "[udt]") {
  Native known;
  known.ack(9000, 10'000, 0);
  CHECK(known.period_ns() == 99'990);
  Native unknown;
  unknown.ack(9000, 0, 0, 100ms);
  CHECK(unknown.control.cwnd() == 8192);
  CHECK(unknown.period_ns() == 13'427);
}

// cwnd = A (RTT + SYN) + 16: 10 000/s * 100 ms + 16 = 1016, and never above the peer's window.
TEST_CASE("The window follows the arrival rate", "[udt]") {
  Native native;
  native.start_at(10'000);
  native.ack(1, 10'000, 10'000);
  CHECK(native.control.cwnd() == 1016);
  native.ack(1, 10'000'000, 10'000);
  CHECK(native.control.cwnd() == 8192);
  native.ack(1, 0, 10'000);  // unknown: unchanged
  CHECK(native.control.cwnd() == 8192);
}

// inc = max(10^ceil(log10(B * 12 000)) * 1.5e-6 / 1500, 0.01) and P = P * 10 000 / (P * inc +
// 10 000), from P = 100 us, where the rate is 10 000/s and B = capacity - 10 000.
TEST_CASE("The rate grows by the spare capacity", "[udt]") {
  struct Case {
    std::uint32_t capacity;
    std::int64_t period_ns;
  };
  for (const auto& [capacity, period_ns] : {
           Case{0, 99'990},        // unknown: 0.01
           Case{5'000, 99'990},    // none: 0.01
           Case{10'000, 99'990},   // none: 0.01
           Case{10'800, 99'990},   // 9.6e6 -> 10^7: 0.01
           Case{18'000, 99'900},   // 9.6e7 -> 10^8: 0.1
           Case{20'000, 99'009},   // 1.2e8 -> 10^9: 1
           Case{90'000, 99'009},   // 9.6e8 -> 10^9: 1
           Case{100'000, 90'909},  // 1.08e9 -> 10^10: 10
       }) {
    CAPTURE(capacity);
    Native native;
    native.start_at(10'000);
    native.ack(1, 10'000, capacity);
    CHECK(native.period_ns() == period_ns);
  }
}

// While the rate is still below that of the last cut, at most a ninth of the capacity counts as
// spare: 900 000 / 9 * 12 000 = 1.2e9 -> 10^10, inc 10, P = 1 125 000 / 11 125 = 101.123 us.
TEST_CASE("Spare capacity is a ninth after a cut [B10]", "[udt][B10]") {
  Native native;
  native.start_at(10'000);
  native.loss(101, 200);
  CHECK(native.period_ns() == 112'500);
  native.ack(1, 10'000, 900'000);  // the first one after a loss does not increase
  CHECK(native.period_ns() == 112'500);
  native.ack(1, 10'000, 900'000);
  CHECK(native.period_ns() == 101'123);
}

// Rate control runs once per SYN, and light ACKs do not count.
TEST_CASE("The rate changes once per SYN", "[udt]") {
  Native native;
  native.start_at(10'000);
  native.ack(1, 10'000, 20'000);
  CHECK(native.period_ns() == 99'009);
  native.control.on_ack({native.now + 10ms - 1ns, 0, 1, false, 90ms, 10'000, 20'000, true});
  CHECK(native.period_ns() == 99'009);
  native.control.on_ack({native.now + 10ms, 0, 1, true, 90ms, 10'000, 20'000, true});
  CHECK(native.period_ns() == 99'009);
  native.control.on_ack({native.now + 10ms, 0, 1, false, 90ms, 10'000, 20'000, true});
  CHECK(native.period_ns() < 99'009);
}

// A cut is by 1/9 of the rate at any speed: 1.2 us -> 1.35 us and not 2 us, 2.4 -> 2.7 and not 3.
TEST_CASE("A cut is not rounded to whole microseconds [B2]", "[udt][B2]") {
  struct Case {
    std::uint32_t rate;
    std::int64_t before;
    std::int64_t after;
  };
  for (const auto& [rate, before, after] :
       {Case{833'333, 1200, 1350}, Case{416'666, 2400, 2700}, Case{10'000'000, 100, 112}}) {
    Native native;
    native.start_at(rate);
    CHECK(native.period_ns() == before);
    native.loss(101, 200);
    CHECK(native.period_ns() == after);
  }
}

// A loss before any rate is known halves the window, down to 16, and slow start goes on; stock
// falls to 16 packets/s.
TEST_CASE("An early loss does not stop a connection [B1]", "[udt][B1]") {
  Native native;
  native.loss(2, 15);
  CHECK(native.period_ns() == 1000);
  CHECK(native.control.cwnd() == 16);
  native.ack(84, 0, 0);
  CHECK(native.control.cwnd() == 100);
  native.loss(20, 99);
  CHECK(native.control.cwnd() == 50);
  CHECK(native.period_ns() == 1000);
  native.ack(50, 0, 0);
  CHECK(native.control.cwnd() == 100);
}

// A loss in slow start with a known rate ends it at that rate, without a cut.
TEST_CASE("A loss ends slow start at the arrival rate", "[udt]") {
  Native native;
  native.ack(100, 20'000, 20'000);
  native.loss(50, 99, 20'000);
  CHECK(native.period_ns() == 50'000);
  CHECK(native.control.cwnd() == 116);
}

// One congestion period is the flight at the time of its first loss: one cut at once, further ones
// for the first four NAKs after it at most, however many come.
TEST_CASE("One flight's losses cut the rate a few times at most", "[udt]") {
  Native native;
  native.start_at(10'000);
  native.loss(101, 200);
  int cuts = 0;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t before = native.period_ns();
    native.loss(150, 200);
    cuts += native.period_ns() > before ? 1 : 0;
  }
  CHECK(cuts == 4);  // nothing is known of earlier periods: each of the four counts
  const std::int64_t before = native.period_ns();
  native.loss(201, 300);  // sent after the cut: a new period
  CHECK(static_cast<double>(native.period_ns()) == Approx(static_cast<double>(before) * 1.125));
}

// After periods with many NAKs only every decRandom-th of the four counts: avgNAK becomes
// ceil(0.125 * 5) = 1, ceil(0.875 + 0.125 * 5) = 2, ... and decRandom = ceil(avgNAK * U).
TEST_CASE("Decreases thin out when losses come in crowds [B7]", "[udt][B7]") {
  Native native;
  native.random.value = ~std::uint64_t{0};  // U just below 1
  native.start_at(10'000);
  std::vector<int> cuts_per_period;
  for (std::int64_t period = 1; period <= 4; ++period) {
    const std::int64_t newest = 100 + 100 * period;
    native.loss(newest - 99, newest);
    int cuts = 0;
    for (int i = 0; i < 4; ++i) {
      const std::int64_t before = native.period_ns();
      native.loss(newest - 50, newest);
      cuts += native.period_ns() > before ? 1 : 0;
    }
    cuts_per_period.push_back(cuts);
  }
  // avgNAK 0, 1, 2, 3: decRandom 1, 1, 2, 3 against nakCount 2 ... 5.
  CHECK(cuts_per_period == std::vector<int>{4, 4, 2, 1});
}

// Sending everything again halves the rate; stock's time-out leaves it as it is.
TEST_CASE("A time-out halves the rate [B9]", "[udt][B9]") {
  Native native;
  native.start_at(10'000);
  native.control.on_timeout({native.now, 90ms, 10'000});
  CHECK(native.period_ns() == 200'000);
  Native early;
  early.control.on_timeout({early.now, 100ms, 0});  // 2 * (110 ms / 16)
  CHECK(early.period_ns() == 13'750'000);
}

// However long it rains, ten packets a second are sent.
TEST_CASE("The rate never falls below ten packets a second", "[udt]") {
  Native native;
  native.start_at(10'000);
  for (int i = 0; i < 100; ++i) native.control.on_timeout({native.now, 90ms, 0});
  CHECK(native.period_ns() == 100'000'000);
}

// A ceiling of 1.5 MB/s is one packet of 1500 bytes each millisecond, from the first packet on. A
// ceiling below ten packets a second is kept too.
TEST_CASE("The rate respects its ceiling", "[udt]") {
  ControllerSetup setup;
  setup.max_rate = 1'500'000;
  Native native(setup);
  CHECK(native.period_ns() == 1'000'000);
  native.start_at(100'000);
  CHECK(native.period_ns() == 1'000'000);
  for (int i = 0; i < 50; ++i) native.ack(1, 100'000, 1'000'000);
  CHECK(native.period_ns() == 1'000'000);
  setup.max_rate = 1500;
  Native slow(setup);
  slow.start_at(100'000);
  CHECK(slow.period_ns() == 1'000'000'000);
}

// Peers may report anything: the controller's numbers stay finite and its window within bounds.
TEST_CASE("Absurd rates do not break the controller [B8]", "[udt][B8]") {
  Native native;
  native.ack(1, kMaxWireRate, kMaxWireRate);
  native.loss(0, 100, kMaxWireRate);
  for (int i = 0; i < 1000; ++i) native.ack(1, kMaxWireRate, kMaxWireRate, 300s);
  CHECK(native.control.cwnd() == 8192);
  CHECK(native.period_ns() >= 0);
  CHECK(native.period_ns() <= 4);
  native.loss(101, 200, 1);
  CHECK(native.period_ns() >= 0);
}

// A peer with a tiny window: the window never exceeds it by more than UDT's 16 packets.
TEST_CASE("The window respects a small peer", "[udt]") {
  ControllerSetup setup;
  setup.peer_window = 2;
  Native native(setup);
  CHECK(native.control.cwnd() == 16);
  native.ack(2, 1000, 1000);
  CHECK(native.control.cwnd() == 16);
}

// Where windows can grow, slow start ends at the announced one all the same; later the window
// follows the rate beyond it.
TEST_CASE("A window that can grow does not prolong slow start", "[udt]") {
  ControllerSetup setup;
  setup.peer_window = 100;
  setup.max_window = 10'000;
  Native native(setup);
  native.ack(1000, 0, 0);
  CHECK(native.control.cwnd() == 100);
  native.ack(1, 1'000'000, 1'000'000);
  CHECK(native.control.cwnd() == 10'000);
}

// Packets of another size: the same bytes a second and in flight.
TEST_CASE("Controllers keep their rate when the packet size changes", "[udt]") {
  ControllerSetup setup;
  setup.mss = 1500;
  setup.max_rate = 1'500'000;
  ChosenRandom random;
  for (const auto kind : {ControllerKind::fixed_rate, ControllerKind::udt_native}) {
    const auto control = make_controller(kind, setup, random);  // native: in slow start
    CHECK(control->send_period() == 1ms);
    control->on_packet_size(9000);
    CHECK(control->send_period() == 6ms);
  }

  Native native;
  native.loss(0, 100, 10'000);  // ends slow start at that rate
  const auto before = static_cast<double>(native.period_ns());
  const std::uint32_t window = native.control.cwnd();
  native.control.on_packet_size(750);
  CHECK(native.period_ns() == Approx(before / 2).margin(1));
  CHECK(native.control.cwnd() == 2 * window);
}

// The factory makes what was asked for.
TEST_CASE("Controllers are made by kind", "[udt]") {
  ChosenRandom random;
  ControllerSetup setup;
  setup.max_rate = 1'500'000;
  CHECK(make_controller(ControllerKind::udt_native, setup, random)->cwnd() == 16);
  CHECK(make_controller(ControllerKind::fixed_rate, setup, random)->cwnd() == 8192);
}

// Fixed rate: the rate asked for, all the peer's window, and no loss of a few packets changes it.
TEST_CASE("A fixed rate is kept through moderate loss", "[udt]") {
  ControllerSetup setup;
  setup.max_rate = 15'000'000;
  FixedRate control(setup);
  CHECK(control.send_period() == 100us);
  TimePoint now = kStart;
  for (int second = 0; second < 20; ++second) {
    for (int i = 0; i < 100; ++i) control.on_sent({now, i, 1456, i % 11 == 0});
    control.on_loss({now, 0, 1, 1ms, 0});
    control.on_timeout({now, 1ms, 0});
    now += 1s;
    control.on_ack({now, 0, 1, false, 1ms, 0, 0, false});
    CHECK(control.send_period() == 100us);
  }
}

// Above a tenth of loss the path cannot carry the rate: a quarter less each second, down to a 64th,
// and back by a tenth each clean second.
TEST_CASE("A fixed rate backs off from a path that cannot carry it", "[udt]") {
  ControllerSetup setup;
  setup.max_rate = 15'000'000;
  FixedRate control(setup);
  TimePoint now = kStart;
  control.on_ack({now, 0, 1, false, 1ms, 0, 0, false});
  const auto second = [&](bool lossy) {
    for (int i = 0; i < 100; ++i) control.on_sent({now, i, 1456, lossy && i % 5 == 0});
    now += 1s;
    control.on_ack({now, 0, 1, false, 1ms, 0, 0, false});
  };
  second(true);
  CHECK(control.send_period() == 133'333ns);
  for (int i = 0; i < 50; ++i) second(true);
  CHECK(control.send_period() == 6400us);
  second(false);
  CHECK(to_us(control.send_period()) == 5818);
  for (int i = 0; i < 60; ++i) second(false);
  CHECK(control.send_period() == 100us);
}

}  // namespace
}  // namespace xfer::udt

#include "udt/rtt_estimator.hpp"

#include <catch2/catch.hpp>

namespace xfer::udt {
namespace {

// The first sample replaces UDT's start values of 100 ms and 50 ms, so that a fast path does not
// wait for their decay.
TEST_CASE("The first round trip counts in full [A9]", "[udt][A9]") {
  RttEstimator rtt;
  CHECK_FALSE(rtt.measured());
  CHECK(rtt.rtt() == 100ms);
  CHECK(rtt.rtt_var() == 50ms);
  CHECK(rtt.timeout() == 300ms);
  rtt.sample(400us);
  CHECK(rtt.measured());
  CHECK(rtt.rtt() == 400us);
  CHECK(rtt.rtt_var() == 200us);
  CHECK(rtt.timeout() == 1200us);
}

// Later samples by UDT's rule, in this order: RTTVar = (3 RTTVar + |rtt - RTT|) / 4 with the old
// RTT, then RTT = (7 RTT + rtt) / 8.
TEST_CASE("Round trips are smoothed by UDT's rule", "[udt]") {
  RttEstimator rtt;
  rtt.sample(8ms);   // 8, 4
  rtt.sample(16ms);  // var (12 + 8) / 4 = 5, rtt (56 + 16) / 8 = 9
  CHECK(rtt.rtt_var() == 5ms);
  CHECK(rtt.rtt() == 9ms);
  rtt.sample(1ms);  // var (15 + 8) / 4 = 5.75, rtt (63 + 1) / 8 = 8
  CHECK(rtt.rtt_var() == 5750us);
  CHECK(rtt.rtt() == 8ms);
  rtt.sample(-1ns);  // no time runs backwards
  CHECK(rtt.rtt() == 8ms);
}

// What an ACK says is taken only where it can be true: not 0, not above the protocol's limit, not
// the start values of a peer that has measured nothing.
TEST_CASE("Implausible round trips of the peer are left out [I-10]", "[udt][I-10]") {
  struct Case {
    std::uint32_t rtt_us;
    std::uint32_t var_us;
    bool taken;
  };
  for (const auto& [rtt_us, var_us, taken] : {
           Case{1, 0, true},
           Case{0, 0, false},
           Case{100'000, 50'000, false},
           Case{100'000, 50'001, true},
           Case{100'001, 50'000, true},
           Case{300'000'000, 300'000'000, true},
           Case{300'000'001, 0, false},
           Case{1000, 300'000'001, false},
           Case{0x7FFFFFFF, 0, false},
           Case{0xFFFFFFFF, 0xFFFFFFFF, false},
       }) {
    CAPTURE(rtt_us, var_us);
    RttEstimator rtt;
    rtt.adopt(rtt_us, var_us);
    CHECK(rtt.measured() == taken);
    if (taken) CHECK(rtt.rtt() == std::chrono::microseconds(rtt_us));
  }
}

}  // namespace
}  // namespace xfer::udt

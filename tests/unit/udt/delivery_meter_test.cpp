#include "udt/delivery_meter.hpp"

#include <catch2/catch.hpp>

namespace xfer::udt {
namespace {

constexpr TimePoint kStart{100s};

}  // namespace

// A window of ten packets each 10 ms, each window acknowledged 10 ms after it was sent: the rate is
// ten packets per 10 ms, whatever the burstiness of sending.
TEST_CASE("The delivery rate is what was delivered over the time it took", "[udt]") {
  DeliveryMeter meter;
  TimePoint now = kStart;
  DeliveryMeter::Stamp before{};
  TimePoint sent_before{};
  for (int round = 0; round < 5; ++round) {
    DeliveryMeter::Stamp stamp{};
    for (int i = 0; i < 10; ++i) stamp = meter.on_sent(now, false);
    if (round > 0) {
      meter.on_delivered(10, now);
      const auto sample = meter.sample(before, sent_before, now);
      REQUIRE(sample);
      CHECK(sample->packets_per_second == Approx(1000).epsilon(1e-6));
      CHECK(sample->prior_delivered ==
            static_cast<std::uint64_t>(round - 1) * 10 - (round > 1 ? 10U : 0U));
    }
    before = stamp;
    sent_before = now;
    now += 10ms;
  }
}

// Acknowledgements that arrive squeezed together do not make the path faster than it was sent on.
TEST_CASE("Compressed acknowledgements do not raise the sample above the sending rate", "[udt]") {
  DeliveryMeter meter;
  TimePoint now = kStart;
  DeliveryMeter::Stamp last{};
  for (int i = 0; i < 100; ++i) {
    last = meter.on_sent(now, false);
    now += 1ms;
  }
  const TimePoint sent = now - 1ms;
  meter.on_delivered(99, now + 50ms);  // all at once
  const auto first = meter.sample(last, sent, now + 50ms);
  REQUIRE(first);
  CHECK(first->packets_per_second <= 1000);
}

// What is on its way: sent, less delivered, less lost; a loss that was none is taken back, and
// nothing stays wrong once everything is acknowledged.
TEST_CASE("The pipe counts transmissions that are neither delivered nor lost", "[udt]") {
  DeliveryMeter meter;
  for (int i = 0; i < 10; ++i) (void)meter.on_sent(kStart, false);
  CHECK(meter.pipe() == 10);
  meter.on_lost(3);
  CHECK(meter.pipe() == 7);
  (void)meter.on_sent(kStart, false);  // one of them again
  CHECK(meter.pipe() == 8);
  meter.on_found(1);
  CHECK(meter.pipe() == 9);
  meter.on_delivered(8, kStart + 1ms);
  CHECK(meter.pipe() == 1);
  meter.settle();
  CHECK(meter.pipe() == 0);
  CHECK(meter.lost() == 2);
}

TEST_CASE("Samples of a flight that was not filled are marked", "[udt]") {
  DeliveryMeter meter;
  (void)meter.on_sent(kStart, false);
  meter.on_limited();
  CHECK(meter.on_sent(kStart + 1ms, false).limited);
  meter.on_delivered(2, kStart + 10ms);
  CHECK_FALSE(meter.on_sent(kStart + 11ms, false).limited);
}

TEST_CASE("Losses while sending less than the path carries are counted apart", "[udt]") {
  DeliveryMeter meter;
  const auto eased = meter.on_sent(kStart, true);
  const auto normal = meter.on_sent(kStart, false);
  CHECK(meter.eased_sent() == 1);
  meter.on_reported_lost(normal);
  CHECK(meter.eased_lost() == 0);
  meter.on_reported_lost(eased);
  CHECK(meter.eased_lost() == 1);
}

}  // namespace xfer::udt

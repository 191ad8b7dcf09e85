// The receiving direction, packet by packet, against a sender made by hand.
#include "desk.hpp"

namespace xfer::test {
namespace {

using wire::AckBody;
using wire::ControlType;
using wire::SeqNo;

/// A connection from a hand-made sender.
struct Receiver {
  explicit Receiver(std::uint32_t isn = 1000, std::uint32_t window = 8192, std::uint32_t mss = 1500)
      : peer(make_peer(1, isn)), connection(accept(window, mss)) {}

  Connection& accept(std::uint32_t window, std::uint32_t mss) {
    udt::ListenConfig config;
    config.connection.receive_window = window;
    config.connection.mss = mss;
    desk.listen(config);
    return desk.accept(peer);
  }
  void data(std::int64_t index) { desk.give(peer, full_packet(peer, desk.source, index)); }
  void data(std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) data(i);
  }
  /// Confirms each ACK in `log`.
  void confirm(const SentLog& log) {
    for (const auto& ack : log.acks()) desk.give(peer, peer.ack2(ack.control().info));
  }
  /// Reads and consumes everything that is there; the bytes are checked.
  std::uint64_t read(std::size_t at_most = ~std::size_t{0}) {
    std::uint64_t count = 0;
    while (count < at_most) {
      const auto run = connection.take_readable();
      if (!run) break;
      CHECK(desk.source.matches(consumed, *run));
      consumed += run->size();
      count += run->size();
      connection.consume(run->size(), desk.now);
    }
    return count;
  }
  /// Index that an ACK acknowledges up to.
  [[nodiscard]] std::int64_t index_of(const AckBody& ack) const {
    return SeqNo::distance(peer.isn, ack.next);
  }

  Desk desk;
  RawPeer peer;
  Connection& connection;
  std::uint64_t consumed = 0;
};

// Ten full packets in one burst are acknowledged 10 ms after the first, not after stock's 104 ms,
// by one 24-byte ACK with number 1.
TEST_CASE("A burst is acknowledged within one tick [I-11][A3]", "[udt][I-11][A3]") {
  Receiver receiver;
  const TimePoint start = receiver.desk.now;
  receiver.data(0, 10);
  CHECK(receiver.desk.sent().empty());
  const auto log = receiver.desk.run(11ms);
  REQUIRE(log.acks().size() == 1);
  const Sent ack = log.acks()[0];
  CHECK(ack.at == start + 10ms);
  CHECK(ack.body.size() == 24);
  CHECK(ack.control().info == 1);
  CHECK(ack.control().destination == receiver.peer.id);
  CHECK(receiver.index_of(*ack.ack()) == 10);
  CHECK(ack.ack()->window == 8192 - 10);  // not read yet
  CHECK(receiver.read() == 14'560);       // readable at once, without waiting for the ACK
}

// A stream that goes on is acknowledged each 10 ms; nothing is while nothing comes.
TEST_CASE("ACKs come once per tick [I-11]", "[udt][I-11]") {
  Receiver receiver;
  SentLog log;
  for (std::int64_t i = 0; i < 100; ++i) {
    receiver.data(i);
    const auto sent = receiver.desk.run(1ms);
    receiver.confirm(sent);
    log.insert(log.end(), sent.begin(), sent.end());
  }
  CHECK(log.acks().size() >= 9);
  CHECK(log.acks().size() <= 11);
  std::uint32_t number = 0;
  for (const auto& ack : log.acks()) CHECK(ack.control().info == ++number);
  receiver.confirm(receiver.desk.run(20ms));
  CHECK(receiver.desk.run(900ms).acks().empty());
}

// Light ACKs at 64, 128, 192 packets since the last ACK: four bytes, number 0.
TEST_CASE("A light ACK each 64 packets [I-7]", "[udt][I-7]") {
  Receiver receiver;
  for (std::int64_t i = 0; i < 200; ++i) {
    receiver.data(i);
    const auto log = receiver.desk.sent();
    CAPTURE(i);
    if ((i + 1) % 64 == 0) {
      REQUIRE(log.size() == 1);
      CHECK(log[0].body.size() == 4);
      CHECK(log[0].control().info == 0);
      CHECK(receiver.index_of(*log[0].ack()) == i + 1);
    } else {
      CHECK(log.empty());
    }
  }
  CHECK(receiver.desk.run(10ms).acks().size() == 1);
  CHECK(receiver.connection.stats().light_acks_sent == 3);
}

// A light ACK that would only say what ACK2 has confirmed already is left out.
TEST_CASE("A light ACK says something new", "[udt]") {
  Receiver receiver;
  receiver.data(1, 65);  // packet 0 is missing: nothing to acknowledge
  CHECK(receiver.desk.sent().light_acks().empty());
  receiver.data(0);
  receiver.data(65, 129);
  CHECK(receiver.desk.sent().light_acks().size() == 1);
}

// A packet that is not full is acknowledged at once: it ends a burst. Within 10 ms of a full ACK
// the 16-byte kind is used; no other lengths exist.
TEST_CASE("A packet that is not full is acknowledged at once [I-7][I-20]", "[udt][I-7][I-20]") {
  Receiver receiver;
  std::vector<std::size_t> sizes;
  for (std::int64_t i = 0; i < 6; ++i) {
    receiver.desk.give(receiver.peer,
                       receiver.peer.data(receiver.peer.isn.advanced(i), as_byte_view("short")));
    const auto log = receiver.desk.sent();
    REQUIRE(log.acks().size() == 1);
    CHECK(receiver.index_of(*log[0].ack()) == i + 1);
    sizes.push_back(log[0].body.size());
    receiver.confirm(log);
    receiver.desk.run(i == 3 ? 10ms : 2ms);
  }
  CHECK(sizes == std::vector<std::size_t>{24, 16, 16, 16, 24, 16});
}

// A packet without bytes is acknowledged like any other, and reads as nothing.
TEST_CASE("A packet without bytes is acknowledged", "[udt]") {
  Receiver receiver;
  receiver.desk.give(receiver.peer, receiver.peer.data(receiver.peer.isn, {}));
  const auto log = receiver.desk.sent();
  REQUIRE(log.acks().size() == 1);
  CHECK(receiver.index_of(*log.acks()[0].ack()) == 1);
  CHECK_FALSE(receiver.connection.take_readable());
}

// Whatever the application reads and however the packets come, an advertised window is never larger
// than the announced one and never smaller than 2, and its end never goes back.
TEST_CASE("Never advertises more than it announced [I-9][I-8][D15]", "[udt][I-9][I-8][D15]") {
  for (const std::uint32_t window : {32U, 33U, 64U, 1000U}) {
    CAPTURE(window);
    Receiver receiver(0x7FFFFF00, window);
    SeededRandom random(window);
    std::int64_t sent = 0;
    std::int64_t window_end = window;
    for (int step = 0; step < 2000; ++step) {
      for (std::uint64_t burst = random.below(10); burst > 0 && sent < window_end; --burst)
        receiver.data(sent++);
      if (random.chance(0.3)) receiver.read(random.below(20'000));
      const auto log = receiver.desk.run(3ms);
      receiver.confirm(log);
      for (const auto& packet : log.acks()) {
        const AckBody ack = *packet.ack();
        REQUIRE(ack.window <= window);
        REQUIRE(ack.window >= 2);
        REQUIRE(receiver.index_of(ack) <= sent);
        REQUIRE(receiver.index_of(ack) + ack.window >= window_end);
        window_end = receiver.index_of(ack) + ack.window;
      }
      REQUIRE(log.of(ControlType::nak).empty());
    }
    CHECK(sent > 2000);
    CHECK(receiver.connection.stats().packets_outside_window == 0);
  }
}

// A full buffer: 2 is advertised, the two packets a stock sender may then send are kept but not
// acknowledged, a third is refused. When the application reads, an ACK goes out at once that covers
// the two and opens the window.
TEST_CASE("A full buffer keeps a reserve and reopens at once [I-15][I-8][A5]",
          "[udt][I-15][I-8][A5]") {
  Receiver receiver(1000, 32);
  receiver.data(0, 32);
  auto log = receiver.desk.run(10ms);
  REQUIRE(log.acks().size() == 1);
  CHECK(receiver.index_of(*log.acks()[0].ack()) == 32);
  CHECK(log.acks()[0].ack()->window == 2);
  receiver.confirm(log);

  receiver.data(32, 35);
  CHECK(receiver.connection.stats().packets_outside_window == 1);
  log = receiver.desk.run(20ms);
  for (const auto& ack : log.acks()) {
    CHECK(receiver.index_of(*ack.ack()) == 32);
    CHECK(ack.ack()->window == 2);
  }
  receiver.confirm(log);

  receiver.read();
  log = receiver.desk.sent();
  REQUIRE(log.acks().size() == 1);  // in the same turn
  CHECK(receiver.index_of(*log.acks()[0].ack()) == 34);
  CHECK(log.acks()[0].ack()->window == 32);
}

// A reader that takes little at a time reopens the window by a quarter, not by an ACK per packet; a
// window that is open enough needs no update.
TEST_CASE("Window updates are not sent for every packet read [A5]", "[udt][A5]") {
  Receiver receiver(1000, 64);
  receiver.data(0, 64);
  receiver.confirm(receiver.desk.run(10ms));
  std::size_t acks = 0;
  for (int i = 0; i < 64; ++i) {
    receiver.connection.take_readable();
    receiver.connection.consume(1456, receiver.desk.now);
    const auto log = receiver.desk.sent();
    acks += log.acks().size();
    receiver.confirm(log);
  }
  CHECK(acks >= 1);
  CHECK(acks <= 4);
}

// A gap is reported at once, as exactly its range; then again each RTT + 4 RTTVar (10 ms at least),
// slower each time, until it closes; what is filled in between is reported no more.
TEST_CASE("Open holes are reported again, at a calm pace [I-16][A1]", "[udt][I-16][A1]") {
  Receiver receiver;
  receiver.data(0, 2);
  receiver.confirm(receiver.desk.run(10ms));
  receiver.data(5);
  auto log = receiver.desk.sent();
  REQUIRE(log.of(ControlType::nak).size() == 1);
  CHECK(log.losses() == std::vector<wire::LossRange>{{SeqNo(1002), SeqNo(1004)}});
  CHECK(log[0].control().info == 0);
  TimePoint last = log.of(ControlType::nak)[0].at;
  std::vector<Duration> gaps;
  const auto stats = receiver.connection.stats();
  const Duration answer = std::max<Duration>(stats.rtt + 4 * stats.rtt_var, 10ms);
  for (int i = 0; i < 100; ++i) {
    log = receiver.desk.run(10ms);
    receiver.confirm(log);
    for (const auto& nak : log.of(ControlType::nak)) {
      gaps.push_back(nak.at - last);
      last = nak.at;
    }
  }
  REQUIRE(gaps.size() >= 4);
  CHECK(gaps[0] <= answer + 11ms);
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    CHECK(gaps[i] >= answer);
    if (i > 0) CHECK(gaps[i] >= gaps[i - 1]);
  }
  receiver.data(3);
  log = receiver.desk.run(2s);
  REQUIRE(log.losses().size() >= 2);
  CHECK(log.losses()[0] == wire::LossRange{SeqNo(1002), SeqNo(1002)});
  CHECK(log.losses()[1] == wire::LossRange{SeqNo(1004), SeqNo(1004)});
  receiver.data(2);
  receiver.data(4);
  CHECK(receiver.desk.run(3s).of(ControlType::nak).empty());
  CHECK(receiver.read() == 6 * 1456);
}

// NAKs name only packets below the newest received, first <= last, across the wrap too.
TEST_CASE("NAKs stay below the newest packet [I-9][E5]", "[udt][I-9][E5]") {
  Receiver receiver(0x7FFFFFF0);
  SeededRandom random(5);
  std::int64_t newest = -1;
  std::vector<bool> have(3000);
  for (std::int64_t i = 0; i < 3000; ++i) {
    if (random.chance(0.4)) continue;
    receiver.data(i);
    have[static_cast<std::size_t>(i)] = true;
    newest = i;
    const auto log = receiver.desk.run(100us);
    for (const auto& range : log.losses()) {
      const std::int64_t first = SeqNo::distance(receiver.peer.isn, range.first);
      const std::int64_t last = SeqNo::distance(receiver.peer.isn, range.last);
      REQUIRE(first >= 0);
      REQUIRE(first <= last);
      REQUIRE(last < newest);
      for (std::int64_t k = first; k <= last; ++k) REQUIRE_FALSE(have[static_cast<std::size_t>(k)]);
    }
    receiver.confirm(log);
    receiver.read();
  }
  for (std::int64_t i = 0; i < 3000; ++i)
    if (!have[static_cast<std::size_t>(i)]) receiver.data(i);
  receiver.read();
  CHECK(receiver.consumed == static_cast<std::uint64_t>(newest + 1) * 1456 +
                                 static_cast<std::uint64_t>(2999 - newest) * 1456);
  CHECK(receiver.desk.run(1s).of(ControlType::nak).empty());
}

// A hole list too long for one packet is split over several; each fits the payload.
TEST_CASE("A long loss report is split into packets that fit", "[udt]") {
  Receiver receiver(1000, 8192, 500);
  receiver.desk.run(10ms);
  for (std::int64_t i = 1; i < 1000; i += 2) receiver.data(i);
  const auto log = receiver.desk.sent().of(ControlType::nak);
  CHECK(log.size() > 1);
  for (const auto& nak : log) CHECK(nak.body.size() <= 456);
  std::vector<wire::LossRange> expected;
  for (std::uint32_t i = 0; i < 1000; i += 2)
    expected.push_back({SeqNo(1000 + i), SeqNo(1000 + i)});
  CHECK(log.losses() == expected);
}

// More holes than the receiver remembers: it refuses what would open another, still takes what
// closes the lowest, and in the end has everything.
TEST_CASE("A receiver with too many holes heals [D16]", "[udt][D16]") {
  Receiver receiver(1000, 1U << 18U, 76);
  const std::int64_t count = 2 * static_cast<std::int64_t>(udt::kMaxLossRanges) + 1000;
  for (std::int64_t i = 1; i < count; i += 2) receiver.data(i);
  CHECK(receiver.connection.stats().packets_outside_window > 0);
  CHECK(receiver.connection.stats().peak_reordered_ranges == udt::kMaxLossRanges);
  for (std::int64_t i = 0; i < count; ++i) receiver.data(i);
  receiver.read();
  CHECK(receiver.consumed == static_cast<std::uint64_t>(count) * 32);
}

// What is reported stays within the limits of a stock peer's arithmetic, however fast packets come.
TEST_CASE("Reported estimates stay in range [I-10]", "[udt][I-10]") {
  Receiver receiver;
  SentLog log;
  for (std::int64_t i = 0; i < 3000; ++i) {
    receiver.data(i);
    if (i % 7 == 0) receiver.desk.now += 1ns;
    if (i % 500 == 499) {
      const auto sent = receiver.desk.run(10ms);
      log.insert(log.end(), sent.begin(), sent.end());
      if (i < 1000) receiver.confirm(sent);
    }
    receiver.read();
  }
  for (const auto& packet : log.acks()) {
    const AckBody ack = *packet.ack();
    CHECK(ack.rtt_us <= 300'000'000);
    CHECK(ack.rtt_var_us <= 300'000'000);
    CHECK(ack.arrival_rate <= 250'000'000);
    CHECK(ack.capacity <= 250'000'000);
  }
  CHECK(log.acks().size() > 5);
}

// Pairs that arrive 12 us apart at a steady 24 us: capacity 83 334, arrival rate about 41 667.
TEST_CASE("ACKs report rate and capacity [I-19]", "[udt][I-19]") {
  for (const std::uint32_t isn : {1008U, 1003U}) {
    Receiver receiver(isn);
    SentLog log;
    for (std::int64_t i = 0; i < 1600; ++i) {
      receiver.data(i);
      const std::uint32_t place = (isn + static_cast<std::uint32_t>(i)) % 16;
      const auto sent = receiver.desk.run(place == 0 ? 12us : place == 1 ? 36us : 24us);
      receiver.confirm(sent);
      log.insert(log.end(), sent.begin(), sent.end());
      receiver.read();
    }
    const auto last = *log.acks().back().ack();
    CHECK(last.capacity == 83'334);
    CHECK(static_cast<double>(last.arrival_rate) == Approx(41'667).epsilon(0.01));
  }
}

// ACK2 gives the round trip; without any ACK2 the same ACK is repeated, only each RTT + 4 RTTVar,
// and data goes on being acknowledged at the same pace.
TEST_CASE("Lost ACK2s change nothing but repeats [I-13][A9]", "[udt][I-13][A9]") {
  Receiver receiver;
  std::size_t acks = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    receiver.data(i);
    acks += receiver.desk.run(1ms).acks().size();
  }
  CHECK(acks >= 9);
  CHECK(acks <= 11);
  const auto stats = receiver.connection.stats();
  const Duration pace = std::max<Duration>(stats.rtt + 4 * stats.rtt_var, 10ms);
  receiver.desk.run(20ms);
  const auto repeats = receiver.desk.run(pace * 10).acks();
  CHECK(repeats.size() >= 8);
  CHECK(repeats.size() <= 11);
  for (const auto& ack : repeats) CHECK(receiver.index_of(*ack.ack()) == 100);
  receiver.desk.give(receiver.peer, receiver.peer.ack2(repeats.back().control().info));
  CHECK(receiver.desk.run(900ms).acks().empty());
}

// An ACK2 after 3 ms is a round trip of 3 ms.
TEST_CASE("ACK2 measures the round trip [I-13]", "[udt][I-13]") {
  Receiver receiver;
  receiver.desk.run(200ms);  // so that the handshake gives no sample
  receiver.desk.give(receiver.peer, receiver.peer.data(receiver.peer.isn, as_byte_view("x")));
  const auto acks = receiver.desk.sent().acks();
  REQUIRE(acks.size() == 1);
  CHECK(acks[0].ack()->rtt_us == 100'000);
  CHECK(acks[0].ack()->rtt_var_us == 50'000);
  receiver.desk.run(3ms);
  receiver.desk.give(receiver.peer, receiver.peer.ack2(1));
  CHECK(receiver.connection.stats().rtt == 3ms);
  receiver.desk.run(3ms);
  receiver.desk.give(receiver.peer, receiver.peer.ack2(1));  // its repeat says nothing
  CHECK(receiver.connection.stats().rtt == 3ms);
}

// A sender that sends what we have may have missed our ACK: it gets it again, within a tick.
TEST_CASE("Duplicates draw the ACK again [I-17]", "[udt][I-17]") {
  Receiver receiver;
  receiver.data(0, 5);
  receiver.confirm(receiver.desk.run(10ms));
  receiver.desk.run(30ms);
  receiver.data(2);
  const auto acks = receiver.desk.run(11ms).acks();
  REQUIRE(acks.size() == 1);
  CHECK(receiver.index_of(*acks[0].ack()) == 5);
  CHECK(receiver.connection.stats().packets_duplicate == 1);
  CHECK(receiver.connection.stats().payload_bytes_received == 5 * 1456);
}

// Packets far ahead or far behind, as forgers send them: outside the window or duplicates, without
// a hole for what lies between.
TEST_CASE("Packets outside the window open no hole [I-9]", "[udt][I-9]") {
  Receiver receiver(1000, 32);
  for (const std::int64_t index : {std::int64_t{34}, std::int64_t{1000}, std::int64_t{0x3FFFFFFF}})
    receiver.data(index);
  CHECK(receiver.connection.stats().packets_outside_window == 3);
  for (const std::int64_t index :
       {std::int64_t{-1}, std::int64_t{-1000}, std::int64_t{-0x40000000}})
    receiver.data(index);
  CHECK(receiver.connection.stats().packets_duplicate == 3);
  CHECK(receiver.connection.stats().packets_lost == 0);
  CHECK(receiver.desk.run(1s).of(ControlType::nak).empty());
  receiver.data(0, 32);
  CHECK(receiver.read() == 32 * 1456);
}

}  // namespace
}  // namespace xfer::test

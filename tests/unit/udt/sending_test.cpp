// The sending direction, packet by packet, against peers that acknowledge and report losses by
// hand.
#include "desk.hpp"

namespace xfer::test {
namespace {

using wire::ControlType;
using wire::SeqNo;

constexpr std::uint64_t kPlenty = 1'000'000'000;

/// A connection to a hand-made receiver.
struct Sender {
  explicit Sender(std::uint32_t isn = 1000, std::uint32_t window = 8192,
                  std::optional<std::uint64_t> max_rate = std::nullopt)
      : peer(make_peer(1, isn)), connection(connect(window, max_rate)) {}

  Connection& connect(std::uint32_t window, std::optional<std::uint64_t> max_rate) {
    ConnectionConfig config;
    config.isn = peer.isn;
    config.max_rate = max_rate;
    if (max_rate) config.controller = udt::ControllerKind::fixed_rate;
    peer.window = window;
    return desk.call(peer, config);
  }
  void offer(std::uint64_t bytes) { connection.offer(bytes, bytes, desk.now); }
  /// Full ACK for everything before packet `index`.
  void ack(std::int64_t index, std::uint32_t window = 8192) {
    desk.give(peer, peer.full_ack(++ack_number, peer.peer_isn.advanced(index), window));
  }
  void nak(std::int64_t first, std::int64_t last) {
    desk.give(peer, peer.nak({{peer.peer_isn.advanced(first), peer.peer_isn.advanced(last)}}));
  }
  /// Packet indices sent in `span`.
  std::vector<std::int64_t> run(Duration span) {
    std::vector<std::int64_t> indices;
    for (const auto& packet : desk.run(span).data())
      indices.push_back(SeqNo::distance(peer.peer_isn, packet.data().seq));
    return indices;
  }

  Desk desk;
  RawPeer peer;
  Connection& connection;
  std::uint32_t ack_number = 0;
};

using Indices = std::vector<std::int64_t>;

Indices range(std::int64_t first, std::int64_t end) {
  Indices all;
  for (std::int64_t i = first; i < end; ++i) all.push_back(i);
  return all;
}

// Full packets are MSS - 44 bytes, nothing is ever longer, the bytes are those of the stream in
// order, and the headers are what a stock stream receiver expects.
TEST_CASE("Data packets carry the stream in full packets [I-20][I-1]", "[udt][I-20][I-1]") {
  for (const std::uint32_t isn : {1000U, 0x7FFFFFF8U}) {
    Sender sender(isn);
    sender.offer(20 * 1456 + 100);
    std::uint64_t offset = 0;
    std::int64_t index = 0;
    std::size_t short_ones = 0;
    for (int round = 0; round < 3; ++round) {
      for (const auto& packet : sender.desk.run(5ms).data()) {
        CHECK(packet.data().seq == sender.peer.peer_isn.advanced(index));
        CHECK(packet.data().boundary == wire::Boundary::solo);
        CHECK_FALSE(packet.data().in_order);
        CHECK(packet.data().message == wire::MsgNo::nth(static_cast<std::uint64_t>(index)));
        CHECK(packet.data().destination == sender.peer.id);
        CHECK(packet.destination == sender.peer.address);
        CHECK(packet.body.size() <= 1456);
        CHECK(sender.desk.source.matches(offset, packet.body));
        offset += packet.body.size();
        short_ones += packet.body.size() == 1456 ? 0U : 1U;
        ++index;
      }
      sender.ack(index);
    }
    CHECK(offset == 20 * 1456 + 100);
    CHECK(short_ones == 2);  // the one that used up the first window, and the last one
    CHECK(sender.connection.acked_offset() == offset);
  }
}

// The packet that uses up the window is one byte short, which makes a stock receiver acknowledge at
// once and not after 105 ms; at most once in 10 ms, and never on a retransmission.
TEST_CASE("A packet that uses up the window asks for an ACK [I-12][A3]", "[udt][I-12][A3]") {
  Sender sender;
  sender.offer(kPlenty);
  const auto first = sender.desk.run(1ms).data();
  REQUIRE(first.size() == 16);
  for (std::size_t i = 0; i < 16; ++i) CHECK(first[i].body.size() == (i == 15 ? 1455U : 1456U));
  sender.ack(8);
  for (const auto& packet : sender.desk.run(1ms).data()) CHECK(packet.body.size() == 1456);
  sender.nak(15, 15);
  const auto again = sender.desk.run(1ms).data();
  REQUIRE(again.size() == 1);
  CHECK(again[0].body == first[15].body);
  sender.desk.run(10ms);
  sender.ack(16);
  const auto later = sender.desk.run(1ms).data();
  REQUIRE_FALSE(later.empty());
  CHECK(later.back().body.size() == 1455);
}

// A light ACK makes room like any other: a receiver that sends nothing else keeps the sender going,
// up to the window of its handshake.
TEST_CASE("Light ACKs open the window [A4][I-12]", "[udt][A4][I-12]") {
  Sender sender(1000, 100);
  sender.offer(kPlenty);
  std::int64_t next = static_cast<std::int64_t>(sender.run(1ms).size());
  CHECK(next == 16);
  for (int i = 0; i < 50; ++i) {
    sender.desk.give(sender.peer, sender.peer.light_ack(sender.peer.peer_isn.advanced(next)));
    const auto log = sender.desk.run(1ms);
    CHECK(log.of(ControlType::ack2).empty());
    next += static_cast<std::int64_t>(log.data().size());
  }
  CHECK(next == 100);  // what the handshake allowed; light ACKs say nothing about more
  CHECK(sender.connection.stats().light_acks_received == 50);
  sender.ack(next, 100);
  CHECK(sender.run(1ms).size() > 16);
}

// Every full or partial ACK is confirmed by ACK2 with its number, also one that says nothing new;
// light ones are not.
TEST_CASE("Every ACK but a light one is confirmed [I-13][I5]", "[udt][I-13][I5]") {
  Sender sender;
  sender.offer(kPlenty);
  sender.run(1ms);
  wire::AckBody body;
  body.next = sender.peer.peer_isn.advanced(3);
  body.window = 100;
  for (const auto kind : {wire::AckBody::Kind::full, wire::AckBody::Kind::partial}) {
    for (const std::uint32_t number : {1U, 2U, 2U, 0x7FFFFFFFU, 0U}) {
      body.kind = kind;
      sender.desk.give(sender.peer, sender.peer.ack(number, body));
      const auto answer = sender.desk.sent().of(ControlType::ack2);
      REQUIRE(answer.size() == 1);
      CHECK(answer[0].control().info == number);
      CHECK(answer[0].body.size() == 4);
      CHECK(answer[0].control().destination == sender.peer.id);
    }
  }
  // A burst of ACKs between two turns: each is confirmed, up to sixteen.
  for (std::uint32_t number = 10; number < 26; ++number) {
    sender.desk.give(sender.peer, sender.peer.ack(number, body));
  }
  CHECK(sender.desk.sent().of(ControlType::ack2).size() == 16);
  for (std::uint32_t number = 30; number < 50; ++number)
    sender.desk.give(sender.peer, sender.peer.ack(number, body));
  const auto newest = sender.desk.sent().of(ControlType::ack2);
  REQUIRE(newest.size() == 16);
  CHECK(newest.back().control().info == 49);
}

// Nobody answers: the oldest and the newest packet are tried again at growing distances; everything
// in flight is not.
TEST_CASE("Silence is probed with single packets [I-12][I-17]", "[udt][I-12][I-17]") {
  Sender sender;
  sender.offer(kPlenty);
  CHECK(sender.run(1ms) == range(0, 16));
  CHECK(sender.run(150ms).size() <= 6);
  const Indices probes = sender.run(5s);
  CHECK(probes.size() < 20);
  for (const std::int64_t index : probes) CHECK((index == 0 || index == 15));
  CHECK(sender.connection.stats().exp_fired == 0);
  CHECK(sender.connection.stats().probes_sent >= 5);
}

// A peer that is heard but never acknowledges gets everything again, as the last resort, after
// several probes and not before 150 ms; then rarely.
TEST_CASE("Everything is sent again after several probes [I-12]", "[udt][I-12]") {
  Sender sender;
  sender.offer(kPlenty);
  sender.run(1ms);
  const TimePoint start = sender.desk.now;
  while (sender.connection.stats().exp_fired == 0) {
    REQUIRE(sender.desk.now < start + 5s);
    sender.desk.give(sender.peer, sender.peer.keep_alive());
    sender.run(10ms);
  }
  CHECK(sender.desk.now - start > 150ms);
  CHECK(sender.connection.stats().probes_sent == 4);
  sender.run(10ms);
  CHECK(sender.connection.stats().packets_retransmitted >= 16);
}

// Keep-alives show that the peer lives and nothing else: the probes come at the same times with
// them as without.
TEST_CASE("Keep-alives do not postpone repairs [I-18][A2]", "[udt][I-18][A2]") {
  std::vector<TimePoint> times[2];
  for (const bool keep_alives : {false, true}) {
    Sender sender;
    sender.offer(1456);
    sender.run(1ms);
    for (int i = 0; i < 30; ++i) {
      if (keep_alives) sender.desk.give(sender.peer, sender.peer.keep_alive());
      for (const auto& packet : sender.desk.run(4ms).data())
        times[keep_alives ? 1 : 0].push_back(packet.at);
    }
  }
  CHECK(times[0].size() >= 2);
  CHECK(times[0] == times[1]);
}

// The last packet of a burst is lost: no NAK can come, for the receiver has seen nothing behind it.
TEST_CASE("A lost tail is sent again within a round trip or so [A7][I-17]", "[udt][A7][I-17]") {
  Sender sender;
  sender.offer(5 * 1456);
  CHECK(sender.run(1ms) == range(0, 5));
  sender.ack(4);
  const auto rtt = sender.connection.stats();
  const auto again = sender.run(rtt.rtt + 4 * rtt.rtt_var + 20ms);
  CHECK(again == Indices{4});
}

// A hole whose NAK was lost, and a peer that then only repeats its ACK: the missing packet comes
// without being asked for.
TEST_CASE("A hole is repaired without a NAK [I-17][A1]", "[udt][I-17][A1]") {
  Sender sender;
  sender.offer(10 * 1456);
  sender.run(1ms);
  Indices again;
  for (int i = 0; i < 12 && again.empty(); ++i) {
    sender.ack(3);
    again = sender.run(10ms);
  }
  REQUIRE_FALSE(again.empty());
  CHECK(again[0] == 3);
  CHECK(sender.connection.stats().exp_fired == 0);
}

// NAKed packets leave before anything new, whatever the window; a second NAK for the same packet is
// honoured once a round trip has passed; NAKs of what has arrived are old news.
TEST_CASE("Each NAK is honoured [I-16][A1]", "[udt][I-16][A1]") {
  Sender sender(1000, 16);
  sender.offer(kPlenty);
  CHECK(sender.run(1ms) == range(0, 16));
  sender.nak(3, 5);
  CHECK(sender.run(1ms) == range(3, 6));
  sender.run(1ms);
  sender.nak(4, 4);
  CHECK(sender.run(1ms) == Indices{4});
  sender.nak(4, 4);
  CHECK(sender.run(1ms) == Indices{4});
  sender.ack(6, 16);
  Indices sent = sender.run(1ms);
  CHECK(sent.front() == 16);
  sender.nak(0, 5);
  CHECK(sender.run(1ms).empty());
  sender.nak(4, 7);  // clipped to what is still out
  CHECK(sender.run(1ms) == range(6, 8));
  CHECK(sender.connection.stats().naks_received == 5);
}

// A repeated NAK that left before our retransmission can have arrived says nothing about it.
TEST_CASE("A NAK that crosses the retransmission is not honoured twice [I-16]", "[udt][I-16]") {
  Sender sender;
  sender.offer(kPlenty);
  sender.run(1ms);
  wire::AckBody body;
  body.kind = wire::AckBody::Kind::partial;
  body.next = sender.peer.peer_isn;
  body.rtt_us = 40'000;
  body.window = 16;
  sender.desk.give(sender.peer, sender.peer.ack(1, body));
  const Duration rtt = sender.connection.stats().rtt;
  REQUIRE(rtt == 5ms);  // an eighth: the handshake took no time
  sender.nak(3, 3);
  CHECK(sender.run(100us) == Indices{3});
  sender.nak(3, 3);
  CHECK(sender.run(rtt / 2 - 200us).empty());
  sender.run(200us);
  sender.nak(3, 3);
  CHECK(sender.run(100us) == Indices{3});
}

// Losses that an ACK has overtaken are not sent again.
TEST_CASE("An ACK takes packets off the loss list", "[udt]") {
  Sender sender;
  sender.offer(kPlenty);
  sender.run(1ms);
  sender.nak(2, 9);
  sender.ack(6);
  Indices sent = sender.run(1ms);
  REQUIRE(sent.size() >= 4);
  CHECK(Indices(sent.begin(), sent.begin() + 4) == range(6, 10));
}

// The window closes and opens again with the same ACK number: the sender goes on at once.
TEST_CASE("A window update with an unchanged number wakes the sender [A5][I-15]",
          "[udt][A5][I-15]") {
  Sender sender;
  sender.offer(kPlenty);
  sender.run(1ms);
  sender.ack(16, 2);
  CHECK(sender.run(1ms) == range(16, 18));
  sender.ack(16, 2);  // both are held in reserve
  CHECK(sender.run(1ms).empty());
  sender.ack(16, 10);
  CHECK(sender.run(1ms) == range(18, 26));
}

// A peer whose buffer is full advertises 2: two packets are sent, then single probes at most, never
// everything again, for minutes.
TEST_CASE("A closed window is not taken for a dead path [I-8][A5]", "[udt][I-8][A5]") {
  Sender sender;
  sender.offer(kPlenty);
  sender.run(1ms);
  sender.ack(16, 2);
  CHECK(sender.run(1ms) == range(16, 18));
  std::size_t count = 0;
  for (int i = 0; i < 600; ++i) {
    sender.desk.give(sender.peer, sender.peer.keep_alive());
    count += sender.run(100ms).size();
  }
  CHECK(count < 100);
  CHECK(sender.connection.stats().exp_fired == 0);
  sender.ack(18, 100);
  CHECK(sender.run(1ms).size() >= 16);
}

// ACKs overtake each other: the newest number decides about the window, an older one never closes
// it.
TEST_CASE("ACKs that come late change nothing", "[udt]") {
  Sender sender;
  sender.offer(kPlenty);
  sender.run(1ms);
  const auto give = [&](std::uint32_t number, std::int64_t index, std::uint32_t window) {
    sender.desk.give(sender.peer,
                     sender.peer.full_ack(number, sender.peer.peer_isn.advanced(index), window));
  };
  give(5, 10, 100);
  CHECK(sender.connection.stats().peer_window == 100);
  give(4, 10, 3);  // same number, sent before
  CHECK(sender.connection.stats().peer_window == 100);
  give(3, 8, 5);
  CHECK(sender.connection.stats().peer_window == 100);
  CHECK(sender.connection.acked_offset() == 10 * 1456);
  give(6, 10, 50);  // sent later: the receiver has less room now
  CHECK(sender.connection.stats().peer_window == 50);
}

// Numbers 16n and 16n+1 leave back to back when both are new; other packets keep the period (but
// for the credit of a millisecond that a new connection has), and pairs do not raise the rate.
TEST_CASE("Packet pairs leave back to back [I-19]", "[udt][I-19]") {
  for (const std::uint32_t isn : {0U, 1003U, 0x7FFFFFFAU}) {
    CAPTURE(isn);
    Sender sender(isn, 8192, 1'500'000);  // a packet each millisecond
    sender.offer(kPlenty);
    SentLog log;
    for (int i = 0; i < 50; ++i) {
      for (auto& packet : sender.desk.run(2ms).data()) log.push_back(std::move(packet));
      sender.ack(static_cast<std::int64_t>(log.size()));
    }
    CHECK(log.size() >= 100);
    CHECK(log.size() <= 103);
    for (std::size_t i = 2; i < log.size(); ++i) {
      const bool second = log[i].data().seq.value() % 16 == 1;
      const Duration gap = log[i].at - log[i - 1].at;
      CAPTURE(i);
      if (second)
        CHECK(gap == 0ms);
      else
        CHECK(gap >= 1ms);
    }
  }
}

// A driver that was stopped for 200 ms finds the application's data waiting: what it sends at once
// is a millisecond's worth.
TEST_CASE("A late driver does not burst [B6]", "[udt][B6]") {
  Sender sender(1001, 8192, 15'000'000);  // 100 us
  sender.offer(kPlenty);
  sender.run(20ms);
  sender.desk.now += 200ms;
  sender.desk.endpoint.handle_timeout(sender.desk.now);
  const auto burst = sender.desk.sent().data();
  CHECK(burst.size() >= 10);
  CHECK(burst.size() <= 14);  // ten, one that was due, two probes, the second of a pair
}

// A loss before any rate is known: the connection keeps its pace where stock falls to 16 packets/s.
TEST_CASE("An early loss does not slow a connection down [B1]", "[udt][B1]") {
  Sender sender;
  sender.offer(kPlenty);
  sender.run(1ms);
  sender.nak(1, 1);
  CHECK(sender.run(1ms) == Indices{1});
  sender.ack(16);
  CHECK(sender.run(1ms).size() >= 16);
  CHECK(sender.connection.stats().send_period <= 1us);
}

// A stock receiver's first estimates are its start values, 16 intervals of a second: an ACK that
// reports 1 packet/s after a few packets does not make a loss cost seconds.
TEST_CASE("First rates of a stock receiver mean nothing [B1]", "[udt][B1]") {
  Sender sender;
  sender.offer(kPlenty);
  sender.run(1ms);
  wire::AckBody body;
  body.kind = wire::AckBody::Kind::full;
  body.next = sender.peer.peer_isn.advanced(10);
  body.window = 8192;
  body.arrival_rate = 1;
  body.capacity = 1000;
  sender.desk.give(sender.peer, sender.peer.ack(1, body));
  CHECK(sender.connection.stats().peer_arrival_rate_pps == 0);
  sender.nak(12, 12);
  sender.run(1ms);
  CHECK(sender.connection.stats().send_period <= 1us);
}

// A packet is full or waits, unless the application asks for it to leave.
TEST_CASE("A partial packet leaves only on request", "[udt]") {
  Sender sender;
  sender.connection.offer(1000, 0, sender.desk.now);
  CHECK(sender.run(10ms).empty());
  sender.connection.offer(2000, 0, sender.desk.now);
  CHECK(sender.run(10ms) == Indices{0});
  sender.ack(1);
  sender.connection.offer(2000, 1456, sender.desk.now);  // what it asked for is gone already
  CHECK(sender.run(10ms).empty());
  sender.connection.offer(2000, 1457, sender.desk.now);
  const auto rest = sender.desk.run(10ms).data();
  REQUIRE(rest.size() == 1);
  CHECK(rest[0].body.size() == 2000 - 1456);
}

// The sender's own ceiling holds below the peer's window.
TEST_CASE("The flight stays below the sender's own window", "[udt]") {
  Desk desk;
  RawPeer peer = make_peer(1);
  ConnectionConfig config;
  config.send_window = 32;
  Connection& connection = desk.call(peer, config);
  connection.offer(kPlenty, 0, desk.now);
  std::int64_t next = static_cast<std::int64_t>(desk.run(1ms).data().size());
  for (std::uint32_t i = 1; i < 20; ++i) {
    desk.give(peer, peer.full_ack(i, peer.peer_isn.advanced(next), 8192));
    next += static_cast<std::int64_t>(desk.run(1ms).data().size());
    CHECK(connection.stats().flight <= 32);
  }
  CHECK(connection.stats().flight == 32);
}

// Losses and ACKs across the wrap of the sequence numbers.
TEST_CASE("Sending crosses the wrap [E5][E4]", "[udt][E5][E4]") {
  Sender sender(0x7FFFFFF8);
  sender.offer(kPlenty);
  CHECK(sender.run(1ms) == range(0, 16));
  sender.nak(6, 10);  // ...FFE to 2
  CHECK(sender.run(1ms) == range(6, 11));
  sender.ack(8);  // number 0
  CHECK(sender.connection.acked_offset() == 8 * 1456);
  CHECK(sender.run(1ms).front() == 16);
}

// Retransmissions carry the same bytes and number, and a fresh time stamp, from the connection's
// start on.
TEST_CASE("Time stamps count from the connection's start", "[udt]") {
  Sender sender;
  const TimePoint start = sender.desk.now;
  sender.desk.run(600ms);
  sender.offer(1456);
  const auto first = sender.desk.run(1ms).data();
  REQUIRE(first.size() == 1);
  CHECK(first[0].data().timestamp_us == to_us(first[0].at - start));
  sender.desk.run(5ms);
  sender.nak(0, 0);
  const auto again = sender.desk.run(1ms).data();
  REQUIRE(again.size() == 1);
  CHECK(again[0].data().timestamp_us == to_us(again[0].at - start));
  CHECK(again[0].body == first[0].body);
}

// Offsets are 64-bit: acknowledgements of a stream beyond 4 GB free the right bytes.
TEST_CASE("Streams beyond 4 GB keep their offsets [E8]", "[udt][E8]") {
  Desk desk;
  RawPeer peer = make_peer(1);
  peer.mss = 65'535;
  ConnectionConfig config;
  config.mss = 65'535;
  config.controller = udt::ControllerKind::fixed_rate;
  config.max_rate = 1'000'000'000'000;
  Connection& connection = desk.call(peer, config);
  const std::uint64_t total = (std::uint64_t{1} << 32) + 1'000'000;
  connection.offer(total, total, desk.now);
  std::uint64_t offset = 0;
  std::int64_t next = 0;
  auto train = std::make_unique<udt::TrainBuffer>();
  for (std::uint32_t number = 1; offset < total; ++number) {
    REQUIRE(number < 100'000);
    desk.now += 1ms;
    while (const auto transmit = desk.endpoint.poll_transmit(desk.now, *train)) {
      for (std::size_t i = 0; i < transmit->segments; ++i) {
        const ByteView payload = train->payloads[i].first;
        if (transmit->segment_size < 100 && transmit->segments == 1) continue;  // ACK2
        REQUIRE(payload[0] == desk.source.bytes(offset, 1)[0]);
        offset += payload.size();
        ++next;
      }
    }
    desk.give(peer, peer.full_ack(number, peer.peer_isn.advanced(next), 8192));
    REQUIRE(connection.acked_offset() == offset);
  }
  CHECK(offset == total);
}

}  // namespace
}  // namespace xfer::test

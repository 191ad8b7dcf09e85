// Packets that crash, block or break a stock peer, from the right address and with the right ID:
// ours drops and counts them, the connection goes on, and a second one on the same port does not
// notice.
#include "desk.hpp"

namespace xfer::test {
namespace {

using wire::ControlType;

/// A live connection with 16 packets in flight to the peer who will misbehave, and a bystander.
struct Scene {
  Scene() : bystander((desk.listen(), desk)), connection(accept()) {}

  Connection& accept() {
    Connection& accepted = desk.accept(peer);
    accepted.offer(10'000'000, 0, desk.now);
    REQUIRE(desk.run(1ms).to(peer.address).data().size() == 16);
    return accepted;
  }
  Bytes control(ControlType type, std::initializer_list<std::uint32_t> words,
                std::uint32_t info = 0) {
    Bytes body(words.size() * 4);
    ByteWriter out{MutByteView(body)};
    for (const auto word : words) out.u32(word);
    return peer.control(type, info, body);
  }
  [[nodiscard]] std::uint64_t complaints() const {
    return connection.stats().control_malformed + connection.stats().control_implausible;
  }
  /// The connection still works both ways, and so does the bystander's.
  void check_alive() {
    CHECK(connection.state() == Connection::State::connected);
    CHECK(desk.events().empty());
    desk.run(20ms);  // what was queued leaves
    const auto sent_before = connection.stats().packets_sent;
    desk.give(peer, peer.full_ack(++ack_number, peer.peer_isn.advanced(16), 8192));
    const auto log = desk.run(1ms).to(peer.address);
    CHECK(connection.stats().packets_sent > sent_before);
    CHECK(log.of(ControlType::ack2).size() == 1);
    CHECK(connection.acked_offset() > 0);
    desk.give(peer, peer.data(peer.isn, as_byte_view("still here")));
    CHECK(as_text(connection.take_readable().value_or(ByteView{})) == "still here");
    desk.sent();
    bystander.talk();
  }

  Desk desk;
  RawPeer peer = make_peer(1);
  Bystander bystander;
  Connection& connection;
  std::uint32_t ack_number = 0;
};

// The range bit in the last word: there is no end to read, so the entry is left out; the one before
// it counts.
TEST_CASE("A NAK with an open range is cut short [D7]", "[udt][D7]") {
  Scene scene;
  scene.desk.give(scene.peer, scene.control(ControlType::nak, {0x80000000U | 1005}));
  CHECK(scene.connection.stats().control_malformed == 1);
  CHECK(scene.desk.run(1ms).data().empty());
  scene.desk.give(scene.peer, scene.control(ControlType::nak, {1003, 0x80000000U | 1005}));
  CHECK(scene.connection.stats().control_malformed == 2);
  CHECK(scene.desk.run(1ms).numbers() == std::vector<std::uint32_t>{1003});
  scene.check_alive();
}

TEST_CASE("An empty NAK says nothing [D8]", "[udt][D8]") {
  Scene scene;
  scene.desk.give(scene.peer, scene.control(ControlType::nak, {}));
  CHECK(scene.desk.run(1ms).data().empty());
  CHECK(scene.connection.stats().packets_retransmitted == 0);
  scene.check_alive();
}

// One forged packet for numbers never sent breaks a stock connection at once.
TEST_CASE("ACKs and NAKs for what was never sent are ignored [D9][I-9]", "[udt][D9][I-9]") {
  Scene scene;
  const auto send_window = scene.connection.stats().peer_window;
  std::uint64_t count = 0;
  for (const std::uint32_t number : {1017U, 2000U, 1000U + 0x3FFFFFFFU}) {
    scene.desk.give(scene.peer, scene.peer.full_ack(100, wire::SeqNo(number), 8192));
    scene.desk.give(scene.peer, scene.peer.light_ack(wire::SeqNo(number)));
    scene.desk.give(scene.peer, scene.control(ControlType::nak, {number}));
    scene.desk.give(scene.peer, scene.control(ControlType::nak, {0x80000000U | 1003, number}));
    count += 4;
  }
  // Reversed; a top bit in the wrong place.
  scene.desk.give(scene.peer, scene.control(ControlType::nak, {0x80000000U | 1009, 1003}));
  scene.desk.give(scene.peer,
                  scene.control(ControlType::nak, {0x80000000U | 1003, 0x80000000U | 1005}));
  count += 2;
  CHECK(scene.complaints() == count);
  // Before the first packet ever sent is merely old news.
  scene.desk.give(scene.peer, scene.control(ControlType::nak, {999}));
  scene.desk.give(scene.peer, scene.peer.full_ack(101, wire::SeqNo(999), 1));
  CHECK(scene.complaints() == count);
  CHECK(scene.desk.run(1ms).data().empty());
  CHECK(scene.connection.acked_offset() == 0);
  CHECK(scene.connection.stats().peer_window == send_window);
  scene.check_alive();
}

TEST_CASE("ACK bodies of wrong lengths are ignored [D10][I-7]", "[udt][D10][I-7]") {
  Scene scene;
  for (const std::size_t size : {0U, 1U, 3U, 5U, 8U, 12U, 15U}) {
    Bytes body(size);
    if (size >= 4) {
      ByteWriter out{MutByteView(body)};
      out.u32(1016);
    }
    scene.desk.give(scene.peer, scene.peer.control(ControlType::ack, 7, body));
  }
  CHECK(scene.connection.stats().control_malformed == 7);
  CHECK(scene.connection.acked_offset() == 0);
  CHECK(scene.desk.sent().of(ControlType::ack2).empty());
  scene.check_alive();
}

// Stream connections have no messages: a drop request over a hole neither skips bytes nor crashes.
TEST_CASE("A drop request over a hole is ignored [D11][I-22]", "[udt][D11][I-22]") {
  Scene scene;
  scene.desk.give(scene.peer, scene.peer.data(scene.peer.isn.advanced(1), as_byte_view("second")));
  scene.desk.give(scene.peer, scene.control(ControlType::message_drop, {1000, 1001}, 1));
  CHECK_FALSE(scene.connection.take_readable());
  CHECK(scene.connection.stats().control_implausible == 1);
  scene.desk.give(scene.peer, scene.peer.data(scene.peer.isn, as_byte_view("first ")));
  std::string read;
  while (const auto run = scene.connection.take_readable()) read += as_text(*run);
  CHECK(read == "first second");
  scene.desk.events();
  CHECK(scene.connection.state() == Connection::State::connected);
  scene.desk.sent();
  scene.bystander.talk();
}

// Ranges of half the circle, the whole circle, reversed ones, across the wrap: no time is spent on
// them.
TEST_CASE("Huge drop requests cost nothing [D12][E4][I-22]", "[udt][D12][E4][I-22]") {
  Scene scene;
  for (int i = 0; i < 10'000; ++i) {
    scene.desk.give(scene.peer, scene.control(ControlType::message_drop, {0, 0x7FFFFFFF}, 1));
    scene.desk.give(scene.peer, scene.control(ControlType::message_drop, {1000, 999}, 1));
    scene.desk.give(scene.peer, scene.control(ControlType::message_drop, {0x7FFFFFFE, 1}, 1));
  }
  CHECK(scene.complaints() == 30'000);
  scene.check_alive();
}

// Every shorter prefix of the bodies that have one.
TEST_CASE("Short bodies are dropped before they are used [D13]", "[udt][D13]") {
  Scene scene;
  for (std::size_t size = 0; size < 8; ++size)
    scene.desk.give(scene.peer, scene.peer.control(ControlType::message_drop, 1, Bytes(size)));
  const Bytes handshake = scene.peer.handshake(wire::RequestType::conclusion);
  for (std::size_t size = wire::kHeaderSize; size < handshake.size(); ++size)
    scene.desk.give(scene.peer, ByteView(handshake).first(size));
  CHECK(scene.connection.stats().control_malformed == 8 + 48);
  CHECK(scene.desk.sent().empty());
  scene.check_alive();
}

// An ACK may say what it likes: the flight stays within the window of the peer's handshake.
TEST_CASE("An ACK cannot open more than the handshake announced [D15][I-9]", "[udt][D15][I-9]") {
  Desk desk;
  desk.listen();
  Bystander bystander(desk);
  RawPeer peer = make_peer(1);
  peer.window = 20;
  Connection& connection = desk.accept(peer);
  connection.offer(10'000'000, 0, desk.now);
  desk.run(1ms);
  std::uint32_t acked = 10;
  for (std::uint32_t number = 1; number < 50; ++number) {
    desk.give(peer, peer.full_ack(number, peer.peer_isn.advanced(acked), 0x7FFFFFFF));
    desk.run(5ms);
    CHECK(connection.stats().flight <= 20);
    CHECK(connection.stats().peer_window <= 20);
    acked += 5;
  }
  CHECK(connection.stats().flight == 20);
  bystander.talk();
}

// A NAK of hundreds of entries that each name the whole flight is work for one of them.
TEST_CASE("Overlapping NAK ranges cannot multiply the work [D12][D16]", "[udt][D12][D16]") {
  Desk desk;
  desk.listen();
  Bystander bystander(desk);
  RawPeer peer = make_peer(1);
  Connection& connection = desk.accept(peer);
  connection.offer(1 << 30, 0, desk.now);
  desk.run(1ms);
  std::uint32_t acked = 0;
  for (std::uint32_t number = 1; connection.stats().flight < 4000; ++number) {  // slow start
    REQUIRE(number < 20);
    acked += connection.stats().flight;
    desk.give(peer, peer.full_ack(number, peer.peer_isn.advanced(acked), 8192));
    desk.run(10ms);
  }
  const std::uint32_t first = peer.peer_isn.advanced(acked).value();
  const std::uint32_t last = first + connection.stats().flight - 1;
  Bytes body(1448);
  ByteWriter out{MutByteView(body)};
  while (out.size() < body.size()) {
    out.u32(first | 0x80000000U);
    out.u32(last);
  }
  const auto before = connection.stats().packets_retransmitted;
  for (int i = 0; i < 200; ++i) desk.give(peer, peer.control(ControlType::nak, 0, body));
  CHECK(connection.stats().control_implausible == 200);
  CHECK(connection.state() == Connection::State::connected);
  desk.run(1s);
  CHECK(connection.stats().packets_retransmitted > before);
  bystander.talk();
}

// Many thousand separate holes: the sender's loss list stays ordered and bounded, and every packet
// that was asked for leaves once.
TEST_CASE("A NAK with every other packet is served in order [D16][I-16]", "[udt][D16][I-16]") {
  Scene scene;
  scene.desk.give(scene.peer, scene.control(ControlType::nak,
                                            {1014, 1012, 1010, 1008, 1006, 1004, 1002, 1000}));
  CHECK(scene.desk.run(1ms).numbers() ==
        std::vector<std::uint32_t>{1000, 1002, 1004, 1006, 1008, 1010, 1012, 1014});
  scene.check_alive();
}

// ACK2s nobody waits for, and the same one twice.
TEST_CASE("ACK2s for ACKs never sent are ignored [D9]", "[udt][D9]") {
  Scene scene;
  scene.desk.give(scene.peer, scene.peer.keep_alive());
  const Duration rtt = scene.connection.stats().rtt;
  for (const std::uint32_t number : {0U, 1U, 2U, 0x7FFFFFFFU, 0xFFFFFFFFU})
    scene.desk.give(scene.peer, scene.peer.ack2(number));
  CHECK(scene.connection.stats().control_implausible == 5);
  CHECK(scene.connection.stats().rtt == rtt);
  scene.check_alive();
}

// Rates at the ends of their range: what cannot be true is left out, what can is smoothed without
// overflow.
TEST_CASE("Absurd rates in ACKs are left out [B8][I-10]", "[udt][B8][I-10]") {
  Scene scene;
  scene.desk.give(scene.peer, scene.peer.full_ack(1, scene.peer.peer_isn.advanced(16), 8192));
  scene.desk.run(1ms);
  wire::AckBody body;
  body.kind = wire::AckBody::Kind::full;
  body.next = scene.peer.peer_isn.advanced(17);
  body.window = 8192;
  std::uint32_t number = 1;
  const auto report = [&](std::uint32_t rate) {
    body.arrival_rate = body.capacity = rate;
    scene.desk.give(scene.peer, scene.peer.ack(++number, body));
    scene.desk.sent();
    CHECK(scene.connection.stats().peer_arrival_rate_pps ==
          scene.connection.stats().peer_capacity_pps);
    return scene.connection.stats().peer_capacity_pps;
  };
  for (const std::uint32_t absurd : {0U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFFU, 250'000'001U})
    CHECK(report(absurd) == 0);
  CHECK(report(250'000'000) == 250'000'000);
  CHECK(report(250'000'000) == 250'000'000);
  CHECK(report(0x7FFFFFFF) == 250'000'000);
  CHECK(report(8) == 218'750'001);
  CHECK(scene.connection.state() == Connection::State::connected);
  scene.bystander.talk();
}

// Types a stream has no use for, with any body: ignored, and they only show that the peer lives.
TEST_CASE("Unknown control packets are ignored [I-26]", "[udt][I-26]") {
  Scene scene;
  for (const unsigned type : {4U, 9U, 10U, 0x1234U, 0x7FFEU, 0x7FFFU})
    scene.desk.give(scene.peer,
                    scene.peer.control(static_cast<ControlType>(type), 0xFFFFFFFF, Bytes(100)));
  CHECK(scene.connection.stats().control_ignored == 6);
  CHECK(scene.desk.sent().empty());
  scene.check_alive();
}

// An error signal fails what the application sends, once, and nothing else.
TEST_CASE("An error signal leaves the connection alive [I-26]", "[udt][I-26]") {
  Scene scene;
  scene.desk.give(scene.peer, scene.control(ControlType::error_signal, {0}, 4000));
  CHECK(scene.desk.event_kinds() == std::vector{Event::Kind::error_signal});
  scene.check_alive();
}

// Control packets with no body, the padding word, or more than that.
TEST_CASE("Padding of control packets may be there or not [I-14]", "[udt][I-14]") {
  for (const std::size_t padding : {0U, 4U, 8U}) {
    Scene scene;
    scene.desk.give(scene.peer, scene.peer.control(ControlType::keep_alive, 0, Bytes(padding)));
    scene.desk.give(scene.peer, full_packet(scene.peer, scene.desk.source, 0));
    const auto acks = scene.desk.run(10ms).to(scene.peer.address).acks();
    REQUIRE(acks.size() == 1);
    const Duration rtt = scene.connection.stats().rtt;
    scene.desk.give(scene.peer,
                    scene.peer.control(ControlType::ack2, acks[0].control().info, Bytes(padding)));
    CHECK(scene.connection.stats().rtt < rtt);  // it was taken: the answer came in no time
    scene.desk.events();
    scene.desk.give(scene.peer,
                    scene.peer.control(ControlType::error_signal, 4000, Bytes(padding)));
    scene.desk.give(scene.peer, scene.peer.control(ControlType::shutdown, 0, Bytes(padding)));
    CHECK(scene.desk.event_kinds() ==
          std::vector{Event::Kind::error_signal, Event::Kind::peer_closed});
    CHECK(scene.complaints() == 0);
  }
}

}  // namespace
}  // namespace xfer::test

// How connections end, and how they stay alive.
#include "desk.hpp"

namespace xfer::test {
namespace {

using State = Connection::State;
using wire::ControlType;

struct Pair {
  explicit Pair(const ConnectionConfig& config = {}) : connection(desk.call(peer, config)) {}
  void offer(std::uint64_t bytes) { connection.offer(bytes, bytes, desk.now); }
  void ack(std::int64_t index) {
    desk.give(peer, peer.full_ack(++ack_number, peer.peer_isn.advanced(index), 8192));
  }
  /// The one event that is waiting.
  Event event() {
    const auto all = desk.events();
    REQUIRE(all.size() == 1);
    return all[0];
  }

  Desk desk;
  RawPeer peer = make_peer(1);
  Connection& connection;
  std::uint32_t ack_number = 0;
};

// Shutdown leaves only when everything is acknowledged, by an ACK that a stock peer's application
// has seen too - not by a light one - and then three times, 10 ms apart.
TEST_CASE("Shutdown waits for a firm ACK and is repeated [I-21][F5]", "[udt][I-21][F5]") {
  Pair pair;
  pair.offer(3 * 1456);
  pair.desk.run(1ms);
  pair.connection.close(pair.desk.now);
  CHECK(pair.connection.state() == State::draining);
  CHECK(pair.desk.run(5ms).of(ControlType::shutdown).empty());
  pair.ack(2);
  CHECK(pair.desk.run(5ms).of(ControlType::shutdown).empty());
  pair.desk.give(pair.peer, pair.peer.light_ack(pair.peer.peer_isn.advanced(3)));
  CHECK(pair.desk.run(5ms).of(ControlType::shutdown).empty());
  pair.desk.events();
  pair.ack(3);
  const auto log = pair.desk.run(1s);
  const auto shutdowns = log.of(ControlType::shutdown);
  REQUIRE(shutdowns.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(shutdowns[i].at - shutdowns[0].at == static_cast<int>(i) * 10ms);
    CHECK(shutdowns[i].body.size() == 4);
    CHECK(shutdowns[i].control().info == 0);
    CHECK(shutdowns[i].control().destination == pair.peer.id);
  }
  CHECK(log.data().empty());
  const Event closed = pair.event();
  CHECK(closed.kind == Event::Kind::closed);
  CHECK_FALSE(closed.has_error);
  CHECK(pair.connection.finished());
  CHECK_FALSE(pair.desk.endpoint.next_deadline());
}

// With nothing to wait for, close() shuts down at once; calling it again, or abort(), changes
// nothing.
TEST_CASE("An idle connection closes at once", "[udt]") {
  Pair pair;
  pair.connection.close(pair.desk.now);
  pair.connection.close(pair.desk.now);
  pair.connection.abort(pair.desk.now);
  CHECK(pair.desk.run(100ms).of(ControlType::shutdown).size() == 3);
  CHECK(pair.event().kind == Event::Kind::closed);
  pair.connection.close(pair.desk.now);
  CHECK(pair.desk.events().empty());
}

// close() with a dead peer ends after `linger` and says that not all arrived; a linger of nothing
// does not wait at all.
TEST_CASE("Closing is bounded by linger [F3]", "[udt][F3]") {
  for (const Duration linger : {Duration(0s), Duration(2s)}) {
    ConnectionConfig config;
    config.linger = linger;
    Pair pair(config);
    pair.offer(1456);
    pair.desk.run(1ms);
    pair.connection.close(pair.desk.now);
    if (linger > 0s) {
      CHECK(pair.desk.run(linger - 1ms).of(ControlType::shutdown).empty());
      CHECK(pair.desk.events().empty());
    }
    CHECK(pair.desk.run(30ms).of(ControlType::shutdown).size() == 3);
    const Event event = pair.event();
    CHECK(event.kind == Event::Kind::closed);
    REQUIRE(event.has_error);
    CHECK(event.error.code == ErrorCode::stalled);
  }
}

// abort() does not wait for acknowledgements.
TEST_CASE("Aborting shuts down at once", "[udt]") {
  for (const bool draining : {false, true}) {
    Pair pair;
    pair.offer(100'000);
    pair.desk.run(1ms);
    if (draining) pair.connection.close(pair.desk.now);
    pair.connection.abort(pair.desk.now);
    const auto log = pair.desk.run(100ms);
    CHECK(log.of(ControlType::shutdown).size() == 3);
    CHECK(log.data().empty());
    CHECK(pair.event().kind == Event::Kind::closed);
  }
}

// What has arrived in order can be read after the peer's shutdown, although no ACK timer has passed
// since; what lies behind a hole is lost with it.
TEST_CASE("Shutdown does not take received data away [F4][I-21]", "[udt][F4][I-21]") {
  Pair pair;
  pair.desk.give(pair.peer, full_packet(pair.peer, pair.desk.source, 0));
  pair.desk.give(pair.peer, full_packet(pair.peer, pair.desk.source, 1));
  pair.desk.give(pair.peer, full_packet(pair.peer, pair.desk.source, 3));
  pair.desk.give(pair.peer, pair.peer.shutdown());
  CHECK(pair.desk.event_kinds() == std::vector{Event::Kind::readable, Event::Kind::peer_closed});
  CHECK(pair.connection.state() == State::peer_closed);
  const auto read = pair.connection.take_readable();
  REQUIRE(read);
  CHECK(read->size() == 2 * 1456);
  CHECK(pair.desk.source.matches(0, *read));
  pair.connection.consume(read->size(), pair.desk.now);
  CHECK_FALSE(pair.connection.take_readable());
  CHECK(pair.desk.run(60s).empty());                // nobody is there to be told anything
  pair.desk.give(pair.peer, pair.peer.shutdown());  // its repeat
  CHECK(pair.desk.events().empty());
  pair.connection.close(pair.desk.now);
  const Event event = pair.event();
  CHECK(event.kind == Event::Kind::closed);
  CHECK_FALSE(event.has_error);
}

// A stock file client shuts down before its final ACK: the sender hears peer_closed, not a failure;
// whether the missing ACK matters is the application's to say.
TEST_CASE("A peer that closes before its last ACK is no failure [F6][I-21]", "[udt][F6][I-21]") {
  Pair pair;
  pair.offer(3 * 1456);
  pair.desk.run(1ms);
  pair.ack(2);
  pair.desk.events();
  pair.desk.give(pair.peer, pair.peer.shutdown());
  CHECK(pair.event().kind == Event::Kind::peer_closed);
  CHECK(pair.connection.acked_offset() == 2 * 1456);
  pair.connection.close(pair.desk.now);
  const Event event = pair.event();
  CHECK(event.kind == Event::Kind::closed);
  REQUIRE(event.has_error);
  CHECK(event.error.code == ErrorCode::peer_closed);
}

// Whoever closes acknowledges first what has arrived, so that the peer does not end with its last
// bytes in doubt, as it does with a stock file client.
TEST_CASE("What has arrived is acknowledged before the shutdown [F6][I-21]", "[udt][F6][I-21]") {
  for (const bool abort : {false, true}) {
    Pair pair;
    pair.desk.give(pair.peer, full_packet(pair.peer, pair.desk.source, 0));
    abort ? pair.connection.abort(pair.desk.now) : pair.connection.close(pair.desk.now);
    const auto log = pair.desk.sent();
    REQUIRE(log.size() == 2);
    REQUIRE(log[0].ack());
    CHECK(log[0].ack()->kind != wire::AckBody::Kind::light);
    CHECK(log[0].ack()->next == pair.peer.isn.advanced(1));
    CHECK(log[1].is(ControlType::shutdown));
  }
}

// The peer's shutdown while we drain or shut down ourselves.
TEST_CASE("Both sides may close at the same time", "[udt]") {
  struct Case {
    bool acknowledged;
    bool error;
  };
  for (const auto& [acknowledged, error] : {Case{true, false}, Case{false, true}}) {
    Pair pair;
    pair.offer(1456);
    pair.desk.run(1ms);
    if (acknowledged) pair.ack(1);
    pair.desk.events();
    pair.connection.close(pair.desk.now);
    pair.desk.give(pair.peer, pair.peer.shutdown());
    const Event event = pair.event();
    CHECK(event.kind == Event::Kind::closed);
    CHECK(event.has_error == error);
    CHECK(pair.desk.run(1s).of(ControlType::shutdown).empty());
  }
  Pair aborted;
  aborted.connection.abort(aborted.desk.now);
  aborted.desk.sent();
  aborted.desk.give(aborted.peer, aborted.peer.shutdown());
  CHECK(aborted.event().kind == Event::Kind::closed);
  Pair peer_first;
  peer_first.desk.give(peer_first.peer, peer_first.peer.shutdown());
  peer_first.desk.events();
  peer_first.connection.abort(peer_first.desk.now);
  CHECK(peer_first.event().kind == Event::Kind::closed);
}

// A silent peer is lost after idle_timeout, not after 46 s; any packet of it starts the time anew.
TEST_CASE("A silent peer is lost after the idle time [A8]", "[udt][A8]") {
  ConnectionConfig config;
  config.idle_timeout = 3s;
  Pair pair(config);
  pair.offer(1456);
  pair.desk.run(2900ms);
  CHECK(pair.connection.state() == State::connected);
  pair.desk.give(pair.peer, pair.peer.keep_alive());
  pair.desk.run(2900ms);
  CHECK(pair.connection.state() == State::connected);
  pair.desk.run(100ms);
  const Event event = pair.event();
  CHECK(event.kind == Event::Kind::failed);
  CHECK(event.error.code == ErrorCode::peer_lost);
  CHECK(pair.desk.run(60s).empty());
}

// A peer that is lost while we drain ends the closing too.
TEST_CASE("A peer lost while draining ends the close [A8][F3]", "[udt][A8][F3]") {
  ConnectionConfig config;
  config.idle_timeout = 2s;
  Pair pair(config);
  pair.offer(1456);
  pair.connection.close(pair.desk.now);
  pair.desk.run(5s);
  CHECK(pair.event().error.code == ErrorCode::peer_lost);
}

// An idle connection sends a keep-alive each second and nothing else; one that sends data needs
// none.
TEST_CASE("Keep-alives are sent once a second when idle [I-18]", "[udt][I-18]") {
  Pair pair;
  const auto log = pair.desk.run(10s);
  CHECK(log.size() >= 9);
  CHECK(log.size() <= 10);
  for (const auto& packet : log) {
    CHECK(packet.is(ControlType::keep_alive));
    CHECK(packet.body.size() == 4);
  }
  SentLog busy;
  for (std::int64_t i = 0; i < 20; ++i) {
    pair.offer(static_cast<std::uint64_t>(i + 1));
    const auto sent = pair.desk.run(500ms);
    busy.insert(busy.end(), sent.begin(), sent.end());
    pair.ack(i + 1);
    pair.desk.sent();
  }
  CHECK(busy.of(ControlType::keep_alive).empty());
}

// ICMP says that nobody is there any more: once is a hint, for two seconds without a word of the
// peer it is the end; hearing the peer clears it.
TEST_CASE("Refusals while connected end the connection after two seconds", "[udt]") {
  Pair pair;
  pair.offer(1456);
  const auto refuse = [&] {
    pair.desk.endpoint.handle_unreachable(pair.peer.address, true, pair.desk.now);
  };
  refuse();
  pair.desk.run(1900ms);
  pair.desk.give(pair.peer, pair.peer.keep_alive());
  refuse();
  pair.desk.run(1900ms);
  refuse();
  CHECK(pair.connection.state() == State::connected);
  pair.desk.run(200ms);
  refuse();
  CHECK(pair.event().error.code == ErrorCode::peer_lost);
  refuse();  // too late to matter
  CHECK(pair.desk.events().empty());

  Pair closing;
  closing.connection.close(closing.desk.now);
  closing.desk.sent();
  closing.desk.endpoint.handle_unreachable(closing.peer.address, true, closing.desk.now);
  closing.desk.endpoint.handle_unreachable(closing.peer.address, true, closing.desk.now);
  CHECK(closing.event().kind == Event::Kind::closed);  // the peer is gone: no need to say it thrice
}

// After the last event nothing more is told, sent or taken.
TEST_CASE("Nothing happens after the end", "[udt]") {
  Pair pair;
  pair.connection.abort(pair.desk.now);
  pair.desk.run(1s);
  CHECK(pair.event().kind == Event::Kind::closed);
  pair.offer(100'000);
  pair.desk.give(pair.peer, full_packet(pair.peer, pair.desk.source, 0));
  pair.desk.give(pair.peer, pair.peer.full_ack(1, pair.peer.peer_isn, 8192));
  pair.desk.give(pair.peer, pair.peer.handshake(wire::RequestType::conclusion));
  pair.desk.endpoint.handle_unreachable(pair.peer.address, true, pair.desk.now);
  CHECK(pair.desk.run(10s).empty());
  CHECK(pair.desk.events().empty());
  CHECK_FALSE(pair.connection.take_readable());
}

// Before it is up a connection can be asked everything and has nothing to say.
TEST_CASE("A connection that is not up yet answers calmly", "[udt]") {
  Desk desk;
  const auto id = desk.endpoint.connect(address(1), {}, desk.now);
  Connection& connection = *desk.endpoint.find(*id);
  connection.offer(0, 0, desk.now);
  CHECK_FALSE(connection.take_readable());
  connection.consume(0, desk.now);
  CHECK(connection.acked_offset() == 0);
  CHECK(connection.payload_size() == 0);
  CHECK(connection.stats().packets_sent == 0);
  CHECK_FALSE(connection.finished());
}

}  // namespace
}  // namespace xfer::test

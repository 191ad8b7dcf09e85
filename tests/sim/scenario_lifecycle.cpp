#include <catch2/catch.hpp>

#include "scenario.hpp"

namespace xfer::sim {
namespace {

constexpr std::uint64_t kRate = 1'000'000'000;
constexpr TimePoint kStart = TimePoint{} + 1s;

}  // namespace

// A peer that vanishes is given up at the idle time-out, whether data is pending or not.
TEST_CASE("lifecycle: peer vanishes", "[A8]") {
  const bool idle = GENERATE(false, true);
  PairOptions options = upload(idle ? 1000 : 2'000'000'000, kRate, 10ms);
  options.caller.idle_timeout = options.listener.idle_timeout = 5s;
  options.caller_app.closes = false;
  Pair pair(options);
  pair.start();
  pair.network.run_for(2s);
  REQUIRE(pair.accepted());
  CHECK_FALSE(pair.sender().ended());
  pair.listener.vanish();
  const TimePoint gone = pair.network.now();
  REQUIRE(pair.run_until(20s, [&] { return pair.sender().ended(); }));
  REQUIRE(pair.sender().error);
  CHECK(pair.sender().error->code == ErrorCode::peer_lost);
  // The last packet may be up to a keep-alive interval old.
  CHECK(pair.network.now() - gone >= 5s - udt::kKeepAliveInterval - 20ms);
  CHECK(pair.network.now() - gone <= 5s + 100ms);
}

// A8: a peer that is stopped for less than the idle time-out goes on afterwards.
TEST_CASE("lifecycle: peer stopped for three seconds", "[A8]") {
  const bool stop_sender = GENERATE(false, true);
  PairOptions options = upload(60'000'000, kRate / 5, 10ms);
  options.caller.idle_timeout = options.listener.idle_timeout = 5s;
  Pair pair(options);
  pair.start();
  pair.network.run_for(1s);
  EndpointHost& stopped = stop_sender ? pair.caller : pair.listener;
  stopped.freeze(true);
  pair.network.run_for(3s);
  stopped.freeze(false);
  REQUIRE(pair.run_to_end(120s));
  CHECK_FALSE(pair.sender().error);
  CHECK(pair.network.failure().empty());
}

// An idle connection stays up on keep-alives, one a second, and wakes its driver hardly more often.
TEST_CASE("lifecycle: an idle connection stays up quietly", "[G5][I-18]") {
  PairOptions options = upload(1000, kRate, 10ms);
  options.caller_app.closes = false;
  Pair pair(options);
  pair.start();
  pair.network.run_for(2s);
  const std::uint64_t events = pair.network.event_count();
  const std::uint64_t packets = pair.up.stats().offered + pair.down.stats().offered;
  pair.network.run_for(100s);
  CHECK_FALSE(pair.sender().ended());
  CHECK_FALSE(pair.receiver().ended());
  const std::uint64_t keep_alives = pair.up.stats().offered + pair.down.stats().offered - packets;
  CHECK(keep_alives >= 2 * 90);
  CHECK(keep_alives <= 2 * 110);
  CHECK(pair.network.event_count() - events <= 10 * 100);
}

// C11: the final answer is lost and the listener stops listening: the connection itself answers the
// repeated request.
TEST_CASE("lifecycle: final answer lost, listener closed", "[C11][I-4]") {
  const unsigned lost = GENERATE(1U, 2U, 4U);
  Pair pair(upload(100'000, kRate, 10ms));
  pair.down.rules.push_back(
      drop_control(wire::ControlType::handshake, lost, 1));  // the cookie passes
  pair.start();
  REQUIRE(pair.run_until(5s, [&] { return pair.accepted(); }));
  pair.listener.endpoint().stop_listening();
  REQUIRE(pair.run_to_end(30s));
  CHECK_FALSE(pair.sender().error);
  CHECK(pair.received() == 100'000);
}

// C3: a handshake that crosses the change of the cookie's time slot succeeds at the first attempt.
TEST_CASE("lifecycle: handshake across a cookie slot change", "[C3]") {
  const Duration rtt = 400ms;
  for (Duration offset = -600ms; offset <= 600ms; offset += 50ms) {
    Pair pair(upload(1000, kRate, rtt));
    pair.network.run(TimePoint{} + 2 * udt::kCookieSlot + offset, [] { return false; });
    const TimePoint begin = pair.network.now();
    pair.start();
    REQUIRE(pair.run_to_end(30s));
    CAPTURE(to_us(offset));
    CHECK(*pair.sender().connected_at - begin <= 2 * rtt + 1ms);
  }
}

// A caller whose cookie went stale on a path dark for more than two slots starts again with a new
// one.
TEST_CASE("lifecycle: stale cookie", "[C3][I-5]") {
  PairOptions options = upload(1000, kRate, 10ms);
  options.caller.connect_timeout = 200s;
  Pair pair(options);
  pair.up.options.blackouts = {{kStart + 2ms, kStart + 2 * udt::kCookieSlot + 10s}};
  pair.start();
  REQUIRE(pair.run_until(100s, [&] { return pair.sender().connected(); }));
  CHECK(pair.network.now() - kStart <= 2 * udt::kCookieSlot + 11s);
}

// Nobody answers: the caller gives up at its time-out.
TEST_CASE("lifecycle: no answer") {
  PairOptions options = upload(1000, kRate, 10ms);
  options.caller.connect_timeout = 3s;
  Pair pair(options);
  pair.up.rules.push_back(drop_all());
  pair.start();
  REQUIRE(pair.run_until(10s, [&] { return pair.sender().ended(); }));
  CHECK(pair.sender().error->code == ErrorCode::connect_timeout);
  CHECK(pair.network.now() - kStart >= 3s);
  CHECK(pair.network.now() - kStart <= 3100ms);
  // Asked every 250 ms.
  CHECK(pair.up.stats().offered >= 10);
  CHECK(pair.up.stats().offered <= 14);
}

// Each handshake packet lost in turn, in each direction: connecting is repaired by repetition,
// whoever calls whom.
TEST_CASE("lifecycle: every handshake packet lost in turn", "[I-4][I-23]") {
  const bool rendezvous = GENERATE(false, true);
  const bool upwards = GENERATE(false, true);
  const unsigned index = GENERATE(0U, 1U, 2U, 3U, 4U);
  const unsigned count = GENERATE(1U, 2U);
  CAPTURE(rendezvous, upwards, index, count);
  PairOptions options = upload(50'000, kRate, 10ms);
  options.listener_app.bytes_out = options.caller_app.bytes_in = 30'000;
  options.rendezvous = rendezvous;
  Pair pair(options);
  (upwards ? pair.up : pair.down)
      .rules.push_back(drop_control(wire::ControlType::handshake, count, index));
  pair.start();
  REQUIRE(pair.run_to_end(30s));
  CHECK(pair.network.failure().empty());
  CHECK_FALSE(pair.sender().error);
  CHECK(*pair.receiver().received_all_at - kStart <= 2s);
}

// Rendezvous peers that start at different times meet.
TEST_CASE("lifecycle: rendezvous with a late peer") {
  const Duration late = GENERATE(Duration(1ms), Duration(5ms), Duration(260ms), Duration(3s));
  PairOptions options = upload(50'000, kRate, 10ms);
  Pair pair(options);
  pair.caller.rendezvous(pair.listener.address(), options.caller, options.caller_app);
  pair.network.after(late, [&] {
    pair.listener.rendezvous(pair.caller.address(), options.listener, options.listener_app);
  });
  REQUIRE(pair.run_to_end(30s));
  CHECK_FALSE(pair.sender().error);
  CHECK(*pair.receiver().received_all_at - kStart <= late + 300ms);
}

// A6: data sent in the same instant as the last handshake is not lost: nothing is sent twice and no
// time passes.
TEST_CASE("lifecycle: data together with the last handshake", "[A6][I-25]") {
  const bool rendezvous = GENERATE(false, true);
  PairOptions options = upload(5 * 1456, kRate, 10ms);
  options.listener_app.bytes_out = options.caller_app.bytes_in = 5 * 1456;
  options.rendezvous = rendezvous;
  Pair pair(options);
  pair.start();
  REQUIRE(pair.run_to_end(30s));
  CHECK(*pair.receiver().received_all_at - kStart <= 26ms);
  CHECK(*pair.sender().received_all_at - kStart <= 26ms);
  CHECK(pair.sender().last_stats.packets_retransmitted == 0);
  CHECK(pair.receiver().last_stats.packets_retransmitted == 0);
}

// F5: shutdown packets lost: the peer is told by the next one, and by the idle time-out if all were
// lost.
TEST_CASE("lifecycle: shutdown lost", "[F5][I-21]") {
  const unsigned lost = GENERATE(0U, 1U, 2U, 3U);
  CAPTURE(lost);
  PairOptions options = upload(100'000, kRate, 10ms);
  options.listener.idle_timeout = 4s;
  Pair pair(options);
  pair.up.rules.push_back(drop_control(wire::ControlType::shutdown, lost));
  pair.start();
  REQUIRE(pair.run_to_end(30s));
  CHECK_FALSE(pair.sender().error);
  CHECK(pair.received() == 100'000);
  const Duration after = *pair.receiver().ended_at - *pair.sender().acked_all_at;
  if (lost < udt::kShutdownCount) {
    CHECK(after <= 5ms + lost * udt::kShutdownInterval + 1ms);
    CHECK_FALSE(pair.receiver().error);
  } else {
    CHECK(after <= 4s + 100ms);
    REQUIRE(pair.receiver().error);
    CHECK(pair.receiver().error->code == ErrorCode::peer_lost);
  }
}

// F4: what has arrived in order is delivered although the shutdown came before the application read
// it.
TEST_CASE("lifecycle: shutdown before the reader has read", "[F4][I-21]") {
  PairOptions options = upload(1'000'000, kRate, 10ms);
  options.listener_app.read_stops = {{TimePoint{}, kStart + 3s}};
  Pair pair(options);
  pair.start();
  REQUIRE(pair.run_to_end(30s));
  CHECK_FALSE(pair.sender().error);
  CHECK(*pair.receiver().peer_closed_at < kStart + 3s);
  CHECK(pair.received() == 1'000'000);
}

// An abort reaches the peer at once, and what was not acknowledged is reported as lost to nobody
// but the aborter.
TEST_CASE("lifecycle: abort") {
  Pair pair(upload(1'000'000'000, kRate, 10ms));
  pair.start();
  pair.network.run_for(1s);
  pair.sender().abort(pair.network.now());
  pair.caller.poke();
  REQUIRE(pair.run_to_end(1s));
  CHECK(pair.receiver().peer_closed_at);
  CHECK(pair.caller.endpoint().connection_count() == 0);
  CHECK(pair.listener.endpoint().connection_count() == 0);
}

// Closing towards a peer that never acknowledges ends at the linger time.
TEST_CASE("lifecycle: linger is bounded", "[F3]") {
  PairOptions options = upload(1'000'000, kRate, 10ms);
  options.caller.linger = 2s;
  Pair pair(options);
  pair.start();
  REQUIRE(pair.run_until(1s, [&] { return pair.accepted(); }));
  pair.listener.vanish();
  REQUIRE(pair.run_until(10s, [&] { return pair.sender().ended(); }));
  CHECK(pair.sender().error);
  CHECK(pair.network.now() - kStart <= 2500ms);
}

// Empty and one-byte transfers, and those around a full packet, arrive whole.
TEST_CASE("lifecycle: sizes around nothing and a packet") {
  const std::uint64_t size = GENERATE(as<std::uint64_t>{}, 0, 1, 1455, 1456, 1457, 2912, 364'000);
  Pair pair(upload(size, kRate, 10ms));
  pair.start();
  REQUIRE(pair.run_to_end(10s));
  CHECK_FALSE(pair.sender().error);
  CHECK(pair.received() == size);
  CHECK(*pair.receiver().ended_at - kStart <= 200ms);
}

// Garbage at the port during a transfer is counted and changes nothing.
TEST_CASE("lifecycle: garbage during a transfer", "[I-25]") {
  Pair pair(upload(4'000'000, kRate, 10ms));
  ScriptedHost& stranger = pair.network.add<ScriptedHost>(host_address(9));
  pair.start();
  SeededRandom random(3);
  std::function<void()> shoot = [&] {
    std::vector<std::byte> garbage(static_cast<std::size_t>(random.below(1500)));
    for (auto& byte : garbage) byte = static_cast<std::byte>(random.next_u64());
    pair.network.send(stranger, pair.listener.address(), garbage);
    pair.network.after(1ms, shoot);
  };
  shoot();
  REQUIRE(pair.run_to_end(30s));
  CHECK_FALSE(pair.sender().error);
  CHECK(pair.received() == 4'000'000);
  const udt::EndpointStats& stats = pair.listener.endpoint().stats();
  CHECK(stats.datagrams_foreign + stats.datagrams_short + stats.handshakes_malformed > 50);
}

// Twenty callers on one port, each with its own numbers, get their own bytes.
TEST_CASE("lifecycle: many callers", "[E5]") {
  Network network(5);
  EndpointHostOptions host;
  host.address = host_address(1);
  EndpointHost& server = network.add<EndpointHost>(host);
  AppOptions accepted;
  accepted.bytes_in = 200'000;
  udt::ListenConfig listen;
  server.listen(listen, [&](std::size_t) { return accepted; });
  std::vector<EndpointHost*> callers;
  for (unsigned i = 0; i < 4; ++i) {
    host.address = host_address(10 + i);
    callers.push_back(&network.add<EndpointHost>(host));
    network.set_path(*callers.back(), server, path_of(kRate, 10ms));
    for (unsigned c = 0; c < 5; ++c) {
      AppOptions app;
      app.stream = static_cast<std::uint8_t>(1 + i * 5 + c);
      app.bytes_out = 200'000;
      app.closes = true;
      udt::ConnectionConfig config;
      config.isn = wire::SeqNo(wire::SeqNo::kMax - i * 20 - c);
      callers.back()->connect(server.address(), config, app);
    }
  }
  REQUIRE(network.run(TimePoint{} + 60s, [&] {
    if (server.apps().size() < 20) return false;
    for (const auto& app : server.apps())
      if (!app->ended()) return false;
    return true;
  }));
  CHECK(network.failure().empty());
  std::vector<std::uint8_t> streams;
  for (const auto& app : server.apps()) {
    CHECK(app->received() == 200'000);
    streams.push_back(app->stream_in().value_or(0));
  }
  std::sort(streams.begin(), streams.end());
  for (std::size_t i = 0; i < streams.size(); ++i) CHECK(streams[i] == i + 1);
  CHECK(server.endpoint().connection_count() == 0);
}

}  // namespace xfer::sim

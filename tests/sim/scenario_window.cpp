#include <catch2/catch.hpp>

#include "scenario.hpp"
#include "support/raw_peer.hpp"

namespace xfer::sim {

// A5: a reader that stops for five seconds fills the receiver's buffer; when it reads again, new
// data arrives within 50 ms and a round trip.
TEST_CASE("window: slow reader", "[A5][I-15]") {
  const Duration rtt = GENERATE(Duration(300us), Duration(10ms), Duration(100ms));
  const std::uint32_t window = GENERATE(32U, 512U, 8192U);
  CAPTURE(to_us(rtt), window);
  PairOptions options = upload(100'000'000, 1'000'000'000, rtt);
  options.listener.receive_window = window;
  const TimePoint stop = TimePoint{} + 1500ms;
  const TimePoint resume = stop + 5s;
  options.listener_app.read_stops = {{stop, resume}};
  Pair pair(options);
  pair.start();
  pair.network.run(resume - 1ms, [] { return false; });
  REQUIRE(pair.accepted());
  if (pair.sender().ended()) return;  // it was all over before the reader stopped
  const udt::ConnectionStats stats = pair.receiver().connection()->stats();
  const std::uint64_t before = stats.payload_bytes_received;
  // No more is kept than the window, which has grown by itself, allows.
  CHECK(before - pair.received() <= (stats.receive_window + udt::kWindowReserve) * 1456);
  REQUIRE(pair.run_until(
      2s, [&] { return pair.receiver().connection()->stats().payload_bytes_received > before; }));
  CAPTURE(to_us(pair.network.now() - resume));
  CHECK(pair.network.now() - resume <= 50ms + rtt);
  REQUIRE(pair.run_to_end(600s));
  CHECK(pair.network.failure().empty());
}

// While the window is closed the sender only probes: it does not send the same packets over and
// over.
TEST_CASE("window: a closed window is left alone") {
  PairOptions options = upload(100'000'000, 1'000'000'000, 10ms);
  options.listener.receive_window = 512;
  options.listener_app.read_stops = {{TimePoint{} + 1500ms, TimePoint{} + 11'500ms}};
  Pair pair(options);
  pair.start();
  pair.network.run(TimePoint{} + 2500ms, [] { return false; });
  const std::uint64_t before = pair.sender().connection()->stats().packets_sent;
  pair.network.run(TimePoint{} + 11'400ms, [] { return false; });
  CHECK(pair.sender().connection()->stats().packets_sent - before <= 100);
}

// The smallest windows and packets work, and the flight keeps within them.
TEST_CASE("window: tiny windows, small packets", "[I-8]") {
  const std::uint32_t mss = GENERATE(76U, 100U, 1500U, 9000U);
  CAPTURE(mss);
  PairOptions options = upload(300'000, 100'000'000, 10ms);
  options.caller.mss = options.listener.mss = mss;
  options.listener.receive_window = options.caller.receive_window = udt::kMinFlightWindow;
  Pair pair(options);
  pair.start();
  REQUIRE(pair.run_to_end(120s));
  CHECK(pair.network.failure().empty());
  CHECK(pair.received() == 300'000);
  CHECK(pair.sender().last_stats.exp_fired == 0);
}

// A4: light ACKs alone keep a sender going and free its buffer, up to the end of the window that
// was announced.
TEST_CASE("window: a receiver that only sends light ACKs", "[A4][I-12]") {
  Network network(1);
  EndpointHostOptions host;
  host.address = host_address(1);
  EndpointHost& sender = network.add<EndpointHost>(host);
  ScriptedHost& receiver = network.add<ScriptedHost>(host_address(2));
  network.set_path(sender, receiver, path_of(1'000'000'000, 10ms));

  test::RawPeer peer;
  peer.address = receiver.address();
  std::int64_t arrived = 0;
  receiver.on_datagram = [&](ByteView bytes, const SocketAddress& from, TimePoint) {
    const auto packet = test::parse_packet(bytes);
    REQUIRE(packet);
    if (const auto answer = peer.answer_as_listener(*packet)) {
      network.send(receiver, from, *answer);
      return;
    }
    if (!packet->is_data()) return;
    CHECK(packet->data().seq == peer.isn.advanced(arrived));  // nothing is sent twice
    ++arrived;
    if (arrived % 8 == 0) network.send(receiver, from, peer.light_ack(peer.isn.advanced(arrived)));
  };
  AppOptions app;
  app.bytes_out = 8000 * 1456;
  app.flush_always = false;
  app.ring = 2'000'000;  // smaller than the transfer: it has to be freed on the way
  StreamApp& writer = sender.connect(receiver.address(), {}, app);
  REQUIRE(network.run(TimePoint{} + 20s, [&] { return arrived >= 8000; }));
  CHECK(network.failure().empty());
  CHECK(writer.connection()->stats().probes_sent == 0);
  CHECK(network.now() < TimePoint{} + 3s);
}

// A3: ten full packets, too few for a light ACK, are acknowledged by the 10 ms timer.
TEST_CASE("window: a short burst is acknowledged within a tick", "[A3][I-11]") {
  Network network(1);
  EndpointHostOptions host;
  host.address = host_address(1);
  EndpointHost& listener = network.add<EndpointHost>(host);
  ScriptedHost& sender = network.add<ScriptedHost>(host_address(2));
  AppOptions app;
  app.bytes_in = 10 * 1456;
  app.verify = false;
  listener.listen({}, [&](std::size_t) { return app; });

  test::RawPeer peer;
  peer.address = sender.address();
  std::optional<TimePoint> burst_at;
  std::optional<TimePoint> acked_at;
  sender.on_datagram = [&](ByteView bytes, const SocketAddress& from, TimePoint now) {
    const auto packet = test::parse_packet(bytes);
    REQUIRE(packet);
    if (const auto answer = peer.answer_as_caller(*packet)) network.send(sender, from, *answer);
    if (peer.connected && !burst_at) {
      burst_at = now;
      const test::Bytes payload(1456);
      for (int i = 0; i < 10; ++i)
        network.send(sender, from, peer.data(peer.isn.advanced(i), payload));
    }
    const auto ack = packet->ack();
    if (ack && ack->next == peer.isn.advanced(10) && !acked_at) acked_at = now;
  };
  network.send(sender, listener.address(), peer.handshake(wire::RequestType::induction));
  REQUIRE(network.run(TimePoint{} + 5s, [&] { return acked_at.has_value(); }));
  CHECK(*acked_at - *burst_at <= 11ms);
}

// B6: a sender that was stopped for 200 ms does not make up for it in one burst.
TEST_CASE("window: a late sender has a capped credit", "[B6]") {
  PairOptions options = upload(400'000'000, 1'000'000'000, 10ms);
  Pair pair(options);
  pair.start();
  pair.network.run_for(1s);
  pair.caller.freeze(true);
  pair.network.run_for(200ms);
  const udt::ConnectionStats before = pair.sender().connection()->stats();
  const std::uint64_t sent = pair.up.stats().offered;
  pair.caller.freeze(false);
  pair.network.run_for(1us);
  const auto credit = static_cast<double>(udt::kMaxPacingCredit.count()) /
                      static_cast<double>(std::max<std::int64_t>(before.send_period.count(), 1));
  CHECK(static_cast<double>(pair.up.stats().offered - sent) <= credit + 70);
}

namespace {

/// Share of a link of 1 Gbit/s that a sender at nearly that rate gets in the third to fifth second.
double share_of_gigabit(PairOptions options) {
  options.caller.controller = udt::ControllerKind::fixed_rate;
  options.caller.max_rate = 122'000'000;
  Pair pair(options);
  pair.start();
  pair.network.run_for(3s);
  const std::uint64_t before = pair.received();
  pair.network.run_for(2s);
  CHECK(pair.network.failure().empty());
  // Windows may not outgrow the memory for them; 100 bytes a packet are for what is kept about it.
  const auto memory = static_cast<std::int64_t>(options.listener.max_memory);
  CHECK(pair.listener.memory().peak_bytes <= memory + memory / 1456 * 100 + (1 << 20));
  return static_cast<double>(pair.received() - before) / 2 / (1e9 / 8 * 1456 / 1500);
}

}  // namespace

// Windows that start at 8192 packets grow to what the path holds, without being told; a peer
// without the capability keeps what it announced, and the ceiling on memory holds.
TEST_CASE("window: grows to the bandwidth-delay product") {
  const Duration rtt = GENERATE(Duration(100ms), Duration(300ms));
  CAPTURE(to_us(rtt));
  PairOptions options = upload(2'000'000'000, 1'000'000'000, rtt);
  options.caller_app.ring = 128 << 20;
  CHECK(share_of_gigabit(options) >= 0.9);
  const double announced = 8192.0 * 1456 / to_seconds(rtt) / (1e9 / 8 * 1456 / 1500);
  SECTION("plain") {
    options.listener.capabilities = false;
    CHECK(share_of_gigabit(options) <= std::min(announced, 1.0));
  }
  SECTION("little memory") {
    options.listener.max_memory = 6 << 20;
    CHECK(share_of_gigabit(options) <= 6e6 * 1.05 / to_seconds(rtt) / (1e9 / 8 * 1456 / 1500));
  }
}

}  // namespace xfer::sim

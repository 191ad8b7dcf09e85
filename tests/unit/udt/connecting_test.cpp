// An endpoint's handshakes with peers made by hand: listening, calling, rendezvous.
#include <set>

#include "desk.hpp"

namespace xfer::test {
namespace {

using udt::ListenConfig;
using wire::ControlType;
using wire::Handshake;
using wire::RequestType;

Handshake only_handshake(const SentLog& log) {
  REQUIRE(log.size() == 1);
  const auto handshake = log[0].handshake();
  REQUIRE(handshake);
  return *handshake;
}

/// Sends request 1 and returns request -1 with the cookie, not sent yet.
Bytes proved_request(Desk& desk, RawPeer& peer) {
  desk.give(peer, peer.handshake(RequestType::induction));
  const auto log = desk.sent();
  REQUIRE(log.size() == 1);
  const auto request = peer.answer_as_caller(log[0]);
  REQUIRE(request);
  return *request;
}

// The listener's two answers, field by field: the first is the request with a cookie; the second
// has our own ID and window, the client's ISN and the smaller MSS; our data starts at that ISN.
TEST_CASE("A listener answers request 1 and the proved request [I-3][I-27]", "[udt][I-3][I-27]") {
  Desk desk;
  desk.listen();
  RawPeer peer = make_peer(1, 0x7FFFFFF0);
  peer.mss = 1400;
  peer.window = 25'600;
  desk.give(peer, peer.handshake(RequestType::induction));
  auto log = desk.sent();
  const Handshake first = only_handshake(log);
  CHECK(log[0].destination == peer.address);
  CHECK(log[0].control().destination == peer.id);
  CHECK(log[0].control().timestamp_us == 0);
  Handshake expected;
  expected.isn = 0x7FFFFFF0;
  expected.mss = 1400;
  expected.flight_window = 25'600;
  expected.request = RequestType::induction;
  expected.socket_id = peer.id;
  expected.cookie = first.cookie;
  expected.capabilities = first.capabilities;  // tested below
  CHECK(first == expected);
  CHECK(desk.endpoint.connection_count() == 0);  // no state is kept

  desk.give(peer, *peer.answer_as_caller(log[0]));
  log = desk.sent();
  const Handshake second = only_handshake(log);
  CHECK(log[0].destination == peer.address);
  CHECK(log[0].control().destination == peer.id);
  CHECK(second.version == 4);
  CHECK(second.socket_type == 1);
  CHECK(second.request == RequestType::conclusion);
  CHECK(second.isn == 0x7FFFFFF0);
  CHECK(second.mss == 1400);
  CHECK(second.flight_window == 8192);
  CHECK(second.cookie == first.cookie);
  CHECK(second.socket_id.valid());
  CHECK(second.socket_id != peer.id);

  Connection& connection = desk.use(second.socket_id);
  connection.offer(10, 10, desk.now);
  CHECK(desk.sent().numbers() == std::vector<std::uint32_t>{0x7FFFFFF0});
  CHECK(connection.payload_size() == 1400 - 44);
}

// A client that asks for more than we use gets our own MSS.
TEST_CASE("The smaller MSS wins [I-3][I-6]", "[udt][I-3][I-6]") {
  struct Case {
    std::uint32_t theirs, ours, agreed;
  };
  for (const auto& [theirs, ours, agreed] :
       {Case{1500, 1500, 1500}, Case{9000, 1500, 1500}, Case{1000, 1500, 1000}, Case{76, 1500, 76},
        Case{65'535, 65'535, 65'535}, Case{0x7FFFFFFF, 1500, 1500}}) {
    CAPTURE(theirs, ours);
    Desk desk;
    ListenConfig config;
    config.connection.mss = ours;
    desk.listen(config);
    RawPeer peer = make_peer(1);
    peer.mss = theirs;
    CHECK(desk.accept(peer).payload_size() == agreed - 44);
    CHECK(peer.mss == agreed);
  }
}

// A client that missed the final answer asks again: it gets the very same answer each time, also
// while data flows, and also once nobody listens any more. Stock announces another window then.
TEST_CASE("A repeated request gets the same answer again [I-4][C11][C12]", "[udt][I-4][C11][C12]") {
  Desk desk;
  desk.listen();
  RawPeer peer = make_peer(1);
  const Bytes request = proved_request(desk, peer);
  desk.give(peer, request);
  const Handshake answer = only_handshake(desk.sent());
  peer.peer_id = answer.socket_id;
  Connection& connection = desk.use(answer.socket_id);
  CHECK(desk.event_kinds() == std::vector{Event::Kind::incoming});

  for (int round = 0; round < 3; ++round) {
    connection.offer(10'000 * static_cast<std::uint64_t>(round + 1), 0, desk.now);
    desk.run(1ms);
    desk.give(peer, full_packet(peer, desk.source, round));
    if (round == 2) desk.endpoint.stop_listening();
    desk.give(peer, request);
    const auto answers = desk.sent().of(ControlType::handshake);
    CHECK(only_handshake(answers) == answer);
  }
  CHECK(desk.endpoint.connection_count() == 1);
  CHECK(connection.state() == Connection::State::connected);
  CHECK(connection.stats().packets_received == 3);
  for (const auto& event : desk.events()) CHECK(event.kind != Event::Kind::incoming);
}

// A step 3 recorded from a connection that is over opens no second one.
TEST_CASE("A replayed request opens no connection [C4]", "[udt][C4]") {
  Desk desk;
  desk.listen();
  RawPeer peer = make_peer(1);
  const Bytes request = proved_request(desk, peer);
  desk.give(peer, request);
  const wire::SocketId id = only_handshake(desk.sent()).socket_id;
  desk.endpoint.forget(id);
  desk.run(20s);
  desk.give(peer, request);
  CHECK(desk.sent().empty());
  CHECK(desk.endpoint.connection_count() == 0);
  CHECK(desk.endpoint.stats().cookies_refused == 1);
}

constexpr std::uint32_t kAll =
    wire::kGrowingWindows | wire::kPathMtuProbing | wire::kDeliveryReports;

// What a listener can stands behind its cookie answer, where a stock caller does not look. Switched
// off, nothing does.
TEST_CASE("A cookie answer shows the listener's capabilities [I-2]", "[udt][I-2]") {
  for (const bool on : {true, false}) {
    Desk desk;
    ListenConfig config;
    config.connection.capabilities = on;
    config.connection.max_mtu = 4000;
    desk.listen(config);
    RawPeer peer = make_peer(1);
    desk.give(peer, peer.handshake(RequestType::induction));
    const auto log = desk.sent();
    const Handshake answer = only_handshake(log);
    CHECK(log[0].body.size() == (on ? 60U : 48U));
    REQUIRE(answer.capabilities.has_value() == on);
    if (on) CHECK(*answer.capabilities == wire::CapabilityBlock{1, 4000, kAll});
  }
}

// A request with a block is answered with what both can; one without it gets a stock answer. A
// repeat gets the same again.
TEST_CASE("A listener agrees to what both can", "[udt]") {
  for (const bool asked : {true, false}) {
    Desk desk;
    desk.listen();
    RawPeer peer = make_peer(1);
    desk.give(peer, peer.handshake(RequestType::induction));
    Handshake request = only_handshake(desk.sent());
    request.request = RequestType::conclusion;
    request.capabilities.reset();
    if (asked) request.capabilities = wire::CapabilityBlock{7, 2000, wire::kGrowingWindows | 0xF0U};
    for (int repeat = 0; repeat < 2; ++repeat) {
      desk.give(peer, peer.handshake(request));
      const Handshake answer = only_handshake(desk.sent());
      REQUIRE(answer.request == RequestType::conclusion);
      REQUIRE(answer.capabilities.has_value() == asked);
      if (asked)
        CHECK(*answer.capabilities == wire::CapabilityBlock{1, 2000, wire::kGrowingWindows});
      CHECK(desk.use(answer.socket_id).stats().capabilities ==
            (asked ? wire::kGrowingWindows : 0U));
    }
    CHECK(desk.endpoint.connection_count() == 1);
  }
}

// A listener that was told to stay plain ignores a block, as stock does; so does any for a first
// request.
TEST_CASE("A block nobody asked for gets silence [I-2]", "[udt][I-2]") {
  Desk desk;
  ListenConfig config;
  config.connection.capabilities = false;
  desk.listen(config);
  RawPeer peer = make_peer(1);
  desk.give(peer, peer.handshake(RequestType::induction));
  Handshake request = only_handshake(desk.sent());
  request.request = RequestType::conclusion;
  request.capabilities = wire::CapabilityBlock{1, 0, kAll};
  desk.give(peer, peer.handshake(request));
  CHECK(desk.sent().empty());
  CHECK(desk.endpoint.stats().handshakes_malformed == 1);
  CHECK(desk.endpoint.connection_count() == 0);
}

// A caller sends its block to a listener that has shown one, and to no other: not on the first
// request, not to a stock listener, not after a new cookie that came without one.
TEST_CASE("A stock listener never gets a block [I-2]", "[udt][I-2]") {
  const bool ours = GENERATE(true, false);
  const bool theirs = GENERATE(true, false);
  Desk desk;
  RawPeer peer = make_peer(1);
  ConnectionConfig config;
  config.capabilities = ours;
  const auto id = desk.endpoint.connect(peer.address, config, desk.now);
  auto log = desk.sent();
  Handshake answer = only_handshake(log);
  CHECK(log[0].body.size() == 48);
  peer.peer_id = answer.socket_id;
  answer.cookie = 5;
  if (theirs) answer.capabilities = wire::CapabilityBlock{1, 9000, kAll};
  desk.give(peer, peer.handshake(answer));
  log = desk.sent();
  const Handshake request = only_handshake(log);
  CHECK(log[0].body.size() == (ours && theirs ? 60U : 48U));
  // Nobody answers; the next cookie comes from a listener that knows no blocks.
  bool again = false;
  for (const auto& packet : desk.run(510ms))
    again = again || packet.handshake()->request == RequestType::induction;
  CHECK(again);
  answer.capabilities.reset();
  desk.give(peer, peer.handshake(answer));
  log = desk.sent();
  CHECK(only_handshake(log).request == RequestType::conclusion);
  CHECK(log[0].body.size() == 48);

  answer = request;
  answer.socket_id = peer.id;
  desk.give(peer, peer.handshake(answer));
  CHECK(desk.event_kinds() == std::vector{Event::Kind::connected});
  CHECK(desk.use(*id).stats().capabilities == (ours && theirs ? kAll : 0U));
}

// How large packets may get: the smaller offer, what the MSS says where that is below the default
// or where one side cannot probe.
TEST_CASE("The largest packet is what both offer", "[udt]") {
  struct Case {
    std::uint32_t mss;
    std::optional<std::uint32_t> max_mtu;
    std::uint32_t offered;  // by the listener
    std::uint32_t largest;
  };
  for (const auto& [mss, max_mtu, offered, largest] : {
           Case{1500, 9000, 9000, 9000},
           Case{1500, std::nullopt, 65'000, udt::kMaxAutoMtu},
           Case{1500, 9000, 4000, 4000},
           Case{1500, 9000, 0, 1500},
           Case{1500, 1400, 9000, 1400},
           Case{1400, 9000, 9000, 1400},
           Case{1500, 20'000, 65'000, 20'000},
       }) {
    CAPTURE(mss, offered);
    Desk desk;
    RawPeer peer = make_peer(1);
    ConnectionConfig config;
    config.mss = mss;
    config.max_mtu = max_mtu;
    const auto id = desk.endpoint.connect(peer.address, config, desk.now);
    Handshake answer = only_handshake(desk.sent());
    peer.peer_id = answer.socket_id;
    answer.request = RequestType::conclusion;
    answer.socket_id = peer.id;
    answer.capabilities = wire::CapabilityBlock{1, static_cast<std::uint16_t>(offered), kAll};
    desk.give(peer, peer.handshake(answer));
    CHECK(desk.use(*id).largest_payload() == largest - 44);
  }
}

// A cookie that was sent to one address is of no use to another, and neither is stock's predictable
// one; nothing is answered.
TEST_CASE("Forged addresses cannot complete a handshake [C2]", "[udt][C2]") {
  Desk desk;
  desk.listen();
  RawPeer peer = make_peer(1);
  const Bytes request = proved_request(desk, peer);
  desk.give_from(address(2), request);
  peer.cookie = 0x8988B31E;
  desk.give(peer, peer.handshake(RequestType::conclusion));
  peer.cookie = 0;
  desk.give(peer, peer.handshake(RequestType::conclusion));
  CHECK(desk.sent().empty());
  CHECK(desk.endpoint.connection_count() == 0);
  CHECK(desk.endpoint.stats().cookies_refused == 3);
}

// Handshakes of any length but 48 bytes, and any other packet to ID 0, get no answer at all.
TEST_CASE("What is no 48-byte handshake gets silence [I-2][C5]", "[udt][I-2][C5]") {
  Desk desk;
  desk.listen();
  const Bystander bystander(desk);
  RawPeer peer = make_peer(1);
  const Bytes request = peer.handshake(RequestType::induction);
  for (std::size_t size = 0; size < request.size(); ++size)
    desk.give(peer, ByteView(request).first(size));
  Bytes longer = request;
  longer.resize(request.size() + 1);
  desk.give(peer, longer);
  Handshake extended;
  extended.mss = 1500;
  extended.flight_window = 8192;
  extended.socket_id = peer.id;
  extended.capabilities.emplace();
  desk.give(peer, peer.handshake(extended));
  desk.give(peer, peer.data(peer.isn, as_byte_view("data for the listener")));
  for (const unsigned type : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 0x7FFFU}) {
    const Bytes body(48);
    desk.give(peer, peer.control(static_cast<ControlType>(type), 0, body));
  }
  CHECK(desk.sent().empty());
  CHECK(desk.endpoint.connection_count() == 1);
  CHECK(desk.endpoint.stats().datagrams_short == 16);
  CHECK(desk.endpoint.stats().handshakes_malformed == 48 + 2);
}

// Values that crash a stock listener are answered by 1002, build nothing, and are not noticed by a
// connection on the same port.
TEST_CASE("Crafted requests are rejected beside a live connection [D1][D2][D3][D5][D6]",
          "[udt][D1][D2][D3][D5][D6]") {
  struct Case {
    const char* what;
    void (*change)(Handshake&);
  };
  Desk desk;
  desk.listen();
  Bystander bystander(desk);
  for (const auto& [what, change] : {
           Case{"D1: mss 44", [](Handshake& h) { h.mss = 44; }},
           Case{"D2: mss 45", [](Handshake& h) { h.mss = 45; }},
           Case{"D3: mss 0", [](Handshake& h) { h.mss = 0; }},
           Case{"D3: mss -1, window -1",
                [](Handshake& h) { h.mss = h.flight_window = 0xFFFFFFFF; }},
           Case{"D5: window 0", [](Handshake& h) { h.flight_window = 0; }},
           Case{"D6: isn 2^31", [](Handshake& h) { h.isn = 0x80000000; }},
           Case{"datagram socket", [](Handshake& h) { h.socket_type = 2; }},
           Case{"version 5", [](Handshake& h) { h.version = 5; }},
       }) {
    CAPTURE(what);
    RawPeer peer = make_peer(1);
    Handshake request;
    request.isn = 1000;
    request.mss = 1500;
    request.flight_window = 8192;
    request.socket_id = peer.id;
    change(request);
    desk.give(peer, peer.handshake(request));
    request.cookie = only_handshake(desk.sent()).cookie;
    request.request = RequestType::conclusion;
    desk.give(peer, peer.handshake(request));
    const auto log = desk.sent();
    Handshake expected = request;
    expected.request = RequestType::rejected;
    CHECK(only_handshake(log) == expected);
    CHECK(log[0].control().destination == peer.id);
    CHECK(desk.endpoint.connection_count() == 1);
    CHECK(desk.events().empty());
    bystander.talk();
  }
  CHECK(desk.endpoint.stats().rejected == 8);
}

// A peer that announces a window of 2^30 packets is served, and costs no more than any other.
TEST_CASE("A huge window costs nothing [D4]", "[udt][D4]") {
  Desk desk;
  desk.listen();
  Bystander bystander(desk);
  RawPeer peer = make_peer(1);
  peer.window = 0x3FFFFFFF;
  Connection& connection = desk.accept(peer);
  CHECK(connection.stats().peer_window == udt::kMaxFlightWindow);
  connection.offer(std::uint64_t{1} << 40, 0, desk.now);
  const auto log = desk.run(1ms);
  CHECK(log.data().size() == 16);
  bystander.talk();
}

// Clients are reported in the order in which they came.
TEST_CASE("Connections are accepted first come, first served [C13]", "[udt][C13]") {
  Desk desk;
  desk.listen();
  std::vector<SocketAddress> expected;
  for (std::uint8_t i = 1; i <= 5; ++i) {
    RawPeer peer = make_peer(i);
    connect_raw(peer, desk.endpoint, desk.now);
    expected.push_back(peer.address);
  }
  std::vector<SocketAddress> order;
  for (const auto& event : desk.events()) {
    CHECK(event.kind == Event::Kind::incoming);
    order.push_back(desk.endpoint.find(event.id)->peer());
  }
  CHECK(order == expected);
}

// A flood of first requests keeps no state and its answers are bounded; a flood of proved ones ends
// at the limit, with 1002, and after one connection is forgotten there is room again.
TEST_CASE("A connection flood is bounded [C14][G7]", "[udt][C14][G7]") {
  Desk desk;
  ListenConfig config;
  config.max_connections = 3;
  desk.listen(config);
  RawPeer peer = make_peer(1);
  for (int i = 0; i < 10'000; ++i) desk.give(peer, peer.handshake(RequestType::induction));
  CHECK(desk.endpoint.connection_count() == 0);
  CHECK(desk.sent().size() == 64);

  std::vector<Bytes> requests;
  wire::SocketId first;
  for (std::uint8_t i = 1; i <= 5; ++i) {
    RawPeer client = make_peer(i);
    desk.give(client, proved_request(desk, client));
    const Handshake answer = only_handshake(desk.sent());
    CHECK(answer.request == (i <= 3 ? RequestType::conclusion : RequestType::rejected));
    if (i == 1) first = answer.socket_id;
  }
  CHECK(desk.endpoint.connection_count() == 3);
  desk.endpoint.forget(first);
  RawPeer late = make_peer(6);
  desk.give(late, proved_request(desk, late));
  CHECK(only_handshake(desk.sent()).request == RequestType::conclusion);
}

// Socket IDs and initial numbers are random over their whole range: never repeated, no fixed step
// between neighbours.
TEST_CASE("IDs and initial numbers show no pattern [C10][I-2]", "[udt][C10][I-2]") {
  Desk desk;
  std::set<std::uint32_t> ids;
  std::set<std::uint32_t> steps;
  std::set<std::uint32_t> isns;
  std::uint32_t previous = 0;
  unsigned high = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto id = desk.endpoint.connect(address(1), {}, desk.now);
    REQUIRE(id);
    CHECK(id->valid());
    ids.insert(id->value());
    steps.insert(id->value() - previous);
    previous = id->value();
    high += id->value() > wire::SocketId::kMax / 2 ? 1U : 0U;
  }
  for (const auto& packet : desk.sent()) {
    CHECK(packet.handshake()->isn <= wire::SeqNo::kMax);
    isns.insert(packet.handshake()->isn);
  }
  CHECK(ids.size() == 1000);
  CHECK(steps.size() == 1000);
  CHECK(isns.size() == 1000);
  CHECK(high > 400);
  CHECK(high < 600);
}

// Calling: the whole exchange against a hand-made listener, then data at the agreed numbers.
TEST_CASE("A call connects and uses one number in both directions [I-3]", "[udt][I-3]") {
  Desk desk;
  RawPeer peer = make_peer(1);
  ConnectionConfig config;
  config.isn = wire::SeqNo(0x7FFFFFFF);
  Connection& connection = desk.call(peer, config);
  CHECK(peer.isn == wire::SeqNo(0x7FFFFFFF));
  CHECK(connection.payload_size() == 1456);
  connection.offer(3000, 3000, desk.now);
  CHECK(desk.run(1ms).numbers() == std::vector<std::uint32_t>{0x7FFFFFFF, 0, 1});
  desk.give(peer, peer.data(wire::SeqNo(0x7FFFFFFF), as_byte_view("a")));
  desk.give(peer, peer.data(wire::SeqNo(0), as_byte_view("b")));
  CHECK(desk.sent().acks().back().ack()->next == wire::SeqNo(1));
}

// A rejected call fails with its own reason and never looks connected.
TEST_CASE("A rejected call fails [C6]", "[udt][C6]") {
  Desk desk;
  RawPeer peer = make_peer(1);
  const auto id = desk.endpoint.connect(peer.address, {}, desk.now);
  Handshake reply = only_handshake(desk.sent());
  peer.peer_id = *id;
  reply.request = RequestType::rejected;
  desk.give(peer, peer.handshake(reply));
  const auto events = desk.events();
  REQUIRE(events.size() == 1);
  CHECK(events[0].kind == Event::Kind::failed);
  CHECK(events[0].error.code == ErrorCode::connect_rejected);
  CHECK(desk.endpoint.find(*id)->state() == Connection::State::failed);
  CHECK(desk.run(10s).empty());
  CHECK(desk.events().empty());
}

// Stray packets of the right address during a call are ignored, whatever they are.
TEST_CASE("Stray packets do not end a call [C7][C8]", "[udt][C7][C8]") {
  Desk desk;
  RawPeer peer = make_peer(1);
  const auto id = desk.endpoint.connect(peer.address, {}, desk.now);
  const auto request = desk.sent();
  peer.peer_id = *id;
  desk.give(peer, peer.keep_alive());
  desk.give(peer, peer.shutdown());
  desk.give(peer, peer.data(peer.isn, as_byte_view("early")));
  desk.give(peer, peer.full_ack(1, peer.isn, 100));
  desk.give(peer, peer.nak({{peer.isn, peer.isn}}));
  desk.give(peer, peer.handshake(RequestType::rendezvous));
  desk.give(peer, peer.handshake(RequestType::agreement));
  desk.give(peer, peer.control(ControlType::handshake, 0, Bytes(47)));
  CHECK(desk.events().empty());
  CHECK(desk.sent().empty());
  desk.give(peer, *peer.answer_as_listener(request[0]));
  desk.give(peer, *peer.answer_as_listener(desk.sent()[0]));
  CHECK(desk.event_kinds() == std::vector{Event::Kind::connected});
}

// A rendezvous, too, ignores what is no rendezvous packet - request type 1 above all.
TEST_CASE("Stray packets do not end a rendezvous [C7]", "[udt][C7]") {
  Desk desk;
  RawPeer peer = make_peer(1);
  const auto id = desk.endpoint.rendezvous(peer.address, {}, desk.now);
  desk.sent();
  desk.give(peer, peer.handshake(RequestType::induction));
  peer.peer_id = *id;
  desk.give(peer, peer.handshake(RequestType::induction));
  desk.give(peer, peer.keep_alive());
  desk.give(peer, peer.data(peer.isn, as_byte_view("early")));
  CHECK(desk.events().empty());
  CHECK(desk.endpoint.find(*id)->state() == Connection::State::connecting);
  peer.peer_id = {};
  desk.give(peer, peer.handshake(RequestType::conclusion));
  CHECK(only_handshake(desk.sent()).request == RequestType::conclusion);
}

// A listener that answers nonsense: the call goes on asking and ends with a reason that names the
// peer, in the time it was given.
TEST_CASE("Nonsense answers end a call with a reason [C9]", "[udt][C9]") {
  struct Case {
    void (*change)(Handshake&);
    ErrorCode reason;
  };
  for (const auto& [change, reason] : {
           Case{[](Handshake& h) { h.mss = 0; }, ErrorCode::peer_error},
           Case{[](Handshake& h) { h.mss = 44; }, ErrorCode::peer_error},
           Case{[](Handshake& h) { h.mss = 65'535; }, ErrorCode::peer_error},
           Case{[](Handshake& h) { h.flight_window = 0; }, ErrorCode::peer_error},
           Case{[](Handshake& h) { h.socket_type = 2; }, ErrorCode::version_mismatch},
       }) {
    Desk desk;
    RawPeer peer = make_peer(1);
    const auto id = desk.endpoint.connect(peer.address, {}, desk.now);
    const TimePoint start = desk.now;
    peer.peer_id = *id;
    std::size_t requests = 0;
    while (desk.now < start + 5s) {
      for (const auto& packet : desk.run(50ms)) {
        Handshake reply = *packet.handshake();
        ++requests;
        if (reply.request == RequestType::conclusion) change(reply);
        desk.give(peer, peer.handshake(reply));
      }
    }
    CHECK(requests >= 20);
    const auto events = desk.events();
    REQUIRE(events.size() == 1);
    CHECK(events[0].kind == Event::Kind::failed);
    CHECK(events[0].error.code == reason);
  }
}

// Nobody answers: a request each 250 ms, then connect_timeout at its time. Thousand such calls
// leave nothing behind.
TEST_CASE("Calls that nobody answers time out and leave nothing [F1]", "[udt][F1]") {
  Desk desk;
  ConnectionConfig config;
  config.connect_timeout = 1s;
  for (int i = 0; i < 1000; ++i) {
    const TimePoint start = desk.now;
    const auto id = desk.endpoint.connect(address(1), config, desk.now);
    if (i % 3 == 0) {  // given up halfway
      desk.run(300ms);
      desk.endpoint.forget(*id);
      continue;
    }
    const auto log = desk.run(1s);
    CHECK(log.size() == 4);
    const auto events = desk.events();
    REQUIRE(events.size() == 1);
    CHECK(events[0].kind == Event::Kind::failed);
    CHECK(events[0].error.code == ErrorCode::connect_timeout);
    CHECK(desk.now == start + 1s);
    desk.endpoint.forget(*id);
  }
  CHECK(desk.endpoint.connection_count() == 0);
  CHECK_FALSE(desk.endpoint.next_deadline());
  // An answer to a forgotten call finds nobody.
  RawPeer peer = make_peer(1);
  peer.peer_id = wire::SocketId(12345);
  desk.give(peer, peer.handshake(RequestType::conclusion));
  CHECK(desk.sent().empty());
}

// Closing or aborting a call in progress ends it at once, without an error.
TEST_CASE("A call can be given up", "[udt]") {
  for (const bool abort : {false, true}) {
    Desk desk;
    const auto id = desk.endpoint.connect(address(1), {}, desk.now);
    desk.sent();
    Connection* connection = desk.endpoint.find(*id);
    abort ? connection->abort(desk.now) : connection->close(desk.now);
    const auto events = desk.events();
    REQUIRE(events.size() == 1);
    CHECK(events[0].kind == Event::Kind::closed);
    CHECK_FALSE(events[0].has_error);
    CHECK(desk.run(10s).empty());
  }
}

// Rendezvous packet by packet: each side keeps its own number, both use the smaller MSS, a peer
// that asks again after we are connected is answered by -2, and a -2 needs no answer.
TEST_CASE("Rendezvous connects and answers -2 afterwards [I-23]", "[udt][I-23]") {
  Desk desk;
  RawPeer peer = make_peer(1, 5000);
  peer.mss = 1000;
  ConnectionConfig config;
  config.isn = wire::SeqNo(70'000);
  const auto id = desk.endpoint.rendezvous(peer.address, config, desk.now);
  const auto wave = desk.sent();
  CHECK(only_handshake(wave).request == RequestType::rendezvous);
  CHECK(wave[0].control().destination == wire::SocketId(0));
  CHECK(only_handshake(wave).mss == 1500);

  desk.give(peer, peer.handshake(RequestType::rendezvous));  // to ID 0: matched by address
  const auto concluding = desk.sent();
  CHECK(only_handshake(concluding).request == RequestType::conclusion);
  CHECK(concluding[0].control().destination == peer.id);
  CHECK(only_handshake(concluding).mss == 1000);
  peer.peer_id = *id;
  desk.give(peer, peer.handshake(RequestType::conclusion));
  CHECK(desk.sent().empty());
  CHECK(desk.event_kinds() == std::vector{Event::Kind::connected});

  for (const RequestType again : {RequestType::conclusion, RequestType::rendezvous}) {
    desk.give(peer, peer.handshake(again));
    const Handshake answer = only_handshake(desk.sent());
    CHECK(answer.request == RequestType::agreement);
    CHECK(answer.mss == 1000);
    CHECK(answer.isn == 70'000);
    CHECK(answer.socket_id == *id);
  }
  desk.give(peer, peer.handshake(RequestType::agreement));
  CHECK(desk.sent().empty());

  Connection& connection = desk.use(*id);
  CHECK(connection.payload_size() == 956);
  connection.offer(1000, 1000, desk.now);
  CHECK(desk.run(1ms).numbers() == std::vector<std::uint32_t>{70'000, 70'001});
  desk.give(peer, peer.data(wire::SeqNo(5000), as_byte_view("x")));
  CHECK(desk.sent().acks().back().ack()->next == wire::SeqNo(5001));
}

// A rendezvous peer that missed our -1 but sends data already is taken at its word; a shutdown as
// its first word ends the connection it implies.
TEST_CASE("Data of a rendezvous peer connects [I-23][I-25]", "[udt][I-23][I-25]") {
  Desk desk;
  RawPeer peer = make_peer(1, 5000);
  const auto id = desk.endpoint.rendezvous(peer.address, {}, desk.now);
  desk.give(peer, peer.handshake(RequestType::rendezvous));
  desk.sent();
  peer.peer_id = *id;
  desk.give(peer, peer.data(wire::SeqNo(5000), as_byte_view("x")));
  CHECK(desk.event_kinds() == std::vector{Event::Kind::connected, Event::Kind::readable});
  CHECK(desk.sent().acks().size() == 1);
}

// Two of our own endpoints meet, whichever waves first and whichever packet is lost.
TEST_CASE("Two endpoints meet in a rendezvous [I-23]", "[udt][I-23]") {
  for (unsigned lost = 0; lost < 8; ++lost) {
    CAPTURE(lost);
    Desk a(1);
    Desk b(2);
    ConnectionConfig small;
    small.mss = 1000;
    const auto ida = a.endpoint.rendezvous(address(2), {}, a.now);
    a.run(100ms);  // B is late
    b.now = a.now;
    const auto idb = b.endpoint.rendezvous(address(1), small, b.now);
    unsigned count = 0;
    for (int step = 0; step < 200; ++step) {
      for (const auto& packet : a.run(10ms)) {
        RawPeer forge;
        forge.peer_id = packet.control().destination;
        if (count++ != lost)
          b.give_from(address(1),
                      forge.control(packet.control().type, packet.control().info, packet.body));
      }
      for (const auto& packet : b.run(10ms)) {
        RawPeer forge;
        forge.peer_id = packet.control().destination;
        if (count++ != lost)
          a.give_from(address(2),
                      forge.control(packet.control().type, packet.control().info, packet.body));
      }
    }
    CHECK(a.endpoint.find(*ida)->state() == Connection::State::connected);
    CHECK(b.endpoint.find(*idb)->state() == Connection::State::connected);
    CHECK(a.endpoint.find(*ida)->payload_size() == 956);
    CHECK(b.endpoint.find(*idb)->payload_size() == 956);
  }
}

// UDT's MSS counts an IPv4 header: over IPv6 we announce 20 bytes less, so that a full packet still
// fits a 1500-byte link.
TEST_CASE("IPv6 headers are counted [I-24][I1]", "[udt][I-24][I1]") {
  Desk desk;
  desk.listen();
  RawPeer peer = make_peer(1, 1000, true);
  Connection& accepted = desk.accept(peer);
  CHECK(peer.mss == 1480);
  CHECK(accepted.payload_size() == 1436);
  accepted.offer(1436, 0, desk.now);
  const auto data = desk.run(1ms).data();
  REQUIRE(data.size() == 1);
  CHECK(data[0].body.size() + 16 + 8 + 40 == 1500);

  REQUIRE(desk.endpoint.connect(address(2, true), {}, desk.now));
  CHECK(only_handshake(desk.sent()).mss == 1480);
  ConnectionConfig tiny;
  tiny.mss = 80;
  REQUIRE(desk.endpoint.connect(address(2, true), tiny, desk.now));
  CHECK(only_handshake(desk.sent()).mss == 76);  // never below what a connection can be built on
}

// Data that comes with the same breath as the last handshake is received: the connection exists
// before its answer is sent.
TEST_CASE("Data right behind the handshake is received [A6]", "[udt][A6]") {
  Desk desk;
  desk.listen();
  RawPeer peer = make_peer(1);
  const Bytes request = proved_request(desk, peer);
  desk.give(peer, request);
  const auto events = desk.events();
  REQUIRE(events.size() == 1);
  peer.peer_id = events[0].id;
  desk.give(peer, peer.data(peer.isn, as_byte_view("at once")));
  const auto log = desk.sent();
  REQUIRE(log.size() == 2);
  CHECK(log[0].handshake()->request == RequestType::conclusion);  // the answer still goes first
  CHECK(log[1].ack()->next == peer.isn.advanced(1));
}

// The first datagrams of a connection may get lost at a stock peer: data is sent again within a few
// probe times, well below stock's 300 ms.
TEST_CASE("The first packets may get lost [I-25][A6]", "[udt][I-25][A6]") {
  Desk desk;
  RawPeer peer = make_peer(1);
  Connection& connection = desk.call(peer);
  connection.offer(100, 100, desk.now);
  const auto first = desk.sent().data();
  REQUIRE(first.size() == 1);
  const auto log = desk.run(150ms).data();
  REQUIRE_FALSE(log.empty());
  CHECK(log[0].data().seq == first[0].data().seq);
  CHECK(log[0].body == first[0].body);
}

// ICMP says that nobody is there. One report may be forged or pass; refusals that go on end a call
// early, and an unreachable network explains its time-out.
TEST_CASE("Refusals end a call early", "[udt]") {
  Desk desk;
  const auto refused = desk.endpoint.connect(address(1), {}, desk.now);
  const TimePoint start = desk.now;
  std::vector<Event> events;
  while (events.empty() && desk.now < start + 5s) {
    desk.run(250ms);
    desk.endpoint.handle_unreachable(address(1), true, desk.now);
    desk.endpoint.handle_unreachable(address(9), true, desk.now);
    events = desk.events();
  }
  REQUIRE(events.size() == 1);
  CHECK(events[0].id == *refused);
  CHECK(events[0].error.code == ErrorCode::connect_refused);
  CHECK(desk.now - start == 750ms);

  REQUIRE(desk.endpoint.connect(address(2), {}, desk.now));
  desk.endpoint.handle_unreachable(address(2), false, desk.now);
  desk.run(6s);
  events = desk.events();
  REQUIRE(events.size() == 1);
  CHECK(events[0].error.code == ErrorCode::unreachable);
}

}  // namespace
}  // namespace xfer::test

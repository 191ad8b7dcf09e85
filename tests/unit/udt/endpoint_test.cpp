// Which datagram belongs to whom, and the endpoint's own housekeeping.
#include "udt/endpoint.hpp"

#include <map>

#include "desk.hpp"

namespace xfer::test {
namespace {

using wire::ControlType;

// Only packets with a connection's ID from its peer's address reach it. A third port, another
// address or another ID does not, whatever the packet; nobody gets an answer.
TEST_CASE("Packets of strangers are ignored [I-25][C1]", "[udt][I-25][C1]") {
  Desk desk;
  desk.listen();
  Bystander bystander(desk);
  RawPeer peer = make_peer(1);
  Connection& connection = desk.accept(peer);
  const auto stats_before = connection.stats();
  SocketAddress third_port = peer.address;
  ++third_port.port;
  RawPeer wrong_id = peer;
  wrong_id.peer_id = wire::SocketId(peer.peer_id.value() ^ 1U);

  const auto packets = [](const RawPeer& from) {
    return std::vector<Bytes>{from.data(from.isn, as_byte_view("forged")),
                              from.shutdown(),
                              from.keep_alive(),
                              from.full_ack(1, from.isn.advanced(1), 8192),
                              from.nak({{from.isn, from.isn}}),
                              from.ack2(1),
                              from.handshake(wire::RequestType::conclusion),
                              from.handshake(wire::RequestType::rejected)};
  };
  std::size_t count = 0;
  for (const auto& packet : packets(peer)) {
    desk.give_from(third_port, packet);
    desk.give_from(address(9), packet);
    desk.give_from(bystander.peer().address, packet);
    count += 3;
  }
  for (const auto& packet : packets(wrong_id)) {
    desk.give(wrong_id, packet);
    ++count;
  }
  CHECK(desk.endpoint.stats().datagrams_foreign == count);
  CHECK(desk.sent().empty());
  CHECK(desk.events().empty());
  CHECK(connection.state() == Connection::State::connected);
  CHECK(connection.stats().packets_received == stats_before.packets_received);
  CHECK(connection.stats().control_implausible == 0);
  bystander.talk();
}

// IDs with the top bit set belong to nobody.
TEST_CASE("Packets to impossible IDs are ignored [I-2][I-25]", "[udt][I-2][I-25]") {
  Desk desk;
  desk.listen();
  RawPeer peer = make_peer(1);
  Connection& connection = desk.accept(peer);
  peer.peer_id = wire::SocketId(connection.id().value() | 0x80000000U);
  desk.give(peer, peer.shutdown());
  CHECK(connection.state() == Connection::State::connected);
  CHECK(desk.endpoint.stats().datagrams_foreign == 1);
}

// A datagram that a driver had to cut is dropped by its mark; one that is longer than the agreed
// payload is dropped by its length. Neither is cut and taken.
TEST_CASE("Oversized datagrams are dropped, not cut [D14]", "[udt][D14]") {
  Desk desk;
  desk.listen();
  Bystander bystander(desk);
  RawPeer peer = make_peer(1);
  Connection& connection = desk.accept(peer);
  const Bytes oversized = peer.data(peer.isn, desk.source.bytes(0, 3000));

  const ByteView bytes(oversized);
  udt::ReceivedDatagram cut{peer.address, bytes.first(wire::kHeaderSize),
                            bytes.subspan(wire::kHeaderSize, 1457), true, desk.now};
  desk.endpoint.handle_datagram(cut, desk.now);
  CHECK(desk.endpoint.stats().datagrams_truncated == 1);

  cut.truncated = false;  // exactly one byte too long
  desk.endpoint.handle_datagram(cut, desk.now);
  CHECK(connection.stats().control_malformed == 1);
  desk.give(peer, oversized);
  CHECK(connection.stats().control_malformed == 2);
  CHECK_FALSE(connection.take_readable());
  CHECK(desk.run(5ms).acks().empty());
  bystander.talk();

  desk.give(peer, full_packet(peer, desk.source, 0));
  CHECK(connection.take_readable()->size() == 1456);
}

namespace {

/// Lent slots, filled in one by one and then handed over, as a driver does it.
class Loan {
 public:
  Loan(Desk& desk, std::size_t count = udt::kMaxReceiveBatch) : desk_(desk), slots_(count) {
    slots_.resize(desk.endpoint.lend(slots_));
  }
  [[nodiscard]] std::size_t size() const { return slots_.size(); }
  [[nodiscard]] std::size_t payload_size() const { return slots_[0].payload.size(); }
  void read(const RawPeer& from, const Bytes& datagram) {
    const udt::ReceiveSlot& slot = slots_.at(filled_++);
    std::copy_n(datagram.begin(), wire::kHeaderSize, slot.head.begin());
    const ByteView payload = ByteView(datagram).subspan(wire::kHeaderSize);
    REQUIRE(payload.size() <= slot.payload.size());
    std::copy(payload.begin(), payload.end(), slot.payload.begin());
    read_.push_back(
        {from.address, slot.head, slot.payload.first(payload.size()), false, desk_.now});
  }
  void hand_over() {
    for (const auto& datagram : read_) desk_.endpoint.handle_datagram(datagram, desk_.now);
  }

 private:
  Desk& desk_;
  std::vector<udt::ReceiveSlot> slots_;
  std::size_t filled_ = 0;
  std::vector<udt::ReceivedDatagram> read_;
};

}  // namespace

// At least one slot and at most a batch is lent, also when nobody expects anything; with a
// connection, slots have the size of its packets.
TEST_CASE("Room is lent for what is expected", "[udt]") {
  Desk desk;
  udt::ListenConfig config;
  config.connection.mss = 9000;
  desk.listen(config);
  CHECK(Loan(desk, 1).size() == 1);
  CHECK(Loan(desk, udt::kMaxReceiveBatch + 10).size() == udt::kMaxReceiveBatch);
  CHECK(Loan(desk).payload_size() == 1456);
  RawPeer jumbo = make_peer(1);
  jumbo.mss = 9000;
  Connection& connection = desk.accept(jumbo);
  Loan loan(desk);
  REQUIRE(loan.payload_size() == 8956);
  loan.read(jumbo, full_packet(jumbo, desk.source, 0));
  loan.hand_over();
  const auto read = connection.take_readable();
  REQUIRE(read);
  CHECK(desk.source.matches(0, *read));
  CHECK(connection.stats().payload_copies == 0);
}

// A loss, a control packet, a duplicate, a short packet, one out of order: each lands where the
// next one was expected, and nothing has to be moved.
TEST_CASE("A wrong guess about what comes next moves no payload", "[udt]") {
  Desk desk;
  desk.listen();
  RawPeer peer = make_peer(1);
  Connection& connection = desk.accept(peer);
  const auto packet = [&](std::int64_t index) { return full_packet(peer, desk.source, index); };
  Loan first(desk);
  first.read(peer, packet(0));
  first.read(peer, peer.keep_alive());
  first.read(peer, packet(1));
  first.read(peer, packet(1));
  first.read(peer, packet(3));
  first.read(peer, packet(4));
  first.hand_over();
  Loan second(desk);
  second.read(peer, packet(6));
  second.read(peer, packet(2));
  second.read(peer, packet(5));
  second.hand_over();
  std::uint64_t read = 0;
  while (const auto run = connection.take_readable()) {
    CHECK(desk.source.matches(read, *run));
    read += run->size();
  }
  CHECK(read == 7 * 1456);
  CHECK(connection.stats().payload_copies == 0);
}

// Room of one connection is not for the payloads of another, which are moved until the guess is
// right.
TEST_CASE("Two connections on one port do not get into each other's room", "[udt]") {
  Desk desk;
  desk.listen();
  RawPeer one = make_peer(1);
  RawPeer two = make_peer(2);
  Connection& first = desk.accept(one);
  Connection& second = desk.accept(two);
  desk.give(one, full_packet(one, desk.source, 0));
  Loan loan(desk);
  for (const std::int64_t index : {1, 2, 3}) {
    loan.read(one, full_packet(one, desk.source, index));
    loan.read(two, full_packet(two, desk.source, index - 1));
  }
  loan.hand_over();
  Loan next(desk);
  for (const std::int64_t index : {3, 4}) next.read(two, full_packet(two, desk.source, index));
  next.hand_over();
  CHECK(first.stats().payload_copies == 1);  // the one that was not read into lent room
  CHECK(second.stats().payload_copies == 3);
  for (Connection* connection : {&first, &second}) {
    std::uint64_t read = 0;
    while (const auto run = connection->take_readable()) {
      CHECK(desk.source.matches(read, *run));
      read += run->size();
    }
    CHECK(read == (connection == &first ? 4U : 5U) * 1456U);
  }
  // A connection that goes leaves no room behind that somebody might read into.
  desk.endpoint.forget(second.id());
  Loan last(desk);
  last.read(one, full_packet(one, desk.source, 4));
  last.hand_over();
  CHECK(first.take_readable()->size() == 1456);
  CHECK(first.stats().payload_copies == 1);
}

// Datagrams of any bytes: counted, never answered by more than handshakes, and a live connection
// does not notice. (The fuzzers do the same with more patience.)
TEST_CASE("Random datagrams do no harm [C1]", "[udt][C1]") {
  Desk desk;
  desk.listen();
  Bystander bystander(desk);
  SeededRandom random(99);
  for (int i = 0; i < 20'000; ++i) {
    Bytes datagram(random.below(120));
    for (auto& b : datagram) b = static_cast<std::byte>(random.next_u64());
    if (datagram.size() >= 16 && random.chance(0.5)) {  // to the listener or to the bystander
      const std::uint32_t id = random.chance(0.5) ? 0 : bystander.peer().peer_id.value();
      ByteWriter out{MutByteView(datagram).subspan(12, 4)};
      out.u32(id);
    }
    desk.give_from(address(static_cast<std::uint8_t>(1 + random.below(100))), datagram);
  }
  desk.sent();
  CHECK(desk.endpoint.connection_count() == 1);
  CHECK(desk.endpoint.stats().datagrams_received == 20'000 + 5);
  bystander.talk();
}

// Invalid options are refused before anything exists.
TEST_CASE("Invalid options start nothing", "[udt]") {
  Desk desk;
  ConnectionConfig config;
  config.mss = 75;
  CHECK(desk.endpoint.connect(address(1), config, desk.now).error().code ==
        ErrorCode::out_of_range);
  CHECK(desk.endpoint.rendezvous(address(1), config, desk.now).error().code ==
        ErrorCode::out_of_range);
  udt::ListenConfig listen;
  listen.connection = config;
  CHECK(desk.endpoint.listen(listen).error().code == ErrorCode::out_of_range);
  CHECK(desk.endpoint.connection_count() == 0);
  RawPeer peer = make_peer(1);
  desk.give(peer, peer.handshake(wire::RequestType::induction));
  CHECK(desk.sent().empty());  // nobody listens
}

// Connections with much to send take turns: none waits for another to finish.
TEST_CASE("Connections share the way out", "[udt]") {
  Desk desk;
  desk.listen();
  std::vector<RawPeer> peers;
  for (std::uint8_t i = 1; i <= 4; ++i) {
    peers.push_back(make_peer(i));
    desk.accept(peers.back());
  }
  for (const auto& peer : peers) desk.endpoint.find(peer.peer_id)->offer(1'000'000, 0, desk.now);
  desk.now += 1ms;
  std::map<std::uint8_t, std::size_t> turns;
  auto train = std::make_unique<udt::TrainBuffer>();
  for (int i = 0; i < 4; ++i) {
    const auto transmit = desk.endpoint.poll_transmit(desk.now, *train, 4);
    REQUIRE(transmit);
    ++turns[transmit->destination.ip[3]];
  }
  CHECK(turns.size() == 4);
}

// Trains hold equal datagrams, the last one may be shorter, and respect the caller's and the
// kernel's limits.
TEST_CASE("Trains are made of equal datagrams", "[udt]") {
  Desk desk;
  udt::ListenConfig config;
  config.connection.mss = 9000;
  config.connection.controller = udt::ControllerKind::fixed_rate;
  config.connection.max_rate = 10'000'000'000;
  desk.listen(config);
  RawPeer peer = make_peer(1);
  peer.mss = 9000;
  Connection& connection = desk.accept(peer);
  connection.offer(8956 * 20 + 100, 8956 * 20 + 100, desk.now);
  desk.now += 1ms;
  auto train = std::make_unique<udt::TrainBuffer>();
  std::size_t packets = 0;
  while (const auto transmit = desk.endpoint.poll_transmit(desk.now, *train)) {
    CHECK(transmit->segments * transmit->segment_size <= udt::kMaxTrainBytes);
    for (std::size_t i = 0; i < transmit->segments; ++i) {
      const std::size_t size = wire::kHeaderSize + train->payloads[i].size();
      CHECK((size == transmit->segment_size ||
             (i + 1 == transmit->segments && size < transmit->segment_size)));
    }
    packets += transmit->segments;
  }
  CHECK(packets == 21);
}

// Once in 10 ms the two packets of a pair leave as trains of one, so that each has an arrival time
// of its own; the other pairs may be part of longer trains.
TEST_CASE("A pair that measures leaves as single packets [B5][I-19]", "[udt][B5][I-19]") {
  Desk desk;
  RawPeer peer = make_peer(1);
  ConnectionConfig config;
  config.isn = wire::SeqNo(1605);  // the first pair begins eleven packets later
  config.controller = udt::ControllerKind::fixed_rate;
  config.max_rate = 10'000'000'000;
  Connection& connection = desk.call(peer, config);
  connection.offer(1456 * 200, 0, desk.now);
  auto train = std::make_unique<udt::TrainBuffer>();
  std::vector<std::size_t> sizes;
  for (const Duration pause : {1ms, 1ms, 9ms}) {
    desk.now += pause;
    while (const auto transmit = desk.endpoint.poll_transmit(desk.now, *train, 40))
      sizes.push_back(transmit->segments);
    sizes.push_back(0);
  }
  // 1605 ... 1615 come before the pair 1616, 1617; 64 packets later the next pair is not due yet.
  REQUIRE(sizes.size() > 5);
  CHECK(sizes[0] == 11);
  CHECK(sizes[1] == 1);
  CHECK(sizes[2] == 1);
  CHECK(sizes[3] == 40);
}

// Forgetting a connection takes its memory and its ID; the others stay.
TEST_CASE("A forgotten connection is gone [G7]", "[udt][G7]") {
  Desk desk;
  desk.listen();
  Bystander bystander(desk);
  RawPeer peer = make_peer(1);
  const wire::SocketId id = desk.accept(peer).id();
  CHECK(desk.endpoint.find(id) != nullptr);
  desk.endpoint.forget(id);
  CHECK(desk.endpoint.find(id) == nullptr);
  desk.endpoint.forget(id);  // twice is harmless
  desk.give(peer, peer.data(peer.isn, as_byte_view("too late")));
  CHECK(desk.sent().to(peer.address).empty());
  bystander.talk();
}

// Early and repeated calls of handle_timeout change nothing.
TEST_CASE("Early timeouts are harmless", "[udt]") {
  Desk desk;
  desk.listen();
  RawPeer peer = make_peer(1);
  desk.accept(peer);
  const auto due = desk.endpoint.next_deadline();
  for (int i = 0; i < 100; ++i) desk.endpoint.handle_timeout(desk.now += 1ms);
  CHECK(desk.endpoint.next_deadline() == due);
  CHECK(desk.sent().empty());
}

/// Counts what the core reports.
class CountingSink final : public trace::Sink {
 public:
  std::map<std::size_t, int> counts;
  void record(TimePoint, std::uint32_t, const trace::Event& event) override {
    ++counts[event.index()];
  }
};

// A trace sees every kind of event of a connection that loses something each way.
TEST_CASE("Traces report what happens", "[udt]") {
  SeededRandom random(1);
  TestHash hash;
  CountingSink sink;
  PatternSource source;
  udt::Endpoint endpoint(random, hash, &sink);
  TimePoint now{100s};
  REQUIRE(endpoint.listen({}));
  RawPeer peer = make_peer(1);
  connect_raw(peer, endpoint, now);
  Connection* connection = endpoint.find(peer.peer_id);
  connection->set_source(source);
  connection->offer(20'000, 20'000, now);
  drain(endpoint, now += 1ms);
  feed(endpoint, peer.address, peer.nak({{peer.isn, peer.isn}}), now);
  feed(endpoint, peer.address, peer.full_ack(1, peer.isn.advanced(1), 8192), now);
  feed(endpoint, peer.address, full_packet(peer, source, 1), now);
  feed(endpoint, peer.address, full_packet(peer, source, 1), now);
  drain(endpoint, now);
  for (int i = 0; i < 100; ++i) {
    endpoint.handle_timeout(now += 20ms);
    drain(endpoint, now);
  }
  for (std::size_t kind = 0; kind < std::variant_size_v<trace::Event>; ++kind) {
    CAPTURE(kind);
    CHECK(sink.counts[kind] > 0);
  }
}

}  // namespace
}  // namespace xfer::test

#include "net/udp_socket.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "net/clock.hpp"
#include "net/poller.hpp"
#include "net/wakeup.hpp"
#include "pair.hpp"

using namespace xfer;
using namespace xfer::test;
using Family = SocketAddress::Family;

namespace {

net::UdpSocket open_socket(net::SocketOptions options = {}) {
  if (options.bind == SocketAddress{}) options.bind = loopback4();
  auto socket = net::UdpSocket::open(options);
  if (!socket) FAIL(to_string(socket.error()));
  return std::move(*socket);
}

/// Room for a batch, and what came into it.
struct Room {
  explicit Room(std::size_t payload = 2000)
      : heads(udt::kMaxReceiveBatch),
        payloads(udt::kMaxReceiveBatch, std::vector<std::byte>(payload)) {
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = {heads[i], payloads[i]};
  }
  std::vector<std::array<std::byte, wire::kHeaderSize>> heads;
  std::vector<std::vector<std::byte>> payloads;
  std::array<udt::ReceiveSlot, udt::kMaxReceiveBatch> slots;
  std::array<udt::ReceivedDatagram, udt::kMaxReceiveBatch> datagrams;
};

/// A train of `segments` datagrams whose payloads are split in two, as at the end of a ring.
struct Train {
  Train(std::size_t segments, std::size_t payload) : bytes(segments * payload) {
    std::iota(reinterpret_cast<unsigned char*>(bytes.data()),
              reinterpret_cast<unsigned char*>(bytes.data()) + bytes.size(),
              static_cast<unsigned char>(0));
    for (std::size_t i = 0; i < segments; ++i) {
      buffer.heads[i].fill(static_cast<std::byte>(i));
      const ByteView whole = ByteView(bytes).subspan(i * payload, payload);
      buffer.payloads[i] = {whole.first(payload / 3), whole.subspan(payload / 3)};
    }
    transmit.segments = segments;
    transmit.segment_size = wire::kHeaderSize + payload;
  }
  std::vector<std::byte> bytes;
  udt::TrainBuffer buffer{};
  udt::Transmit transmit;
};

bool equal(ByteView a, ByteView b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

}  // namespace

TEST_CASE("A train arrives whole, head and payload apart, from the address it was sent from") {
  const bool batched = GENERATE(true, false);
  const bool offload = GENERATE(true, false);
  const auto family = GENERATE(Family::ipv4, Family::ipv6);
  CAPTURE(batched, offload, family);
  auto from =
      open_socket({.bind = loopback(family), .batched = batched, .gso = offload, .gro = offload});
  auto to =
      open_socket({.bind = loopback(family), .batched = batched, .gso = offload, .gro = offload});
  Train train(udt::kMaxTrainSegments, 900);
  train.transmit.destination = to.local_address();
  const TimePoint before = net::now();
  const auto result = from.send(train.transmit, train.buffer, 0);
  CHECK(result.status == net::UdpSocket::SendStatus::done);
  CHECK(result.taken == train.transmit.segments);

  Room room;
  // Half first: what did not fit stays for the next call.
  const std::size_t half = udt::kMaxReceiveBatch / 2;
  REQUIRE(to.receive(std::span(room.slots).first(half), room.datagrams) == half);
  REQUIRE(to.receive(std::span(room.slots).subspan(half),
                     std::span(room.datagrams).subspan(half)) == half);
  for (std::size_t i = 0; i < train.transmit.segments; ++i) {
    const udt::ReceivedDatagram& datagram = room.datagrams[i];
    CHECK(datagram.from == from.local_address());
    CHECK(equal(datagram.head, train.buffer.heads[i]));
    CHECK(equal(datagram.payload, ByteView(train.bytes).subspan(i * 900, 900)));
    CHECK_FALSE(datagram.truncated);
    CHECK(datagram.arrival >= before);
    CHECK(datagram.arrival <= net::now());
  }
  CHECK(to.receive(room.slots, room.datagrams) == 0);
  CHECK(from.stats().send_calls == (batched ? 1 : train.transmit.segments));
}

TEST_CASE("Sending from the middle of a train sends the rest only") {
  auto from = open_socket();
  auto to = open_socket();
  Train train(5, 30);
  train.transmit.destination = to.local_address();
  CHECK(from.send(train.transmit, train.buffer, 3).taken == 2);
  Room room;
  REQUIRE(to.receive(room.slots, room.datagrams) == 2);
  CHECK(room.datagrams[0].head[0] == std::byte{3});
}

TEST_CASE(
    "Datagrams shorter than a head, empty ones and ones larger than the room are told apart") {
  auto from = open_socket();
  auto to = open_socket({.offload = false});  // joined datagrams come in the socket's own room
  Room room(100);
  const auto send = [&](std::size_t payload) {
    Train train(1, payload);
    train.transmit.destination = to.local_address();
    REQUIRE(from.send(train.transmit, train.buffer, 0).taken == 1);
    REQUIRE(to.receive(room.slots, room.datagrams) == 1);
    return room.datagrams[0];
  };
  CHECK_FALSE(send(100).truncated);
  CHECK(send(101).truncated);
  CHECK(send(0).payload.empty());
  CHECK(send(0).head.size() == wire::kHeaderSize);
}

TEST_CASE("IPv4 peers look like IPv4 to a socket for both families") {
  auto both = open_socket({.bind = {.port = 0, .scope = 1}});
  auto from = open_socket();
  Train train(1, 10);
  train.transmit.destination = loopback4(both.local_address().port);
  REQUIRE(from.send(train.transmit, train.buffer, 0).taken == 1);
  Room room;
  REQUIRE(both.receive(room.slots, room.datagrams) == 1);
  CHECK(room.datagrams[0].from == from.local_address());
  // And the way back, to that plain IPv4 address.
  train.transmit.destination = room.datagrams[0].from;
  REQUIRE(both.send(train.transmit, train.buffer, 0).taken == 1);
  CHECK(from.receive(room.slots, room.datagrams) == 1);
}

TEST_CASE("What the kernel drops for lack of buffer is counted") {
  auto from = open_socket();
  auto to = open_socket({.receive_buffer = 10'000});
  Train train(64, 1400);
  train.transmit.destination = to.local_address();
  REQUIRE(from.send(train.transmit, train.buffer, 0).taken == 64);
  Room room;
  const std::size_t first = to.receive(room.slots, room.datagrams);
  REQUIRE(first < 64);
  // The counter comes with the next datagram that gets in.
  train.transmit.segments = 1;
  REQUIRE(from.send(train.transmit, train.buffer, 0).taken == 1);
  REQUIRE(to.receive(room.slots, room.datagrams) == 1);
  CHECK(to.stats().kernel_drops == 64 - first);
}

TEST_CASE("Buffer sizes in force are reported, as large as asked for or as the system allows") {
  auto small = open_socket({.receive_buffer = 100'000, .send_buffer = 50'000});
  CHECK(small.stats().receive_buffer == 100'000);
  CHECK(small.stats().send_buffer == 50'000);
  auto large = open_socket();
  CHECK(large.stats().receive_buffer > small.stats().receive_buffer);
}

TEST_CASE(
    "A refused port shows in the error queue with its address, and does not stop the socket") {
  const auto family = GENERATE(Family::ipv4, Family::ipv6);
  // A socket for both families has to ask for both families' errors.
  const auto bind = GENERATE_COPY(values({loopback(family), SocketAddress{.scope = 1}}));
  CAPTURE(family);
  auto from = open_socket({.bind = bind});
  SocketAddress gone;
  {
    auto closed = open_socket({.bind = loopback(family)});
    gone = closed.local_address();
  }
  auto alive = open_socket({.bind = loopback(family)});
  Train train(3, 10);
  for (const SocketAddress& destination : {gone, alive.local_address()}) {
    train.transmit.destination = destination;
    CHECK(from.send(train.transmit, train.buffer, 0).taken == 3);
  }
  const auto error = from.next_error();
  REQUIRE(error.has_value());
  CHECK(error->peer == gone);
  CHECK(error->port_refused);
  Room room;
  CHECK(alive.receive(room.slots, room.datagrams) == 3);
  CHECK(from.stats().send_failed == 0);
}

TEST_CASE("A datagram too big for UDP is given up and counted, the rest of the train goes on") {
  auto from = open_socket();
  auto to = open_socket();
  Train train(3, 10);
  const std::vector<std::byte> huge(65'508 - wire::kHeaderSize);
  train.buffer.payloads[1] = {huge, {}};
  train.transmit.destination = to.local_address();
  CHECK(from.send(train.transmit, train.buffer, 0).taken == 3);
  CHECK(from.stats().send_failed == 1);
  CHECK(from.stats().datagrams_sent == 2);
  CHECK(from.stats().fragmenting);
  Room room;
  CHECK(to.receive(room.slots, room.datagrams) == 2);
}

TEST_CASE("The largest UDP datagram passes over loopback, in fragments where need be") {
  auto from = open_socket();
  auto to = open_socket();
  Train train(1, 65'507 - wire::kHeaderSize);
  train.transmit.destination = to.local_address();
  CHECK(from.send(train.transmit, train.buffer, 0).taken == 1);
  CHECK(from.stats().send_failed == 0);
  Room room(66'000);
  REQUIRE(to.receive(room.slots, room.datagrams) == 1);
  CHECK(equal(room.datagrams[0].payload, train.bytes));
}

TEST_CASE("The poller sees datagrams, wake-ups and deadlines, and nothing else") {
  auto socket = open_socket();
  auto from = open_socket();
  net::EventWakeup wakeup;
  REQUIRE(wakeup.ok());
  auto poller = net::Poller::open(socket.fd(), wakeup.fd());
  REQUIRE(poller.has_value());

  const TimePoint begin = net::now();
  auto ready = poller->wait(begin + 20ms);
  CHECK(net::now() - begin >= 20ms);
  CHECK_FALSE((ready.readable || ready.writable || ready.error || ready.wakeup));
  // A deadline in the past ends the wait at once.
  ready = poller->wait(begin);
  CHECK_FALSE(ready.readable);

  // Nobody sleeps: no system call, no event.
  wakeup.notify();
  ready = poller->wait(net::now() + 1ms);
  CHECK_FALSE(ready.wakeup);
  for (int i = 0; i < 3; ++i) {
    wakeup.prepare();
    wakeup.notify();
    ready = poller->wait(std::nullopt);
    wakeup.awake();
    CHECK(ready.wakeup);
  }

  Train train(1, 10);
  train.transmit.destination = socket.local_address();
  REQUIRE(from.send(train.transmit, train.buffer, 0).taken == 1);
  ready = poller->wait(std::nullopt);
  CHECK(ready.readable);
  CHECK_FALSE(ready.writable);
  poller->want_writable(true);
  CHECK(poller->wait(std::nullopt).writable);
}

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
};

/// A datagram that came, whole.
struct Received {
  SocketAddress from;
  std::vector<std::byte> head;
  std::vector<std::byte> payload;
  bool in_place;  ///< its payload begins where that of a slot does
  TimePoint arrival;
};

/// What one read brings.
std::vector<Received> receive(net::UdpSocket& socket, const Room& room, bool* more = nullptr) {
  const bool may_be_more = socket.receive(room.slots);
  if (more != nullptr) *more = may_be_more;
  std::vector<Received> result;
  while (const auto datagram = socket.next_datagram()) {
    CHECK_FALSE(datagram->truncated);
    const bool in_place = std::any_of(room.slots.begin(), room.slots.end(), [&](const auto& slot) {
      return slot.payload.data() == datagram->payload.data();
    });
    result.push_back({datagram->from,
                      {datagram->head.begin(), datagram->head.end()},
                      {datagram->payload.begin(), datagram->payload.end()},
                      in_place,
                      datagram->arrival});
  }
  return result;
}

/// What all reads bring until the socket is empty.
std::vector<Received> receive_all(net::UdpSocket& socket, const Room& room) {
  std::vector<Received> result;
  for (bool more = true; more;) {
    for (Received& datagram : receive(socket, room, &more)) result.push_back(std::move(datagram));
  }
  return result;
}

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

  const Room room(900);
  const auto came = receive_all(to, room);
  REQUIRE(came.size() == train.transmit.segments);
  for (std::size_t i = 0; i < came.size(); ++i) {
    CHECK(came[i].from == from.local_address());
    CHECK(equal(came[i].head, train.buffer.heads[i]));
    CHECK(equal(came[i].payload, ByteView(train.bytes).subspan(i * 900, 900)));
    CHECK(came[i].in_place);
    CHECK(came[i].arrival >= before);
    CHECK(came[i].arrival <= net::now());
  }
  CHECK(from.stats().send_calls == (batched ? 1 : train.transmit.segments));
  CHECK(to.stats().receive_calls <= (!batched ? 65U : offload ? 2U : 10U));
}

TEST_CASE("Datagrams of another size than the slots are picked up whole") {
  const bool gso = GENERATE(true, false);
  const bool gro = GENERATE(true, false);
  // Smaller and larger ones; the last one of a train may be shorter.
  const std::size_t payload = GENERATE(1U, 84U, 899U, 901U, 984U, 1400U);
  const std::size_t last = GENERATE(0U, 1U);
  CAPTURE(gso, gro, payload, last);
  auto from = open_socket({.gso = gso});
  auto to = open_socket({.gro = gro});
  Train train(40, payload);
  train.transmit.destination = to.local_address();
  if (last != 0) train.buffer.payloads[39] = {};
  REQUIRE(from.send(train.transmit, train.buffer, 0).taken == 40);
  const auto came = receive_all(to, Room(900));
  REQUIRE(came.size() == 40);
  for (std::size_t i = 0; i < came.size(); ++i) {
    CHECK(equal(came[i].head, train.buffer.heads[i]));
    const ByteView sent = ByteView(train.bytes).subspan(i * payload, payload);
    CHECK(equal(came[i].payload, i == 39 && last != 0 ? ByteView{} : sent));
  }
}

namespace {

/// A card that cannot cut trains for one destination, as long as it is `broken`.
class CannotCut : public net::SocketFaults {
 public:
  int segmentation_error(std::uint64_t, const SocketAddress& destination) override {
    ++asked;
    return broken && destination == for_destination ? EIO : 0;
  }
  SocketAddress for_destination;
  bool broken = true;
  unsigned asked = 0;
};

}  // namespace

TEST_CASE("One path that cannot cut trains does not slow down others, and is tried again later") {
  CannotCut faults;
  auto from = open_socket({.segmentation_retry = 50ms, .faults = &faults});
  auto bad = open_socket({.bind = loopback4()});
  // Another host: 127.0.0.2.
  SocketAddress other = loopback4();
  other.ip[3] = 2;
  auto good = open_socket({.bind = other});
  faults.for_destination = bad.local_address();
  Train train(20, 500);
  const auto send_to = [&](const net::UdpSocket& to) {
    train.transmit.destination = to.local_address();
    CHECK(from.send(train.transmit, train.buffer, 0).taken == 20);
  };
  const TimePoint begin = net::now();
  for (int i = 0; i < 3; ++i) {
    send_to(bad);
    send_to(good);
  }
  if (net::now() - begin < 50ms) {
    CHECK(from.stats().trains_refused == 1);
    CHECK(faults.asked == 4);
  }
  CHECK(from.stats().trains_segmented == 3);
  CHECK(from.stats().unsegmented_paths == 1);

  net::Poller::nap(net::now() + 50ms);
  faults.broken = false;
  send_to(bad);
  CHECK(from.stats().trains_segmented == 4);
  CHECK(from.stats().unsegmented_paths == 0);
  send_to(bad);
  CHECK(from.stats().trains_segmented == 5);
  const Room room;
  CHECK(receive_all(bad, room).size() == 5 * 20);
  CHECK(receive_all(good, room).size() == 3 * 20);
}

TEST_CASE("No size of datagrams is a cliff: each call brings as many as fit into a UDP message") {
  // A peer tool was a hundred times slower with an MTU of 1499 than with 1500, for the kernel then
  // joined one datagram more than it had room for.
  const std::size_t wrong_by = GENERATE(0U, 3U);  // slots are as large as expected, or larger
  auto from = open_socket();
  auto to = open_socket();
  for (std::size_t size = 500; size <= 9000; size += 7) {
    CAPTURE(size, wrong_by);
    const std::size_t count = std::min(udt::kMaxTrainSegments, udt::kMaxTrainBytes / size);
    Train train(count, size - wire::kHeaderSize);
    train.transmit.destination = to.local_address();
    const Room room(size - wire::kHeaderSize + wrong_by);
    const std::uint64_t sent_before = from.stats().send_calls;
    const std::uint64_t received_before = to.stats().receive_calls;
    constexpr std::size_t kTrains = 3;
    for (std::size_t i = 0; i < kTrains; ++i)
      REQUIRE(from.send(train.transmit, train.buffer, 0).taken == count);
    const auto came = receive_all(to, room);
    REQUIRE(came.size() == kTrains * count);
    for (std::size_t i = 0; i < came.size(); ++i) {
      const std::size_t nth = i % count;
      const std::size_t payload = size - wire::kHeaderSize;
      if (came[i].head[0] != train.buffer.heads[nth][0] ||
          !equal(came[i].payload, ByteView(train.bytes).subspan(nth * payload, payload)))
        FAIL("wrong bytes");
      if (wrong_by == 0 && !came[i].in_place) FAIL("not in place");
    }
    REQUIRE(from.stats().send_calls - sent_before == kTrains);
    REQUIRE(to.stats().receive_calls - received_before == kTrains + 1);  // the last finds nothing
  }
}

TEST_CASE("Sending from the middle of a train sends the rest only") {
  auto from = open_socket();
  auto to = open_socket();
  Train train(5, 30);
  train.transmit.destination = to.local_address();
  CHECK(from.send(train.transmit, train.buffer, 3).taken == 2);
  Room room;
  const auto came = receive_all(to, room);
  REQUIRE(came.size() == 2);
  CHECK(came[0].head[0] == std::byte{3});
}

TEST_CASE("Empty datagrams, and ones larger than the slot, are told apart") {
  const bool gro = GENERATE(true, false);
  auto from = open_socket();
  auto to = open_socket({.gro = gro});
  const Room room(100);
  const auto send = [&](std::size_t payload) {
    Train train(1, payload);
    train.transmit.destination = to.local_address();
    REQUIRE(from.send(train.transmit, train.buffer, 0).taken == 1);
    const auto came = receive(to, room);
    REQUIRE(came.size() == 1);
    CHECK(came[0].payload.size() == payload);
    CHECK(equal(came[0].payload, train.bytes));
    return came[0];
  };
  CHECK(send(100).in_place);
  CHECK_FALSE(send(101).in_place);
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
  const auto came = receive(both, room);
  REQUIRE(came.size() == 1);
  CHECK(came[0].from == from.local_address());
  // And the way back, to that plain IPv4 address.
  train.transmit.destination = came[0].from;
  REQUIRE(both.send(train.transmit, train.buffer, 0).taken == 1);
  CHECK(receive(from, room).size() == 1);
}

TEST_CASE("What the kernel drops for lack of buffer is counted") {
  auto from = open_socket();
  auto to = open_socket({.receive_buffer = 10'000});
  Train train(64, 1400);
  train.transmit.destination = to.local_address();
  REQUIRE(from.send(train.transmit, train.buffer, 0).taken == 64);
  Room room;
  const std::size_t first = receive_all(to, room).size();
  REQUIRE(first < 64);
  // The counter comes with the next datagram that gets in.
  train.transmit.segments = 1;
  REQUIRE(from.send(train.transmit, train.buffer, 0).taken == 1);
  REQUIRE(receive(to, room).size() == 1);
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
  CHECK(receive_all(alive, room).size() == 3);
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
  CHECK(receive_all(to, room).size() == 2);
}

TEST_CASE("The largest UDP datagram passes over loopback, in fragments where need be") {
  auto from = open_socket();
  auto to = open_socket();
  Train train(1, 65'507 - wire::kHeaderSize);
  train.transmit.destination = to.local_address();
  CHECK(from.send(train.transmit, train.buffer, 0).taken == 1);
  CHECK(from.stats().send_failed == 0);
  Room room(66'000);
  const auto came = receive(to, room);
  REQUIRE(came.size() == 1);
  CHECK(equal(came[0].payload, train.bytes));
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

#include <catch2/catch.hpp>
#include <cerrno>
#include <map>
#include <thread>

#include "base/random.hpp"
#include "net/udp_socket.hpp"
#include "pair.hpp"

using namespace xfer;
using namespace xfer::test;

namespace {

/// Fails the sending of given datagrams, each a given number of times.
class SendErrors : public net::SocketFaults {
 public:
  SendErrors(int failure, std::map<std::uint64_t, unsigned> times)
      : failure_(failure), times_(std::move(times)) {}
  int send_error(std::uint64_t datagram) override {
    const auto at = times_.find(datagram);
    if (at == times_.end() || at->second == 0) return 0;
    --at->second;
    return failure_;
  }

 private:
  int failure_;
  std::map<std::uint64_t, unsigned> times_;
};

/// Refuses to cut a train, from a given one on.
class SegmentationErrors : public net::SocketFaults {
 public:
  SegmentationErrors(int failure, std::uint64_t from) : failure_(failure), from_(from) {}
  int segmentation_error(std::uint64_t train, const SocketAddress&) override {
    return train >= from_ ? failure_ : 0;
  }

 private:
  int failure_;
  std::uint64_t from_;
};

}  // namespace

TEST_CASE("A device that cannot cut trains, at once or later on, costs speed and loses nothing") {
  // Users of peer tools met each of these on some card, tunnel or virtual device.
  const int failure = GENERATE(EIO, EINVAL, EMSGSIZE, EOPNOTSUPP);
  const std::uint64_t from = GENERATE(0U, 1000U);
  CAPTURE(failure, from);
  SegmentationErrors faults(failure, from);
  PairOptions options;
  options.caller.faults = &faults;
  options.listen.connection.capabilities = false;  // packets of one size
  Pair pair = make_pair(options);
  // Long enough that the thousandth train is reached: one has 44 datagrams of 1456 bytes at most.
  CHECK(exchange(pair, from == 0 ? 3'000'000 : 80'000'000, 100'000) == "");
  CHECK(close_in_order(pair) == "");
  pair.connected.reset();
  CHECK(pair.accepted->stats().packets_lost == 0);
  CHECK(pair.accepted->stats().payload_copies == 0);
  pair.accepted.reset();
  pair.listener.reset();
  const net::SocketStats stats = pair.caller->stats().socket;
  CHECK(stats.trains_segmented == from);
  CHECK(stats.trains_refused == 1);
  CHECK(stats.unsegmented_paths == 1);
}

TEST_CASE("Errors at the first and at the thousandth datagram sent lose nothing") {
  const int failure =
      GENERATE(EAGAIN, ENOBUFS, ENOMEM, EMSGSIZE, EIO, EPERM, EINTR, ECONNREFUSED, ENOSYS);
  const bool batched = GENERATE(true, false);
  CAPTURE(failure, batched);
  SendErrors faults(failure, {{0, 1}, {1000, 1}});
  PairOptions options;
  options.connect.max_mtu = 1500;  // there are more than 1000 datagrams
  options.caller.faults = &faults;
  options.caller.batched = batched;
  Pair pair = make_pair(options);
  CHECK(exchange(pair, 3'000'000, 100'000) == "");
  CHECK(close_in_order(pair) == "");
  pair.connected.reset();
  const udt::ConnectionStats stats = pair.accepted->stats();
  // Sent again by the socket, not repaired by the protocol.
  CHECK(stats.packets_lost == 0);
}

TEST_CASE("A datagram whose error does not go away is counted, and repaired by retransmission") {
  const int failure = GENERATE(EIO, EMSGSIZE);
  CAPTURE(failure);
  // As many refusals as it takes to be given up once.
  SendErrors faults(failure, {{1000, failure == EIO ? 9 : 3}});
  PairOptions options;
  options.connect.max_mtu = 1500;  // there are more than 1000 datagrams
  options.caller.faults = &faults;
  Pair pair = make_pair(options);
  CHECK(exchange(pair, 3'000'000, 0) == "");
  CHECK(close_in_order(pair) == "");
  pair.caller->cancel();
  CHECK(pair.connected->stats().packets_retransmitted > 0);
}

TEST_CASE("Garbage fired at both ports during a transfer does not matter") {
  Pair pair = make_pair();
  auto socket = net::UdpSocket::open({.bind = loopback4()});
  REQUIRE(socket.has_value());
  std::atomic<bool> done{false};
  std::uint64_t fired = 0;
  std::thread gunner([&] {
    SeededRandom random(7);
    udt::TrainBuffer train{};
    std::vector<std::byte> body(2000);
    while (!done) {
      for (auto& byte : train.heads[0]) byte = static_cast<std::byte>(random.next_u64());
      // Some of them look like handshakes, or like control packets for socket ID 0.
      if (random.chance(0.5)) train.heads[0][0] = std::byte{0x80};
      if (random.chance(0.5)) train.heads[0][1] = static_cast<std::byte>(random.below(9));
      if (random.chance(0.5)) std::fill_n(train.heads[0].begin() + 12, 4, std::byte{0});
      for (auto& byte : body) byte = static_cast<std::byte>(random.next_u64());
      const std::size_t size = random.chance(0.3) ? 48 : random.below(body.size());
      train.payloads[0] = {ByteView(body).first(size), {}};
      const net::Driver& target = random.chance(0.5) ? *pair.listener : *pair.caller;
      socket->send({target.local_address(), 1, wire::kHeaderSize + size}, train, 0);
      ++fired;
    }
  });
  CHECK(exchange(pair, 10'000'000, 10'000'000) == "");
  done = true;
  gunner.join();
  CHECK(fired > 100);
  CHECK(close_in_order(pair) == "");
  CHECK_FALSE(pair.listener->accept(0s).has_value());
}

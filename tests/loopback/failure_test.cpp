#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "net/udp_socket.hpp"
#include "pair.hpp"

using namespace xfer;
using namespace xfer::test;
using Family = SocketAddress::Family;

namespace {

/// A cable that can be cut.
class Cable : public net::SocketFaults {
 public:
  std::atomic<bool> cut{false};
  bool drop_sent() override { return cut; }
  bool drop_received() override { return cut; }
};

net::UdpSocket silent_socket(Family family = Family::ipv4) {
  auto socket = net::UdpSocket::open({.bind = loopback(family)});
  REQUIRE(socket.has_value());
  return std::move(*socket);
}

/// A port at which nothing listens: it was just given back.
SocketAddress closed_port(Family family = Family::ipv4) {
  return silent_socket(family).local_address();
}

ErrorCode connect_error(net::Driver& driver, const SocketAddress& peer,
                        const udt::ConnectionConfig& config = {}) {
  auto stream = driver.connect(peer, config);
  REQUIRE_FALSE(stream.has_value());
  return stream.error().code;
}

}  // namespace

TEST_CASE("A port at which nothing listens is refused well before the connect time-out") {
  const auto family = GENERATE(Family::ipv4, Family::ipv6);
  // Both kinds of socket: only for the family, and for both families.
  const auto hint = GENERATE_COPY(values({family, Family::none}));
  CAPTURE(family, hint);
  auto driver = make_driver({.family_hint = hint});
  const TimePoint begin = net::now();
  CHECK(connect_error(*driver, closed_port(family)) == ErrorCode::connect_refused);
  CHECK(net::now() - begin < 2s);
}

TEST_CASE("A peer that does not answer ends the attempt at the connect time-out") {
  auto socket = silent_socket();
  auto driver = make_driver();
  const TimePoint begin = net::now();
  CHECK(connect_error(*driver, socket.local_address(), {.connect_timeout = 300ms}) ==
        ErrorCode::connect_timeout);
  const Duration took = net::now() - begin;
  CHECK(took >= 300ms);
  CHECK(took < 2s);
}

TEST_CASE("An address the socket cannot reach is an error, not silence") {
  auto driver = make_driver({.family_hint = Family::ipv4});
  CHECK(connect_error(*driver, loopback6(9), {.connect_timeout = 300ms}) == ErrorCode::unreachable);
}

TEST_CASE("A configuration outside its range is refused") {
  auto driver = make_driver();
  CHECK(connect_error(*driver, loopback4(9), {.mss = 1}) == ErrorCode::out_of_range);
  CHECK(driver->listen({.max_connections = 0}).error().code == ErrorCode::out_of_range);
  const auto small_ring = net::Driver::open({.send_ring = net::kMinSendRing - 1});
  REQUIRE_FALSE(small_ring.has_value());
  CHECK(small_ring.error().code == ErrorCode::out_of_range);
}

TEST_CASE("A port in use cannot be bound, and the system's reason is kept") {
  auto socket = silent_socket();
  const auto driver = net::Driver::open({.bind = socket.local_address()});
  REQUIRE_FALSE(driver.has_value());
  CHECK(driver.error().code == ErrorCode::bind_failed);
  CHECK(driver.error().sys_errno == EADDRINUSE);
}

TEST_CASE(
    "A peer that vanishes is lost after the idle time-out, for reader and blocked writer alike") {
  const bool writing = GENERATE(false, true);
  CAPTURE(writing);
  Cable cable;
  PairOptions options;
  options.caller.faults = &cable;
  options.listen.connection.idle_timeout = 2s;
  Pair pair = make_pair(options);
  REQUIRE(exchange(pair, 1000, 1000).empty());
  cable.cut = true;

  const TimePoint begin = net::now();
  Error error;
  if (writing) {
    const std::vector<std::byte> chunk(1U << 20U);
    Result<void> written;
    while (written) written = pair.accepted->write(chunk, true);
    error = written.error();
  } else {
    const auto run = read_some(*pair.accepted);
    REQUIRE_FALSE(run.has_value());
    error = run.error();
  }
  CHECK(error.code == ErrorCode::peer_lost);
  CHECK(net::now() - begin >= 1900ms);
  CHECK(net::now() - begin < 5s);
  CHECK(pair.accepted->failed());
  CHECK(pair.accepted->wait_closed(kPatience).error().code == ErrorCode::peer_lost);
}

TEST_CASE("What has arrived before the peer shuts down can still be read, then the stream ends") {
  Pair pair = make_pair();
  REQUIRE(pair.connected->write(as_byte_view("last words"), true).has_value());
  pair.connected->finish();
  REQUIRE(pair.connected->wait_closed(kPatience).has_value());
  CHECK((pair.accepted->wait(net::Stream::kReadable, kPatience) & net::Stream::kReadable) != 0);
  const auto text = read_text(*pair.accepted, 10);
  REQUIRE(text.has_value());
  CHECK(*text == "last words");
  const auto end = read_some(*pair.accepted);
  REQUIRE(end.has_value());
  CHECK(end->empty());
  CHECK_FALSE(pair.accepted->failed());
  CHECK(pair.accepted->write(as_byte_view("too late"), true).error().code ==
        ErrorCode::peer_closed);
}

TEST_CASE("Letting go of a stream or its driver tells the peer") {
  const bool whole_driver = GENERATE(false, true);
  CAPTURE(whole_driver);
  Pair pair = make_pair();
  const TimePoint begin = net::now();
  if (whole_driver) {
    pair.caller.reset();
  } else {
    pair.connected.reset();
  }
  const auto end = read_some(*pair.accepted);
  REQUIRE(end.has_value());
  CHECK(end->empty());
  CHECK(net::now() - begin < 2s);
}

TEST_CASE("Bytes handed out stay readable after the driver is gone") {
  Pair pair = make_pair();
  REQUIRE(pair.connected->write(as_byte_view("kept"), true).has_value());
  const auto run = read_some(*pair.accepted);
  REQUIRE(run.has_value());
  pair.listener.reset();
  CHECK(as_text(*run) == "kept");
  pair.accepted->consume(run->size());
  Error error;
  REQUIRE(pair.accepted->failed(&error));
  CHECK(error.code == ErrorCode::interrupted);
  CHECK(pair.accepted->write(as_byte_view("x"), true).error().code == ErrorCode::interrupted);
  CHECK(pair.accepted->wait_closed(kPatience).error().code == ErrorCode::interrupted);
}

TEST_CASE("abort() ends the connection without waiting for acknowledgements") {
  Cable cable;
  PairOptions options;
  options.caller.faults = &cable;
  Pair pair = make_pair(options);
  cable.cut = true;
  REQUIRE(pair.connected->write(as_byte_view("never arrives"), true).has_value());
  const TimePoint begin = net::now();
  pair.connected->abort();
  CHECK(pair.connected->wait_closed(kPatience).has_value());
  CHECK(net::now() - begin < 1s);
}

TEST_CASE("finish() to a dead peer ends when the linger time is over, and says so") {
  Cable cable;
  PairOptions options;
  options.caller.faults = &cable;
  options.connect.linger = 200ms;
  Pair pair = make_pair(options);
  cable.cut = true;
  REQUIRE(pair.connected->write(as_byte_view("never arrives"), true).has_value());
  pair.connected->finish();
  CHECK(pair.connected->wait_closed(1ms).error().code == ErrorCode::would_block);
  const auto closed = pair.connected->wait_closed(kPatience);
  REQUIRE_FALSE(closed.has_value());
  CHECK(closed.error().code != ErrorCode::would_block);
}

TEST_CASE("cancel() from another thread ends what blocks, and what would block later") {
  Pair pair = make_pair();
  auto silent = silent_socket();
  ErrorCode result = ErrorCode::internal;
  std::thread blocked;

  SECTION("connect") {
    blocked = std::thread([&] {
      auto stream = pair.caller->connect(silent.local_address(), {.connect_timeout = 1h});
      if (!stream) result = stream.error().code;
    });
    pair.caller->cancel();
    blocked.join();
    CHECK(pair.caller->connect(silent.local_address(), {}).error().code == ErrorCode::interrupted);
  }
  SECTION("accept") {
    blocked = std::thread([&] {
      auto stream = pair.listener->accept(1h);
      if (!stream) result = stream.error().code;
    });
    pair.listener->cancel();
    blocked.join();
    CHECK(pair.listener->accept(1h).error().code == ErrorCode::interrupted);
  }
  SECTION("read") {
    blocked = std::thread([&] {
      const auto run = read_some(*pair.accepted, 1h);
      if (!run) result = run.error().code;
    });
    pair.accepted->cancel();
    blocked.join();
  }
  SECTION("write") {
    blocked = std::thread([&] {
      const std::vector<std::byte> more_than_fits(64U << 20U);
      const auto written = pair.connected->write(more_than_fits, true);
      if (!written) result = written.error().code;
    });
    pair.connected->cancel();
    blocked.join();
  }
  SECTION("wait_closed") {
    blocked = std::thread([&] { result = pair.accepted->wait_closed(1h).error().code; });
    pair.accepted->cancel();
    blocked.join();
  }
  CHECK(result == ErrorCode::interrupted);
}

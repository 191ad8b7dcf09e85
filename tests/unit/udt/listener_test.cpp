#include "udt/listener.hpp"

#include <set>

#include "desk.hpp"

namespace xfer::udt {
namespace {

using Answer = Listener::Answer;
using test::address;

constexpr TimePoint kStart{100s};

wire::Handshake request_of(std::uint32_t id, std::uint32_t isn = 1000) {
  wire::Handshake request;
  request.isn = isn;
  request.mss = 1500;
  request.flight_window = 8192;
  request.socket_id = wire::SocketId(id);
  return request;
}

wire::Handshake conclude(const Listener& listener, wire::Handshake request,
                         const SocketAddress& from, TimePoint now) {
  request.cookie = listener.cookie(request, from, now);
  request.request = wire::RequestType::conclusion;
  return request;
}

// Request type 1 gets a cookie whatever else it says; other types than 1 and -1 get no answer that
// could be reflected to a forged address.
TEST_CASE("A listener answers requests 1 and -1 only [C5]", "[udt][C5]") {
  const test::TestHash hash;
  const Listener listener(hash);
  for (const std::int32_t type : {1, 0, -1, -2, 1002, 2, -3, 0x7FFFFFFF}) {
    wire::Handshake request = request_of(5);
    request.request = static_cast<wire::RequestType>(type);
    CAPTURE(type);
    CHECK(listener.judge(request, address(1), kStart) ==
          (type == 1 ? Answer::cookie : Answer::ignore));
  }
}

// A cookie proves an address, a port, an ID and an ISN: with any of them changed it is void, and so
// is the MD5 that stock would expect.
TEST_CASE("A cookie belongs to one request of one address [C2]", "[udt][C2]") {
  const test::TestHash hash;
  const Listener listener(hash);
  const wire::Handshake good = conclude(listener, request_of(5), address(1), kStart);
  CHECK(listener.judge(good, address(1), kStart) == Answer::accept);
  CHECK(listener.judge(good, address(2), kStart) == Answer::ignore);
  SocketAddress other_port = address(1);
  ++other_port.port;
  CHECK(listener.judge(good, other_port, kStart) == Answer::ignore);
  wire::Handshake other = good;
  other.socket_id = wire::SocketId(6);
  CHECK(listener.judge(other, address(1), kStart) == Answer::ignore);
  other = good;
  ++other.isn;
  CHECK(listener.judge(other, address(1), kStart) == Answer::ignore);
  other = good;
  other.cookie = 0x8988B31E;  // MD5("ip:port:0"), stock's
  CHECK(listener.judge(other, address(1), kStart) == Answer::ignore);
  const test::TestHash other_key(99);
  CHECK(Listener(other_key).judge(good, address(1), kStart) == Answer::ignore);
  const Listener v6(hash);
  CHECK(v6.cookie(request_of(5), address(1), kStart) !=
        v6.cookie(request_of(5), address(1, true), kStart));
}

// A cookie is good in its slot of 30 s and in the next one, so a handshake across the change
// succeeds, and void after that.
TEST_CASE("A cookie outlives the change of its time slot [C3]", "[udt][C3]") {
  const test::TestHash hash;
  const Listener listener(hash);
  const TimePoint slot_end{120s};  // slots are multiples of 30 s
  for (const TimePoint made : {TimePoint{90s}, slot_end - 1ns}) {
    const wire::Handshake request = conclude(listener, request_of(5), address(1), made);
    CHECK(listener.judge(request, address(1), made) == Answer::accept);
    CHECK(listener.judge(request, address(1), slot_end) == Answer::accept);
    CHECK(listener.judge(request, address(1), slot_end + 30s - 1ns) == Answer::accept);
    CHECK(listener.judge(request, address(1), slot_end + 30s) == Answer::ignore);
  }
}

// A request that was accepted once makes no second connection while its cookie is good; a new
// request of the same peer does.
TEST_CASE("A replayed request is ignored [C4]", "[udt][C4]") {
  const test::TestHash hash;
  Listener listener(hash);
  const wire::Handshake request = conclude(listener, request_of(5), address(1), kStart);
  listener.remember(request, address(1), kStart);
  CHECK(listener.judge(request, address(1), kStart + 1ms) == Answer::ignore);
  const wire::Handshake next = conclude(listener, request_of(6), address(1), kStart + 1ms);
  CHECK(listener.judge(next, address(1), kStart + 1ms) == Answer::accept);
  // Others' requests do not push it out.
  for (std::uint32_t i = 0; i < 1000; ++i)
    listener.remember(request_of(1000 + i), address(2), kStart);
  CHECK(listener.judge(request, address(1), kStart + 2ms) == Answer::ignore);
}

// Crafted values with a good cookie are rejected, never accepted; without it they get silence.
TEST_CASE("Impossible requests are rejected [I-6][D1][D2][D3][D5][D6]",
          "[udt][I-6][D1][D2][D3][D5][D6]") {
  const test::TestHash hash;
  const Listener listener(hash);
  struct Case {
    const char* what;
    void (*change)(wire::Handshake&);
  };
  for (const auto& [what, change] : {
           Case{"version 5", [](wire::Handshake& h) { h.version = 5; }},
           Case{"version 0", [](wire::Handshake& h) { h.version = 0; }},
           Case{"datagram socket", [](wire::Handshake& h) { h.socket_type = 2; }},
           Case{"version and type 0", [](wire::Handshake& h) { h.version = h.socket_type = 0; }},
           Case{"mss 44", [](wire::Handshake& h) { h.mss = 44; }},
           Case{"mss 45", [](wire::Handshake& h) { h.mss = 45; }},
           Case{"mss 75", [](wire::Handshake& h) { h.mss = 75; }},
           Case{"mss 0", [](wire::Handshake& h) { h.mss = 0; }},
           Case{"mss -1", [](wire::Handshake& h) { h.mss = 0xFFFFFFFF; }},
           Case{"window 0", [](wire::Handshake& h) { h.flight_window = 0; }},
           Case{"window -1", [](wire::Handshake& h) { h.flight_window = 0xFFFFFFFF; }},
           Case{"isn 2^31", [](wire::Handshake& h) { h.isn = 0x80000000; }},
           Case{"id 0", [](wire::Handshake& h) { h.socket_id = wire::SocketId(0); }},
           Case{"id 2^31", [](wire::Handshake& h) { h.socket_id = wire::SocketId(0x80000000); }},
       }) {
    CAPTURE(what);
    wire::Handshake request = request_of(5);
    change(request);
    const wire::Handshake proved = conclude(listener, request, address(1), kStart);
    CHECK(listener.judge(proved, address(1), kStart) == Answer::reject);
    wire::Handshake unproved = proved;
    ++unproved.cookie;
    CHECK(listener.judge(unproved, address(1), kStart) == Answer::ignore);
  }
}

// The smallest and largest values a connection can be built on.
TEST_CASE("Possible requests are accepted [I-6]", "[udt][I-6]") {
  const test::TestHash hash;
  const Listener listener(hash);
  struct Case {
    std::uint32_t isn, mss, window, id;
  };
  for (const auto& [isn, mss, window, id] : {
           Case{0, 76, 1, 1},
           Case{0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF},
           Case{1000, 1500, 25'600, 777},
       }) {
    wire::Handshake request = request_of(id, isn);
    request.mss = mss;
    request.flight_window = window;
    request = conclude(listener, request, address(1), kStart);
    CHECK(listener.judge(request, address(1), kStart) == Answer::accept);
  }
}

}  // namespace
}  // namespace xfer::udt

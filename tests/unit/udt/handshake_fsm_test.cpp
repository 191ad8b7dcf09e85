#include "udt/handshake_fsm.hpp"

#include "desk.hpp"

namespace xfer::udt {
namespace {

using State = HandshakeFsm::State;
using wire::Handshake;
using wire::RequestType;

constexpr TimePoint kStart{100s};

LocalParameters local_parameters() {
  LocalParameters local;
  local.id = wire::SocketId(50);
  local.isn = wire::SeqNo(0x7FFFFFF0);
  local.mss = 1400;
  local.window = 4096;
  local.peer = test::address(1);
  return local;
}

Handshake peer_handshake(RequestType request, std::uint32_t isn = 0x7FFFFFF0) {
  Handshake handshake;
  handshake.isn = isn;
  handshake.mss = 1300;
  handshake.flight_window = 8192;
  handshake.request = request;
  handshake.socket_id = wire::SocketId(60);
  handshake.cookie = 0xC00C1E;
  return handshake;
}

/// A caller that has the cookie and has sent its second request.
HandshakeFsm concluding_caller() {
  HandshakeFsm fsm(HandshakeFsm::Role::caller, local_parameters(), kStart);
  REQUIRE(fsm.poll(kStart));
  fsm.handle(peer_handshake(RequestType::induction), kStart + 1ms);
  REQUIRE(fsm.poll(kStart + 1ms));
  REQUIRE(fsm.state() == State::conclusion);
  return fsm;
}

// The caller's packets: request 1 without a cookie to ID 0, request -1 with it, both with the same
// body otherwise.
TEST_CASE("A caller asks, then proves its address [I-2][I-27]", "[udt][I-2][I-27]") {
  HandshakeFsm fsm(HandshakeFsm::Role::caller, local_parameters(), kStart);
  CHECK(fsm.state() == State::induction);
  CHECK(fsm.next_deadline() == kStart);
  const auto first = fsm.poll(kStart);
  REQUIRE(first);
  CHECK(first->destination == wire::SocketId(0));
  CHECK(first->handshake.version == 4);
  CHECK(first->handshake.socket_type == 1);
  CHECK(first->handshake.request == RequestType::induction);
  CHECK(first->handshake.isn == 0x7FFFFFF0);
  CHECK(first->handshake.mss == 1400);
  CHECK(first->handshake.flight_window == 4096);
  CHECK(first->handshake.socket_id == wire::SocketId(50));
  CHECK(first->handshake.cookie == 0);
  CHECK(first->handshake.peer_ip[0] == 0x0100000A);  // 10.0.0.1, as stock on x86 writes it
  CHECK_FALSE(fsm.poll(kStart));

  fsm.handle(peer_handshake(RequestType::induction), kStart + 3ms);
  const auto second = fsm.poll(kStart + 3ms);
  REQUIRE(second);
  Handshake expected = first->handshake;
  expected.request = RequestType::conclusion;
  expected.cookie = 0xC00C1E;
  CHECK(second->handshake == expected);
  CHECK(second->destination == wire::SocketId(0));

  fsm.handle(peer_handshake(RequestType::conclusion), kStart + 9ms);
  REQUIRE(fsm.agreement());
  CHECK(fsm.agreement()->peer_id == wire::SocketId(60));
  CHECK(fsm.agreement()->local_isn == wire::SeqNo(0x7FFFFFF0));
  CHECK(fsm.agreement()->peer_isn == wire::SeqNo(0x7FFFFFF0));
  CHECK(fsm.agreement()->mss == 1300);
  CHECK(fsm.agreement()->peer_window == 8192);
  CHECK(fsm.agreement()->rtt == 3ms);
  CHECK_FALSE(fsm.next_deadline());
  CHECK_FALSE(fsm.poll(kStart + 10s));
}

// Requests are repeated each 250 ms.
TEST_CASE("Requests are repeated each 250 ms", "[udt]") {
  HandshakeFsm fsm(HandshakeFsm::Role::caller, local_parameters(), kStart);
  for (int i = 0; i < 8; ++i) {
    const TimePoint due = kStart + i * 250ms;
    CHECK(fsm.next_deadline() == due);
    CHECK_FALSE(fsm.poll(due - 1ns));
    CHECK(fsm.poll(due));
  }
  // The answer may be to any of them: no round trip is taken from it.
  fsm.handle(peer_handshake(RequestType::induction), kStart + 2s);
  fsm.handle(peer_handshake(RequestType::conclusion), kStart + 2s);
  REQUIRE(fsm.agreement());
  CHECK_FALSE(fsm.agreement()->rtt);
}

// A listener whose cookie has changed stays silent: after 500 ms the caller starts again with
// request 1 and cookie 0, and uses the new cookie.
TEST_CASE("An unanswered conclusion starts again from the first request [I-5][C3]",
          "[udt][I-5][C3]") {
  HandshakeFsm fsm = concluding_caller();
  TimePoint now = kStart + 251ms;
  fsm.handle_timeout(now);
  const auto repeated = fsm.poll(now);
  REQUIRE(repeated);
  CHECK(repeated->handshake.request == RequestType::conclusion);
  CHECK(fsm.next_deadline() == kStart + 501ms);
  now = kStart + 501ms;
  fsm.handle_timeout(now);
  const auto again = fsm.poll(now);
  REQUIRE(again);
  CHECK(again->handshake.request == RequestType::induction);
  CHECK(again->handshake.cookie == 0);
  Handshake fresh = peer_handshake(RequestType::induction);
  fresh.cookie = 0xF2E5;
  fsm.handle(fresh, now + 1ms);
  const auto proved = fsm.poll(now + 1ms);
  REQUIRE(proved);
  CHECK(proved->handshake.request == RequestType::conclusion);
  CHECK(proved->handshake.cookie == 0xF2E5);
}

// An answer that comes after the caller began again still connects, and so does one of a listener
// that leaves the cookie round out.
TEST_CASE("A late or early final answer connects [I-5]", "[udt][I-5]") {
  HandshakeFsm late = concluding_caller();
  late.handle_timeout(kStart + 501ms);
  CHECK(late.state() == State::induction);
  late.handle(peer_handshake(RequestType::conclusion), kStart + 502ms);
  CHECK(late.state() == State::connected);
  HandshakeFsm direct(HandshakeFsm::Role::caller, local_parameters(), kStart);
  direct.handle(peer_handshake(RequestType::conclusion), kStart);
  CHECK(direct.state() == State::connected);
}

// The answer of a connected stock socket to a repeated request: version, type and cookie 0, window
// 25 600.
TEST_CASE("A final answer of a connected stock socket is accepted [I-5]", "[udt][I-5]") {
  HandshakeFsm fsm = concluding_caller();
  Handshake answer = peer_handshake(RequestType::conclusion);
  answer.version = answer.socket_type = answer.cookie = 0;
  answer.flight_window = 25'600;
  fsm.handle(answer, kStart + 2ms);
  REQUIRE(fsm.agreement());
  CHECK(fsm.agreement()->peer_window == 25'600);
}

// Rejection is the end, whatever comes after it.
TEST_CASE("A rejection is not taken for success [C6]", "[udt][C6]") {
  HandshakeFsm fsm = concluding_caller();
  fsm.handle(peer_handshake(RequestType::rejected), kStart + 2ms);
  CHECK(fsm.state() == State::rejected);
  CHECK_FALSE(fsm.agreement());
  fsm.handle(peer_handshake(RequestType::conclusion), kStart + 3ms);
  CHECK(fsm.state() == State::rejected);
  CHECK_FALSE(fsm.poll(kStart + 5s));
  CHECK_FALSE(fsm.next_deadline());
}

// Answers that no connection can be built on are complained about and ignored: a good one that
// follows still connects.
TEST_CASE("Impossible answers do not end a call [I-6][C9]", "[udt][I-6][C9]") {
  struct Case {
    const char* what;
    void (*change)(Handshake&);
    ErrorCode complaint;
  };
  for (const auto& [what, change, complaint] : {
           Case{"mss 0", [](Handshake& h) { h.mss = 0; }, ErrorCode::peer_error},
           Case{"mss 44", [](Handshake& h) { h.mss = 44; }, ErrorCode::peer_error},
           Case{"mss 75", [](Handshake& h) { h.mss = 75; }, ErrorCode::peer_error},
           Case{"mss above ours", [](Handshake& h) { h.mss = 1401; }, ErrorCode::peer_error},
           Case{"mss 65535", [](Handshake& h) { h.mss = 65'535; }, ErrorCode::peer_error},
           Case{"mss -1", [](Handshake& h) { h.mss = 0xFFFFFFFF; }, ErrorCode::peer_error},
           Case{"window 0", [](Handshake& h) { h.flight_window = 0; }, ErrorCode::peer_error},
           Case{"window -1", [](Handshake& h) { h.flight_window = 0xFFFFFFFF; },
                ErrorCode::peer_error},
           Case{"another isn", [](Handshake& h) { ++h.isn; }, ErrorCode::peer_error},
           Case{"isn 2^31", [](Handshake& h) { h.isn |= 0x80000000; }, ErrorCode::peer_error},
           Case{"id 0", [](Handshake& h) { h.socket_id = {}; }, ErrorCode::peer_error},
           Case{"datagram", [](Handshake& h) { h.socket_type = 2; }, ErrorCode::version_mismatch},
           Case{"version 5", [](Handshake& h) { h.version = 5; }, ErrorCode::version_mismatch},
           Case{"version 0 only", [](Handshake& h) { h.version = 0; }, ErrorCode::version_mismatch},
       }) {
    CAPTURE(what);
    HandshakeFsm fsm = concluding_caller();
    Handshake answer = peer_handshake(RequestType::conclusion);
    change(answer);
    fsm.handle(answer, kStart + 2ms);
    CHECK(fsm.state() == State::conclusion);
    REQUIRE(fsm.complaint());
    CHECK(*fsm.complaint() == complaint);
    fsm.handle(peer_handshake(RequestType::conclusion), kStart + 3ms);
    CHECK(fsm.state() == State::connected);
  }
  HandshakeFsm first(HandshakeFsm::Role::caller, local_parameters(), kStart);
  Handshake bad_cookie_answer = peer_handshake(RequestType::induction);
  bad_cookie_answer.version = bad_cookie_answer.socket_type = 0;
  first.handle(bad_cookie_answer, kStart);
  CHECK(first.state() == State::induction);
}

// A window beyond our ceiling is used only up to it.
TEST_CASE("A huge window is cut to our ceiling [D4]", "[udt][D4]") {
  for (const std::uint32_t window :
       {kMaxFlightWindow - 1, kMaxFlightWindow, kMaxFlightWindow + 1, 0x3FFFFFFFU, 0x7FFFFFFFU}) {
    HandshakeFsm fsm = concluding_caller();
    Handshake answer = peer_handshake(RequestType::conclusion);
    answer.flight_window = window;
    fsm.handle(answer, kStart + 2ms);
    REQUIRE(fsm.agreement());
    CHECK(fsm.agreement()->peer_window == std::min(window, kMaxFlightWindow));
  }
}

// Request types that do not belong into a call change nothing.
TEST_CASE("A caller ignores rendezvous packets [C7]", "[udt][C7]") {
  for (const std::int32_t type : {0, -2, 2, -3, 1001}) {
    HandshakeFsm fsm = concluding_caller();
    fsm.handle(peer_handshake(static_cast<RequestType>(type)), kStart + 2ms);
    CHECK(fsm.state() == State::conclusion);
    fsm.handle_other_packet();
    CHECK(fsm.state() == State::conclusion);
  }
}

// The rendezvous table, row by row: what I am, what I receive, what I become and whether I answer
// at once.
TEST_CASE("Rendezvous follows its table [I-23]", "[udt][I-23]") {
  struct Row {
    bool concluding;  // I have sent -1
    std::int32_t received;
    State becomes;
    bool answers;
  };
  for (const auto& [concluding, received, becomes, answers] : {
           Row{false, 0, State::concluding, true},
           Row{false, -1, State::concluding, true},
           Row{false, -2, State::waving, false},
           Row{false, 1, State::waving, false},
           Row{false, 7, State::waving, false},
           Row{false, 1002, State::rejected, false},
           Row{true, 0, State::concluding, true},
           Row{true, -1, State::connected, false},
           Row{true, -2, State::connected, false},
           Row{true, 1, State::concluding, false},
           Row{true, 1002, State::rejected, false},
       }) {
    CAPTURE(concluding, received);
    HandshakeFsm fsm(HandshakeFsm::Role::rendezvous, local_parameters(), kStart);
    const auto wave = fsm.poll(kStart);
    REQUIRE(wave);
    CHECK(wave->handshake.request == RequestType::rendezvous);
    CHECK(wave->handshake.cookie == 0);
    CHECK(wave->destination == wire::SocketId(0));
    if (concluding) {
      fsm.handle(peer_handshake(RequestType::rendezvous, 5), kStart);
      REQUIRE(fsm.poll(kStart));
    }
    fsm.handle(peer_handshake(static_cast<RequestType>(received), 5), kStart + 1ms);
    CHECK(fsm.state() == becomes);
    const auto answer = fsm.poll(kStart + 1ms);
    REQUIRE(answer.has_value() == answers);
    if (answers) {
      CHECK(answer->handshake.request == RequestType::conclusion);
      CHECK(answer->destination == wire::SocketId(60));
      CHECK(answer->handshake.mss == 1300);  // the smaller one, once known
    }
    if (becomes == State::connected) {
      REQUIRE(fsm.agreement());
      CHECK(fsm.agreement()->mss == 1300);
      CHECK(fsm.agreement()->local_isn == wire::SeqNo(0x7FFFFFF0));
      CHECK(fsm.agreement()->peer_isn == wire::SeqNo(5));
      CHECK(fsm.agreement()->peer_id == wire::SocketId(60));
    }
  }
}

// Data or a keep-alive from a peer whose handshake was seen says that it is connected.
TEST_CASE("Rendezvous connects on data after a handshake [I-23]", "[udt][I-23]") {
  HandshakeFsm fsm(HandshakeFsm::Role::rendezvous, local_parameters(), kStart);
  fsm.handle_other_packet();
  CHECK(fsm.state() == State::waving);
  fsm.handle(peer_handshake(RequestType::rendezvous, 5), kStart);
  fsm.handle_other_packet();
  CHECK(fsm.state() == State::connected);
}

// Impossible values in a rendezvous packet leave the state as it was.
TEST_CASE("Rendezvous ignores impossible values [I-6]", "[udt][I-6]") {
  HandshakeFsm fsm(HandshakeFsm::Role::rendezvous, local_parameters(), kStart);
  Handshake bad = peer_handshake(RequestType::rendezvous);
  bad.mss = 44;
  fsm.handle(bad, kStart);
  CHECK(fsm.state() == State::waving);
  CHECK(fsm.complaint() == ErrorCode::peer_error);
}

}  // namespace
}  // namespace xfer::udt

#include "session/sender.hpp"

#include <catch2/catch.hpp>

namespace xfer::session {
namespace {

SendingSession greeted() {
  SendingSession session;
  REQUIRE(session.handle(Hello{1, Role::receiver}).has_value());
  return session;
}

End end(std::uint32_t id, std::uint64_t size, EndStatus status = EndStatus::ok) {
  End message;
  message.id = id;
  message.size = size;
  message.status = status;
  return message;
}

void check_breach(SendingSession& session, const Message& message) {
  const auto result = session.handle(message);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::peer_error);
}

TEST_CASE("entries are numbered, judged and confirmed") {
  // Pins that success needs a verdict on every entry and matching final counts.
  auto session = greeted();
  CHECK(*session.begin(EntryKind::file, "a") == 1);
  session.ended(end(1, 10));
  CHECK(*session.begin(EntryKind::file, "b") == 2);
  session.ended(end(2, 5));
  CHECK(session.pending() == 2);
  const Verdict good{1, std::nullopt, ""};
  REQUIRE(session.handle(good).has_value());
  const auto a = session.resolve(good);
  CHECK(a.name == "a");
  CHECK(a.bytes == 10);
  CHECK(session.finish(1) == Done{2, 1, 15});
  check_breach(session, Final{1, 0, 10, {}});  // one verdict is missing
  const Verdict bad{2, ErrorCode::integrity, "x"};
  REQUIRE(session.handle(bad).has_value());
  session.resolve(bad);
  check_breach(session, Final{2, 0, 15, {}});  // not what the verdicts said
  CHECK_FALSE(session.complete());
  REQUIRE(session.handle(Final{1, 1, 10, ErrorCode::integrity}).has_value());
  CHECK(session.complete());
  check_breach(session, Alive{});
}

TEST_CASE("a verdict needs an entry without one") {
  // Pins that a receiver cannot confirm twice, or what was never announced, or what did not end
  // well.
  auto session = greeted();
  check_breach(session, Verdict{1, std::nullopt, ""});
  REQUIRE(session.begin(EntryKind::file, "a").has_value());
  check_breach(session, Verdict{1, std::nullopt, ""});  // not sent yet
  session.ended(end(1, 3, EndStatus::changed));
  check_breach(session, Verdict{1, std::nullopt, ""});  // sent as broken
  const Verdict bad{1, ErrorCode::source_changed, ""};
  REQUIRE(session.handle(bad).has_value());
  session.resolve(bad);
  check_breach(session, bad);
}

TEST_CASE("an entry may be refused before its end") {
  // Pins that the sender can stop reading a file that the receiver cannot store.
  auto session = greeted();
  REQUIRE(session.begin(EntryKind::file, "a").has_value());
  CHECK_FALSE(session.refused(1));
  const Verdict bad{1, ErrorCode::destination_error, ""};
  REQUIRE(session.handle(bad).has_value());
  session.resolve(bad);
  CHECK(session.refused(1));
  session.ended(end(1, 3, EndStatus::refused));
  CHECK(session.finish(0) == Done{1, 0, 0});
  CHECK(session.handle(Final{0, 1, 0, ErrorCode::destination_error}).has_value());
}

TEST_CASE("the final frame waits for the end") {
  // Pins that a receiver cannot confirm early.
  auto session = greeted();
  check_breach(session, Final{});
  session.finish(0);
  CHECK(session.handle(Final{}).has_value());
}

TEST_CASE("the first frame is the hello of a receiver") {
  // Pins that a stranger, or another sender, is told apart from a broken receiver.
  SendingSession session;
  CHECK(session.handle(Message{Alive{}}).error().code == ErrorCode::version_mismatch);
  CHECK(session.handle(Message{Hello{1, Role::sender}}).error().code ==
        ErrorCode::version_mismatch);
  REQUIRE(session.handle(Message{Hello{1, Role::receiver}}).has_value());
  check_breach(session, Hello{1, Role::receiver});
  Entry entry;
  entry.id = 1;
  entry.path = "f";
  check_breach(session, entry);
}

TEST_CASE("entries without a verdict are bounded") {
  // Pins the ceiling on the sender's memory.
  auto session = greeted();
  for (std::uint32_t id = 1; id <= kMaxPending; ++id) {
    CHECK_FALSE(session.full());
    REQUIRE(session.begin(EntryKind::file, "f").has_value());
    session.ended(end(id, 0));
  }
  CHECK(session.full());
  const Verdict good{5, std::nullopt, ""};
  REQUIRE(session.handle(good).has_value());
  session.resolve(good);
  CHECK_FALSE(session.full());
}

}  // namespace
}  // namespace xfer::session

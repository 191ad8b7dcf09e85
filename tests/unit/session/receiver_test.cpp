#include "session/receiver.hpp"

#include <catch2/catch.hpp>

namespace xfer::session {
namespace {

Entry file_entry(std::uint32_t id, std::string_view path, std::optional<std::uint64_t> size) {
  Entry entry;
  entry.id = id;
  entry.path = path;
  entry.size = size;
  return entry;
}

Entry directory_entry(std::uint32_t id, std::string_view path) {
  Entry entry;
  entry.id = id;
  entry.kind = EntryKind::directory;
  entry.path = path;
  return entry;
}

constexpr std::array<std::byte, 16> kContent{};

Data data(std::uint32_t id, std::uint64_t offset, std::size_t size) {
  return {id, offset, ByteView(kContent).first(size)};
}

End end(std::uint32_t id, std::uint64_t size, EndStatus status = EndStatus::ok) {
  End message;
  message.id = id;
  message.size = size;
  message.status = status;
  return message;
}

/// A session that has heard the hello and these messages.
ReceivingSession after(std::initializer_list<Message> messages) {
  ReceivingSession session;
  REQUIRE(session.handle(Hello{}).has_value());
  for (const Message& message : messages) REQUIRE(session.handle(message).has_value());
  return session;
}

void check_breach(ReceivingSession session, const Message& message) {
  const auto result = session.handle(message);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::peer_error);
  CHECK(result.error().what != nullptr);
}

TEST_CASE("a whole session in order is accepted and counted") {
  // Pins the order of frames that a sender produces, nested directories and an empty file included.
  auto session =
      after({directory_entry(1, "d"), file_entry(2, "d/f", 3), data(2, 0, 1), data(2, 1, 2),
             end(2, 3), directory_entry(3, "d/e"), end(3, 0), end(1, 0), file_entry(4, "empty", 0),
             end(4, 0), file_entry(5, "pipe", std::nullopt), data(5, 0, 5), end(5, 5), Alive{}});
  CHECK_FALSE(session.done());
  for (int i = 0; i < 4; ++i) session.judged(std::nullopt, 2);
  session.judged(ErrorCode::destination_error, 0);
  REQUIRE(session.handle(Done{5, 0, 8}).has_value());
  CHECK(session.done());
  CHECK(session.all_judged());
  CHECK(session.final() == Final{4, 1, 8, ErrorCode::destination_error});
}

TEST_CASE("nothing comes before the hello of a sender") {
  // Pins that a stranger, or another receiver, is told apart from a broken sender.
  ReceivingSession session;
  CHECK(session.handle(Message{file_entry(1, "f", 0)}).error().code == ErrorCode::version_mismatch);
  CHECK(session.handle(Message{Hello{1, Role::receiver}}).error().code ==
        ErrorCode::version_mismatch);
  CHECK(session.handle(Message{Abort{ErrorCode::interrupted, ""}}).has_value());
}

TEST_CASE("a later version of the sender is welcome") {
  // Pins that both sides use the lower version.
  ReceivingSession session;
  CHECK(session.handle(Message{Hello{9, Role::sender}}).has_value());
}

TEST_CASE("frames out of order are a breach") {
  // Pins each rule on the order of frames by one frame that breaks it.
  check_breach(after({}), Hello{});
  check_breach(after({}), Verdict{1, std::nullopt, ""});
  check_breach(after({}), Final{});
  check_breach(after({}), file_entry(2, "f", 0));  // number skipped
  check_breach(after({}), file_entry(0, "f", 0));
  check_breach(after({file_entry(1, "f", 0)}), file_entry(2, "g", 0));  // inside of a file
  check_breach(after({file_entry(1, "f", 0), end(1, 0)}), file_entry(1, "g", 0));  // number again
  check_breach(after({}), data(1, 0, 1));                                          // no file
  check_breach(after({file_entry(1, "f", 9)}), data(2, 0, 1));                     // other file
  check_breach(after({file_entry(1, "f", 9)}), data(1, 1, 1));                     // hole
  check_breach(after({file_entry(1, "f", 9), data(1, 0, 2)}), data(1, 1, 1));      // overlap
  check_breach(after({file_entry(1, "f", 9), data(1, 0, 8)}), data(1, 8, 2));      // too much
  check_breach(after({file_entry(1, "f", 9)}), end(2, 0));                         // other entry
  check_breach(after({file_entry(1, "f", 9), data(1, 0, 8)}), end(1, 8));          // not all
  check_breach(after({file_entry(1, "f", {}), data(1, 0, 8)}), end(1, 9));         // wrong size
  check_breach(after({}), end(1, 0));
  check_breach(after({directory_entry(1, "d")}), end(1, 1));
  check_breach(after({directory_entry(1, "d")}), file_entry(2, "f", 0));  // outside of it
  check_breach(after({directory_entry(1, "d")}), file_entry(2, "dx/f", 0));
  check_breach(after({directory_entry(1, "d")}), file_entry(2, "d", 0));
  check_breach(after({directory_entry(1, "d"), directory_entry(2, "d/e")}), end(1, 0));
  check_breach(after({directory_entry(1, "d")}), Done{1, 0, 0});
  check_breach(after({file_entry(1, "f", 0)}), Done{1, 0, 0});
  check_breach(after({}), Done{1, 0, 0});  // wrong counts
  check_breach(after({file_entry(1, "f", 2), data(1, 0, 2), end(1, 2)}), Done{1, 0, 1});
  check_breach(after({Done{0, 0, 0}}), file_entry(1, "f", 0));
}

TEST_CASE("a file that failed at its source may end anywhere") {
  // Pins that truncation at the source is no breach.
  auto session = after({file_entry(1, "f", 9), data(1, 0, 4), end(1, 4, EndStatus::changed)});
  session.judged(ErrorCode::source_changed, 0);
  CHECK(session.handle(Message{Done{1, 0, 0}}).has_value());
  CHECK(session.final() == Final{0, 1, 0, ErrorCode::source_changed});
}

TEST_CASE("directories are bounded in depth") {
  // Pins the ceiling on what a peer makes us remember.
  ReceivingSession session;
  REQUIRE(session.handle(Hello{}).has_value());
  std::string path;
  for (std::uint32_t id = 1; id <= kMaxDepth; ++id) {
    path += path.empty() ? "d" : "/d";
    REQUIRE(session.handle(directory_entry(id, path)).has_value());
  }
  path += "/d";
  CHECK_FALSE(session.handle(directory_entry(kMaxDepth + 1, path)).has_value());
}

TEST_CASE("the most telling failure is kept") {
  // Pins that a full disk is not hidden behind a later, lesser failure.
  CHECK(more_telling(ErrorCode::no_space, ErrorCode::source_error) == ErrorCode::no_space);
  CHECK(more_telling(ErrorCode::source_error, ErrorCode::no_space) == ErrorCode::no_space);
  CHECK(more_telling(std::nullopt, ErrorCode::interrupted) == ErrorCode::interrupted);
  CHECK(more_telling(ErrorCode::source_changed, std::nullopt) == ErrorCode::source_changed);
}

}  // namespace
}  // namespace xfer::session

#include <catch2/catch.hpp>

#include "jobs.hpp"
#include "net/clock.hpp"
#include "support/faulty_file_system.hpp"
#include "support/temp_dir.hpp"

namespace xfer::transfer {
namespace {

using test::code_of;
using test::FaultyFileSystem;
using test::Receiver;
using test::Recorder;
using test::send_options;
using test::TempDir;
using test::tree_of;
using test::write_file;
using Tree = std::map<std::string, std::string>;

/// What both sides of one transfer said.
struct Outcome {
  std::optional<ErrorCode> sender;
  std::optional<ErrorCode> receiver;
  std::string sender_line;
  std::string receiver_line;
};

Outcome transfer(const TempDir& to, const std::vector<std::string>& sources,
                 FaultyFileSystem* reading, FaultyFileSystem* writing,
                 const std::function<void(RecvOptions&)>& change = {}) {
  Receiver receiver(to.path(), [&](RecvOptions& options) {
    options.file_system = writing;
    if (change) change(options);
  });
  auto options = send_options(receiver.port(), sources);
  options.file_system = reading;
  Recorder seen;
  const auto sent = run_send(options, seen, {});
  const auto received = receiver.result();
  return {code_of(sent), code_of(received), seen.line(), receiver.seen().line()};
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a source that changes while it is read fails alone") {
  // Pins truncation, growth and rewriting in the middle of a file: its own code, nothing under the
  // name, the rest sent.
  const char* const how = GENERATE("truncate", "grow", "rewrite");
  CAPTURE(std::string(how));
  TempDir from;
  TempDir to;
  write_file(from / "a", "1");
  write_file(from / "big", std::string(3'000'000, 'b'));
  write_file(from / "z", "2");
  FaultyFileSystem fs;
  int reads = 0;
  fs.before = [&](const char* operation) {
    if (std::string_view(operation) != "read" || ++reads != 4) return;
    const std::string big = from / "big";
    if (std::string_view(how) == "truncate") {
      REQUIRE(::truncate(big.c_str(), 1000) == 0);
    } else if (std::string_view(how) == "grow") {
      REQUIRE(::truncate(big.c_str(), 4'000'000) == 0);
    } else {
      const timespec times[2] = {{1, 0}, {1, 0}};
      REQUIRE(::utimensat(AT_FDCWD, big.c_str(), times, 0) == 0);
    }
  };
  SECTION("among others") {
    const Outcome outcome = transfer(to, {from / "a", from / "big", from / "z"}, &fs, nullptr);
    CHECK(outcome.sender == ErrorCode::partial);
    CHECK(outcome.receiver == ErrorCode::partial);
    CHECK(contains(outcome.sender_line, "big"));
    CHECK(contains(outcome.sender_line, "while it was read"));
    CHECK(tree_of(to.path()) == Tree{{"a", "file:1"}, {"z", "file:2"}});
  }
  SECTION("alone") {
    const Outcome outcome = transfer(to, {from / "big"}, &fs, nullptr);
    CHECK(outcome.sender == ErrorCode::source_changed);
    CHECK(outcome.receiver == ErrorCode::source_changed);
    CHECK(tree_of(to.path()).empty());
  }
}

TEST_CASE("an unreadable source does not stop the rest") {
  // Pins the error code with and without others, and the line with name and cause.
  TempDir from;
  TempDir to;
  write_file(from / "a", "1");
  const Outcome both = transfer(to, {from / "a", from / "missing"}, nullptr, nullptr);
  CHECK(both.sender == ErrorCode::partial);
  CHECK(both.receiver == ErrorCode::partial);
  CHECK(contains(both.sender_line, "missing: "));
  CHECK(contains(both.sender_line, "No such file or directory"));
  CHECK(tree_of(to.path()) == Tree{{"a", "file:1"}});
  const Outcome alone = transfer(to, {from / "missing"}, nullptr, nullptr);
  CHECK(alone.sender == ErrorCode::source_error);
  FaultyFileSystem fs;
  fs.fail_next("read", EIO);
  const Outcome broken = transfer(to, {from / "a"}, &fs, nullptr);
  CHECK(broken.sender == ErrorCode::source_error);
  CHECK(broken.receiver == ErrorCode::source_error);
  CHECK(contains(broken.sender_line, "Input/output error"));
}

TEST_CASE("a target that is a directory fails alone") {
  // Pins an early refusal: the big file is not even read to its end.
  TempDir from;
  TempDir to;
  write_file(from / "a", "1");
  write_file(from / "big", "");
  REQUIRE(::truncate((from / "big").c_str(), 1 << 30) == 0);
  write_file(from / "z", "2");
  REQUIRE(::mkdir((to / "big").c_str(), 0755) == 0);
  FaultyFileSystem fs;
  int reads = 0;
  fs.before = [&](const char* operation) {
    if (std::string_view(operation) == "read") ++reads;
  };
  const Outcome outcome = transfer(to, {from / "a", from / "big", from / "z"}, &fs, nullptr);
  CHECK(reads < 2000);  // of 4096
  CHECK(outcome.sender == ErrorCode::partial);
  CHECK(outcome.receiver == ErrorCode::partial);
  CHECK(contains(outcome.sender_line, "big"));
  CHECK(contains(outcome.sender_line, "a directory has that name"));
  CHECK(contains(outcome.sender_line, "at the peer"));
  CHECK(tree_of(to.path()) == Tree{{"a", "file:1"}, {"big", "dir"}, {"z", "file:2"}});
}

TEST_CASE("a full disk ends both sides at once") {
  // Pins the code, the name in the line, the time, and that nothing is left of the file.
  TempDir from;
  TempDir to;
  write_file(from / "a", "1");
  write_file(from / "big", std::string(64'000'000, 'b'));
  write_file(from / "z", "2");
  FaultyFileSystem fs;
  fs.set_room(16'000'000);
  const TimePoint begin = net::now();
  const Outcome outcome = transfer(to, {from / "a", from / "big", from / "z"}, nullptr, &fs);
  CHECK(net::now() - begin < 5s);
  CHECK(outcome.sender == ErrorCode::no_space);
  CHECK(outcome.receiver == ErrorCode::no_space);
  for (const auto& line : {outcome.sender_line, outcome.receiver_line}) {
    CHECK(contains(line, "big"));
    CHECK(contains(line, "No space left on device"));
  }
  CHECK(tree_of(to.path()) == Tree{{"a", "file:1"}});
}

TEST_CASE("with --preallocate a full disk is told before any content") {
  // Pins the early end: the receiver writes nothing, and the sender stops long before the end.
  TempDir from;
  TempDir to;
  write_file(from / "a", "1");
  write_file(from / "big", "");
  REQUIRE(::truncate((from / "big").c_str(), std::int64_t{1} << 40U) == 0);
  FaultyFileSystem fs;
  int writes = 0;
  fs.before = [&](const char* operation) {
    if (std::string_view(operation) == "write") ++writes;
  };
  const Outcome outcome =
      transfer(to, {from / "a", from / "big"}, nullptr, &fs, [&fs](RecvOptions& options) {
        options.preallocate = true;
        fs.set_room(1000);
      });
  CHECK(outcome.sender == ErrorCode::no_space);
  CHECK(outcome.receiver == ErrorCode::no_space);
  CHECK(writes == 1);
  for (const auto& line : {outcome.sender_line, outcome.receiver_line})
    CHECK(contains(line, "big: "));
  CHECK(tree_of(to.path()) == Tree{{"a", "file:1"}});
}

TEST_CASE("direct and preallocated files arrive whole, whatever the file system can") {
  // Pins both options through a session, where they work and where they do not: one warning, or
  // none for what nobody notices.
  TempDir from;
  std::string content(3'000'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<char>(i * 131 + i / 251);
  write_file(from / "a", content);
  write_file(from / "b", "short");
  write_file(from / "c", "");
  const auto both = [](RecvOptions& options) {
    options.direct = true;
    options.preallocate = true;
  };
  const auto run = [&](const std::function<void(FaultyFileSystem&, std::string_view)>& trouble) {
    TempDir to;
    FaultyFileSystem fs;
    fs.before = [&](const char* operation) { trouble(fs, operation); };
    Receiver receiver(to.path(), [&](RecvOptions& options) {
      options.file_system = &fs;
      both(options);
    });
    Recorder seen;
    const auto sent =
        run_send(send_options(receiver.port(), {from / "a", from / "b", from / "c"}), seen, {});
    INFO(seen.line() << " / " << receiver.seen().line());
    CHECK(sent.has_value());
    CHECK(receiver.result().has_value());
    CHECK(tree_of(to.path()) == tree_of(from.path()));
    return receiver.seen().warnings;
  };
  const auto by_nature = run([](FaultyFileSystem&, std::string_view) {});
  CHECK(by_nature.size() <= 1);  // 1: no O_DIRECT in the temporary directory
  const auto none = run([](FaultyFileSystem& fs, std::string_view operation) {
    if (operation == "set_direct") fs.fail_next("set_direct", EINVAL);
    if (operation == "reserve") fs.fail_next("reserve", EOPNOTSUPP);
  });
  REQUIRE(none.size() == 1);
  CHECK(contains(none[0], "--direct"));
  if (!by_nature.empty()) return;
  // The flag is taken, the writes are not.
  bool direct = false;
  const auto late = run([&direct](FaultyFileSystem& fs, std::string_view operation) {
    if (operation == "set_direct") direct = true;
    if (operation == "unset_direct") direct = false;
    if (operation == "write" && direct) fs.fail_next("write", EINVAL);
  });
  REQUIRE(late.size() == 1);
  CHECK(contains(late[0], "--direct"));
}

TEST_CASE("a destination that cannot be written to is told on both sides") {
  // Pins a read-only file system.
  TempDir from;
  TempDir to;
  write_file(from / "a", "1");
  FaultyFileSystem fs;
  fs.fail_next("create_new", EROFS);
  const Outcome outcome = transfer(to, {from / "a"}, nullptr, &fs);
  CHECK(outcome.sender == ErrorCode::destination_error);
  CHECK(outcome.receiver == ErrorCode::destination_error);
  CHECK(contains(outcome.sender_line, "Read-only file system"));
  CHECK(contains(outcome.sender_line, "at the peer"));
}

TEST_CASE("whichever operation fails at the receiver, both sides agree and nothing is half there") {
  // Pins the error paths of the whole receiver by injection.
  const bool special = GENERATE(false, true);
  TempDir from;
  REQUIRE(::mkdir((from / "d").c_str(), 0755) == 0);
  write_file(from / "d/a", "1");
  write_file(from / "d/b", std::string(100'000, 'b'));
  const Tree source = tree_of(from.path());
  for (int n = 1;; ++n) {
    CAPTURE(n);
    REQUIRE(n < 100);
    TempDir to;
    FaultyFileSystem fs;
    std::atomic<bool> armed{false};
    fs.before = [&](const char*) {
      // Counting starts when the sender is there; before, it is the receiver's start that fails.
      if (!armed.exchange(true)) fs.fail_at(n + 1, EIO);
    };
    const Outcome outcome =
        transfer(to, {from / "d"}, nullptr, &fs, [special](RecvOptions& options) {
          options.direct = special;
          options.preallocate = special;
        });
    for (const auto& [name, content] : tree_of(to.path())) {
      CAPTURE(name);
      REQUIRE(source.count(name) == 1);
      CHECK(source.at(name) == content);
    }
    CHECK(outcome.sender.has_value() == outcome.receiver.has_value());
    if (!fs.fired()) {
      CHECK_FALSE(outcome.sender.has_value());
      break;
    }
    if (!outcome.sender.has_value()) CHECK(tree_of(to.path()) == source);
  }
}

TEST_CASE(
    "a directory of the destination that becomes a link in the middle of a run leads nowhere") {
  // Pins the swap attack on a running session.
  TempDir from;
  TempDir to;
  TempDir outside;
  REQUIRE(::mkdir((from / "d").c_str(), 0755) == 0);
  write_file(from / "d/a", "1");
  write_file(from / "d/b", "2");
  FaultyFileSystem fs;
  int created = 0;
  fs.before = [&](const char* operation) {
    if (std::string_view(operation) != "create_new" || ++created != 1) return;
    REQUIRE(::rename((to / "d").c_str(), (to / "was-d").c_str()) == 0);
    REQUIRE(::symlink(outside.path().c_str(), (to / "d").c_str()) == 0);
  };
  const Outcome outcome = transfer(to, {from / "d"}, nullptr, &fs);
  CHECK(outcome.sender == ErrorCode::partial);
  CHECK(contains(outcome.sender_line, "symbolic link"));
  CHECK(tree_of(outside.path()).empty());
  CHECK(tree_of(to.path()) == Tree{{"d", "link"}, {"was-d", "dir"}, {"was-d/a", "file:1"}});
}

}  // namespace
}  // namespace xfer::transfer

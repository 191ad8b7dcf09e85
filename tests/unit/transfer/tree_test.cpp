#include <catch2/catch.hpp>

#include "jobs.hpp"
#include "net/clock.hpp"
#include "support/temp_dir.hpp"

namespace xfer::transfer {
namespace {

using test::code_of;
using test::Receiver;
using test::Recorder;
using test::send_options;
using test::stat_of;
using test::TempDir;
using test::tree_of;
using test::write_file;
using Tree = std::map<std::string, std::string>;

/// Sends and receives, expects success on both sides, returns the sender's summary.
Summary transfer_ok(const TempDir& to, const std::vector<std::string>& sources) {
  Receiver receiver(to.path());
  Recorder seen;
  const auto sent = run_send(send_options(receiver.port(), sources), seen, {});
  const auto received = receiver.result();
  INFO(seen.line() << " / " << receiver.seen().line());
  REQUIRE(sent.has_value());
  REQUIRE(received.has_value());
  CHECK(received->files == sent->files);
  CHECK(received->directories == sent->directories);
  CHECK(received->bytes == sent->bytes);
  CHECK(seen.failures.empty());
  CHECK(receiver.seen().failures.empty());
  REQUIRE(seen.summaries.size() == 1);
  CHECK(receiver.seen().summaries.size() == 1);
  CHECK(seen.entries.size() == sent->files + sent->directories);
  return *sent;
}

std::string pattern(std::size_t size) {
  std::string content(size, '\0');
  std::uint32_t x = 12'345;
  for (char& c : content) c = static_cast<char>((x = x * 1'664'525 + 1'013'904'223) >> 24U);
  return content;
}

TEST_CASE("a tree of odd names arrives as it is") {
  // Pins names of any bytes, empty files first, in the middle and last, empty directories, sizes
  // around buffers, modes and times.
  TempDir from;
  TempDir to;
  const std::string root = from / "tree";
  const std::string deep = root + "/m/" + std::string(255, 'd');
  for (const std::string& name :
       {root, root + "/empty-dir", root + "/m", deep, root + "/zz-empty-dir"})
    REQUIRE(::mkdir(name.c_str(), 0755) == 0);
  write_file(root + "/\x01 first", "");
  write_file(root + "/" + std::string(255, 'n'), "x");
  write_file(root + "/a b  c", pattern(1455));
  write_file(root + "/escape\x1b[31m\a", pattern(1456));
  write_file(root + "/line\nbreak\r\t", pattern(1457));
  write_file(root + "/m/middle", "");
  write_file(root + "/m/not\xff\xfeutf8", pattern(70'000));
  write_file(deep + "/-rf *", pattern(3'000'000));
  write_file(root + "/zz", "");
  const std::pair<const char*, mode_t> modes[] = {
      {"/zz", 0}, {"/a b  c", 0400}, {"/m/middle", 04755}};
  for (const auto& [name, mode] : modes) REQUIRE(::chmod((root + name).c_str(), mode) == 0);
  const timespec times[2] = {{0, 0}, {1'234'567'890, 123'456'789}};
  REQUIRE(::utimensat(AT_FDCWD, (root + "/m/middle").c_str(), times, 0) == 0);
  REQUIRE(::utimensat(AT_FDCWD, (root + "/empty-dir").c_str(), times, 0) == 0);
  REQUIRE(::chmod((root + "/m").c_str(), 0555) == 0);
  const Summary summary = transfer_ok(to, {root});
  CHECK(summary.files == 9);
  CHECK(summary.directories == 5);
  REQUIRE(::chmod((root + "/m").c_str(), 0755) == 0);
  CHECK(tree_of(to.path()) == tree_of(from.path()));
  for (const auto& [name, mode] : modes)
    CHECK((stat_of(to / ("tree" + std::string(name))).st_mode & 07777U) == (mode & 0777U));
  CHECK((stat_of(to / "tree/m").st_mode & 07777U) == 0555);
  for (const char* name : {"tree/m/middle", "tree/empty-dir"}) {
    CHECK(stat_of(to / name).st_mtim.tv_sec == 1'234'567'890);
    CHECK(stat_of(to / name).st_mtim.tv_nsec == 123'456'789);
  }
}

TEST_CASE("sources keep their order, a trailing slash means the contents") {
  // Pins the names at the destination that users of rsync expect.
  TempDir from;
  TempDir to;
  REQUIRE(::mkdir((from / "d").c_str(), 0755) == 0);
  write_file(from / "d/inner", "1");
  write_file(from / "z", "2");
  write_file(from / "a", "3");
  Receiver receiver(to.path());
  Recorder seen;
  REQUIRE(run_send(send_options(receiver.port(), {from / "z", from / "d/", from / "d", from / "a"}),
                   seen, {})
              .has_value());
  REQUIRE(receiver.result().has_value());
  CHECK(tree_of(to.path()) == Tree{{"z", "file:2"},
                                   {"inner", "file:1"},
                                   {"d", "dir"},
                                   {"d/inner", "file:1"},
                                   {"a", "file:3"}});
  std::vector<std::string> order;
  for (const auto& entry : receiver.seen().entries) order.push_back(entry.name);
  CHECK(order == std::vector<std::string>{"z", "inner", "d/inner", "d", "a"});
}

TEST_CASE("existing files are replaced, existing directories filled") {
  // Pins a second run over the result of a first.
  TempDir from;
  TempDir to;
  REQUIRE(::mkdir((from / "d").c_str(), 0755) == 0);
  write_file(from / "d/f", "old");
  transfer_ok(to, {from / "d"});
  write_file(from / "d/f", "new");
  write_file(to / "d/other", "kept");
  transfer_ok(to, {from / "d"});
  CHECK(tree_of(to.path()) == Tree{{"d", "dir"}, {"d/f", "file:new"}, {"d/other", "file:kept"}});
}

TEST_CASE("links and special files in a tree are skipped with a warning each") {
  // Pins that skipping is told and is no failure.
  TempDir from;
  TempDir to;
  REQUIRE(::mkdir((from / "d").c_str(), 0755) == 0);
  write_file(from / "d/f", "x");
  REQUIRE(::symlink("f", (from / "d/li\nnk").c_str()) == 0);
  REQUIRE(::mkfifo((from / "d/pipe").c_str(), 0600) == 0);
  Receiver receiver(to.path());
  Recorder seen;
  const auto sent = run_send(send_options(receiver.port(), {from / "d"}), seen, {});
  REQUIRE(sent.has_value());
  CHECK(sent->skipped == 2);
  REQUIRE(seen.warnings.size() == 2);
  CHECK(seen.warnings[0].find("d/li\\x0ank: symbolic link, skipped") != std::string::npos);
  REQUIRE(receiver.result().has_value());
  CHECK(tree_of(to.path()) == Tree{{"d", "dir"}, {"d/f", "file:x"}});
}

TEST_CASE("standard input becomes a file of the given name") {
  // Pins an entry of unknown size, written in several pieces with pauses beyond the sign of life.
  TempDir to;
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  Receiver receiver(to.path());
  auto options = send_options(receiver.port(), {"-"});
  options.stdin_fd = pipe[0];
  options.stdin_name = "sub/name";
  const std::string content = pattern(300'000);
  std::thread writer([&] {
    std::size_t at = 0;
    while (at < content.size()) {
      const ssize_t count =
          ::write(pipe[1], content.data() + at, std::min<std::size_t>(50'001, content.size() - at));
      if (count <= 0) break;
      at += static_cast<std::size_t>(count);
    }
    ::close(pipe[1]);
  });
  Recorder seen;
  const auto sent = run_send(options, seen, {});
  writer.join();
  ::close(pipe[0]);
  INFO(seen.line());
  REQUIRE(sent.has_value());
  CHECK(sent->bytes == content.size());
  REQUIRE(receiver.result().has_value());
  CHECK(test::read_file(to / "sub/name") == content);
}

TEST_CASE("many small files do not cost a round trip each") {
  // Pins pipelining and the closing handshake: the best of three runs of 500 files is far below 500
  // exchanges.
  TempDir from;
  TempDir to;
  for (int i = 0; i < 500; ++i) write_file(from / std::to_string(i), std::to_string(i));
  transfer_ok(to, {from.path() + "/"});
  CHECK(tree_of(to.path()) == tree_of(from.path()));
}

TEST_CASE("a megabyte is over in a fifth of a second") {
  // Pins that neither side lingers once everything is confirmed (best of five: the machine may be
  // busy).
  TempDir from;
  TempDir to;
  write_file(from / "f", pattern(1'000'000));
  Duration best = 1h;
  for (int i = 0; i < 5; ++i) {
    Receiver receiver(to.path());
    Recorder seen;
    const TimePoint begin = net::now();
    REQUIRE(run_send(send_options(receiver.port(), {from / "f"}), seen, {}).has_value());
    REQUIRE(receiver.result().has_value());
    best = std::min(best, net::now() - begin);
  }
  CHECK(best < 200ms);
}

TEST_CASE("progress grows to the whole and the summary counts it") {
  // Pins what a progress bar is fed with.
  TempDir from;
  TempDir to;
  write_file(from / "f", pattern(20'000'000));
  Receiver receiver(to.path());
  Recorder seen;
  const auto sent = run_send(send_options(receiver.port(), {from / "f"}), seen, {});
  REQUIRE(sent.has_value());
  REQUIRE(receiver.result().has_value());
  for (const auto* side : {&seen, &receiver.seen()}) {
    REQUIRE_FALSE(side->progress.empty());
    std::uint64_t last = 0;
    for (const auto& progress : side->progress) {
      CHECK(progress.bytes_done >= last);
      last = progress.bytes_done;
    }
    CHECK(last == 20'000'000);
    CHECK(side->progress.back().total_known);
    CHECK(side->progress.back().bytes_total == 20'000'000);
    const Summary& summary = side->summaries.back();
    CHECK(summary.goodput > 0);
    CHECK(summary.elapsed > 0s);
    CHECK_FALSE(summary.error.has_value());
  }
  CHECK(seen.summaries.back().connection.packets_sent > 20'000'000 / udt::kMaxAutoMtu);
  CHECK(receiver.seen().summaries.back().connection.payload_bytes_received > 20'000'000);
}

}  // namespace
}  // namespace xfer::transfer

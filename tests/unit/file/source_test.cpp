#include "file/source.hpp"

#include <fcntl.h>
#include <catch2/catch.hpp>

#include "support/faulty_file_system.hpp"
#include "support/temp_dir.hpp"

namespace xfer::file {
namespace {

using test::TempDir;
using test::write_file;

/// What a scan finds, one line each: "f name", "d name", "l name", "s name reason", "x name".
std::vector<std::string> scan(std::vector<std::string> sources,
                              FileSystem& fs = posix_file_system()) {
  std::vector<std::string> lines;
  Scanner scanner(fs, std::move(sources));
  while (const auto found = scanner.next()) {
    switch (found->what) {
      case Found::What::file:
        CHECK(found->file.has_value());
        lines.push_back("f " + found->path);
        break;
      case Found::What::directory:
        lines.push_back("d " + found->path);
        break;
      case Found::What::leave:
        lines.push_back("l " + found->path);
        break;
      case Found::What::skipped:
        lines.push_back("s " + found->path + " " + found->reason);
        break;
      case Found::What::failed:
        CHECK(found->error.code == ErrorCode::source_error);
        lines.push_back("x " + found->path);
        break;
    }
  }
  return lines;
}

using Lines = std::vector<std::string>;

/// d/{a, b/{}, c/{x}, z}
void make_tree(const TempDir& dir) {
  for (const char* name : {"d", "d/b", "d/c"}) REQUIRE(::mkdir((dir / name).c_str(), 0755) == 0);
  for (const char* name : {"d/z", "d/a", "d/c/x"}) write_file(dir / name, name);
}

TEST_CASE("a tree is walked in order of its names, empty directories included") {
  // Pins the order of a session's entries.
  TempDir dir;
  make_tree(dir);
  CHECK(scan({dir / "d"}) ==
        Lines{"d d", "f d/a", "d d/b", "l d/b", "d d/c", "f d/c/x", "l d/c", "f d/z", "l d"});
}

TEST_CASE("a trailing slash stands for the contents") {
  // Pins the names at the destination for each way to name a directory, and for files.
  TempDir dir;
  make_tree(dir);
  const Lines contents = {"f a", "d b", "l b", "d c", "f c/x", "l c", "f z"};
  CHECK(scan({dir / "d/"}) == contents);
  CHECK(scan({dir / "d/."}) == contents);
  CHECK(scan({dir / "d//"}) == contents);
  CHECK(scan({dir / "d/b/.."}) == contents);
  CHECK(scan({dir / "d/z", dir / "d/a"}) == Lines{"f z", "f a"});
  CHECK(scan({dir / "d/z/"}) == Lines{"x "});
  CHECK(scan({dir / "d/b/"}).empty());
}

TEST_CASE("links and special files are not sent") {
  // Pins that nothing within a tree is followed, and that what the user names is.
  TempDir dir;
  ::mkdir((dir / "d").c_str(), 0755);
  write_file(dir / "f", "x");
  REQUIRE(::symlink("../f", (dir / "d/file").c_str()) == 0);
  REQUIRE(::symlink("..", (dir / "d/up").c_str()) == 0);
  REQUIRE(::symlink("nowhere", (dir / "d/dangling").c_str()) == 0);
  REQUIRE(::symlink("loop", (dir / "d/loop").c_str()) == 0);
  REQUIRE(::symlink("/etc/passwd", (dir / "d/absolute").c_str()) == 0);
  REQUIRE(::mkfifo((dir / "d/pipe").c_str(), 0600) == 0);
  CHECK(scan({dir / "d"}) == Lines{"d d", "s d/absolute symbolic link",
                                   "s d/dangling symbolic link", "s d/file symbolic link",
                                   "s d/loop symbolic link", "s d/pipe special file",
                                   "s d/up symbolic link", "l d"});
  REQUIRE(::symlink("f", (dir / "named").c_str()) == 0);
  CHECK(scan({dir / "named"}) == Lines{"f named"});
  CHECK(scan({dir / "d/pipe"}) == Lines{"x pipe"});
  CHECK(scan({dir / "missing"}) == Lines{"x missing"});
}

TEST_CASE("what vanishes between listing and opening is skipped") {
  // Pins that a deleted file is no failure but is told.
  TempDir dir;
  make_tree(dir);
  test::FaultyFileSystem fs;
  bool listed = false;
  fs.before = [&](const char* operation) {
    if (std::string_view(operation) == "info_of_name" && !listed) {
      listed = true;
      ::unlink((dir / "d/a").c_str());
    }
  };
  CHECK(scan({dir / "d"}, fs) == Lines{"d d", "s d/a vanished", "d d/b", "l d/b", "d d/c",
                                       "f d/c/x", "l d/c", "f d/z", "l d"});
}

TEST_CASE("whichever operation fails, the walk goes on") {
  // Pins that one bad entry does not stop the rest: each fault loses at most what it hit.
  TempDir dir;
  make_tree(dir);
  for (int n = 1;; ++n) {
    CAPTURE(n);
    REQUIRE(n < 100);
    test::FaultyFileSystem fs;
    fs.fail_at(n, EACCES);
    const Lines lines = scan({dir / "d", dir / "d/z"}, fs);
    const auto failures = std::count_if(lines.begin(), lines.end(),
                                        [](const std::string& line) { return line[0] == 'x'; });
    CHECK(failures == (fs.fired() ? 1 : 0));
    if (!fs.fired()) break;
    if (n > 3) CHECK(lines.size() >= 2);
    const auto enter = std::count_if(lines.begin(), lines.end(),
                                     [](const std::string& line) { return line[0] == 'd'; });
    const auto leave = std::count_if(lines.begin(), lines.end(),
                                     [](const std::string& line) { return line[0] == 'l'; });
    CHECK(enter == leave);
  }
}

SourceFile open_source(const std::string& path, FileSystem& fs = posix_file_system()) {
  Scanner scanner(fs, {path});
  auto found = scanner.next();
  REQUIRE(found);
  REQUIRE(found->file.has_value());
  return std::move(*found->file);
}

TEST_CASE("a file is read to the size it had") {
  // Pins plain reading, and growth as an error after the last byte.
  TempDir dir;
  write_file(dir / "f", "0123456789");
  auto source = open_source(dir / "f");
  std::array<std::byte, 7> buffer{};
  CHECK(*source.read(buffer) == 7);
  {
    std::ofstream out(dir / "f", std::ios::app);
    out << "more";
  }
  CHECK(*source.read(buffer) == 3);
  CHECK(*source.read(buffer) == 0);
  CHECK(source.position() == 10);
  const auto same = source.check_unchanged();
  REQUIRE_FALSE(same.has_value());
  CHECK(same.error().code == ErrorCode::source_changed);
  CHECK(std::string_view(same.error().what).find("grown") != std::string_view::npos);
}

TEST_CASE("truncation is an error where the file ends") {
  // Pins that a short file is never passed off as whole.
  TempDir dir;
  write_file(dir / "f", "0123456789");
  auto source = open_source(dir / "f");
  std::array<std::byte, 4> buffer{};
  CHECK(*source.read(buffer) == 4);
  REQUIRE(::truncate((dir / "f").c_str(), 4) == 0);
  const auto count = source.read(buffer);
  REQUIRE_FALSE(count.has_value());
  CHECK(count.error().code == ErrorCode::source_changed);
}

TEST_CASE("a file that has more than its size says is not taken for complete") {
  // Pins that success never stands for bytes that were left out: such a file says it is empty.
  SourceFile file = open_source("/proc/version");
  std::array<std::byte, 64> room{};
  const auto count = file.read(room);
  REQUIRE(count.has_value());
  CHECK(*count == 0);
  const auto unchanged = file.check_unchanged();
  REQUIRE_FALSE(unchanged.has_value());
  CHECK(unchanged.error().code == ErrorCode::source_changed);
}

TEST_CASE("rewriting in place is noticed") {
  // Pins that equal size is not enough.
  TempDir dir;
  write_file(dir / "f", "0123456789");
  const timespec old[2] = {{1, 0}, {1, 0}};
  REQUIRE(::utimensat(AT_FDCWD, (dir / "f").c_str(), old, 0) == 0);
  auto source = open_source(dir / "f");
  std::array<std::byte, 10> buffer{};
  CHECK(*source.read(buffer) == 10);
  CHECK(source.check_unchanged().has_value());
  write_file(dir / "f", "9876543210");
  CHECK(source.check_unchanged().error().code == ErrorCode::source_changed);
}

TEST_CASE("a read error is reported with its errno") {
  // Pins an unreadable source in the middle of the file.
  TempDir dir;
  write_file(dir / "f", "0123456789");
  test::FaultyFileSystem fs;
  auto source = open_source(dir / "f", fs);
  fs.fail_at(1, EIO);
  std::array<std::byte, 10> buffer{};
  const auto count = source.read(buffer);
  REQUIRE_FALSE(count.has_value());
  CHECK(count.error() == Error{ErrorCode::source_error, EIO, nullptr});
}

}  // namespace
}  // namespace xfer::file

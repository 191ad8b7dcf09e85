#include "file/destination.hpp"

#include <sys/socket.h>
#include <catch2/catch.hpp>
#include <csignal>

#include "support/faulty_file_system.hpp"
#include "support/temp_dir.hpp"

namespace xfer::file {
namespace {

using test::exists;
using test::read_file;
using test::stat_of;
using test::TempDir;
using test::tree_of;
using test::write_file;
using Tree = std::map<std::string, std::string>;

RelativePath path_of(std::string_view text) {
  auto path = RelativePath::parse(text);
  REQUIRE(path.has_value());
  return *path;
}

Destination open(const TempDir& dir, FileSystem& fs = posix_file_system()) {
  auto destination = Destination::open(fs, dir.path());
  REQUIRE(destination.has_value());
  return std::move(*destination);
}

Result<void> append(OutputFile& file, std::string_view content) {
  const ByteView pieces[] = {as_byte_view(content.substr(0, content.size() / 2)),
                             as_byte_view(content.substr(content.size() / 2))};
  return file.write(pieces);
}

/// Receives one file as a session does.
Result<void> store(Destination& destination, std::string_view name, std::string_view content,
                   std::uint32_t mode = 0644) {
  const RelativePath path = path_of(name);
  auto file = destination.create(path, mode);
  if (!file) return file.error();
  XFER_TRY(append(*file, content));
  const auto kept = file->set_mtime(1'000'000'000'123'456'789);
  if (!kept) return kept.error();
  XFER_TRY(file->sync());
  XFER_TRY(destination.publish(*file, path));
  return destination.sync();
}

TEST_CASE("a file appears under its name only when it is complete") {
  // Pins the temporary name beside the target and the rename; and content, mode and time.
  TempDir dir;
  auto destination = open(dir);
  auto file = destination.create(path_of("sub/f"), 0640);
  REQUIRE(file.has_value());
  REQUIRE(append(*file, "content").has_value());
  CHECK(file->size() == 7);
  const auto before = tree_of(dir / "sub");
  REQUIRE(before.size() == 1);
  CHECK(before.begin()->first.rfind(kTemporaryPrefix, 0) == 0);
  REQUIRE(file->set_mtime(-1).has_value());
  REQUIRE(destination.publish(*file, path_of("sub/f")).has_value());
  CHECK(tree_of(dir.path()) == Tree{{"sub", "dir"}, {"sub/f", "file:content"}});
  const auto st = stat_of(dir / "sub/f");
  CHECK((st.st_mode & 07777U) == 0640);
  CHECK(st.st_mtim.tv_sec == -1);
  CHECK(st.st_mtim.tv_nsec == 999'999'999);
}

TEST_CASE("a file that is given up leaves nothing behind") {
  // Pins the clean-up by destruction, and that an older file of the name survives.
  TempDir dir;
  write_file(dir / "f", "old");
  auto destination = open(dir);
  {
    auto file = destination.create(path_of("f"), 0644);
    REQUIRE(file.has_value());
    REQUIRE(append(*file, "half").has_value());
  }
  CHECK(tree_of(dir.path()) == Tree{{"f", "file:old"}});
}

TEST_CASE("modes are kept without the dangerous bits and less the umask") {
  // Pins 0000, read-only and set-user-ID sources; writing must work whatever the mode is.
  TempDir dir;
  auto destination = open(dir);
  const mode_t umask_before = ::umask(022);
  const std::pair<std::uint32_t, std::uint32_t> cases[] = {
      {0, 0}, {0400, 0400}, {04755, 0755}, {02755, 0755}, {01777, 0755}, {0666, 0644}};
  for (const auto& [asked, got] : cases) {
    CAPTURE(asked);
    REQUIRE(store(destination, "f", "x", asked).has_value());
    CHECK((stat_of(dir / "f").st_mode & 07777U) == got);
  }
  ::umask(077);
  REQUIRE(store(destination, "f", "x", 0755).has_value());
  CHECK((stat_of(dir / "f").st_mode & 07777U) == 0700);
  ::umask(umask_before);
}

TEST_CASE("names of 255 bytes and of any bytes can be stored") {
  // Pins that the temporary name does not grow with the name.
  TempDir dir;
  auto destination = open(dir);
  for (const std::string& name :
       {std::string(255, 'n'), std::string("a b\n\x1b[31m\xff"), std::string("-rf")}) {
    REQUIRE(store(destination, name, "x").has_value());
    CHECK(read_file(dir / name) == "x");
  }
}

TEST_CASE("what is in the way is an error at once") {
  // Pins that a directory or special file is never replaced, and that the cause is told.
  TempDir dir;
  ::mkdir((dir / "dir").c_str(), 0755);
  ::mkfifo((dir / "fifo").c_str(), 0600);
  write_file(dir / "file", "x");
  auto destination = open(dir);
  auto error = destination.create(path_of("dir"), 0644).error();
  CHECK(error.code == ErrorCode::destination_error);
  CHECK(error.sys_errno == EISDIR);
  CHECK(destination.create(path_of("fifo"), 0644).error().code == ErrorCode::destination_error);
  CHECK(destination.create(path_of("file/f"), 0644).error().sys_errno == ENOTDIR);
  CHECK(destination.enter(path_of("file"), 0755).error().sys_errno == ENOTDIR);
  CHECK(tree_of(dir.path()).size() == 3);
}

TEST_CASE("symbolic links are never followed beneath the destination") {
  // Pins the escape that a link planted in the destination would be; a link as the target is
  // replaced.
  FileSystem& fs = GENERATE(0, 1) == 0 ? posix_file_system() : posix_file_system_without_openat2();
  TempDir dir;
  TempDir outside;
  write_file(outside / "victim", "precious");
  REQUIRE(::symlink(outside.path().c_str(), (dir / "link").c_str()) == 0);
  REQUIRE(::symlink((outside / "victim").c_str(), (dir / "filelink").c_str()) == 0);
  auto destination = open(dir, fs);
  const auto error = destination.create(path_of("link/f"), 0644).error();
  CHECK(error.code == ErrorCode::destination_error);
  CHECK(cause(error).find("symbolic link") != std::string::npos);
  CHECK_FALSE(destination.create(path_of("link/sub/f"), 0644).has_value());
  CHECK_FALSE(destination.enter(path_of("link"), 0755).has_value());
  CHECK_FALSE(destination.enter(path_of("link/sub"), 0755).has_value());
  REQUIRE(store(destination, "filelink", "new").has_value());
  CHECK(read_file(outside / "victim") == "precious");
  CHECK(tree_of(outside.path()).size() == 1);
  CHECK(tree_of(dir.path()) == Tree{{"link", "link"}, {"filelink", "file:new"}});
}

TEST_CASE("a directory that is swapped for a link in the middle of a run leads nowhere") {
  // Pins that each name is resolved anew beneath the root, and that a file in progress stays where
  // it began.
  FileSystem& fs = GENERATE(0, 1) == 0 ? posix_file_system() : posix_file_system_without_openat2();
  TempDir dir;
  TempDir outside;
  auto destination = open(dir, fs);
  const auto entered = destination.enter(path_of("d"), 0755);
  REQUIRE(entered.has_value());
  auto file = destination.create(path_of("d/f"), 0644);
  REQUIRE(file.has_value());
  REQUIRE(::rename((dir / "d").c_str(), (dir / "moved").c_str()) == 0);
  REQUIRE(::symlink(outside.path().c_str(), (dir / "d").c_str()) == 0);
  REQUIRE(append(*file, "x").has_value());
  REQUIRE(destination.publish(*file, path_of("d/f")).has_value());
  CHECK_FALSE(destination.create(path_of("d/g"), 0644).has_value());
  CHECK_FALSE(destination.leave(path_of("d"), *entered, 0).has_value());
  CHECK(destination.sync().has_value());
  CHECK(tree_of(outside.path()).empty());
  CHECK(tree_of(dir.path()) == Tree{{"d", "link"}, {"moved", "dir"}, {"moved/f", "file:x"}});
}

TEST_CASE("directories get mode and time when they are complete") {
  // Pins that a read-only directory can be filled, and that its time is not the time of filling.
  TempDir dir;
  auto destination = open(dir);
  const auto d = destination.enter(path_of("d"), 0555);
  REQUIRE(d.has_value());
  REQUIRE(store(destination, "d/f", "x").has_value());
  CHECK((stat_of(dir / "d").st_mode & 0700U) == 0700U);
  REQUIRE(destination.leave(path_of("d"), *d, 1'500'000'000'000'000'001).has_value());
  const auto st = stat_of(dir / "d");
  CHECK((st.st_mode & 07777U) == 0555);
  CHECK(st.st_mtim.tv_sec == 1'500'000'000);
  CHECK(st.st_mtim.tv_nsec == 1);
  // Again, now that it exists and is read-only.
  const auto again = destination.enter(path_of("d"), 0755);
  REQUIRE(again.has_value());
  REQUIRE(store(destination, "d/g", "x").has_value());
  REQUIRE(destination.leave(path_of("d"), *again, 0).has_value());
  CHECK((stat_of(dir / "d").st_mode & 07777U) == 0555);
}

TEST_CASE("two files for one target do not disturb each other") {
  // Pins that two senders of one name end with one of the two contents, whole.
  TempDir dir;
  auto destination = open(dir);
  auto a = destination.create(path_of("f"), 0644);
  auto b = destination.create(path_of("f"), 0644);
  REQUIRE(a.has_value());
  REQUIRE(b.has_value());
  REQUIRE(append(*a, "first content").has_value());
  REQUIRE(append(*b, "second").has_value());
  REQUIRE(destination.publish(*b, path_of("f")).has_value());
  REQUIRE(destination.publish(*a, path_of("f")).has_value());
  CHECK(tree_of(dir.path()) == Tree{{"f", "file:first content"}});
}

TEST_CASE("whichever operation fails, nothing shows under a final name") {
  // Pins the error path of each operation at the destination: an error with the errno, no stray
  // file, the old file whole unless the failure came after the rename.
  for (const int with : {EIO, ENOSPC, EROFS, EACCES, EDQUOT}) {
    for (int n = 1;; ++n) {
      CAPTURE(with, n);
      REQUIRE(n < 100);
      TempDir dir;
      ::mkdir((dir / "sub").c_str(), 0755);
      write_file(dir / "sub/f", "old");
      test::FaultyFileSystem fs;
      fs.fail_at(n, with);
      bool renamed = false;
      fs.before = [&](const char* operation) {
        renamed = renamed || std::string_view(operation) == "rename";
      };
      const auto result = [&]() -> Result<void> {
        auto destination = Destination::open(fs, dir.path());
        if (!destination) return destination.error();
        return store(*destination, "sub/f", "new content");
      }();
      const auto tree = tree_of(dir.path());
      REQUIRE(tree.size() == 2);
      if (!fs.fired()) {
        CHECK(result.has_value());
        CHECK(tree.at("sub/f") == "file:new content");
        break;
      }
      // A directory that cannot be opened for syncing after the rename has nothing to keep.
      if (result.has_value()) {
        CHECK(tree.at("sub/f") == "file:new content");
        continue;
      }
      const bool full = with == ENOSPC || with == EDQUOT;
      CHECK(result.error().code == (full ? ErrorCode::no_space : ErrorCode::destination_error));
      CHECK(result.error().sys_errno == with);
      if (!renamed) CHECK(tree.at("sub/f") == "file:old");
      CHECK((tree.at("sub/f") == "file:old" || tree.at("sub/f") == "file:new content"));
    }
  }
}

TEST_CASE("a path of the user is written through a temporary file, a device in place") {
  // Pins raw mode's target: rename for files, the file behind a link, never a device replaced.
  TempDir dir;
  write_file(dir / "real", "old");
  REQUIRE(::symlink("real", (dir / "link").c_str()) == 0);
  auto& fs = posix_file_system();
  {
    auto file = create_at(fs, dir / "link");
    REQUIRE(file.has_value());
    REQUIRE(append(*file, "new").has_value());
    CHECK(read_file(dir / "real") == "old");
    REQUIRE(file->publish(true).has_value());
  }
  CHECK(tree_of(dir.path()) == Tree{{"link", "link"}, {"real", "file:new"}});
  {
    auto device = create_at(fs, "/dev/null");
    REQUIRE(device.has_value());
    REQUIRE(append(*device, "gone").has_value());
    REQUIRE(device->sync().has_value());
    REQUIRE(device->publish(true).has_value());
  }
  CHECK(S_ISCHR(stat_of("/dev/null").st_mode));
  CHECK(create_at(fs, dir.path()).error().sys_errno == EISDIR);
  CHECK(create_at(fs, dir / "missing/f").error().sys_errno == ENOENT);
  CHECK(create_at(fs, "").error().code == ErrorCode::destination_error);
}

TEST_CASE("writing to a pipe takes what has room and never waits") {
  ::signal(SIGPIPE, SIG_IGN);
  // Pins both ways: a descriptor of our own, and one that is shared and must stay as it is.
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  auto file = OutputFile::onto(posix_file_system(), ends[1]);
  REQUIRE(file.has_value());
  CHECK(file->may_wait());
  CHECK_FALSE(file->set_direct());
  CHECK(file->reserve(1).value() == false);
  const std::string content(1'000'000, 'x');
  std::size_t written = 0;
  while (true) {
    const auto count = file->write_some(as_byte_view(content).subspan(written));
    REQUIRE(count.has_value());
    if (*count == 0) break;
    written += *count;
  }
  CHECK(written > 0);
  CHECK(written < content.size());
  CHECK(file->size() == written);
  CHECK(file->wait_writable(1ms).value() == false);
  // The shared end still waits, for other programs; but not for us.
  CHECK((::fcntl(ends[1], F_GETFL) & O_NONBLOCK) == 0);
  FileSystem& fs = posix_file_system();
  CHECK(fs.write_some(ends[1], as_byte_view(content)).value() == 0);
  std::string got(65'536, '\0');
  REQUIRE(::read(ends[0], got.data(), got.size()) > 0);
  CHECK(fs.wait_writable(ends[1], 1000).value());
  const auto some = fs.write_some(ends[1], as_byte_view(content));
  REQUIRE(some.has_value());
  CHECK(*some > 0);
  CHECK(*some <= 4096);
  ::close(ends[0]);
  CHECK(file->write_some(as_byte_view(content)).error().sys_errno == EPIPE);
  ::close(ends[1]);
}

TEST_CASE("standard output that is a file is written where it stands") {
  // Pins `xfer recv --raw ... - >> file`.
  TempDir dir;
  write_file(dir / "f", "before ");
  const int fd = ::open((dir / "f").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  REQUIRE(fd >= 0);
  auto file = OutputFile::onto(posix_file_system(), fd);
  REQUIRE(file.has_value());
  CHECK_FALSE(file->may_wait());
  REQUIRE(append(*file, "content").has_value());
  REQUIRE(file->complete().has_value());
  REQUIRE(file->publish(true).has_value());
  CHECK(read_file(dir / "f") == "before content");
  ::close(fd);
}

}  // namespace
}  // namespace xfer::file

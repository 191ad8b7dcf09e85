#include <catch2/catch.hpp>
#include <cerrno>

#include "base/random.hpp"
#include "file/destination.hpp"
#include "support/faulty_file_system.hpp"
#include "support/temp_dir.hpp"

namespace xfer::file {
namespace {

using test::FaultyFileSystem;
using test::stat_of;
using test::TempDir;

std::string sample(std::size_t size) {
  std::string bytes(size, '\0');
  SeededRandom random(size + 1);
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

OutputFile create(FileSystem& fs, const TempDir& dir) {
  auto file = create_at(fs, dir / "f");
  REQUIRE(file.has_value());
  return std::move(*file);
}

/// Appends all of `content` in pieces of random sizes, several a call.
Result<void> append(OutputFile& file, const std::string& content) {
  SeededRandom random(content.size());
  ByteView rest = as_byte_view(content);
  while (!rest.empty()) {
    std::array<ByteView, 3> pieces;
    for (ByteView& piece : pieces) {
      piece = rest.first(std::min<std::size_t>(rest.size(), random.below(400'000)));
      rest = rest.subspan(piece.size());
    }
    XFER_TRY(file.write(pieces));
  }
  return {};
}

/// Stops a test where the file system of the temporary directory has no direct writing.
bool has_direct(OutputFile& file, const char* what) {
  if (file.set_direct()) return true;
  WARN("skipped, no O_DIRECT in the temporary directory: " << what);
  return false;
}

// Pins that direct writing is exact for every size: around a sector, around the buffer, and with
// pieces cut anywhere; and that few calls do it.
TEST_CASE("direct writing is exact") {
  constexpr std::size_t kBuffer = DirectBuffer::kSize;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{511}, std::size_t{4095}, std::size_t{4096},
        std::size_t{4097}, kBuffer - 1, kBuffer, kBuffer + 1, 3 * kBuffer + 12'345}) {
    CAPTURE(size);
    TempDir dir;
    OutputFile file = create(posix_file_system(), dir);
    if (!has_direct(file, "sizes")) return;
    const std::string content = sample(size);
    REQUIRE(append(file, content).has_value());
    CHECK(file.size() == size);
    REQUIRE(file.complete().has_value());
    CHECK_FALSE(file.direct_refused());
    CHECK(file.writes() <= size / kBuffer + 2);
    REQUIRE(file.sync().has_value());
    REQUIRE(file.publish(false).has_value());
    CHECK(test::read_file(dir / "f") == content);
  }
}

// Pins a file system that has no direct writing: said once, at the start, and written as without.
TEST_CASE("without direct writing files are written as before") {
  TempDir dir;
  FaultyFileSystem fs;
  OutputFile file = create(fs, dir);
  fs.fail_next("set_direct", EINVAL);
  CHECK_FALSE(file.set_direct());
  const std::string content = sample(10'000);
  REQUIRE(append(file, content).has_value());
  REQUIRE(file.complete().has_value());
  REQUIRE(file.publish(false).has_value());
  CHECK(test::read_file(dir / "f") == content);
}

// Pins one that takes the flag but refuses a write, the first or a later one: everything is written
// through the cache from there on, and nothing is lost.
TEST_CASE("a refused direct write is done again without") {
  for (const int nth : {1, 2, 3}) {
    CAPTURE(nth);
    TempDir dir;
    FaultyFileSystem fs;
    OutputFile file = create(fs, dir);
    if (!has_direct(file, "refusals")) return;
    int writes = 0;
    fs.before = [&](const char* operation) {
      if (std::string_view(operation) == "write" && ++writes == nth) fs.fail_next("write", EINVAL);
    };
    const std::string content = sample(2 * DirectBuffer::kSize + 5000);
    REQUIRE(append(file, content).has_value());
    REQUIRE(file.complete().has_value());
    CHECK(file.direct_refused());
    CHECK(file.size() == content.size());
    REQUIRE(file.publish(false).has_value());
    CHECK(test::read_file(dir / "f") == content);
  }
}

// Pins that other errors of direct writes are errors: a full disk in the middle, and at the end.
TEST_CASE("a full disk is found by direct writes") {
  for (const std::uint64_t room : {std::uint64_t{0}, std::uint64_t{DirectBuffer::kSize} + 4096}) {
    CAPTURE(room);
    TempDir dir;
    FaultyFileSystem fs;
    OutputFile file = create(fs, dir);
    if (!has_direct(file, "a full disk")) return;
    fs.set_room(room);
    auto done = append(file, sample(DirectBuffer::kSize + 5000));
    if (done) done = file.complete();
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().code == ErrorCode::no_space);
    file.discard();
    CHECK(test::tree_of(dir.path()).empty());
  }
}

// Pins that reserving takes the space, and leaves the size to what is written.
TEST_CASE("reserved space shows in blocks, not in the size") {
  TempDir dir;
  OutputFile file = create(posix_file_system(), dir);
  const auto reserved = file.reserve(1'000'000);
  REQUIRE(reserved.has_value());
  REQUIRE(append(file, "short").has_value());
  REQUIRE(file.publish(false).has_value());
  CHECK(test::read_file(dir / "f") == "short");
  if (*reserved) CHECK(stat_of(dir / "f").st_blocks * 512 >= 1'000'000);
}

// Pins that too little space is told at once, without filling the disk, for any size a peer may
// claim; and that a file system which cannot reserve is no error.
TEST_CASE("too little space is told before the content") {
  TempDir dir;
  FaultyFileSystem fs;
  OutputFile file = create(fs, dir);
  for (const std::uint64_t size : {std::uint64_t{1} << 60U, ~std::uint64_t{0}}) {
    const auto reserved = file.reserve(size);
    REQUIRE_FALSE(reserved.has_value());
    CHECK(reserved.error().code == ErrorCode::no_space);
  }
  fs.fail_next("reserve", EDQUOT);
  CHECK(file.reserve(1).error().code == ErrorCode::no_space);
  fs.fail_next("reserve", EIO);
  CHECK(file.reserve(1).error().code == ErrorCode::destination_error);
  for (const int missing : {EOPNOTSUPP, ENOSYS}) {
    fs.fail_next("reserve", missing);
    CHECK(file.reserve(1).value() == false);
  }
  CHECK(file.reserve(0).has_value());
}

}  // namespace
}  // namespace xfer::file

#include "transfer/run_writer.hpp"

#include <catch2/catch.hpp>
#include <cerrno>

#include "support/faulty_file_system.hpp"
#include "support/temp_dir.hpp"

namespace xfer::transfer {
namespace {

using test::FaultyFileSystem;
using test::TempDir;

constexpr std::size_t kBlock = 8 * 1456;

/// A file to write to, and the calls that wrote to it.
struct Target {
  Target() {
    fs.before = [this](const char* operation) {
      if (std::string_view(operation) == "write") ++calls;
    };
    auto created = file::create_at(fs, dir / "f");
    REQUIRE(created.has_value());
    file.emplace(std::move(*created));
  }
  std::string content() {
    REQUIRE(file->publish(false).has_value());
    return test::read_file(dir / "f");
  }

  TempDir dir;
  FaultyFileSystem fs;
  std::optional<file::OutputFile> file;
  int calls = 0;
};

std::string sample(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 131 + i / 251);
  return bytes;
}

// Pins Algorithm 3: contiguous pieces become one, and a run of any number of them one call.
TEST_CASE("a run is written with one call") {
  Target target;
  RunWriter writer(kBlock);
  const std::string memory = sample(20'000);
  const ByteView bytes = as_byte_view(memory);
  CHECK(writer.empty());
  writer.add(bytes.first(1456));
  writer.add(bytes.subspan(1456, 1456));
  writer.add(bytes.subspan(2912, 88));
  CHECK(writer.pieces().size() == 1);
  writer.add(bytes.subspan(3020, 1000));
  writer.add(bytes.subspan(10'000, 500));
  CHECK(writer.pieces().size() == 3);
  CHECK(writer.size() == 4500);
  REQUIRE(writer.write(*target.file, nullptr).has_value());
  CHECK(target.calls == 1);
  CHECK(writer.empty());
  CHECK(writer.writes() == 1);
  CHECK(writer.bytes_written() == 4500);
  REQUIRE(writer.write(*target.file, nullptr).has_value());
  CHECK(target.calls == 1);
  CHECK(target.content() ==
        memory.substr(0, 3000) + memory.substr(3020, 1000) + memory.substr(10'000, 500));
}

// Pins the bounds of what is gathered: bytes, pieces, and that a block counts where it is more.
TEST_CASE("a writer is full at its cap") {
  const std::string memory = sample(1'000'000);
  const ByteView bytes = as_byte_view(memory);
  RunWriter writer(kBlock);
  std::size_t at = 0;
  for (; !writer.full(); at += 1500) writer.add(bytes.subspan(at, 1456));
  CHECK(writer.size() >= kWriteSize);
  CHECK(writer.size() < kWriteSize + 1456);
  writer.drop();
  CHECK(writer.empty());
  for (at = 0; !writer.full(); at += 2) writer.add(bytes.subspan(at, 1));
  CHECK(writer.pieces().size() == file::kMaxPieces);
  RunWriter jumbo(2 * kWriteSize);
  jumbo.add(bytes.first(2 * kWriteSize - 1));
  CHECK_FALSE(jumbo.full());
  jumbo.add(bytes.subspan(2 * kWriteSize - 1, 1));
  CHECK(jumbo.full());
}

// Pins when a run waits for more: as long as it is shorter than a block, and for one tick from when
// it was first asked for, however much trickles in meanwhile.
TEST_CASE("a short run waits a tick for more") {
  const std::string memory = sample(2 * kBlock);
  const ByteView bytes = as_byte_view(memory);
  RunWriter writer(kBlock);
  const TimePoint start{1s};
  CHECK_FALSE(writer.patience(start));
  writer.add(bytes.first(1456));
  CHECK(writer.patience(start) == kRunPatience);
  CHECK(writer.patience(start + 4ms) == kRunPatience - 4ms);
  writer.add(bytes.subspan(1456, 1456));
  CHECK(writer.patience(start + 9ms) == kRunPatience - 9ms);
  CHECK_FALSE(writer.patience(start + 10ms));
  writer.drop();
  writer.add(bytes.first(1456));
  CHECK(writer.patience(start + 20ms) == kRunPatience);
  writer.add(bytes.subspan(1456, kBlock - 1456));
  CHECK_FALSE(writer.patience(start + 20ms));
}

// Pins that the hash is that of the content, and that a failed write drops the run: its memory goes
// back to the connection.
TEST_CASE("runs are hashed, and dropped when writing fails") {
  Target target;
  RunWriter writer(kBlock);
  const std::string memory = sample(9000);
  const ByteView bytes = as_byte_view(memory);
  crypto::Xxh128 hash;
  writer.add(bytes.subspan(4000, 5000));
  writer.add(bytes.first(4000));
  REQUIRE(writer.write(*target.file, &hash).has_value());
  const std::string written = memory.substr(4000) + memory.substr(0, 4000);
  CHECK(hash.digest() == crypto::xxh128(as_byte_view(written)));
  writer.add(bytes);
  target.fs.fail_next("write", ENOSPC);
  CHECK(writer.write(*target.file, &hash).error().code == ErrorCode::no_space);
  CHECK(writer.empty());
  CHECK(writer.bytes_written() == 9000);
}

}  // namespace
}  // namespace xfer::transfer

#include "base/spsc_byte_ring.hpp"

#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include "base/random.hpp"

#include <catch2/catch.hpp>

namespace xfer {
namespace {

/// The byte at an offset of the test stream: no period that fits a ring's size.
std::byte pattern(std::uint64_t offset) {
  return static_cast<std::byte>((offset * 131 + offset / 251) & 0xFFU);
}

std::vector<std::byte> pattern_run(std::uint64_t offset, std::size_t size) {
  std::vector<std::byte> run(size);
  for (std::size_t i = 0; i < size; ++i) run[i] = pattern(offset + i);
  return run;
}

bool matches(const SpscByteRing& ring, std::uint64_t offset, std::size_t size) {
  const Slices slices = ring.view(offset, size);
  if (slices.size() != size) return false;
  std::uint64_t at = offset;
  for (const std::byte b : slices.first)
    if (b != pattern(at++)) return false;
  for (const std::byte b : slices.second)
    if (b != pattern(at++)) return false;
  return true;
}

/// Writes as much of the test stream from `offset` on as there is room for.
std::size_t fill(SpscByteRing& ring, std::uint64_t offset, std::size_t size) {
  return ring.write(pattern_run(offset, size));
}

/// Reads a packet, as when it is sent.
bool take(const SpscByteRing& ring, std::uint64_t offset, std::size_t size) {
  return ring.view(offset, size).size() == size;
}

// A new ring is all free; a full one offers no room and takes nothing; a released chunk becomes
// free again, a part of one does not.
TEST_CASE("A ring fills to its capacity and no further", "[base]") {
  SpscByteRing ring(80);
  REQUIRE(ring.capacity() == 80);
  REQUIRE(ring.chunk() == 40);
  CHECK(ring.free_space().size() == 40);
  CHECK(fill(ring, 0, 250) == 80);
  CHECK(ring.free_space().empty());
  CHECK(fill(ring, 80, 1) == 0);
  CHECK(ring.published() == 80);
  CHECK(matches(ring, 0, 40));
  CHECK(matches(ring, 40, 40));

  ring.release(39);
  CHECK(ring.released() == 39);
  CHECK(ring.free_space().empty());
  ring.release(40);
  CHECK(ring.free_space().size() == 40);
  CHECK(fill(ring, 80, 41) == 40);
  CHECK(matches(ring, 40, 40));
  CHECK(matches(ring, 80, 40));
}

// Sizes of chunks: room for the largest packet where it can be, never less than two of them in a
// ring, and the least memory that a size allows.
TEST_CASE("Chunks have room for packets at every capacity", "[base]") {
  struct Case {
    std::size_t capacity, chunk, rounded;
  };
  constexpr std::size_t kKi = 1024;
  for (const Case& c :
       {Case{1, 1, 1}, Case{2, 1, 2}, Case{63, 31, 62}, Case{64 * kKi, 32 * kKi, 64 * kKi},
        Case{128 * kKi, 64 * kKi, 128 * kKi}, Case{1024 * kKi, 128 * kKi, 1024 * kKi},
        Case{2048 * kKi, 256 * kKi, 2048 * kKi},
        Case{1000 * 1024 * kKi, 256 * kKi, 1000 * 1024 * kKi}}) {
    CAPTURE(c.capacity);
    const SpscByteRing ring(c.capacity);
    CHECK(ring.chunk() == c.chunk);
    CHECK(ring.capacity() == c.rounded);
    CHECK(ring.memory() == 0);
  }
}

// A run that crosses the end of a chunk comes as two slices, one that ends there exactly as one.
TEST_CASE("A view is split where a chunk ends", "[base]") {
  SpscByteRing ring(20);
  REQUIRE(ring.chunk() == 10);
  CHECK(fill(ring, 0, 15) == 15);
  CHECK(ring.view(0, 10).second.empty());
  CHECK(ring.view(8, 2).second.empty());
  CHECK(ring.view(8, 7).first.size() == 2);
  CHECK(ring.view(8, 7).second.size() == 5);
  CHECK(ring.view(10, 5).second.empty());
  CHECK(ring.view(11, 0).size() == 0);
  CHECK(matches(ring, 8, 7));
}

// Zero-copy writing: what is put into free_space() is readable only once published, and only as
// much as that.
TEST_CASE("Bytes are visible when published", "[base]") {
  SpscByteRing ring(64);
  const MutByteView space = ring.free_space();
  const auto run = pattern_run(0, 32);
  std::copy(run.begin(), run.end(), space.begin());
  CHECK(ring.published() == 0);
  ring.publish(5);
  CHECK(ring.published() == 5);
  CHECK(ring.free_space().data() == space.data() + 5);
  CHECK(matches(ring, 0, 5));
}

// Memory follows what is in use, not the capacity: a stream that is read and released at once goes
// through the same chunks again and again, the one released last first.
TEST_CASE("A ring takes no more memory than is in use", "[base]") {
  SpscByteRing ring(std::size_t{256} << 20U);
  const std::size_t chunk = ring.chunk();
  const std::byte* const first = ring.free_space().data();
  for (std::uint64_t n = 0; n < 5000; ++n) {
    REQUIRE(ring.free_space().data() == first);
    ring.publish(chunk);
    REQUIRE(take(ring, n * chunk, chunk));
    ring.release((n + 1) * chunk);
  }
  CHECK(ring.memory() == chunk);
  // Three in use, then the last of them released last.
  const std::uint64_t base = 5000 * chunk;
  std::array<const std::byte*, 3> used{};
  for (auto& at : used) {
    at = ring.free_space().data();
    ring.publish(chunk);
  }
  CHECK(ring.memory() == 3 * chunk);
  ring.release(base + 2 * chunk);
  CHECK(ring.free_space().data() == used[1]);
  CHECK(ring.memory() == 3 * chunk);
}

// The writer is stopped when it is too far ahead of the reader, whatever the capacity; what was
// read and not released does not count.
TEST_CASE("A writer is not ahead of the reader for more than it may", "[base]") {
  SpscByteRing ring(1000, 300);
  REQUIRE(ring.chunk() == 500);
  CHECK(ring.has_fair_room());
  SpscByteRing large(std::size_t{64} << 20U, std::size_t{1} << 20U);
  const std::size_t chunk = large.chunk();
  const std::size_t ahead = 4 * chunk;
  while (!large.free_space().empty()) large.publish(large.free_space().size());
  CHECK(large.published() == ahead);
  CHECK_FALSE(large.has_fair_room());
  CHECK(take(large, 0, 1000));
  CHECK(large.free_space().size() == chunk);
  CHECK_FALSE(large.has_fair_room());
  CHECK(take(large, chunk - 500, 500));
  CHECK(large.has_fair_room());
  // Read to the end, nothing released: as far ahead again.
  CHECK(take(large, ahead - 500, 500));
  while (!large.free_space().empty()) large.publish(large.free_space().size());
  CHECK(large.published() == 2 * ahead);
  // A repeat of what was read changes nothing.
  CHECK(take(large, 0, 1000));
  CHECK(large.free_space().empty());
}

// Random writes and releases of random sizes against the pattern, for capacities around powers of
// two.
TEST_CASE("A ring keeps order and content over many turns", "[base]") {
  for (const std::size_t capacity :
       {std::size_t{1}, std::size_t{2}, std::size_t{63}, std::size_t{64}, std::size_t{65}}) {
    CAPTURE(capacity);
    SpscByteRing ring(capacity);
    SeededRandom random(capacity);
    std::uint64_t written = 0;
    std::uint64_t released = 0;
    while (written < 20 * capacity + 1000) {
      const auto run = pattern_run(written, random.below(capacity + 2));
      const std::size_t taken = ring.write(run);
      const std::uint64_t room = released / ring.chunk() * ring.chunk() + ring.capacity() - written;
      REQUIRE(taken == std::min<std::uint64_t>(run.size(), room));
      written += taken;
      REQUIRE(ring.published() == written);
      for (std::uint64_t at = released; at < written; at += ring.chunk())
        REQUIRE(
            matches(ring, at,
                    static_cast<std::size_t>(std::min<std::uint64_t>(ring.chunk(), written - at))));
      released += random.below(written - released + 1);
      ring.release(released);
    }
  }
}

// One thread writes, another reads, with no other synchronisation: every byte arrives once and in
// order. Under ThreadSanitizer this is the test of the ring's memory order (fault G3).
TEST_CASE("Two threads pass a stream through a ring [G3]", "[base]") {
  constexpr std::uint64_t kTotal = 2'000'000;
  SpscByteRing ring(4096);
  std::thread writer([&ring] {
    SeededRandom random(1);
    std::uint64_t written = 0;
    while (written < kTotal) {
      const std::uint64_t size = std::min(kTotal - written, 1 + random.below(3000));
      const auto run = pattern_run(written, static_cast<std::size_t>(size));
      std::size_t done = 0;
      while (done < run.size()) {
        const std::size_t count = ring.write(ByteView(run).subspan(done));
        done += count;
        if (count == 0) std::this_thread::yield();
      }
      written += size;
    }
  });

  std::uint64_t read = 0;
  bool content_right = true;
  while (read < kTotal) {
    const std::uint64_t end = std::min(ring.published(), read + ring.chunk());
    if (end == read) {
      std::this_thread::yield();
      continue;
    }
    content_right = content_right && matches(ring, read, static_cast<std::size_t>(end - read));
    read = end;
    ring.release(read);
  }
  writer.join();
  CHECK(content_right);
  CHECK(read == kTotal);
  CHECK(ring.free_space().size() > 0);
}

// The hole in the P2M paper's ring: a repeat reads what acknowledgements free. Here one thread
// sends, repeats anything that is not acknowledged, and acknowledges, as the network thread does,
// while the writer takes every byte that is freed. A ring that frees too early, or moves what is in
// use, shows other bytes in a repeat (and a race under ThreadSanitizer).
TEST_CASE("A repeat reads what was sent, however fast the writer follows", "[base]") {
  constexpr std::uint64_t kTotal = 3'000'000;
  constexpr std::size_t kPacket = 100;
  for (const std::size_t ahead : {std::size_t{0}, SpscByteRing::kAhead}) {
    CAPTURE(ahead);
    SpscByteRing ring(4096, ahead);
    std::thread writer([&ring] {
      std::uint64_t written = 0;
      while (written < kTotal) {
        const MutByteView space = ring.free_space();
        if (space.empty()) {
          std::this_thread::yield();
          continue;
        }
        const std::size_t size =
            static_cast<std::size_t>(std::min<std::uint64_t>(space.size(), kTotal - written));
        for (std::size_t i = 0; i < size; ++i) space[i] = pattern(written + i);
        ring.publish(size);
        written += size;
      }
    });
    SeededRandom random(ahead + 1);
    std::uint64_t sent = 0;
    std::uint64_t acked = 0;
    std::uint64_t wrong = 0;
    const auto send = [&](std::uint64_t offset, std::uint64_t end) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kPacket, end - offset));
      if (!matches(ring, offset, size)) ++wrong;
      return offset + size;
    };
    while (acked < kTotal) {
      const std::uint64_t published = ring.published();
      if (sent < published) sent = send(sent, published);
      if (sent > acked) send(acked + random.below(sent - acked), sent);
      if (random.below(4) == 0) {
        acked += random.below(sent - acked + 1);
        ring.release(acked);
      }
      if (sent == published) std::this_thread::yield();
    }
    writer.join();
    CHECK(wrong == 0);
  }
}

}  // namespace
}  // namespace xfer

#include "base/spsc_byte_ring.hpp"

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

// A new ring is all free; a full one offers no room and takes nothing; released bytes become free
// again.
TEST_CASE("A ring fills to its capacity and no further", "[base]") {
  SpscByteRing ring(100);
  CHECK(ring.capacity() == 100);
  CHECK(ring.free_space().size() == 100);
  CHECK(ring.write(pattern_run(0, 250)) == 100);
  CHECK(ring.free_space().empty());
  CHECK(ring.write(pattern_run(100, 1)) == 0);
  CHECK(ring.published() == 100);
  CHECK(matches(ring, 0, 100));

  ring.release(30);
  CHECK(ring.released() == 30);
  CHECK(ring.free_space().size() == 30);
  CHECK(ring.write(pattern_run(100, 31)) == 30);
  CHECK(matches(ring, 30, 100));
}

// A run that crosses the end of the memory comes as two slices, one that ends there exactly as one.
TEST_CASE("A view is split where the memory ends", "[base]") {
  SpscByteRing ring(10);
  ring.write(pattern_run(0, 8));
  ring.release(8);
  CHECK(ring.free_space().size() == 2);
  CHECK(ring.write(pattern_run(8, 7)) == 7);
  CHECK(ring.view(8, 2).second.empty());
  CHECK(ring.view(8, 7).first.size() == 2);
  CHECK(ring.view(8, 7).second.size() == 5);
  CHECK(ring.view(11, 0).size() == 0);
  CHECK(matches(ring, 8, 7));
}

// Zero-copy writing: what is put into free_space() is readable only once published, and only as
// much as that.
TEST_CASE("Bytes are visible when published", "[base]") {
  SpscByteRing ring(16);
  const MutByteView space = ring.free_space();
  const auto run = pattern_run(0, 16);
  std::copy(run.begin(), run.end(), space.begin());
  CHECK(ring.published() == 0);
  ring.publish(5);
  CHECK(ring.published() == 5);
  CHECK(ring.free_space().data() == space.data() + 5);
  CHECK(matches(ring, 0, 5));
}

// Random writes and releases of random sizes against the pattern, for capacities around powers of
// two.
TEST_CASE("A ring keeps order and content over many turns", "[base]") {
  for (const std::size_t capacity :
       {std::size_t{1}, std::size_t{2}, std::size_t{63}, std::size_t{64}, std::size_t{65}}) {
    SpscByteRing ring(capacity);
    SeededRandom random(capacity);
    std::uint64_t written = 0;
    std::uint64_t released = 0;
    while (written < 20 * capacity + 1000) {
      const auto run = pattern_run(written, random.below(capacity + 2));
      const std::size_t room = capacity - static_cast<std::size_t>(written - released);
      const std::size_t taken = ring.write(run);
      REQUIRE(taken == std::min(run.size(), room));
      written += taken;
      REQUIRE(ring.published() == written);
      REQUIRE(matches(ring, released, static_cast<std::size_t>(written - released)));
      released += random.below(written - released + 1);
      ring.release(released);
    }
  }
}

// A ring that may grow takes more once it was told, up to its limit, and loses nothing; the memory
// of what was read is used again.
TEST_CASE("A ring grows while it is in use", "[base]") {
  SpscByteRing ring(64, 1000);
  SeededRandom random(3);
  std::uint64_t written = 0;
  std::uint64_t released = 0;
  std::size_t capacity = 64;
  const std::byte* const first = ring.free_space().data();
  bool used_again = false;
  for (int turn = 0; turn < 2000; ++turn) {
    if (random.chance(0.02)) {
      const std::size_t wanted = random.below(1200);
      ring.grow(wanted);
      capacity = std::max(capacity, std::min<std::size_t>(wanted, 1000));
      REQUIRE(ring.capacity() == capacity);
    }
    const auto run = pattern_run(written, random.below(150));
    const std::size_t room = capacity - static_cast<std::size_t>(written - released);
    REQUIRE(ring.write(run) == std::min(run.size(), room));
    written += std::min(run.size(), room);
    for (std::uint64_t at = released; at < written; at += 64)  // views are no longer than a chunk
      REQUIRE(
          matches(ring, at, static_cast<std::size_t>(std::min<std::uint64_t>(64, written - at))));
    released += random.below(written - released + 1);
    ring.release(released);
    used_again = used_again || (written > 64 && ring.free_space().data() == first);
  }
  CHECK(capacity == 1000);
  CHECK(used_again);
}

// One thread writes, another reads, with no other synchronisation: every byte arrives once and in
// order. Under ThreadSanitizer this is the test of the ring's memory order (fault G3).
TEST_CASE("Two threads pass a stream through a ring [G3]", "[base]") {
  constexpr std::uint64_t kTotal = 2'000'000;
  SpscByteRing ring(4096, 20'000);
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
    const std::uint64_t end = ring.published();
    if (end == read) {
      std::this_thread::yield();
      continue;
    }
    for (std::uint64_t size = 0; read < end; read += size) {
      size = std::min<std::uint64_t>(end - read, 4096);
      content_right = content_right && matches(ring, read, static_cast<std::size_t>(size));
    }
    ring.grow(4096 + read / 100);
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
  for (const std::size_t capacity : {std::size_t{1000}, std::size_t{4096}}) {
    CAPTURE(capacity);
    SpscByteRing ring(capacity);
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
    SeededRandom random(capacity);
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

#include "udt/path_mtu.hpp"

#include <catch2/catch.hpp>

namespace xfer::udt {
namespace {

constexpr Duration kAnswer = 30ms;

/// A path that takes packets up to a size, and a peer that confirms what it gets.
struct Path {
  Path(std::uint32_t first, std::uint32_t largest, std::size_t takes, bool probing = true)
      : path_takes(takes), mtu({first, largest, probing}, random, stats) {}

  SeededRandom random{1};
  ConnectionStats stats;
  std::size_t path_takes;
  PathMtu mtu;
  TimePoint now{100s};
  std::vector<std::uint32_t> probed;

  /// Sends what is due and confirms what gets through.
  void exchange() {
    while (const auto probe = mtu.poll(kAnswer, now)) {
      probed.push_back(probe->size);
      if (probe->size <= path_takes) mtu.on_confirmed(*probe, now);
    }
  }
  /// Serves every deadline within `span`; data of the present size is acknowledged if it gets
  /// through, or is stuck.
  void run(Duration span, bool data = true) {
    const TimePoint end = now + span;
    const auto tell = [&] {
      if (!data) return;
      if (mtu.size() <= path_takes && mtu.unfragmented() != 0)
        mtu.on_delivered(mtu.size(), now);
      else
        mtu.on_stuck(true, now);
    };
    tell();
    exchange();
    unsigned turns = 0;
    while (const auto next = mtu.next_deadline()) {
      if (*next > end) break;
      REQUIRE(++turns < 10'000);
      now = std::max(now, *next);
      mtu.handle_timeout(kAnswer, now);
      exchange();
      tell();
      exchange();
    }
    now = end;
  }
};

}  // namespace

// Nothing is probed before data has shown that the first size works, nor where there is nothing to
// find.
TEST_CASE("No probe without need", "[udt]") {
  Path idle(1500, 9000, 9000);
  idle.run(1s, false);
  CHECK(idle.probed.empty());
  Path narrow(1500, 1500, 1500);
  narrow.run(3600s);
  CHECK(narrow.probed.empty());
  CHECK_FALSE(narrow.mtu.next_deadline());
}

// The largest size is tried first; on most paths that is all.
TEST_CASE("The largest size is probed first", "[udt]") {
  Path path(1500, 9000, 9000);
  path.run(1s);
  CHECK(path.probed == std::vector<std::uint32_t>{9000});
  CHECK(path.mtu.size() == 9000);
  CHECK(path.mtu.unfragmented() == 9000);
  CHECK_FALSE(path.mtu.next_deadline());
}

// Wherever the limit is, the search ends close below it after a bounded number of probes, and is
// repeated after ten minutes.
TEST_CASE("The search ends within 20 bytes of what the path takes", "[udt]") {
  for (std::size_t takes = 1500; takes < 9000; takes += 37) {
    CAPTURE(takes);
    Path path(1500, 9000, takes);
    path.run(10s);
    CHECK(path.mtu.size() <= takes);
    CHECK(path.mtu.size() + 20 > takes);
    CHECK(path.probed.size() <= 60);
    const std::size_t probes = path.probed.size();
    path.run(580s);
    CHECK(path.probed.size() == probes);
    path.path_takes = 9000;
    path.run(30s);
    CHECK(path.mtu.size() == 9000);
  }
}

// Where the network names a size it is probed next; a name too small or too large is not followed.
TEST_CASE("A hint says where to look", "[udt]") {
  Path path(1500, 9000, 2018);
  path.mtu.on_delivered(1500, path.now);
  path.exchange();  // 9000 is on its way
  path.mtu.on_hint(2018, path.now);
  path.exchange();
  REQUIRE(path.probed.size() >= 2);
  CHECK(path.probed[1] == 2018);
  CHECK(path.mtu.size() == 2018);  // and the search goes on above it
}

// A probe is confirmed by its token and its size, nothing else.
TEST_CASE("Forged confirmations change nothing", "[udt]") {
  Path path(1500, 9000, 1500);
  path.mtu.on_delivered(1500, path.now);
  const auto probe = path.mtu.poll(kAnswer, path.now);
  REQUIRE(probe);
  path.mtu.on_confirmed({probe->size, probe->token ^ 1U}, path.now);
  path.mtu.on_confirmed({probe->size - 4, probe->token}, path.now);
  CHECK(path.mtu.size() == 1500);
  path.mtu.on_confirmed(*probe, path.now);
  CHECK(path.mtu.size() == 9000);
  path.mtu.on_confirmed(*probe, path.now);  // a duplicate
  CHECK(path.mtu.size() == 9000);
}

// Black holes of any depth: the size falls to 1200, then 576, then packets may be fragmented; and
// the search goes up to just below the hole. It is counted each time.
TEST_CASE("A black hole lowers the size", "[udt]") {
  struct Case {
    std::size_t takes;
    std::uint32_t least;
    std::uint32_t most;
    std::uint64_t falls;
  };
  for (const auto& [takes, least, most, falls] :
       {Case{1300, 1281, 1300, 1}, Case{1200, 1200, 1200, 1}, Case{1000, 981, 1000, 2},
        Case{576, 576, 576, 2}, Case{500, 576, 576, 3}}) {
    CAPTURE(takes);
    Path path(1500, 1500, takes);
    path.run(0s, false);
    for (int i = 0; i < 6; ++i) path.run(2s);
    CHECK(path.mtu.size() >= least);
    CHECK(path.mtu.size() <= most);
    CHECK(path.stats.path_black_holes == falls);
    CHECK((path.mtu.unfragmented() == 0) == (takes < 576));
  }
}

// Doubt ends at once when a packet of the size in use gets through, be it data or a probe.
TEST_CASE("Doubt ends with the first large packet", "[udt]") {
  Path path(1500, 1500, 1500);
  path.mtu.on_stuck(true, path.now);
  SECTION("a probe") { path.exchange(); }
  SECTION("data") {
    path.mtu.poll(kAnswer, path.now);
    path.mtu.on_delivered(1499, path.now);  // one byte short, to draw an ACK
  }
  path.run(60s);
  CHECK(path.mtu.size() == 1500);
  CHECK(path.stats.path_black_holes == 0);
}

// Nothing gets through at all: no size is to blame, however long it lasts, and probes get rare.
TEST_CASE("An outage lowers nothing", "[udt]") {
  Path path(1500, 9000, 0);
  path.run(60s);
  CHECK(path.mtu.size() == 1500);
  CHECK(path.stats.path_black_holes == 0);
  CHECK(path.probed.size() < 500);
  path.path_takes = 9000;
  path.run(10s);
  CHECK(path.mtu.size() == 9000);
}

// A hint below the size in use is checked, not believed; it is never taken below 576 bytes.
TEST_CASE("A hint below the size in use is checked", "[udt]") {
  const std::uint32_t hint = GENERATE(0U, 100U, 1280U);
  Path good(1500, 1500, 1500);
  good.mtu.on_hint(hint, good.now);
  good.exchange();
  CHECK(good.mtu.size() == 1500);
  Path bad(1500, 1500, 1290);
  bad.mtu.on_hint(hint, bad.now);
  bad.exchange();
  for (int i = 0; i < 4 && bad.mtu.size() == 1500; ++i) {
    bad.now += kAnswer;
    bad.mtu.handle_timeout(kAnswer, bad.now);
    bad.exchange();
  }
  CHECK(bad.mtu.size() == std::max(hint, kLeastPathMtu));
}

// Towards a peer that confirms nothing the size stays. Packets may be fragmented when nothing gets
// through although the peer lives, or when the network says so, and for ten minutes.
TEST_CASE("Towards stock peers packets may be fragmented instead", "[udt]") {
  Path path(1500, 1500, 1300, false);
  SECTION("stuck") {
    path.mtu.on_stuck(false, path.now);
    CHECK(path.mtu.unfragmented() == 1500);
    path.mtu.on_stuck(true, path.now);
  }
  SECTION("a hint") { path.mtu.on_hint(1300, path.now); }
  CHECK(path.mtu.unfragmented() == 0);
  CHECK(path.mtu.size() == 1500);
  path.exchange();
  CHECK(path.probed.empty());
  path.path_takes = 1500;
  path.run(601s, false);
  CHECK(path.mtu.unfragmented() == 1500);
}

}  // namespace xfer::udt

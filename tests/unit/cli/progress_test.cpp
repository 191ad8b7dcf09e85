#include "cli/progress.hpp"

#include <catch2/catch.hpp>

namespace xfer::cli {
namespace {

transfer::Progress half_done() {
  transfer::Progress p;
  p.bytes_done = 1'200'000'000;
  p.bytes_total = 2'400'000'000;
  p.total_known = true;
  p.rate = 100e6;
  p.name = "data/run.bin";
  return p;
}

// Pins the look of the bar at several widths: it never fills the last column, and the facts go last
// of all.
TEST_CASE("the bar fits the terminal") {
  CHECK(progress_bar(half_done(), 120) ==
        " 50 % [===============>              ]  1.20 GB of 2.40 GB  800 Mbit/s  12.0 s left  "
        "data/run.bin");
  CHECK(progress_bar(half_done(), 60) ==
        " 50 %  1.20 GB of 2.40 GB  800 Mbit/s  12.0 s left  data/r~");
  for (std::size_t columns = 1; columns < 130; ++columns) {
    CAPTURE(columns);
    CHECK(progress_bar(half_done(), columns).size() <= std::max<std::size_t>(columns - 1, 1));
  }
}

// Pins what is shown while the total is unknown, for nothing at all, and for a rate of zero: no
// division, no nonsense.
TEST_CASE("unknown facts are left out") {
  transfer::Progress p = half_done();
  p.total_known = false;
  CHECK(progress_bar(p, 120) == "  1.20 GB  800 Mbit/s  data/run.bin");
  CHECK(progress_line(p) == "1.20 GB, 800 Mbit/s");
  p = half_done();
  p.rate = 0;
  CHECK(progress_line(p) == "50 % done: 1.20 GB of 2.40 GB, 0 bit/s");
  CHECK(progress_line({}) == "0 bytes, 0 bit/s");
  p = half_done();
  p.bytes_total = 0;
  CHECK(progress_line(p) == "1.20 GB of 0 bytes, 800 Mbit/s");
}

// Pins that a name cannot move the cursor or colour the terminal.
TEST_CASE("names in the bar are escaped") {
  transfer::Progress p = half_done();
  p.name = "a\x1b[31m\r\n\xff";
  CHECK(progress_bar(p, 200).ends_with("  a\\x1b[31m\\x0d\\x0a\\xff"));
}

// Pins the calm mode: nothing at first, then a line each interval, without control characters.
TEST_CASE("plain lines are far apart") {
  ProgressDisplay display(ProgressStyle::lines);
  CHECK(display.update(half_done(), 1s, 80).empty());
  CHECK(display.update(half_done(), 5900ms, 80).empty());
  CHECK(display.update(half_done(), 6s, 80) ==
        "50 % done: 1.20 GB of 2.40 GB, 800 Mbit/s, 12.0 s left\n");
  CHECK(display.update(half_done(), 10s, 80).empty());
  CHECK_FALSE(display.update(half_done(), 11s, 80).empty());
  CHECK(display.erase().empty());
}

// Pins that the bar is redrawn on one line, leaves wrapping switched on, and can be removed once.
TEST_CASE("the bar is redrawn in place and removed") {
  ProgressDisplay display(ProgressStyle::bar);
  CHECK(display.erase().empty());
  const std::string drawn = display.update(half_done(), 0s, 80);
  CHECK(drawn.starts_with("\r"));
  CHECK(drawn.ends_with("\x1b[K\x1b[?7h"));
  CHECK(drawn.find('\n') == std::string::npos);
  CHECK(display.erase() == "\r\x1b[K");
  CHECK(display.erase().empty());
}

// Pins that sessions served at the same time are summed, and leave the sum when they end.
TEST_CASE("several sessions are shown as one") {
  ProgressDisplay display(ProgressStyle::lines);
  transfer::Progress other = half_done();
  other.session = 2;
  display.update(half_done(), 0s, 80);
  CHECK(display.update(other, 5s, 80) ==
        "50 % done: 2.40 GB of 4.80 GB, 1.60 Gbit/s, 12.0 s left\n");
  display.end(1);
  CHECK(display.update(other, 10s, 80) ==
        "50 % done: 1.20 GB of 2.40 GB, 800 Mbit/s, 12.0 s left\n");
}

// Pins that quiet means quiet.
TEST_CASE("no progress when none is wanted") {
  ProgressDisplay display(ProgressStyle::none);
  CHECK(display.update(half_done(), 0s, 80).empty());
  CHECK(display.update(half_done(), 60s, 80).empty());
  CHECK(display.erase().empty());
}

}  // namespace
}  // namespace xfer::cli

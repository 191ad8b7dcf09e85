#include "settings.hpp"

#include <catch2/catch.hpp>

namespace xfer::netlab {
namespace {

using Options = std::vector<std::string>;

Settings parsed(const Options& options) {
  Settings settings;
  apply_options(settings, options, true);
  return settings;
}

sim::LinkOptions link_of(const Options& options, std::size_t direction = 0) {
  return link_options(parsed(options), direction, TimePoint{} + 1s);
}

}  // namespace

// Each option reaches the field of the link model that it names, in the right unit.
TEST_CASE("settings: options of the link") {
  CHECK(link_of({"--rate", "1gbit"}).rate == 1'000'000'000);
  CHECK(link_of({"--rate", "2.5mbit"}).rate == 2'500'000);
  CHECK(link_of({"--rate", "64000"}).rate == 64'000);
  CHECK(link_of({"--delay", "25"}).delay == 25ms);
  CHECK(link_of({"--delay", "250us"}).delay == 250us);
  CHECK(link_of({"--delay", "1s"}).delay == 1s);
  CHECK(link_of({"--rtt", "0.3"}).delay == 150us);
  CHECK(link_of({"--loss", "1%"}).loss == Approx(0.01));
  CHECK(link_of({"--loss", "0.25"}).loss == 0.25);
  CHECK(link_of({"--burst-loss", "0.5%,0.2"}).burst.enter == Approx(0.005));
  CHECK(link_of({"--burst-loss", "0.5%,0.2"}).burst.leave == 0.2);
  CHECK(link_of({"--burst-loss", "0.5%,0.2"}).burst.loss_bad == 1);
  CHECK(link_of({"--burst-loss", "0.5%,0.2,0.7"}).burst.loss_bad == 0.7);
  CHECK(link_of({"--duplicate", "2%"}).duplication == Approx(0.02));
  CHECK(link_of({"--reorder", "2%,5ms"}).reordering == Approx(0.02));
  CHECK(link_of({"--reorder", "2%,5ms"}).reordering_delay == 5ms);
  CHECK(link_of({"--reorder", "2%,5ms", "--reorder", "none"}).reordering == 0);
  CHECK(link_of({"--mtu", "1400"}).mtu == 1400);
  CHECK(parsed({"--icmp", "on"}).directions[1].icmp);
  CHECK_FALSE(parsed({"--icmp", "on", "--icmp", "off"}).directions[1].icmp);
  CHECK(link_of({"--jitter-reorders"}).jitter_reorders);
  CHECK_FALSE(link_of({"--jitter-reorders", "--jitter-in-order"}).jitter_reorders);
  CHECK(parsed({"--udt-drop", "every=50,repeats=2"}).directions[0].udt_drop.every == 50);
  CHECK(parsed({"--udt-drop", "every=50,repeats=2"}).directions[0].udt_drop.repeats == 2);
  CHECK(drop_rules(parsed({"--udt-drop", "every=50"}).directions[0]).size() == 1);
  CHECK(drop_rules(parsed({"--udt-drop", "every=5", "--udt-drop", "none"}).directions[0]).empty());
}

// Jitter lies on both sides of the delay, but no packet arrives before it was sent.
TEST_CASE("settings: jitter") {
  const auto around = link_of({"--delay", "30", "--jitter", "10"});
  CHECK(around.delay == 20ms);
  CHECK(around.jitter == 20ms);
  const auto cut = link_of({"--delay", "5", "--jitter", "10"});
  CHECK(cut.delay == 0ms);
  CHECK(cut.jitter == 15ms);
  CHECK(link_of({"--delay", "5"}).jitter == 0ms);
}

// The queue limit in all its units; "bdp" is that of both delays together, and never so small that
// it could not take a super-packet.
TEST_CASE("settings: queue") {
  const Options path{"--rate", "100mbit", "--rtt", "40"};
  const auto queue = [&path](const std::string& limit) {
    Options options = path;
    options.insert(options.end(), {"--queue", limit});
    return link_of(options);
  };
  CHECK(link_of(path).queue_limit == 500'000);
  CHECK(queue("0.5bdp").queue_limit == 250'000);
  CHECK(queue("20ms").queue_limit == 250'000);
  CHECK(queue("256k").queue_limit == 256 * 1024);
  CHECK(queue("3000").queue_limit == 3000);
  CHECK(queue("100p").queue_packets == 100);
  CHECK(queue("100p").queue_limit == ~std::size_t{0});
  CHECK(queue("3000").queue_packets == 0);
  CHECK(queue("0.01bdp").queue_limit == 128 * 1024);
  CHECK(link_of({"--rate", "100mbit", "--ab", "--delay", "10", "--ba", "--delay", "30"}, 0)
            .queue_limit == 500'000);
}

// What follows --ab or --ba concerns that direction, until another one or both are named.
TEST_CASE("settings: directions") {
  const auto settings = parsed({"--delay", "1", "--ab", "--delay", "2", "--loss", "1%", "--ba",
                                "--delay", "3", "--both", "--rate", "5"});
  CHECK(settings.directions[0].delay == 2ms);
  CHECK(settings.directions[1].delay == 3ms);
  CHECK(settings.directions[0].loss == Approx(0.01));
  CHECK(settings.directions[1].loss == 0);
  CHECK(settings.directions[0].rate == 5);
  CHECK(settings.directions[1].rate == 5);
  CHECK(link_seed(settings, 0) != link_seed(settings, 1));
}

// Outages count from when they were given, in the directions they were given for.
TEST_CASE("settings: outages") {
  Settings settings;
  const Options options{"--ba", "--outage", "500,1s,3s,250ms"};
  CHECK(apply_options(settings, options, false) == std::array<bool, 2>{false, true});
  const auto link = link_options(settings, 1, TimePoint{} + 10s);
  REQUIRE(link.blackouts.size() == 2);
  CHECK(link.blackouts[0].begin == TimePoint{} + 10s + 500ms);
  CHECK(link.blackouts[0].end == TimePoint{} + 10s + 1500ms);
  CHECK(link.blackouts[1].begin == TimePoint{} + 13s);
  CHECK(link_options(settings, 0, TimePoint{}).blackouts.empty());
  const Options other{"--loss", "1%"};
  CHECK(apply_options(settings, other, false) == std::array<bool, 2>{});
  CHECK(settings.directions[1].outages.size() == 2);
}

// What is wrong is refused, and nothing of it done.
TEST_CASE("settings: refused") {
  const std::vector<Options> wrong = {
      {"--rate"},
      {"--rate", "fast"},
      {"--rate", "-1"},
      {"--rate", "1gb"},
      {"--rate", "9999gbit"},
      {"--delay", "nan"},
      {"--delay", "2h"},
      {"--loss", "101%"},
      {"--loss", "1.5"},
      {"--burst-loss", "1%"},
      {"--burst-loss", "1%,2%,3%,4%"},
      {"--reorder", "1%"},
      {"--queue", "big"},
      {"--queue", "0p"},
      {"--queue", "1.5p"},
      {"--mtu", "60"},
      {"--mtu", "70000"},
      {"--icmp", "maybe"},
      {"--outage", "5"},
      {"--outage", "5,5,5"},
      {"--udt-drop", "every=0"},
      {"--udt-drop", "repeats=2"},
      {"--udt-drop", "every=5,often=2"},
      {"--seed", "x"},
      {"--device-mtu", "100"},
      {"--unknown", "1"},
      {"loss"},
  };
  for (const Options& options : wrong) {
    CAPTURE(options);
    Settings settings;
    Options all{"--delay", "7"};
    all.insert(all.end(), options.begin(), options.end());
    CHECK_THROWS_AS(apply_options(settings, all, true), UsageError);
    CHECK(settings.directions[0].delay == 0ms);
  }
  Settings settings;
  const Options of_lab{"--seed", "5"};
  CHECK_THROWS_AS(apply_options(settings, of_lab, false), UsageError);
  CHECK_NOTHROW(apply_options(settings, of_lab, true));
  CHECK(settings.seed == 5);
}

// Every option of the tables is in the help.
TEST_CASE("settings: help") {
  const std::string help = options_help();
  for (const char* option : {"--rate", "--queue", "--udt-drop", "--outage", "--seed", "--tick"})
    CHECK(help.find(option) != std::string::npos);
}

}  // namespace xfer::netlab

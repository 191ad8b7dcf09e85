#include "settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <string_view>

namespace xfer::netlab {
namespace {

/// Smallest queue that "bdp" gives: two full super-packets, which senders hand over at once.
constexpr double kMinBdpQueue = 128 * 1024;

struct UnitScale {
  std::string_view name;
  double factor;
};

constexpr UnitScale kDurationUnits[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1e6}};
constexpr UnitScale kRateUnits[] = {
    {"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {"", 1}};
constexpr UnitScale kSizeUnits[] = {{"k", 1024}, {"m", 1 << 20}, {"g", 1 << 30}, {"", 1}};
constexpr UnitScale kProbabilityUnits[] = {{"%", 0.01}, {"", 1}};

/// A number and what follows it.
struct Quantity {
  double number = 0;
  std::string_view unit;
};

Quantity quantity(std::string_view text) {
  Quantity result;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result.number);
  if (error != std::errc() || !std::isfinite(result.number) || result.number < 0)
    throw UsageError("not a number: '" + std::string(text) + "'");
  result.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return result;
}

double scaled(std::string_view text, std::span<const UnitScale> units, double maximum) {
  const Quantity q = quantity(text);
  for (const auto& unit : units) {
    if (q.unit != unit.name) continue;
    if (q.number * unit.factor > maximum)
      throw UsageError("too large: '" + std::string(text) + "'");
    return q.number * unit.factor;
  }
  std::string names;
  for (const auto& unit : units)
    if (!unit.name.empty()) names += (names.empty() ? "" : ", ") + std::string(unit.name);
  throw UsageError("unknown unit in '" + std::string(text) + "' (units: " + names + ")");
}

Duration duration(std::string_view text) {
  return Duration(std::llround(scaled(text, kDurationUnits, 3.6e12)));
}

double probability(std::string_view text) { return scaled(text, kProbabilityUnits, 1); }

std::uint64_t whole(std::string_view text, std::uint64_t low, std::uint64_t high) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < low || number > high)
    throw UsageError("'" + std::string(text) + "' is not a whole number from " +
                     std::to_string(low) + " to " + std::to_string(high));
  return number;
}

std::vector<std::string_view> fields(std::string_view text, std::size_t least, std::size_t most) {
  std::vector<std::string_view> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    result.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (result.size() < least || result.size() > most)
    throw UsageError("'" + std::string(text) + "' has " + std::to_string(result.size()) +
                     " fields between its commas");
  return result;
}

QueueLimit queue_limit(std::string_view text) {
  using Unit = QueueLimit::Unit;
  const Quantity q = quantity(text);
  if (q.unit == "bdp") return {q.number, Unit::bdp};
  if (q.unit == "ms") return {q.number, Unit::milliseconds};
  if (q.unit == "p")
    return {static_cast<double>(whole(text.substr(0, text.size() - 1), 1, 1U << 24U)),
            Unit::packets};
  return {scaled(text, kSizeUnits, 0x1p40), Unit::bytes};
}

sim::BurstLoss burst_loss(std::string_view text) {
  const auto parts = fields(text, 2, 3);
  sim::BurstLoss burst{probability(parts[0]), probability(parts[1]), 1};
  if (parts.size() == 3) burst.loss_bad = probability(parts[2]);
  return burst;
}

UdtDrop udt_drop(std::string_view text) {
  if (text == "none") return {};
  UdtDrop drop;
  for (const auto part : fields(text, 1, 2)) {
    if (part.starts_with("every=")) {
      drop.every = static_cast<std::int64_t>(whole(part.substr(6), 1, 1U << 30U));
    } else if (part.starts_with("repeats=")) {
      drop.repeats = static_cast<unsigned>(whole(part.substr(8), 0, 200));
    } else {
      throw UsageError("'" + std::string(part) + "' is neither every=N nor repeats=N");
    }
  }
  if (drop.every == 0) throw UsageError("every=N is missing in '" + std::string(text) + "'");
  return drop;
}

std::vector<Outage> outages(std::string_view text) {
  if (text == "none") return {};
  const auto parts = fields(text, 2, 64);
  if (parts.size() % 2 != 0) throw UsageError("an outage is START,LENGTH");
  std::vector<Outage> result;
  for (std::size_t i = 0; i < parts.size(); i += 2)
    result.push_back({duration(parts[i]), duration(parts[i + 1])});
  return result;
}

struct Reordering {
  double share;
  Duration held_back;
};

Reordering reordering(std::string_view text) {
  if (text == "none") return {};
  const auto parts = fields(text, 2, 2);
  return {probability(parts[0]), duration(parts[1])};
}

using Value = std::string_view;

/// An option of one direction.
struct LinkOption {
  std::string_view name;
  std::string_view argument;  ///< empty: the option has none
  std::string_view help;
  void (*apply)(DirectionSettings&, Value);
};

constexpr LinkOption kLinkOptions[] = {
    {"--rate", "RATE", "bits/s of IP packets: 100mbit, 1gbit, 64kbit; 0: no limit",
     [](DirectionSettings& d, Value v) {
       d.rate = static_cast<std::uint64_t>(scaled(v, kRateUnits, 1e12));
     }},
    {"--delay", "TIME", "one way: 10ms, 250us, 1s; a bare number is milliseconds",
     [](DirectionSettings& d, Value v) { d.delay = duration(v); }},
    {"--rtt", "TIME", "half of it is the delay of each direction",
     [](DirectionSettings& d, Value v) { d.delay = duration(v) / 2; }},
    {"--jitter", "TIME", "the delay varies by up to this much more or less, uniformly",
     [](DirectionSettings& d, Value v) { d.jitter = duration(v); }},
    {"--jitter-reorders", "", "jitter lets packets overtake each other; without, order is kept",
     [](DirectionSettings& d, Value) { d.jitter_reorders = true; }},
    {"--jitter-in-order", "", "takes that back",
     [](DirectionSettings& d, Value) { d.jitter_reorders = false; }},
    {"--queue", "LIMIT",
     "what may wait for the rate: 1bdp (default; at least 128k), 20ms, 100p, 256k bytes",
     [](DirectionSettings& d, Value v) { d.queue = queue_limit(v); }},
    {"--loss", "SHARE", "independent loss: 1% or 0.01",
     [](DirectionSettings& d, Value v) { d.loss = probability(v); }},
    {"--burst-loss", "ENTER,LEAVE[,LOSS]",
     "Gilbert-Elliott: into and out of the bad state, loss in it (1)",
     [](DirectionSettings& d, Value v) { d.burst = burst_loss(v); }},
    {"--duplicate", "SHARE", "a second copy follows",
     [](DirectionSettings& d, Value v) { d.duplication = probability(v); }},
    {"--reorder", "SHARE,TIME", "that share is held back by TIME; or none",
     [](DirectionSettings& d, Value v) {
       const Reordering r = reordering(v);
       d.reordering = r.share;
       d.reordering_delay = r.held_back;
     }},
    {"--mtu", "BYTES", "longer IP packets vanish: a black hole",
     [](DirectionSettings& d, Value v) { d.mtu = whole(v, 68, 65'535); }},
    {"--icmp", "on|off", "the MTU answers 'fragmentation needed' instead of being silent",
     [](DirectionSettings& d, Value v) {
       if (v != "on" && v != "off") throw UsageError("--icmp is on or off");
       d.icmp = v == "on";
     }},
    {"--outage", "START,LENGTH[,...]", "nothing enters the link; START counts from now; or none",
     [](DirectionSettings& d, Value v) { d.outages = outages(v); }},
    {"--udt-drop", "every=N,repeats=R",
     "every Nth data packet of each UDT flow and its first R retransmissions; or none",
     [](DirectionSettings& d, Value v) { d.udt_drop = udt_drop(v); }},
};

/// An option of the lab as a whole.
struct LabOption {
  std::string_view name;
  std::string_view argument;
  std::string_view help;
  void (*apply)(Settings&, Value);
};

constexpr LabOption kLabOptions[] = {
    {"--seed", "N", "which packets are lost and so on (1)",
     [](Settings& s, Value v) { s.seed = whole(v, 0, ~0ULL); }},
    {"--device-mtu", "BYTES", "MTU of the interfaces (1500)",
     [](Settings& s, Value v) { s.device_mtu = whole(v, 576, 65'000); }},
    {"--tcp-buffer", "SIZE", "what TCP sockets in the lab may buffer each way, as 64m",
     [](Settings& s, Value v) {
       s.tcp_buffer = static_cast<std::size_t>(scaled(v, kSizeUnits, 0x1p30));
     }},
    {"--tick", "TIME", "how long dense traffic may gather, so how late it may be (50us)",
     [](Settings& s, Value v) { s.tick = duration(v); }},
    {"--device-queue", "PACKETS", "between the kernel and the emulator (10000)",
     [](Settings& s, Value v) { s.device_queue = whole(v, 10, 1'000'000); }},
    {"--no-offload", "", "the kernel cuts super-packets and makes all checksums",
     [](Settings& s, Value) { s.offload = false; }},
    {"--no-coalesce", "", "each packet is handed over by itself",
     [](Settings& s, Value) { s.coalesce = false; }},
};

template <typename Table>
auto find_option(const Table& table, std::string_view name) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [name](const auto& option) { return option.name == name; });
  return found == std::end(table) ? nullptr : &*found;
}

std::string help_line(std::string_view name, std::string_view argument, std::string_view help) {
  std::string line =
      "  " + std::string(name) + (argument.empty() ? "" : " ") + std::string(argument);
  line.resize(std::max<std::size_t>(line.size() + 2, 34), ' ');
  return line + std::string(help) + "\n";
}

}  // namespace

std::array<bool, 2> apply_options(Settings& settings, std::span<const std::string> options,
                                  bool making_lab) {
  Settings changed = settings;
  std::array<bool, 2> concerned{true, true};
  std::array<bool, 2> outages_given{};
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& name = options[i];
    const bool one_way = name == "--ab" || name == "--ba";
    if (one_way || name == "--both") {
      concerned = {name != "--ba", name != "--ab"};
      continue;
    }
    const LinkOption* of_link = find_option(kLinkOptions, name);
    const LabOption* of_lab = find_option(kLabOptions, name);
    if (of_link == nullptr && of_lab == nullptr) throw UsageError("unknown option '" + name + "'");
    if (of_lab != nullptr && !making_lab)
      throw UsageError(name + " can only be given when the lab is made");
    std::string_view value;
    if (!(of_link != nullptr ? of_link->argument : of_lab->argument).empty()) {
      if (++i == options.size()) throw UsageError(name + " needs a value");
      value = options[i];
    }
    try {
      if (of_lab != nullptr) of_lab->apply(changed, value);
      for (std::size_t d = 0; d < 2 && of_link != nullptr; ++d) {
        if (!concerned[d]) continue;
        of_link->apply(changed.directions[d], value);
        outages_given[d] = outages_given[d] || name == "--outage";
      }
    } catch (const UsageError& error) {
      throw UsageError(name + ": " + error.what());
    }
  }
  settings = std::move(changed);
  return outages_given;
}

std::string options_help() {
  std::string text = "The link; all of it may be changed by 'set':\n";
  text += help_line("--ab, --ba, --both", "",
                    "the options that follow concern a to b, b to a, or both (default)");
  for (const auto& option : kLinkOptions)
    text += help_line(option.name, option.argument, option.help);
  text += "\nThe lab; only for 'up' and 'run':\n";
  for (const auto& option : kLabOptions)
    text += help_line(option.name, option.argument, option.help);
  return text;
}

sim::LinkOptions link_options(const Settings& settings, std::size_t direction,
                              TimePoint outage_origin) {
  const DirectionSettings& from = settings.directions[direction];
  sim::LinkOptions to;
  to.rate = from.rate;
  // The model only adds to the delay, so +-J is J less and up to 2 J more.
  to.delay = std::max(from.delay - from.jitter, Duration{});
  to.jitter = from.delay + from.jitter - to.delay;
  if (from.jitter == Duration{}) to.jitter = {};
  to.jitter_reorders = from.jitter_reorders;
  const double bytes_per_ns = static_cast<double>(from.rate) / 8e9;
  const Duration rtt = settings.directions[0].delay + settings.directions[1].delay;
  to.queue_limit = std::numeric_limits<std::size_t>::max();
  switch (from.queue.unit) {
    case QueueLimit::Unit::bytes:
      to.queue_limit = static_cast<std::size_t>(from.queue.amount);
      break;
    case QueueLimit::Unit::packets:
      to.queue_packets = static_cast<std::size_t>(from.queue.amount);
      break;
    case QueueLimit::Unit::milliseconds:
      to.queue_limit = static_cast<std::size_t>(from.queue.amount * 1e6 * bytes_per_ns);
      break;
    case QueueLimit::Unit::bdp:
      to.queue_limit = static_cast<std::size_t>(std::max(
          from.queue.amount * static_cast<double>(rtt.count()) * bytes_per_ns, kMinBdpQueue));
      break;
  }
  to.loss = from.loss;
  to.burst = from.burst;
  to.duplication = from.duplication;
  to.reordering = from.reordering;
  to.reordering_delay = from.reordering_delay;
  to.mtu = from.mtu;
  for (const Outage& outage : from.outages) {
    const TimePoint begin = outage_origin + outage.start;
    to.blackouts.push_back({begin, begin + outage.length});
  }
  return to;
}

std::vector<sim::DropRule> drop_rules(const DirectionSettings& settings) {
  if (settings.udt_drop.every == 0) return {};
  return {sim::drop_every(settings.udt_drop.every, settings.udt_drop.repeats)};
}

std::uint64_t link_seed(const Settings& settings, std::size_t direction) {
  return settings.seed * 2 + direction;
}

}  // namespace xfer::netlab

#include "weather.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include "endpoint_host.hpp"
#include "network.hpp"

namespace xfer::sim {
namespace {

enum class Kind { upload, download, both_ways, rendezvous, several, aborted };

/// Random numbers in the shapes a plan needs, in integer arithmetic, so that a seed means the same
/// everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + random_.below(high - low + 1);
  }
  /// About equally likely in each octave of [low, high].
  std::uint64_t octave(std::uint64_t low, std::uint64_t high) {
    std::uint64_t octaves = 0;
    while ((low << (octaves + 1)) <= high) ++octaves;
    const std::uint64_t base = low << random_.below(octaves + 1);
    return std::min(base + random_.below(base), high);
  }
  Duration span(Duration low, Duration high) {
    return Duration(static_cast<std::int64_t>(
        octave(static_cast<std::uint64_t>(low.count()), static_cast<std::uint64_t>(high.count()))));
  }
  /// A probability between 2^-10 and 0.3.
  double chance() { return static_cast<double>(octave(1024, 300'000)) * 1e-6; }

 private:
  SeededRandom random_;
};

/// Everything a run does, drawn from its seed before it starts.
struct Plan {
  explicit Plan(std::uint64_t seed);

  [[nodiscard]] bool rendezvous() const { return kind == Kind::rendezvous; }
  [[nodiscard]] std::string text() const;
  /// What the transfer takes on an ideal link, with the windows and buffers of this run.
  [[nodiscard]] Duration ideal() const;
  [[nodiscard]] Duration round_trip() const { return 2 * path.delay; }

  Dice dice;
  Kind kind = Kind::upload;
  bool damaged = false;
  bool ipv6 = false;
  std::size_t callers = 1;
  udt::ConnectionConfig caller;
  udt::ConnectionConfig listener;
  std::uint64_t up = 0;    ///< bytes from each caller
  std::uint64_t down = 0;  ///< bytes to each caller
  AppOptions app;          ///< buffers and pauses of both sides
  DriverModel driver;
  LinkOptions path;  ///< in calm
  TimePoint heal;
  // Faults that may occur at all.
  bool loss = false, bursts = false, duplication = false, reordering = false, jitter = false;
  bool corruption = false, blackouts = false, mtu = false, rate_changes = false, lopsided = false;
};

Plan::Plan(std::uint64_t seed) : dice(seed * 0x9E3779B97F4A7C15U + 1) {
  const std::uint64_t which = dice.between(0, 99);
  kind = which < 35   ? Kind::upload
         : which < 50 ? Kind::download
         : which < 70 ? Kind::both_ways
         : which < 85 ? Kind::rendezvous
         : which < 97 ? Kind::several
                      : Kind::aborted;
  damaged = dice.one_in(20);
  ipv6 = dice.one_in(3);
  if (kind == Kind::several) callers = static_cast<std::size_t>(dice.between(2, 5));

  const auto draw_mss = [&]() -> std::uint32_t {
    const std::uint32_t smallest = udt::kMinMss + (ipv6 ? udt::kIpv6ExtraOverhead : 0);
    switch (dice.between(0, 7)) {
      case 0:
        return smallest;
      case 1:
        return static_cast<std::uint32_t>(dice.octave(smallest, 9000));
      case 2:
        return 576;
      case 3:
        return 9000;
      default:
        return 1500;
    }
  };
  const auto draw_window = [&]() -> std::uint32_t {
    switch (dice.between(0, 3)) {
      case 0:
        return udt::kMinFlightWindow;
      case 1:
        return static_cast<std::uint32_t>(dice.octave(udt::kMinFlightWindow, 8192));
      default:
        return udt::kDefaultFlightWindow;
    }
  };
  for (auto* config : {&caller, &listener}) {
    config->mss = draw_mss();
    config->receive_window = draw_window();
    config->connect_timeout = 120s;
    config->idle_timeout = 20s;
    config->linger = 600s;
    config->capabilities = !dice.one_in(4);
    config->max_memory = dice.octave(udt::kMinMemory, 64 << 20);
    // Wraps of the packet number come in the first packets of every second run.
    if (dice.one_in(2))
      config->isn = wire::SeqNo(wire::SeqNo::kMax - static_cast<std::uint32_t>(dice.between(
                                                        0, dice.one_in(4) ? 3 : 2000)));
  }
  const std::uint64_t payload =
      std::min(caller.mss, listener.mss) - wire::kPayloadOverhead - (ipv6 ? 20 : 0);

  const auto draw_size = [&]() -> std::uint64_t {
    switch (dice.between(0, 9)) {
      case 0:
        return dice.between(0, 2);
      case 1:
        return payload * dice.between(1, 40) + dice.between(0, 2) - 1;
      default:
        return std::min(dice.octave(50'000, 4'000'000), payload * 2500);
    }
  };
  const bool both = kind == Kind::both_ways || kind == Kind::rendezvous || dice.one_in(4);
  if (kind != Kind::download) up = draw_size();
  if (kind == Kind::download || both) down = draw_size();
  // A listener that hangs up at once, its answer being lost, leaves its caller with nothing to
  // connect to.
  if (kind == Kind::download) down = std::max<std::uint64_t>(down, 1);
  if (kind == Kind::several) {
    up /= callers;
    down /= callers;
  }

  path.rate = dice.octave(500'000, 10'000'000'000);
  path.delay = dice.span(20us, 200ms);
  const std::uint64_t bdp =
      path.rate / 8 * static_cast<std::uint64_t>(round_trip().count()) / 1'000'000'000;
  path.queue_limit = static_cast<std::size_t>(
      dice.octave(8 * 1500, std::max<std::uint64_t>(16 * 1500, 2 * bdp + 100'000)));
  // A queue that cannot take the burst of a late sender is no calm.
  const std::uint64_t burst =
      path.rate / 8 * static_cast<std::uint64_t>(to_us(udt::kMaxPacingCredit)) / 1'000'000;
  path.queue_limit =
      std::max<std::size_t>({path.queue_limit, 6 * std::max(caller.mss, listener.mss),
                             static_cast<std::size_t>(burst + burst / 4)});

  app.ring = static_cast<std::size_t>(dice.octave(4 << 10, 2 << 20));
  app.flush_always = dice.one_in(2);
  if (dice.one_in(3)) {
    app.write_chunk = static_cast<std::size_t>(dice.octave(1, 100'000));
    app.write_pause = dice.span(10us, 50ms);
  }
  if (dice.one_in(3)) {
    app.read_chunk = static_cast<std::size_t>(dice.octave(64, 100'000));
    app.read_pause = dice.span(10us, 50ms);
  }
  switch (dice.between(0, 5)) {
    case 0:
      driver.wake_latency = dice.span(1us, 100us);
      break;
    case 1:
      driver.wake_jitter = dice.span(10us, 5ms);
      break;
    case 2:
      driver.wake_latency = dice.span(1ms, 30ms);
      break;
    default:
      break;
  }
  driver.lend = !dice.one_in(4);
  driver.receive_batch = static_cast<std::size_t>(dice.octave(1, 64));
  driver.max_segments = static_cast<std::size_t>(dice.octave(1, 64));

  loss = dice.one_in(2);
  bursts = dice.one_in(3);
  duplication = dice.one_in(3);
  reordering = dice.one_in(3);
  jitter = dice.one_in(3);
  corruption = damaged || dice.one_in(3);
  blackouts = dice.one_in(4);
  mtu = dice.one_in(8);
  rate_changes = dice.one_in(3);
  lopsided = dice.one_in(3);
  heal = TimePoint{} + 1s + dice.span(20ms, 8s);
  if (dice.one_in(3)) {
    const TimePoint begin = TimePoint{} + 1s + dice.span(1ms, 2s);
    app.read_stops.push_back({begin, std::min(begin + dice.span(10ms, 5s), heal)});
  }
  app.verify = !damaged;
}

std::string Plan::text() const {
  constexpr std::array<const char*, 6> kNames{"upload",     "download", "both ways",
                                              "rendezvous", "several",  "aborted"};
  std::ostringstream out;
  out << kNames[static_cast<std::size_t>(kind)] << (damaged ? " damaged" : "")
      << (ipv6 ? " IPv6" : " IPv4") << " callers=" << callers << " mss=" << caller.mss << "/"
      << listener.mss << " window=" << caller.receive_window << "/" << listener.receive_window
      << " up=" << up << " down=" << down << " rate=" << static_cast<double>(path.rate) * 1e-6
      << "Mbit/s rtt=" << to_seconds(round_trip()) * 1e3 << "ms queue=" << path.queue_limit
      << " ring=" << app.ring << " heal=" << to_seconds(heal.time_since_epoch()) - 1
      << "s driver=" << to_us(driver.wake_latency) << "+" << to_us(driver.wake_jitter) << "us";
  const std::array<std::pair<bool, const char*>, 10> faults{{{loss, "loss"},
                                                             {bursts, "bursts"},
                                                             {duplication, "duplication"},
                                                             {reordering, "reordering"},
                                                             {jitter, "jitter"},
                                                             {corruption, "corruption"},
                                                             {blackouts, "blackouts"},
                                                             {mtu, "mtu"},
                                                             {rate_changes, "rate"},
                                                             {lopsided, "lopsided"}}};
  for (const auto& [on, name] : faults)
    if (on) out << " " << name;
  return out.str();
}

Duration Plan::ideal() const {
  const std::uint64_t mss = std::min(caller.mss, listener.mss);
  const std::uint64_t payload = mss - wire::kPayloadOverhead - (ipv6 ? 20 : 0);
  const auto one_way = [&](std::uint64_t bytes, std::uint32_t window) {
    const double on_wire = static_cast<double>(bytes) * static_cast<double>(mss) /
                           static_cast<double>(payload) * 8 / static_cast<double>(path.rate);
    // A window's or a buffer's worth per round trip and ACK interval.
    const double in_flight =
        static_cast<double>(std::min<std::uint64_t>(window * payload, app.ring));
    const double cycles = static_cast<double>(bytes) / in_flight;
    const double cycle = to_seconds(round_trip() + udt::kSynInterval);
    return std::max(on_wire, cycles * cycle);
  };
  const double seconds =
      std::max(one_way(up, listener.receive_window), one_way(down, caller.receive_window));
  return Duration(static_cast<std::int64_t>(seconds * 1e9)) + 3 * round_trip() + 50ms;
}

/// Writes the decisions of the cores between the packets.
class LogSink final : public trace::Sink {
 public:
  explicit LogSink(std::FILE* file) : file_(file) {}
  void record(TimePoint now, std::uint32_t socket_id, const trace::Event& event) override {
    const OutsideScope outside;
    const double at = to_seconds(now.time_since_epoch());
    if (const auto* rate = std::get_if<trace::RateChanged>(&event))
      std::fprintf(file_, "%12.6f socket %u: period %.3f us, cwnd %u\n", at, socket_id,
                   to_seconds(rate->send_period) * 1e6, rate->cwnd);
    if (const auto* timer = std::get_if<trace::TimerFired>(&event))
      std::fprintf(file_, "%12.6f socket %u: %s\n", at, socket_id,
                   timer->kind == trace::TimerFired::Kind::exp ? "EXP" : "probe");
    if (const auto* state = std::get_if<trace::StateChanged>(&event))
      std::fprintf(file_, "%12.6f socket %u: state %u to %u\n", at, socket_id, state->from,
                   state->to);
  }

 private:
  std::FILE* file_;
};

/// A run in the making: the network and what is connected in it.
class Run {
 public:
  Run(std::uint64_t seed, std::FILE* log) : plan_(seed), network_(seed) {
    if (log == nullptr) return;
    network_.log_to(log);
    sink_.emplace(log);
  }
  WeatherResult go();

 private:
  void build();
  void schedule_weather();
  void change_weather();
  LinkOptions bad_path();
  void calm();
  /// Whoever connects in calm has a calm application.
  [[nodiscard]] AppOptions in_season(AppOptions app) const {
    if (network_.now() < plan_.heal) return app;
    app.read_pause = app.write_pause = Duration{};
    app.read_chunk = app.write_chunk = ~std::size_t{0};
    return app;
  }
  [[nodiscard]] bool complete() const;
  [[nodiscard]] bool all_ended() const;
  std::string verdict(bool completed, bool ended) const;
  template <typename F>
  void for_each_app(F f) const {
    for (const auto* host : hosts_)
      for (const auto& app : host->apps()) f(*app);
  }

  Plan plan_;
  std::optional<LogSink> sink_;
  Network network_;
  std::vector<EndpointHost*> hosts_;
  std::size_t expected_apps_ = 0;
};

void Run::build() {
  const auto host = [&](unsigned number, std::uint32_t mss) {
    EndpointHostOptions options;
    options.address = host_address(number, plan_.ipv6);
    options.driver = plan_.driver;
    options.mss = options.interface_mtu = mss;
    options.watch = !plan_.damaged;
    options.sink = sink_ ? &*sink_ : nullptr;
    hosts_.push_back(&network_.add<EndpointHost>(options));
    return hosts_.back();
  };
  EndpointHost& server = *host(1, plan_.listener.mss);
  AppOptions caller_app = plan_.app;
  caller_app.bytes_out = plan_.up;
  caller_app.bytes_in = plan_.down;
  // The side that cannot know better waits; where data goes both ways the caller ends it.
  caller_app.closes = plan_.kind != Kind::download || plan_.up > 0;
  AppOptions server_app = plan_.app;
  server_app.bytes_out = plan_.down;
  server_app.bytes_in = plan_.up;
  server_app.closes = !caller_app.closes;
  server_app.stream = 100;

  for (std::size_t i = 0; i < plan_.callers; ++i)
    host(static_cast<unsigned>(2 + i), plan_.caller.mss);
  schedule_weather();
  if (plan_.rendezvous()) {
    caller_app.stream = 1;
    hosts_[1]->rendezvous(server.address(), plan_.caller, caller_app);
    const Duration late = plan_.dice.one_in(2) ? Duration{} : plan_.dice.span(1ms, 2s);
    network_.after(late, [this, server_app, &server] {
      server.rendezvous(hosts_[1]->address(), plan_.listener, in_season(server_app));
    });
    expected_apps_ = 2;
    return;
  }
  udt::ListenConfig listen;
  listen.connection = plan_.listener;
  server.listen(listen, [this, server_app](std::size_t number) mutable {
    server_app.stream = static_cast<std::uint8_t>(100 + number);
    return in_season(server_app);
  });
  std::uint8_t stream = 1;
  for (std::size_t i = 1; i < hosts_.size(); ++i) {
    // Several connections may share a port.
    const std::uint64_t connections = plan_.kind == Kind::several ? plan_.dice.between(1, 2) : 1;
    for (std::uint64_t c = 0; c < connections; ++c) {
      caller_app.stream = stream++;
      hosts_[i]->connect(server.address(), plan_.caller, caller_app);
      expected_apps_ += 2;
    }
  }
  if (plan_.kind == Kind::aborted)
    network_.after(plan_.dice.span(1ms, 8s), [this] {
      hosts_[1]->apps()[0]->abort(network_.now());
      hosts_[1]->poke();
    });
}

void Run::schedule_weather() {
  change_weather();
  const std::uint64_t changes = plan_.dice.between(0, 4);
  const auto span = static_cast<std::uint64_t>((plan_.heal - network_.now()).count());
  for (std::uint64_t i = 0; i < changes; ++i)
    network_.after(Duration(static_cast<std::int64_t>(plan_.dice.between(0, span - 1))),
                   [this] { change_weather(); });
  network_.at(plan_.heal, [this] { calm(); });
}

void Run::change_weather() {
  for (std::size_t i = 1; i < hosts_.size(); ++i) {
    network_.link(*hosts_[i], *hosts_[0]).options = bad_path();
    // Every third run has its faults in one direction only.
    network_.link(*hosts_[0], *hosts_[i]).options = plan_.lopsided ? plan_.path : bad_path();
  }
}

LinkOptions Run::bad_path() {
  Dice& dice = plan_.dice;
  LinkOptions path = plan_.path;
  if (plan_.loss) path.loss = dice.chance();
  if (plan_.bursts)
    path.burst = {dice.chance() / 4, static_cast<double>(dice.between(20, 500)) * 1e-3, 1.0};
  if (plan_.duplication) path.duplication = dice.chance();
  if (plan_.reordering) {
    path.reordering = dice.chance();
    path.reordering_delay = dice.span(10us, 2 * plan_.round_trip() + 1ms);
  }
  if (plan_.jitter) {
    path.jitter = dice.span(10us, plan_.round_trip() + 1ms);
    path.jitter_reorders = dice.one_in(2);
  }
  if (plan_.corruption) {
    path.corruption = dice.chance() / 2;
    path.truncation = dice.chance() / 4;
    path.deliver_damaged = plan_.damaged;
  }
  if (plan_.rate_changes) {
    path.rate = std::max<std::uint64_t>(path.rate / dice.octave(1, 16), 200'000);
    path.delay = std::min(dice.span(20us, 300ms), 4 * path.delay + 1ms);
  }
  if (plan_.mtu && dice.one_in(2))
    path.mtu = static_cast<std::size_t>(dice.between(112, plan_.caller.mss + 40));
  if (plan_.blackouts && network_.now() < plan_.heal) {
    const TimePoint begin = network_.now() + dice.span(1ms, 2s);
    path.blackouts.push_back({begin, begin + dice.span(1ms, 5s)});
  }
  return path;
}

void Run::calm() {
  for (std::size_t i = 1; i < hosts_.size(); ++i)
    network_.set_path(*hosts_[i], *hosts_[0], plan_.path);
  for (auto* host : hosts_) {
    host->driver().wake_latency = std::min<Duration>(host->driver().wake_latency, 100us);
    host->driver().wake_jitter = std::min<Duration>(host->driver().wake_jitter, 100us);
    for (const auto& app : host->apps()) {
      app->options.write_pause = app->options.read_pause = Duration{};
      app->options.write_chunk = app->options.read_chunk = ~std::size_t{0};
    }
    host->poke();
  }
}

bool Run::complete() const {
  if (plan_.damaged || plan_.kind == Kind::aborted) return false;
  std::size_t apps = 0;
  bool done = true;
  for_each_app([&](const StreamApp& app) {
    ++apps;
    done = done && app.received() == app.options.bytes_in && (!app.options.closes || app.ended());
  });
  return done && apps == expected_apps_;
}

bool Run::all_ended() const {
  std::size_t apps = 0;
  bool ended = true;
  for_each_app([&](const StreamApp& app) {
    ++apps;
    ended = ended && app.ended();
  });
  return ended && (plan_.kind == Kind::aborted || plan_.damaged || apps == expected_apps_);
}

WeatherResult Run::go() {
  build();
  const Duration ideal = plan_.ideal();
  // Behind the healing: back-offs of the last probes and handshakes, then the whole transfer once
  // more at a rate that has to be found again.
  const Duration bound = 10s + 20 * plan_.round_trip() + 6 * ideal;
  const TimePoint start = network_.now();
  const bool completed = network_.run(plan_.heal + bound, [this] { return complete(); });
  const TimePoint done = network_.now();
  bool ended = false;
  if (completed || plan_.kind == Kind::aborted)
    ended = network_.run(done + plan_.caller.idle_timeout + 10s, [this] { return all_ended(); });

  WeatherResult result;
  result.description = plan_.text();
  result.failure = verdict(completed, ended);
  result.simulated = network_.now() - start;
  result.events = network_.event_count();
  result.hash = network_.event_hash();
  for_each_app([&](const StreamApp& app) { result.bytes += app.received(); });
  if (completed)
    result.completion_ratio = std::max(to_seconds(done - plan_.heal), 0.0) / to_seconds(ideal);
  return result;
}

std::string Run::verdict(bool completed, bool ended) const {
  if (!network_.failure().empty()) return network_.failure();
  if (plan_.damaged) return {};
  if (plan_.kind == Kind::aborted) return ended ? "" : "an aborted connection did not end";
  if (!completed) return "not complete within the bound";
  if (!ended) return "complete, but not closed within the idle time-out";
  std::string failure;
  std::vector<std::uint8_t> streams;
  for_each_app([&](const StreamApp& app) {
    if (app.options.closes && app.error)
      failure = std::string("the closing side got ") + error_name(app.error->code);
    if (app.stream_in()) streams.push_back(*app.stream_in());
  });
  std::sort(streams.begin(), streams.end());
  if (std::adjacent_find(streams.begin(), streams.end()) != streams.end())
    failure = "a stream was delivered twice";
  for (const auto* host : hosts_)
    if (host->endpoint().connection_count() != 0) failure = "connections were left behind";
  return failure;
}

}  // namespace

WeatherResult run_weather(std::uint64_t seed, std::FILE* log) { return Run(seed, log).go(); }

}  // namespace xfer::sim

#pragma once

#include "endpoint_host.hpp"
#include "network.hpp"

namespace xfer::sim {

/// What a scenario starts from; every field has a sensible value.
struct PairOptions {
  std::uint64_t seed = 1;
  LinkOptions path;  ///< both directions
  udt::ConnectionConfig caller;
  udt::ConnectionConfig listener;
  AppOptions caller_app;
  AppOptions listener_app;
  DriverModel driver;
  std::uint32_t interface_mtu = udt::kDefaultMss;  ///< of both hosts
  bool watch = true;
  bool rendezvous = false;
  trace::Sink* caller_sink = nullptr;
};

/// A path of that rate (bits/s) and round trip, with a queue of one bandwidth-delay product, at
/// least 256 KiB.
inline LinkOptions path_of(std::uint64_t rate, Duration rtt) {
  LinkOptions path;
  path.rate = rate;
  path.delay = rtt / 2;
  const double bdp = static_cast<double>(rate) / 8 * to_seconds(rtt);
  path.queue_limit = std::max<std::size_t>(256 << 10, static_cast<std::size_t>(bdp));
  return path;
}

/// A caller that sends `bytes` and a listener that reads them.
inline PairOptions upload(std::uint64_t bytes, std::uint64_t rate, Duration rtt) {
  PairOptions options;
  options.path = path_of(rate, rtt);
  options.caller_app.stream = 1;
  options.caller_app.bytes_out = bytes;
  options.caller_app.closes = true;
  options.caller_app.ring = 16 << 20;
  options.caller_app.flush_always = false;
  options.listener_app.stream = 2;
  options.listener_app.bytes_in = bytes;
  options.listener_app.ring = 16 << 20;
  return options;
}

/// Two endpoints on a path, one connection between them.
class Pair {
 public:
  explicit Pair(const PairOptions& options)
      : network(options.seed),
        caller(add(1, options, options.caller.mss, options.caller_sink)),
        listener(add(2, options, options.listener.mss, nullptr)),
        up(network.link(caller, listener)),
        down(network.link(listener, caller)),
        options_(options) {
    network.set_path(caller, listener, options.path);
  }

  /// Lets the listener listen and the caller connect.
  void start() {
    if (options_.rendezvous) {
      caller.rendezvous(listener.address(), options_.caller, options_.caller_app);
      listener.rendezvous(caller.address(), options_.listener, options_.listener_app);
      return;
    }
    udt::ListenConfig listen;
    listen.connection = options_.listener;
    listener.listen(listen, [app = options_.listener_app](std::size_t) { return app; });
    caller.connect(listener.address(), options_.caller, options_.caller_app);
  }
  [[nodiscard]] StreamApp& sender() const { return *caller.apps().at(0); }
  /// REQUIRES: the listener has accepted.
  [[nodiscard]] StreamApp& receiver() const { return *listener.apps().at(0); }
  [[nodiscard]] bool accepted() const { return !listener.apps().empty(); }
  [[nodiscard]] std::uint64_t received() const { return accepted() ? receiver().received() : 0; }
  /// Runs until both sides have received what they expect, or for `limit`; returns whether they
  /// have.
  bool run_to_completion(Duration limit) {
    return network.run(network.now() + limit, [this] {
      return accepted() && received() == receiver().options.bytes_in &&
             sender().received() == sender().options.bytes_in;
    });
  }
  /// Runs until both applications were told the end, or for `limit`; returns whether they were.
  bool run_to_end(Duration limit) {
    return network.run(network.now() + limit,
                       [this] { return accepted() && sender().ended() && receiver().ended(); });
  }
  /// Runs until `condition`, or for `limit`; returns whether it holds.
  template <typename F>
  bool run_until(Duration limit, F condition) {
    return network.run(network.now() + limit, condition);
  }
  /// Bytes a second from the connection's start to the last byte read. REQUIRES: completion.
  [[nodiscard]] double goodput() const {
    return static_cast<double>(receiver().received()) /
           to_seconds(*receiver().received_all_at - (TimePoint{} + 1s));
  }

  Network network;
  EndpointHost& caller;
  EndpointHost& listener;
  Link& up;
  Link& down;

 private:
  EndpointHost& add(unsigned number, const PairOptions& options, std::uint32_t mss,
                    trace::Sink* sink) {
    EndpointHostOptions host;
    host.address = host_address(number);
    host.driver = options.driver;
    host.mss = mss;
    host.interface_mtu = options.interface_mtu;
    host.watch = options.watch;
    host.sink = sink;
    return network.add<EndpointHost>(host);
  }
  PairOptions options_;
};

/// Measures how long the receiving application got nothing: the longest time between two advances
/// of received() from `begin` on.
class StallMeter {
 public:
  StallMeter(Pair& pair, Duration resolution) : pair_(pair), resolution_(resolution) { look(); }
  [[nodiscard]] Duration longest() const { return longest_; }

 private:
  void look() {
    const TimePoint now = pair_.network.now();
    const std::uint64_t received = pair_.received();
    if (received != last_) {
      if (last_ > 0) longest_ = std::max(longest_, now - since_);
      last_ = received;
      since_ = now;
    }
    if (pair_.accepted() && pair_.receiver().ended()) return;
    pair_.network.after(resolution_, [this] { look(); });
  }
  Pair& pair_;
  Duration resolution_;
  std::uint64_t last_ = 0;
  TimePoint since_{};
  Duration longest_{};
};

}  // namespace xfer::sim

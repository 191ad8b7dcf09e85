#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/keyed_hash.hpp"
#include "core_memory.hpp"
#include "flow_watch.hpp"
#include "network.hpp"
#include "stream_app.hpp"
#include "udt/endpoint.hpp"

namespace xfer::sim {

/// How the simulated driver treats its endpoint. Real ones are woken late and find several
/// datagrams waiting.
struct DriverModel {
  Duration wake_latency{};  ///< from an arrival or a deadline to the driver's turn
  Duration wake_jitter{};   ///< up to this much more, uniformly distributed
  std::size_t receive_batch = 64;
  std::size_t max_segments = udt::kMaxTrainSegments;
  bool lend = true;                      ///< read into room lent by the endpoint
  std::size_t socket_buffer = 16 << 20;  ///< bytes of datagrams waiting; more are dropped
};

struct EndpointHostOptions {
  SocketAddress address;
  DriverModel driver;
  std::uint32_t mss = udt::kDefaultMss;  ///< longest IP packet it may send without more agreed
  std::uint32_t interface_mtu = udt::kDefaultMss;
  /// Off where packets are forged or damaged, so that the peer's numbers mean nothing.
  bool watch = true;
  trace::Sink* sink = nullptr;
};

/// A udt::Endpoint, its driver and the applications on its connections.
class EndpointHost final : public Host, private udt::Routes {
 public:
  EndpointHost(Network& network, const EndpointHostOptions& options);
  ~EndpointHost() override;

  [[nodiscard]] udt::Endpoint& endpoint() const { return *endpoint_; }
  [[nodiscard]] const CoreMemory& memory() const { return memory_; }
  CoreMemory& memory() { return memory_; }

  /// Connects and runs an application on the connection.
  StreamApp& connect(const SocketAddress& peer, const udt::ConnectionConfig& config,
                     const AppOptions& app);
  StreamApp& rendezvous(const SocketAddress& peer, const udt::ConnectionConfig& config,
                        const AppOptions& app);
  /// Listens; `accept` says what the application on each new connection is to do.
  void listen(const udt::ListenConfig& config, std::function<AppOptions(std::size_t)> accept);
  /// In the order of connecting and accepting.
  [[nodiscard]] const std::vector<std::unique_ptr<StreamApp>>& apps() const { return apps_; }

  /// Of the driver; may be changed in the middle of a run.
  DriverModel& driver() { return options_.driver; }
  /// A stopped process: datagrams wait in the socket, no timer is served.
  void freeze(bool frozen);
  /// From now on nothing goes in or out.
  void vanish() { vanished_ = true; }
  /// Has the driver take a turn now, after the application or the test did something.
  void poke() { wake_at(network_.now()); }

  void arrive(ByteView bytes, const SocketAddress& from, TimePoint now) override;
  void turn(TimePoint now) override;

 private:
  [[nodiscard]] std::uint32_t interface_mtu(const SocketAddress&) const override {
    return options_.interface_mtu;
  }
  struct Waiting {
    SocketAddress from;
    TimePoint arrival;
    std::vector<std::byte> bytes;
  };
  class CookieHash;

  StreamApp& start(Result<wire::SocketId> id, const udt::ConnectionConfig& config,
                   const AppOptions& app);
  void add_memory_limit(const udt::ConnectionConfig& config);
  void receive(TimePoint now);
  void give(const Waiting& datagram, const udt::ReceiveSlot* slot, TimePoint now);
  void drive(TimePoint now);
  void transmit(TimePoint now);
  bool handle_events(TimePoint now);
  bool pump(TimePoint now);
  void check(TimePoint now);
  void check_stats(StreamApp& app, std::size_t index);
  Duration latency();

  EndpointHostOptions options_;
  SeededRandom driver_random_;
  SeededRandom core_random_;
  std::unique_ptr<CookieHash> cookie_hash_;
  CoreMemory memory_;
  std::int64_t memory_limit_;
  std::unique_ptr<udt::Endpoint> endpoint_;
  std::unique_ptr<udt::TrainBuffer> train_;
  std::vector<std::unique_ptr<StreamApp>> apps_;
  std::vector<udt::ConnectionStats> previous_stats_;  ///< by index in apps_
  std::vector<bool> forgotten_;
  std::function<AppOptions(std::size_t)> accept_;
  udt::ConnectionConfig listen_config_;
  std::size_t accepted_ = 0;
  std::deque<Waiting> inbox_;
  std::vector<std::vector<std::byte>> spare_;
  std::size_t inbox_bytes_ = 0;
  FlowWatch watch_;
  std::vector<std::byte> watch_buffer_;
  bool frozen_ = false;
  bool vanished_ = false;
  unsigned turns_without_time_ = 0;
  std::uint64_t turn_count_ = 0;
};

/// A host without behaviour of its own: what arrives is handed to a function.
class ScriptedHost final : public Host {
 public:
  using Handler = std::function<void(ByteView, const SocketAddress&, TimePoint)>;
  ScriptedHost(Network& network, const SocketAddress& address) : Host(network, address) {}
  Handler on_datagram;
  void arrive(ByteView bytes, const SocketAddress& from, TimePoint now) override {
    if (on_datagram) on_datagram(bytes, from, now);
  }
  void turn(TimePoint) override {}
};

}  // namespace xfer::sim

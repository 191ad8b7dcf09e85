#pragma once

#include <array>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.hpp"
#include "base/random.hpp"
#include "trace/sink.hpp"
#include "udt/connection.hpp"
#include "udt/listener.hpp"

namespace xfer::udt {

/// What the host knows of the way to a peer.
class Routes {
 public:
  virtual ~Routes() = default;
  /// Largest IP packet that leaves towards `peer` in one piece, bytes; 0: unknown.
  [[nodiscard]] virtual std::uint32_t interface_mtu(const SocketAddress& peer) const = 0;
};

/// All UDT connections of one UDP port as a pure state machine: demultiplexing, listener, cookies,
/// connections. Not thread-safe. Never blocks, never reads a clock, opens nothing.
///
/// Inputs:  handle_datagram, handle_timeout, handle_unreachable, and the commands of this class and
/// of Connection. Outputs: after any input, poll_transmit() until empty, then poll_event() until
/// empty, then next_deadline(). Time:    every `now` must be >= the previous one (asserted).
class Endpoint {
 public:
  /// `random` gives initial sequence numbers and socket IDs, `cookie_hash` makes cookies: both
  /// unpredictable in the product, both must outlive the endpoint, as must `sink` (nullable).
  Endpoint(RandomSource& random, const KeyedHash& cookie_hash, trace::Sink* sink = nullptr);

  /// Lets connections ask for the way to their peer; must outlive the endpoint. Without it nothing
  /// is known of any way.
  void set_routes(const Routes& routes) { routes_ = &routes; }

  // Getters.

  /// The connection with that local ID, or nullptr. Valid until forget() or the endpoint's end.
  [[nodiscard]] Connection* find(wire::SocketId id);
  [[nodiscard]] const EndpointStats& stats() const { return stats_; }
  [[nodiscard]] std::size_t connection_count() const { return connections_.size(); }

  // Commands.

  /// Starts connecting; Event::connected or Event::failed follows.
  ///   ErrorCode::out_of_range  the configuration is invalid.
  Result<wire::SocketId> connect(const SocketAddress& peer, const ConnectionConfig& config,
                                 TimePoint now);
  /// Starts a rendezvous: the peer does the same towards us.
  Result<wire::SocketId> rendezvous(const SocketAddress& peer, const ConnectionConfig& config,
                                    TimePoint now);
  /// Accepts connections from now on; each is reported by Event::incoming.
  Result<void> listen(const ListenConfig& config);
  /// Accepts no more; existing connections stay.
  void stop_listening() { listening_.reset(); }
  /// Drops a connection and its memory, whatever its state. After its last event, or to give up
  /// silently.
  void forget(wire::SocketId id);

  // Handle.

  /// Lends room for up to `slots.size()` datagrams; returns how many slots were filled in (at least
  /// 1). The loan ends with the next call to lend().
  std::size_t lend(std::span<ReceiveSlot> slots);
  /// Takes one datagram, in lent room or elsewhere. Malformed input is counted and dropped.
  void handle_datagram(const ReceivedDatagram& datagram, TimePoint now);
  /// Fires due timers. Early or repeated calls are harmless.
  void handle_timeout(TimePoint now);
  /// The network reported `peer` unreachable (ICMP). A hint: it may be forged or pass.
  void handle_unreachable(const SocketAddress& peer, bool port_refused, TimePoint now);

  // Poll.

  /// Builds the next datagram or train into `out`. nullopt: nothing to send now. `max_segments`
  /// caps the train.
  std::optional<Transmit> poll_transmit(TimePoint now, TrainBuffer& out,
                                        std::size_t max_segments = kMaxTrainSegments);
  std::optional<Event> poll_event();
  /// When handle_timeout() or poll_transmit() next has something to do; nullopt: nothing to wait
  /// for.
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

 private:
  /// An answer that belongs to no connection.
  struct Reply {
    SocketAddress to;
    wire::Handshake handshake;
    wire::SocketId destination;
  };
  static constexpr std::size_t kMaxReplies = 64;
  struct Listening {
    ListenConfig config;
    Listener listener;
  };

  Result<wire::SocketId> start(HandshakeFsm::Role role, const SocketAddress& peer,
                               const ConnectionConfig& config, TimePoint now);
  [[nodiscard]] wire::SocketId new_id();
  Connection& add(std::unique_ptr<Connection> connection);
  [[nodiscard]] LocalParameters make_local(const SocketAddress& peer,
                                           const ConnectionConfig& config);
  [[nodiscard]] std::uint32_t interface_mtu(const SocketAddress& peer) const;
  bool handle_repeated(const wire::ControlHeader& header, const wire::Handshake& handshake,
                       ByteView body, const SocketAddress& from, TimePoint now);
  void handle_unaddressed(const wire::ControlHeader& header, ByteView body,
                          const SocketAddress& from, TimePoint now);
  void accept(const wire::Handshake& request, const SocketAddress& from, TimePoint now);
  void reply(const wire::Handshake& request, const SocketAddress& to, wire::RequestType type,
             std::uint32_t cookie, const std::optional<wire::CapabilityBlock>& capabilities);
  void check_time(TimePoint now);

  RandomSource& random_;
  const KeyedHash& cookie_hash_;
  trace::Sink* sink_;
  const Routes* routes_ = nullptr;
  EndpointStats stats_;
  TimePoint last_now_{};

  std::vector<std::unique_ptr<Connection>>
      connections_;  ///< in the order they were made: accepted ones FIFO
  std::unordered_map<std::uint32_t, Connection*> by_id_;  ///< look-up only, never iterated
  std::size_t next_to_send_ = 0;                          ///< round robin
  std::optional<Listening> listening_;

  std::array<Reply, kMaxReplies> replies_{};
  std::size_t reply_first_ = 0;
  std::size_t reply_count_ = 0;

  std::array<std::array<std::byte, wire::kHeaderSize>, kMaxReceiveBatch> staged_heads_{};
  std::vector<std::byte> staging_;  ///< payload room of the lent slots
  std::size_t staged_payload_ = 0;
};

}  // namespace xfer::udt

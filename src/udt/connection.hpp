#pragma once

#include <array>
#include <memory>
#include <optional>

#include "base/byte_source.hpp"
#include "base/random.hpp"
#include "base/socket_address.hpp"
#include "trace/sink.hpp"
#include "udt/config.hpp"
#include "udt/events.hpp"
#include "udt/handshake_fsm.hpp"
#include "udt/recv_half.hpp"
#include "udt/send_half.hpp"
#include "udt/stats.hpp"
#include "udt/timers.hpp"
#include "udt/transmit.hpp"

namespace xfer::udt {

/// One UDT connection as a pure state machine: handshake, the two directions of the stream,
/// keep-alive, closing. Not thread-safe. Never blocks, never reads a clock. Owned and fed by an
/// Endpoint; the application uses the getters and the commands. Two streams of bytes, no messages.
class Connection {
 public:
  ///   connecting -> connected | failed
  ///   connected  -> draining (close) | shutting_down (abort) | peer_closed | failed
  ///   draining   -> shutting_down (all acknowledged, or linger over) | closed (the peer shut down)
  ///   | failed shutting_down -> closed (all shutdown packets sent, or the peer shut down)
  ///   peer_closed -> closed (close, abort)
  enum class State : std::uint8_t {
    connecting,
    connected,
    draining,
    shutting_down,
    peer_closed,
    closed,
    failed
  };

  // Getters.

  [[nodiscard]] wire::SocketId id() const { return local_.id; }
  [[nodiscard]] const SocketAddress& peer() const { return local_.peer; }
  [[nodiscard]] State state() const { return state_; }
  /// Bytes of a full packet of the agreed MSS; 0 until connected, then fixed. The path may make the
  /// packets in use larger or smaller (ConnectionStats::packet_size).
  [[nodiscard]] std::uint32_t payload_size() const { return payload_size_; }
  /// No packet is ever larger; 0 until connected, then fixed.
  [[nodiscard]] std::uint32_t largest_payload() const { return largest_payload_; }
  [[nodiscard]] ConnectionStats stats() const;

  // Commands: the stream out. Its bytes stay with the application, in a ByteSource, until they are
  // acknowledged.

  /// Where the bytes of the stream out are kept; must outlive the connection. Called once, before
  /// the first offer().
  void set_source(const ByteSource& source);
  /// Bytes [0, end) of the stream exist; those below `flush` are to be sent without waiting for a
  /// full packet. Neither may go back. Before the connection is up, and after it is down, this has
  /// no effect but is allowed.
  void offer(std::uint64_t end, std::uint64_t flush, TimePoint now);
  /// Everything below has been acknowledged and will not be viewed again.
  [[nodiscard]] std::uint64_t acked_offset() const { return send_ ? send_->acked_offset() : 0; }

  // Commands: the stream in.

  /// The next run of in-order bytes that was not handed out yet, as long as memory is contiguous;
  /// nullopt: none. It stays valid and keeps its place in the receive window until consume().
  std::optional<ByteView> take_readable();
  /// The oldest `bytes` bytes handed out are done with; opens the window.
  void consume(std::uint64_t bytes, TimePoint now);

  // Commands: the end.

  /// Sends what was offered, waits for its acknowledgement (at most ConnectionConfig::linger),
  /// shuts down.
  void close(TimePoint now);
  /// Shuts down at once; what was not acknowledged is lost.
  void abort(TimePoint now);

  // For the endpoint.

  /// The connecting side.
  Connection(HandshakeFsm::Role role, const LocalParameters& local, const ConnectionConfig& config,
             RandomSource& random, trace::Sink* sink, TimePoint now);
  /// The accepting side: connected from the start. `answer` is what repeated requests are answered
  /// with.
  Connection(const Agreement& agreement, const wire::Handshake& answer,
             const LocalParameters& local, const ConnectionConfig& config, RandomSource& random,
             trace::Sink* sink, TimePoint now);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] bool is_rendezvous() const {
    return fsm_ && fsm_->role() == HandshakeFsm::Role::rendezvous;
  }
  /// Whether that request of that peer made this connection, so that its repeat wants the same
  /// answer (rule I-4).
  [[nodiscard]] bool accepted_from(const wire::Handshake& request) const;

  void handle_control(const wire::ControlHeader& header, ByteView body, TimePoint now);
  void handle_data(const wire::DataHeader& header, ByteView payload, TimePoint now,
                   TimePoint arrival);
  void handle_timeout(TimePoint now);
  void handle_unreachable(bool port_refused, TimePoint now);

  std::optional<Transmit> poll_transmit(TimePoint now, TrainBuffer& out, std::size_t max_segments);
  std::optional<Event> poll_event();
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  /// Whether its last event has been polled.
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  void establish(const Agreement& agreement, TimePoint now);
  void enter(State state, TimePoint now);
  void fail(ErrorCode code, const char* what, TimePoint now);
  void finish_closing(std::optional<ErrorCode> error, TimePoint now);
  void begin_shutdown(TimePoint now);
  void check_drained(TimePoint now);
  void heard(TimePoint now);
  void measure_first_reply(TimePoint now);
  void handle_handshake(const wire::Handshake& handshake, TimePoint now);
  void handle_implied_handshake(TimePoint now);
  void check_handshake(TimePoint now);
  void handle_ack(const wire::ControlHeader& header, ByteView body, TimePoint now);
  void handle_peer_shutdown(TimePoint now);
  void raise(Event::Kind kind);
  void note_progress();
  [[nodiscard]] bool is_up() const {
    return state_ == State::connected || state_ == State::draining;
  }

  std::optional<Transmit> poll_control(TimePoint now, TrainBuffer& out);
  Transmit build_control(TrainBuffer& out, wire::ControlHeader header, std::size_t body_size,
                         TimePoint now);
  Transmit build_ack(TrainBuffer& out, const RecvHalf::Ack& ack, TimePoint now);
  Transmit build_handshake(TrainBuffer& out, wire::SocketId destination,
                           const wire::Handshake& handshake, TimePoint now);

  State state_ = State::connecting;
  LocalParameters local_;
  ConnectionConfig config_;
  RandomSource& random_;
  Tracer tracer_;
  TimePoint opened_;

  std::optional<HandshakeFsm> fsm_;               ///< connecting side
  std::optional<wire::Handshake> repeat_answer_;  ///< accepting side and connected rendezvous peers
  wire::SocketId requester_;  ///< accepting side: the peer's ID, as in its request
  bool answer_due_ = false;
  std::optional<TimePoint> accepted_at_;  ///< accepting side: until something follows our answer

  wire::SocketId peer_id_;
  std::uint32_t payload_size_ = 0;
  std::uint32_t largest_payload_ = 0;
  std::uint32_t capabilities_ = 0;  ///< agreed
  RttEstimator rtt_;
  ConnectionStats stats_;
  std::optional<SendHalf> send_;
  std::optional<RecvHalf> recv_;
  const ByteSource* source_ = nullptr;

  Timers timers_;
  TimePoint last_sent_;
  TimePoint last_heard_;
  std::optional<TimePoint> refused_since_;
  bool unreachable_seen_ = false;
  bool keep_alive_due_ = false;
  unsigned shutdowns_left_ = 0;
  bool shutdown_due_ = false;
  std::optional<ErrorCode> close_error_;

  /// ACKs to confirm; a burst beyond the ring loses the oldest, which the peer repeats.
  static constexpr std::size_t kMaxPendingAck2 = 16;
  std::array<wire::AckNo, kMaxPendingAck2> ack2_pending_{};
  std::size_t ack2_first_ = 0;
  std::size_t ack2_count_ = 0;

  std::uint32_t raised_ = 0;  ///< event kinds waiting to be polled, as bits
  std::uint64_t reported_acked_ = 0;
  Error error_{};
  bool has_error_ = false;
  bool finished_ = false;
};

}  // namespace xfer::udt

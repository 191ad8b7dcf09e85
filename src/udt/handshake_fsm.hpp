#pragma once

#include <algorithm>
#include <optional>

#include "udt/config.hpp"
#include "wire/handshake.hpp"

namespace xfer::udt {

/// What both sides know once they are connected.
struct Agreement {
  wire::SocketId peer_id;
  wire::SeqNo local_isn;          ///< of the packets we send
  wire::SeqNo peer_isn;           ///< of the packets the peer sends
  std::uint32_t mss = 0;          ///< the smaller of both
  std::uint32_t peer_window = 0;  ///< packets the peer can receive
  std::optional<Duration> rtt;    ///< as the handshake saw it
  /// What both can; nullopt: nothing beyond stock UDT4.
  std::optional<wire::CapabilityBlock> common{};

  [[nodiscard]] bool can(std::uint32_t capability) const {
    return common && (common->capabilities & capability) != 0;
  }
  /// No packet is ever larger, counted as the MSS is.
  [[nodiscard]] std::uint32_t largest_packet() const {
    return can(wire::kPathMtuProbing) ? std::max<std::uint32_t>(mss, common->max_packet) : mss;
  }
};

/// What two sides have in common; nullopt: one of them offers nothing.
std::optional<wire::CapabilityBlock> common_capabilities(
    const std::optional<wire::CapabilityBlock>& ours,
    const std::optional<wire::CapabilityBlock>& theirs);

/// Our own side of a handshake.
struct LocalParameters {
  wire::SocketId id;
  wire::SeqNo isn;
  std::uint32_t mss = 0;
  std::uint32_t window = 0;
  SocketAddress peer;
  std::optional<wire::CapabilityBlock> capabilities{};  ///< ours; nullopt: stay plain
};

/// The values of a peer's handshake that no connection may be built on (rule I-6): ISN with the top
/// bit set, MSS below kMinMss, window 0 or negative, invalid socket ID.
///   ErrorCode::version_mismatch  another version or socket type; `allow_zero` accepts 0 for both,
///   as repeated answers
///                                of connected stock sockets have (rule I-5)
///   ErrorCode::out_of_range      any of the above
Result<void> validate_handshake(const wire::Handshake& handshake, bool allow_zero);

/// The body both sides start from.
wire::Handshake make_handshake(const LocalParameters& local, wire::RequestType request,
                               std::uint32_t cookie);

/// The connecting side of a handshake: a caller towards a listener, or one of two rendezvous peers
/// (wire facts, 4.3 and 4.5). A caller sends its capabilities to a listener that sent its own with
/// the cookie; rendezvous peers stay plain.
///
///   caller:      induction -> conclusion -> connected     conclusion -> induction when unanswered
///   rendezvous:  waving -> concluding -> connected
///   any:         -> rejected
class HandshakeFsm {
 public:
  enum class Role : std::uint8_t { caller, rendezvous };
  enum class State : std::uint8_t {
    induction,
    conclusion,
    waving,
    concluding,
    connected,
    rejected
  };

  HandshakeFsm(Role role, const LocalParameters& local, TimePoint now);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] Role role() const { return role_; }
  /// Set in state connected.
  [[nodiscard]] const std::optional<Agreement>& agreement() const { return agreement_; }
  /// Why the answers seen so far were of no use, if there were any: a better reason than "no
  /// answer".
  [[nodiscard]] std::optional<ErrorCode> complaint() const { return complaint_; }

  void handle(const wire::Handshake& handshake, TimePoint now);
  /// Data or a keep-alive arrived: the rendezvous peer takes us for connected.
  void handle_other_packet();
  void handle_timeout(TimePoint now);

  struct Out {
    wire::SocketId destination;
    wire::Handshake handshake;
  };
  /// The handshake to send now, if one is due.
  std::optional<Out> poll(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

 private:
  void handle_as_caller(const wire::Handshake& handshake, TimePoint now);
  void handle_as_rendezvous(const wire::Handshake& handshake, TimePoint now);
  /// Checks an answer's values; complains and returns false if they are of no use.
  bool accept_values(const wire::Handshake& handshake, bool allow_zero);
  void send_at(TimePoint at) { send_at_ = at; }

  Role role_;
  State state_;
  LocalParameters local_;
  std::uint32_t cookie_ = 0;
  std::optional<wire::CapabilityBlock> common_;  ///< with the listener that sent the cookie
  bool first_request_ = true;
  std::optional<TimePoint> send_at_;
  std::optional<TimePoint> restart_at_;
  std::optional<TimePoint>
      asked_at_;  ///< when the unanswered request went out; unset: it was repeated
  std::optional<Duration> rtt_;
  wire::SocketId peer_id_;               ///< rendezvous: 0 until the peer's handshake was seen
  std::optional<wire::Handshake> seen_;  ///< rendezvous: the peer's last handshake
  std::optional<Agreement> agreement_;
  std::optional<ErrorCode> complaint_;
};

}  // namespace xfer::udt

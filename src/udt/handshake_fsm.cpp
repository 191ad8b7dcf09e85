#include "udt/handshake_fsm.hpp"

#include <algorithm>

namespace xfer::udt {

using wire::Handshake;
using wire::RequestType;

Result<void> validate_handshake(const Handshake& handshake, bool allow_zero) {
  const bool zero = handshake.version == 0 && handshake.socket_type == 0;
  const bool ours = handshake.version == wire::kUdtVersion &&
                    handshake.socket_type == static_cast<std::uint32_t>(wire::SocketType::stream);
  if (!ours && !(zero && allow_zero)) return ErrorCode::version_mismatch;
  constexpr std::uint32_t kNegative = 0x80000000U;
  if (handshake.isn > wire::SeqNo::kMax || handshake.mss < kMinMss ||
      (handshake.mss & kNegative) != 0 || handshake.flight_window == 0 ||
      (handshake.flight_window & kNegative) != 0 || !handshake.socket_id.valid())
    return ErrorCode::out_of_range;
  return {};
}

Handshake make_handshake(const LocalParameters& local, RequestType request, std::uint32_t cookie) {
  Handshake handshake;
  handshake.isn = local.isn.value();
  handshake.mss = local.mss;
  handshake.flight_window = local.window;
  handshake.request = request;
  handshake.socket_id = local.id;
  handshake.cookie = cookie;
  handshake.peer_ip = wire::encode_peer_ip(local.peer);
  return handshake;
}

std::optional<wire::CapabilityBlock> common_capabilities(
    const std::optional<wire::CapabilityBlock>& ours,
    const std::optional<wire::CapabilityBlock>& theirs) {
  if (!ours || !theirs) return std::nullopt;
  return wire::CapabilityBlock{std::min(ours->version, theirs->version),
                               std::min(ours->max_packet, theirs->max_packet),
                               ours->capabilities & theirs->capabilities};
}

HandshakeFsm::HandshakeFsm(Role role, const LocalParameters& local, TimePoint now)
    : role_(role),
      state_(role == Role::caller ? State::induction : State::waving),
      local_(local),
      send_at_(now) {}

void HandshakeFsm::handle(const Handshake& handshake, TimePoint now) {
  if (state_ == State::connected || state_ == State::rejected) return;
  if (role_ == Role::caller)
    handle_as_caller(handshake, now);
  else
    handle_as_rendezvous(handshake, now);
}

bool HandshakeFsm::accept_values(const Handshake& handshake, bool allow_zero) {
  const auto valid = validate_handshake(handshake, allow_zero);
  if (!valid) {
    complaint_ = valid.error().code == ErrorCode::version_mismatch ? ErrorCode::version_mismatch
                                                                   : ErrorCode::peer_error;
    return false;
  }
  return true;
}

/// From induction or conclusion. The answer to a conclusion is also taken in state induction: a
/// listener may leave the cookie out, or answer after we began again.
void HandshakeFsm::handle_as_caller(const Handshake& handshake, TimePoint now) {
  switch (handshake.request) {
    case RequestType::rejected:
      state_ = State::rejected;
      return;
    case RequestType::induction:
      if (state_ != State::induction || !accept_values(handshake, false)) return;
      if (asked_at_) rtt_ = now - *asked_at_;
      cookie_ = handshake.cookie;
      common_ = common_capabilities(local_.capabilities, handshake.capabilities);
      state_ = State::conclusion;
      send_at(now);
      restart_at_ = now + kHandshakeRestart;
      return;
    case RequestType::conclusion:
      if (!accept_values(handshake, true)) return;
      if (handshake.isn != local_.isn.value() || handshake.mss > local_.mss) {
        complaint_ = ErrorCode::peer_error;
        return;
      }
      agreement_ = Agreement{handshake.socket_id,
                             local_.isn,
                             local_.isn,
                             handshake.mss,
                             std::min(handshake.flight_window, kMaxFlightWindow),
                             rtt_,
                             common_capabilities(local_.capabilities, handshake.capabilities)};
      state_ = State::connected;
      return;
    default:
      return;  // rendezvous requests and unknown ones (fault C7)
  }
}

void HandshakeFsm::handle_as_rendezvous(const Handshake& handshake, TimePoint now) {
  if (handshake.request == RequestType::rejected) {
    state_ = State::rejected;
    return;
  }
  const bool known = handshake.request == RequestType::rendezvous ||
                     handshake.request == RequestType::conclusion ||
                     handshake.request == RequestType::agreement;
  if (!known || !accept_values(handshake, true)) return;
  seen_ = handshake;
  peer_id_ = handshake.socket_id;

  if (state_ == State::waving) {
    if (handshake.request == RequestType::agreement) return;  // for a request we have not made
    state_ = State::concluding;
    send_at(now);
  } else if (handshake.request == RequestType::rendezvous) {
    send_at(now);
  } else {
    handle_other_packet();
  }
}

void HandshakeFsm::handle_other_packet() {
  if (state_ != State::concluding || !seen_) return;
  agreement_ = Agreement{peer_id_,
                         local_.isn,
                         wire::SeqNo(seen_->isn),
                         std::min(local_.mss, seen_->mss),
                         std::min(seen_->flight_window, kMaxFlightWindow),
                         std::nullopt};
  state_ = State::connected;
}

void HandshakeFsm::handle_timeout(TimePoint now) {
  if (state_ == State::conclusion && restart_at_ && *restart_at_ <= now) {
    state_ = State::induction;  // the cookie may have expired (fault C3)
    asked_at_.reset();
    send_at(now);
  }
}

std::optional<HandshakeFsm::Out> HandshakeFsm::poll(TimePoint now) {
  if (state_ == State::connected || state_ == State::rejected || !send_at_ || *send_at_ > now)
    return std::nullopt;
  send_at(now + kHandshakeRetry);
  switch (state_) {
    case State::induction:
      // Once repeated, an answer could be to either request and says nothing about the round trip.
      asked_at_ = first_request_ ? std::optional(now) : std::nullopt;
      first_request_ = false;
      return Out{wire::SocketId(0), make_handshake(local_, RequestType::induction, 0)};
    case State::conclusion: {
      Out out{wire::SocketId(0), make_handshake(local_, RequestType::conclusion, cookie_)};
      out.handshake.capabilities = common_;
      return out;
    }
    default:
      break;
  }
  LocalParameters local = local_;
  if (seen_)
    local.mss = std::min(local.mss, seen_->mss);  // both sides end up with the same (rule I-23)
  return Out{
      peer_id_,
      make_handshake(
          local, state_ == State::waving ? RequestType::rendezvous : RequestType::conclusion, 0)};
}

std::optional<TimePoint> HandshakeFsm::next_deadline() const {
  if (state_ == State::connected || state_ == State::rejected) return std::nullopt;
  return earlier(send_at_, state_ == State::conclusion ? restart_at_ : std::nullopt);
}

}  // namespace xfer::udt

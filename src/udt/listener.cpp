#include "udt/listener.hpp"

#include "base/byte_writer.hpp"
#include "base/check.hpp"
#include "udt/handshake_fsm.hpp"

namespace xfer::udt {

Listener::Answer Listener::judge(const wire::Handshake& handshake, const SocketAddress& from,
                                 TimePoint now) const {
  // The type first: nothing else may draw an answer to a forged address (fault C5).
  if (handshake.request == wire::RequestType::induction) return Answer::cookie;
  if (handshake.request != wire::RequestType::conclusion) return Answer::ignore;

  const std::int64_t current = slot(now);
  if (handshake.cookie != cookie_in_slot(handshake, from, current) &&
      handshake.cookie != cookie_in_slot(handshake, from, current - 1))
    return Answer::ignore;
  if (was_accepted(handshake, from, now)) return Answer::ignore;
  return validate_handshake(handshake, false) ? Answer::accept : Answer::reject;
}

void Listener::remember(const wire::Handshake& handshake, const SocketAddress& from,
                        TimePoint now) {
  accepted_[next_] = {from, handshake.socket_id, handshake.isn, now};
  next_ = (next_ + 1) % kRemembered;
}

bool Listener::was_accepted(const wire::Handshake& handshake, const SocketAddress& from,
                            TimePoint now) const {
  for (const auto& old : accepted_) {
    if (old.id == handshake.socket_id && old.isn == handshake.isn && old.from == from &&
        now - old.at < 2 * kCookieSlot)
      return true;
  }
  return false;
}

std::uint32_t Listener::cookie_in_slot(const wire::Handshake& handshake, const SocketAddress& from,
                                       std::int64_t slot) const {
  std::array<std::byte, 48> text{};
  ByteWriter out(text);
  out.u64(static_cast<std::uint64_t>(slot));
  out.u8(static_cast<std::uint8_t>(from.family));
  out.u16(from.port);
  out.u32(from.scope);
  out.bytes(std::as_bytes(std::span(from.ip)));
  out.u32(handshake.isn);
  out.u32(handshake.socket_id.value());
  XFER_ASSERT(out.ok());
  return static_cast<std::uint32_t>(hash_.hash(out.written()));
}

}  // namespace xfer::udt

#pragma once

#include <array>

#include "base/keyed_hash.hpp"
#include "base/socket_address.hpp"
#include "udt/limits.hpp"
#include "wire/handshake.hpp"

namespace xfer::udt {

/// What a listener answers to handshakes of strangers. Keeps no state for an unproved address: a
/// cookie is a keyed hash of address, socket ID, ISN and time slot, good in its slot and the next
/// (faults C2, C3).
class Listener {
 public:
  enum class Answer : std::uint8_t {
    ignore,
    cookie,  ///< echo the request with the cookie
    reject,  ///< echo the request with request type 1002
    accept,  ///< the peer has proved its address and asks for something we can do
  };

  explicit Listener(const KeyedHash& hash) : hash_(hash) {}

  /// Judges a handshake that belongs to no connection.
  [[nodiscard]] Answer judge(const wire::Handshake& handshake, const SocketAddress& from,
                             TimePoint now) const;
  [[nodiscard]] std::uint32_t cookie(const wire::Handshake& handshake, const SocketAddress& from,
                                     TimePoint now) const {
    return cookie_in_slot(handshake, from, slot(now));
  }
  /// That request was accepted: its replay makes no second connection while its cookie is good
  /// (fault C4).
  void remember(const wire::Handshake& handshake, const SocketAddress& from, TimePoint now);

 private:
  struct Accepted {
    SocketAddress from;
    wire::SocketId id;
    std::uint32_t isn = 0;
    TimePoint at{};
  };
  static constexpr std::size_t kRemembered = 1024;

  static std::int64_t slot(TimePoint now) { return now.time_since_epoch() / kCookieSlot; }
  [[nodiscard]] std::uint32_t cookie_in_slot(const wire::Handshake& handshake,
                                             const SocketAddress& from, std::int64_t slot) const;
  [[nodiscard]] bool was_accepted(const wire::Handshake& handshake, const SocketAddress& from,
                                  TimePoint now) const;

  const KeyedHash& hash_;
  std::array<Accepted, kRemembered> accepted_{};
  std::size_t next_ = 0;
};

}  // namespace xfer::udt

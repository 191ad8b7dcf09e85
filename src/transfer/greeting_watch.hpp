#pragma once

#include <array>

#include "base/bytes.hpp"
#include "session/messages.hpp"

namespace xfer::transfer {

/// Finds out that the peer of a bare byte stream speaks the transfer protocol: all it has sent is a
/// greeting, for whose answer it waits.
class GreetingWatch {
 public:
  /// The next bytes of the stream.
  void see(ByteView bytes);
  /// Whether the stream so far is one greeting of that role and nothing else.
  [[nodiscard]] bool only_greeted(session::Role role) const;

 private:
  std::array<std::byte, 64> head_{};
  std::size_t seen_ = 0;  ///< bytes, as far as head_ holds them; one more than that: too many
};

}  // namespace xfer::transfer

#include "transfer/greeting_watch.hpp"

#include <algorithm>

#include "session/frame_reader.hpp"

namespace xfer::transfer {

void GreetingWatch::see(ByteView bytes) {
  if (seen_ > head_.size()) return;
  if (bytes.size() > head_.size() - seen_) {
    seen_ = head_.size() + 1;
    return;
  }
  std::copy(bytes.begin(), bytes.end(), head_.begin() + static_cast<std::ptrdiff_t>(seen_));
  seen_ += bytes.size();
}

bool GreetingWatch::only_greeted(session::Role role) const {
  if (seen_ > head_.size()) return false;
  ByteView rest = ByteView(head_).first(seen_);
  session::FrameReader reader;
  const auto message = reader.next(rest);
  if (!message || !*message || !rest.empty()) return false;
  const auto* hello = std::get_if<session::Hello>(&**message);
  return hello != nullptr && hello->role == role;
}

}  // namespace xfer::transfer

#pragma once

#include <algorithm>
#include <vector>

#include "base/socket_address.hpp"
#include "base/time.hpp"

namespace xfer::net {

/// The hosts towards which something did not work, for a time: then it is tried again, and after
/// each further failure later (twice the time before, up to kLongestWait). Bounded; forgets the
/// oldest.
class RefusedPaths {
 public:
  static constexpr std::size_t kMaxPaths = 64;
  static constexpr Duration kLongestWait = 640s;

  explicit RefusedPaths(Duration first_wait) : first_wait_(first_wait) {}

  [[nodiscard]] bool empty() const { return paths_.empty(); }
  [[nodiscard]] std::size_t size() const { return paths_.size(); }
  [[nodiscard]] bool may_try(const SocketAddress& destination, TimePoint now) const {
    const auto at = find(destination);
    return at == paths_.end() || now >= at->retry_at;
  }
  void refused(const SocketAddress& destination, TimePoint now) {
    Path path{host_of(destination), {}, first_wait_};
    if (const auto at = find(destination); at != paths_.end()) {
      path.wait = std::min(at->wait * 2, std::max(kLongestWait, first_wait_));
      paths_.erase(at);
    } else if (paths_.size() == kMaxPaths) {
      paths_.erase(paths_.begin());
    }
    path.retry_at = now + path.wait;
    paths_.push_back(path);
  }
  void worked(const SocketAddress& destination) {
    if (const auto at = find(destination); at != paths_.end()) paths_.erase(at);
  }

 private:
  struct Path {
    SocketAddress host;  ///< port 0
    TimePoint retry_at;
    Duration wait;  ///< from the last failure to `retry_at`
  };
  static SocketAddress host_of(SocketAddress address) {
    address.port = 0;
    return address;
  }
  [[nodiscard]] std::vector<Path>::const_iterator find(const SocketAddress& destination) const {
    return std::find_if(
        paths_.begin(), paths_.end(),
        [host = host_of(destination)](const Path& path) { return path.host == host; });
  }

  Duration first_wait_;
  std::vector<Path> paths_;  ///< the latest failure last
};

}  // namespace xfer::net

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tun.hpp"

namespace xfer::netlab {

using Arguments = std::vector<std::string>;

struct Reply {
  bool ok = true;
  std::string text;
};

/// The socket on which a running lab takes requests: a command and its options.
class ControlServer {
 public:
  /// @throws std::system_error
  explicit ControlServer(const std::string& path);
  [[nodiscard]] int descriptor() const { return socket_.number(); }
  /// Answers one request that waits.
  void answer(const std::function<Reply(const Arguments&)>& answer);

 private:
  FileDescriptor socket_;
};

/// Sends a request to the lab that listens at `path` and waits for its answer, 5 s at most.
/// @throws std::system_error
Reply ask(const std::string& path, const Arguments& request);

}  // namespace xfer::netlab

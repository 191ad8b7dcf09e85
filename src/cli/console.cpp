#include "cli/console.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

namespace xfer::cli {

bool Console::has_room() {
  constexpr int kPatienceMs = 1000;
  pollfd wait{fd_, POLLOUT, 0};
  int ready = 0;
  do {
    ready = ::poll(&wait, 1, stalled_ ? 0 : kPatienceMs);
  } while (ready < 0 && errno == EINTR);
  stalled_ = ready == 0;
  return !stalled_;
}

void Console::write(std::string_view text) {
  // A pipe that has room takes this much without blocking (pipe(7), PIPE_BUF).
  constexpr std::size_t kChunk = 4096;
  bool begun = false;
  while (!text.empty() && !gone_) {
    if (!has_room()) {
      torn_ = torn_ || begun;
      return;
    }
    if (std::exchange(torn_, false) && ::write(fd_, "\n", 1) < 0) torn_ = true;
    const ssize_t written = ::write(fd_, text.data(), std::min(text.size(), kChunk));
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      begun = true;
    } else if (errno != EINTR && errno != EAGAIN) {
      gone_ = true;
    }
  }
}

void Console::line(std::string_view text) { write(std::string(text) + "\n"); }

bool Console::is_terminal() const {
  const char* const term = std::getenv("TERM");
  return ::isatty(fd_) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

std::size_t Console::columns() const {
  winsize size{};
  return ::ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void occupy_standard_descriptors() {
  for (int fd = 0; fd < 3; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is taken, which is `fd`. Opened the wrong way round on purpose.
    const int got = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    if (got != fd && got >= 0) ::close(got);
  }
}

}  // namespace xfer::cli

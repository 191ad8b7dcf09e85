#include "cli/console.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace xfer::cli {

void Console::write(std::string_view text) {
  while (!text.empty() && !gone_) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd wait{fd_, POLLOUT, 0};
      ::poll(&wait, 1, 1000);
    } else if (errno != EINTR) {
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

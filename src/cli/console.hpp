#pragma once

#include <string_view>

namespace xfer::cli {

/// Output to a file descriptor that may go away: after a failed write (a reader that closed its
/// pipe, a full disk) everything further is dropped, and the job goes on. A reader that does not
/// read (a stopped terminal, a hanging program behind a pipe) is waited for once, for a second;
/// then what finds no room is dropped until there is room again. Needs SIGPIPE ignored.
class Console {
 public:
  explicit Console(int fd) : fd_(fd) {}

  /// Writes all of `text`, or drops the rest.
  void write(std::string_view text);
  /// `text` and a newline, in one write.
  void line(std::string_view text);

  /// True if it is a terminal that understands cursor movement.
  [[nodiscard]] bool is_terminal() const;
  /// Width of the terminal now; 80 if it does not tell.
  [[nodiscard]] std::size_t columns() const;

 private:
  [[nodiscard]] bool has_room();

  int fd_;
  bool gone_ = false;
  bool stalled_ = false;  ///< the reader was waited for in vain, and has not read since
  bool torn_ = false;     ///< the last thing written was cut off
};

/// Opens the standard descriptors that are closed, so that no socket or file gets their number:
/// reading standard input or writing standard output and error then fails instead of reaching the
/// wrong place.
void occupy_standard_descriptors();

}  // namespace xfer::cli

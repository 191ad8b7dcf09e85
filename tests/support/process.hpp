#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace xfer::test {

/// How to start a program. Signals are at their defaults, whatever the test program did with them.
struct ProcessOptions {
  std::string standard_input;       ///< path of a file to read from; empty: /dev/null
  std::string standard_output;      ///< path of a file to write to; empty: captured
  bool output_is_terminal = false;  ///< standard output is a pseudo-terminal, 80 columns wide
  bool output_closed = false;       ///< standard output is not open at all
  bool keep_input_open =
      false;  ///< standard input is a pipe: write with Process::feed(), end with close_input()
  bool unprivileged = false;  ///< as user 65534; the test must be root
  std::string directory;      ///< working directory; empty: the test's
  std::vector<std::string> environment{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "TERM=xterm"};
};

/// A program run by a test. Ended with SIGKILL if the test leaves it behind. Every wait has a limit
/// and fails the test (by an exception) when it is reached.
class Process {
 public:
  /// @param command program (a path) and arguments.
  explicit Process(const std::vector<std::string>& command, const ProcessOptions& options = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Blocks until the program has ended; its exit status, or 128 + the signal that ended it.
  int wait(std::chrono::seconds limit = std::chrono::seconds(60));
  [[nodiscard]] bool running();

  /// Blocks until standard output (or error) has a line with this text in it, and returns that line
  /// without its newline. Lines before `from` (a count) are not looked at.
  std::string wait_for_output(const std::string& text, std::size_t from = 0);
  std::string wait_for_error(const std::string& text);

  void signal(int number) const;
  void feed(const std::string& text) const;
  void close_input();
  [[nodiscard]] pid_t pid() const { return pid_; }

  /// What was captured so far; all of it after wait().
  std::string out();
  std::string err();

 private:
  void read_all(int out, int err);
  std::string wait_for(const std::string& text, std::size_t from, const std::string& captured);

  pid_t pid_ = -1;
  int input_ = -1;
  std::string name_;
  std::thread reader_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string out_;
  std::string err_;
  bool ended_ = false;
  int status_ = 0;
};

/// Lines without their newlines.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace xfer::test

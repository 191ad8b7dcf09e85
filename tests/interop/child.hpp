#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace xfer::interop {

/// A child process whose output is read line by line with a time limit. It dies with the test: when
/// the test ends (PR_SET_PDEATHSIG) and when this object does.
class Child {
 public:
  /// How a child ended.
  struct Exit {
    bool timed_out = false;  ///< it was killed by wait()
    int status = -1;         ///< exit status; 128 + signal number if a signal ended it
    std::string output;      ///< standard output and error, from the start
    rusage usage{};          ///< processor time of the whole process
    [[nodiscard]] bool good() const { return !timed_out && status == 0; }
  };

  /// Starts `arguments[0]`, a path, with the rest as its arguments. `environment` entries
  /// (`NAME=value`) are added.
  explicit Child(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment = {});
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// The next line of output without its end; nullopt: none within `limit`, or the output has
  /// ended.
  std::optional<std::string> read_line(Duration limit);
  /// The rest of the first line that starts with `prefix`, however much comes before it.
  std::optional<std::string> read_after(const std::string& prefix, Duration limit);
  void write_line(const std::string& line);
  /// Waits for the end; kills the process if it does not come within `limit`.
  Exit wait(Duration limit);

 private:
  /// More output; false at its end or when `limit` has passed.
  bool read_more(Duration limit);

  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string text_;
  std::size_t read_position_ = 0;
};

}  // namespace xfer::interop

#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "transfer/report.hpp"

namespace xfer::cli {

/// What progress looks like.
enum class ProgressStyle : std::uint8_t {
  none,
  bar,    ///< one line of a terminal, drawn again and again
  lines,  ///< whole lines without control characters, kPlainInterval apart
};

inline constexpr Duration kPlainInterval = 5s;

/// Turns progress reports into text for the output. Several sessions are shown as their sum. `now`
/// is any clock that does not go backwards.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(ProgressStyle style) : style_(style) {}

  /// Text to write now, empty if it is not time; complete with its newline or cursor movement.
  std::string update(const transfer::Progress& progress, Duration now, std::size_t columns);
  /// A session is over and no longer shown.
  void end(transfer::SessionId session);
  /// Text that removes the bar from the terminal, if one is there: before any other line, and at
  /// the end.
  std::string erase();

 private:
  std::map<transfer::SessionId, transfer::Progress> sessions_;
  ProgressStyle style_;
  bool drawn_ = false;
  std::optional<Duration> last_line_;
};

/// ` 45 % [====>     ]  1.20 GB of 2.66 GB  9.41 Gbit/s  12.0 s left  name`, at most `columns`
/// wide.
std::string progress_bar(const transfer::Progress& progress, std::size_t columns);
/// `45 % done: 1.20 GB of 2.66 GB, 9.41 Gbit/s, 12.0 s left`.
std::string progress_line(const transfer::Progress& progress);

}  // namespace xfer::cli

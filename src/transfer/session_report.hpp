#pragma once

#include <array>
#include <string>

#include "transfer/job.hpp"

namespace xfer::transfer {

/// Collects what a session has to tell and tells the observer: counts, progress at a calm pace, the
/// summary. For the worker thread.
class SessionReport {
 public:
  SessionReport(Observer& observer, SessionId session, Summary::Role role, bool raw,
                const SocketAddress& peer);

  /// A finished entry. `result.session` is filled in.
  void entry(EntryResult result);
  /// Something that is not sent on purpose.
  void skipped(std::string_view name, const char* reason);
  void warning(std::string_view printable_text);
  /// Whether enough time has passed for progress().
  [[nodiscard]] bool progress_due() const;
  void progress(Progress now);
  void add_bytes(std::uint64_t bytes) { summary_.bytes += bytes; }
  void count_file() { ++summary_.files; }

  /// Entries that the sender could not even announce.
  void failed_at_peer(std::uint64_t count);
  [[nodiscard]] std::uint64_t failed() const { return summary_.failed; }
  /// nullopt if no entry failed, else the error that they add up to: their own if all failed, else
  /// partial.
  [[nodiscard]] std::optional<Error> verdict() const;

  /// The end: on_progress, on_summary and, with an error, on_failure. `detail`: printable, more
  /// about the error.
  Summary finish(std::optional<Error> error, const std::string& detail,
                 const udt::ConnectionStats& connection, const net::SocketStats& socket,
                 const FileCalls& calls, Progress last);

 private:
  Observer* observer_;
  Summary summary_;
  TimePoint started_;
  TimePoint last_report_;
  double user_started_ = 0;
  double system_started_ = 0;
  std::optional<Error> worst_;
  std::array<std::pair<TimePoint, std::uint64_t>, 16> samples_{};  ///< for the recent rate, a ring
  std::size_t sample_count_ = 0;
};

/// "subject: sentence: detail"; without a detail, what the error itself says.
std::string failure_line(const std::string& subject, const Error& error,
                         const std::string& detail = {});

/// Whichever of two failures is more telling, per session::more_telling.
std::optional<Error> more_telling(const std::optional<Error>& a, const std::optional<Error>& b);

}  // namespace xfer::transfer

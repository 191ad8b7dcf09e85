#include "transfer/session_report.hpp"

#include <sys/resource.h>

#include <cstring>

#include "file/printable.hpp"
#include "net/clock.hpp"
#include "session/receiver.hpp"

namespace xfer::transfer {
namespace {

constexpr Duration kReportInterval = 100ms;

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

rusage usage_of_process() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage;
}

}  // namespace

SessionReport::SessionReport(Observer& observer, SessionId session, Summary::Role role, bool raw,
                             const SocketAddress& peer)
    : observer_(&observer), started_(net::now()), last_report_(started_) {
  summary_.role = role;
  summary_.raw = raw;
  summary_.session = session;
  summary_.peer = peer;
  const rusage usage = usage_of_process();
  user_started_ = seconds(usage.ru_utime);
  system_started_ = seconds(usage.ru_stime);
}

void SessionReport::entry(EntryResult result) {
  result.session = summary_.session;
  if (result.ok) {
    summary_.bytes += result.bytes;
    ++(result.kind == EntryResult::Kind::file ? summary_.files : summary_.directories);
  } else {
    ++summary_.failed;
    worst_ = more_telling(worst_, result.error);
    if (summary_.failures.size() < kMaxListedFailures) summary_.failures.push_back(result);
  }
  observer_->on_entry(result);
}

void SessionReport::failed_at_peer(std::uint64_t count) {
  summary_.failed += count;
  worst_ = more_telling(worst_, Error{ErrorCode::source_error, 0, nullptr});
  warning(std::to_string(count) + (count == 1 ? " entry" : " entries") +
          " could not be read at the sender");
}

void SessionReport::skipped(std::string_view name, const char* reason) {
  ++summary_.skipped;
  warning(file::printable(name) + ": " + reason + ", skipped");
}

void SessionReport::warning(std::string_view printable_text) {
  observer_->on_warning(summary_.session, printable_text);
}

bool SessionReport::progress_due() const { return net::now() - last_report_ >= kReportInterval; }

void SessionReport::progress(Progress now) {
  const TimePoint time = net::now();
  last_report_ = time;
  now.session = summary_.session;
  now.elapsed = time - started_;
  const auto& oldest =
      sample_count_ < samples_.size() ? samples_[0] : samples_[sample_count_ % samples_.size()];
  const std::pair<TimePoint, std::uint64_t> from =
      sample_count_ == 0 ? std::pair{started_, std::uint64_t{0}} : oldest;
  const double span = to_seconds(time - from.first);
  if (span > 0 && now.bytes_done >= from.second)
    now.rate = static_cast<double>(now.bytes_done - from.second) / span;
  samples_[sample_count_ % samples_.size()] = {time, now.bytes_done};
  ++sample_count_;
  observer_->on_progress(now);
}

std::optional<Error> SessionReport::verdict() const {
  if (summary_.failed == 0) return std::nullopt;
  const bool all = summary_.files + summary_.directories == 0;
  if (all && worst_) return worst_;
  return Error{ErrorCode::partial, 0, nullptr};
}

Summary SessionReport::finish(std::optional<Error> error, const std::string& detail,
                              const udt::ConnectionStats& connection,
                              const net::SocketStats& socket, const FileCalls& calls,
                              Progress last) {
  last.connection = connection;
  progress(std::move(last));
  summary_.elapsed = net::now() - started_;
  const double span = to_seconds(summary_.elapsed);
  summary_.goodput = span > 0 ? static_cast<double>(summary_.bytes) / span : 0;
  const rusage usage = usage_of_process();
  summary_.user_seconds = seconds(usage.ru_utime) - user_started_;
  summary_.system_seconds = seconds(usage.ru_stime) - system_started_;
  summary_.connection = connection;
  summary_.socket = socket;
  summary_.calls = calls;
  summary_.error = error;
  observer_->on_summary(summary_);
  if (error) {
    Failure failure;
    failure.session = summary_.session;
    failure.error = *error;
    const bool by_entries = detail.empty() && summary_.failed > 0;
    // An entry whose failure ended the session has said it all.
    const bool said = !summary_.failures.empty() && error->code == ErrorCode::no_space &&
                      summary_.failures.back().error.code == error->code;
    if (said) {
      failure.line = summary_.failures.back().line();
    } else if (by_entries && summary_.failed == 1 && summary_.failures.size() == 1) {
      failure.line = summary_.failures.front().line();
    } else if (by_entries) {
      failure.line = std::to_string(summary_.failed) + " of " +
                     std::to_string(summary_.failed + summary_.files + summary_.directories) +
                     " entries failed";
      if (!summary_.failures.empty())
        failure.line += ", the first: " + summary_.failures.front().line();
    } else {
      failure.line = failure_line(net::to_string(summary_.peer), *error, detail);
    }
    observer_->on_failure(failure);
  }
  return summary_;
}

std::string failure_line(const std::string& subject, const Error& error,
                         const std::string& detail) {
  std::string line = subject;
  if (!line.empty()) line += ": ";
  line += error_sentence(error.code);
  if (!detail.empty()) return line + ": " + detail;
  if (error.what != nullptr) line += std::string(": ") + error.what;
  if (error.sys_errno != 0) line += std::string(": ") + std::strerror(error.sys_errno);
  return line;
}

std::optional<Error> more_telling(const std::optional<Error>& a, const std::optional<Error>& b) {
  if (!a) return b;
  if (!b) return a;
  return session::more_telling(a->code, b->code) == a->code ? a : b;
}

}  // namespace xfer::transfer

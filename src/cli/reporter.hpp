#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cli/console.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "transfer/report.hpp"

namespace xfer::cli {

/// Where output goes. `out`: text or JSON; `err`: warnings and errors, a line each. Must outlive
/// what uses them.
struct Outputs {
  Console* out = nullptr;
  Console* err = nullptr;
};

/// A tree may hold thousands of links that are skipped: from here on the report counts them.
inline constexpr std::size_t kMaxWarnings = 20;

/// Prints what a job reports. Errors always go to `err` as text, each exactly once.
class Reporter : public transfer::Observer {
 public:
  Reporter(Outputs outputs, const OutputOptions& options) : outputs_(outputs), options_(options) {}

  void on_failure(const transfer::Failure& failure) final;

  /// Prints the error a job ended with, if nothing that was printed said so.
  void finish(const Error& error);
  /// A warning that even --quiet does not silence.
  void insist(const std::string& text);

 protected:
  /// Before a line on `err`.
  virtual void clear() {}
  /// The same error for programs.
  virtual void failed(const transfer::Failure& /*failure*/) {}

  void complain(std::string_view text);
  /// Not with --quiet; after kMaxWarnings only with --verbose.
  void warn(std::string_view text);

  Outputs outputs_;
  OutputOptions options_;

 private:
  std::set<ErrorCode> reported_;
  std::size_t warnings_ = 0;
  std::string last_complaint_;
};

class TextReporter final : public Reporter {
 public:
  /// @param wanted_socket_buffer what the user or the default asked for, bytes.
  TextReporter(Outputs outputs, const OutputOptions& options, std::size_t wanted_socket_buffer);

  void on_listening(const SocketAddress& local) override;
  void on_connected(transfer::SessionId session, const SocketAddress& peer) override;
  void on_progress(const transfer::Progress& progress) override;
  void on_entry(const transfer::EntryResult& entry) override;
  void on_warning(transfer::SessionId session, std::string_view text) override;
  void on_summary(const transfer::Summary& summary) override;

 private:
  void clear() override;
  void say(std::string_view text);

  std::size_t wanted_socket_buffer_;
  ProgressDisplay progress_;
  bool hint_given_ = false;
};

/// docs/json.md
class JsonReporter final : public Reporter {
 public:
  /// Makes the line of the "start" event; called when the job is listening.
  using StartLine = std::function<std::string(const SocketAddress&)>;
  JsonReporter(Outputs outputs, const OutputOptions& options, StartLine start);

  void on_listening(const SocketAddress& local) override;
  void on_connected(transfer::SessionId session, const SocketAddress& peer) override;
  void on_progress(const transfer::Progress& progress) override;
  void on_entry(const transfer::EntryResult& entry) override;
  void on_warning(transfer::SessionId session, std::string_view text) override;
  void on_summary(const transfer::Summary& summary) override;

 private:
  void failed(const transfer::Failure& failure) override;
  void say(const std::string& line);

  StartLine start_;
  std::map<transfer::SessionId, Duration> last_progress_;
};

}  // namespace xfer::cli

#include "cli/reporter.hpp"

#include <fmt/format.h>

#include "cli/json.hpp"
#include "cli/report.hpp"
#include "cli/text.hpp"
#include "file/printable.hpp"
#include "net/clock.hpp"
#include "net/resolve.hpp"

namespace xfer::cli {
namespace {

constexpr Duration kJsonProgressInterval = 1s;

Duration clock_reading() { return net::now().time_since_epoch(); }

ProgressStyle style_for(const Console& out, const OutputOptions& options) {
  if (options.quiet) return ProgressStyle::none;
  return out.is_terminal() ? ProgressStyle::bar : ProgressStyle::lines;
}

}  // namespace

void Reporter::on_failure(const transfer::Failure& failure) {
  reported_.insert(failure.error.code);
  failed(failure);
  complain(failure.line);
}

void Reporter::finish(const Error& error) {
  if (!reported_.contains(error.code)) on_failure({0, error, to_string(error)});
}

void Reporter::insist(const std::string& text) {
  clear();
  outputs_.err->line("xfer: warning: " + text);
}

void Reporter::complain(std::string_view text) {
  if (text == last_complaint_) return;  // a job of one entry fails as that entry did
  last_complaint_ = text;
  clear();
  outputs_.err->line(fmt::format("xfer: {}", text));
}

void Reporter::warn(std::string_view text) {
  if (options_.quiet) return;
  ++warnings_;
  if (warnings_ <= kMaxWarnings || options_.verbose) insist(std::string(text));
  if (warnings_ == kMaxWarnings && !options_.verbose)
    insist("no more warnings are shown; --verbose shows them all");
}

TextReporter::TextReporter(Outputs outputs, const OutputOptions& options,
                           std::size_t wanted_socket_buffer)
    : Reporter(outputs, options),
      wanted_socket_buffer_(wanted_socket_buffer),
      progress_(style_for(*outputs.out, options)) {}

void TextReporter::on_listening(const SocketAddress& local) {
  say("listening on " + net::to_string(local));
}

void TextReporter::on_connected(transfer::SessionId, const SocketAddress& peer) {
  say("connected: " + net::to_string(peer));
}

void TextReporter::on_progress(const transfer::Progress& progress) {
  outputs_.out->write(progress_.update(progress, clock_reading(), outputs_.out->columns()));
}

void TextReporter::on_entry(const transfer::EntryResult& entry) {
  if (!entry.ok) {
    complain(entry.line());
  } else if (options_.verbose) {
    const bool is_file = entry.kind == transfer::EntryResult::Kind::file;
    const std::string name = file::printable(entry.name);
    say(is_file ? fmt::format("done: {}, {}", name, format_bytes(entry.bytes))
                : fmt::format("done: {}/", name));
  }
}

void TextReporter::on_warning(transfer::SessionId, std::string_view text) { warn(text); }

void TextReporter::on_summary(const transfer::Summary& summary) {
  progress_.end(summary.session);
  for (const std::string& line : report_lines(summary, options_.verbose)) say(line);
  if (hint_given_) return;
  if (const auto hint = socket_buffer_hint(summary, wanted_socket_buffer_)) {
    say(*hint);
    hint_given_ = true;
  }
}

void TextReporter::clear() { outputs_.out->write(progress_.erase()); }

void TextReporter::say(std::string_view text) {
  if (options_.quiet) return;
  clear();
  outputs_.out->line(text);
}

JsonReporter::JsonReporter(Outputs outputs, const OutputOptions& options, StartLine start)
    : Reporter(outputs, options), start_(std::move(start)) {}

void JsonReporter::on_listening(const SocketAddress& local) { say(start_(local)); }

void JsonReporter::on_connected(transfer::SessionId session, const SocketAddress& peer) {
  say(json::connected(session, peer));
}

void JsonReporter::on_progress(const transfer::Progress& progress) {
  const auto [last, first] = last_progress_.try_emplace(progress.session, progress.elapsed);
  if (!first && progress.elapsed - last->second < kJsonProgressInterval) return;
  last->second = progress.elapsed;
  say(json::progress(progress));
}

void JsonReporter::on_entry(const transfer::EntryResult& entry) {
  say(json::file(entry));
  if (!entry.ok) complain(entry.line());
}

void JsonReporter::on_warning(transfer::SessionId session, std::string_view text) {
  say(json::warning(session, text));
  warn(text);
}

void JsonReporter::on_summary(const transfer::Summary& summary) {
  last_progress_.erase(summary.session);
  say(json::summary(summary));
}

void JsonReporter::failed(const transfer::Failure& failure) {
  outputs_.out->line(json::error(failure));
}

void JsonReporter::say(const std::string& line) {
  if (!options_.quiet) outputs_.out->line(line);
}

}  // namespace xfer::cli

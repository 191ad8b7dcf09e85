#include "cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text.hpp"
#include "file/printable.hpp"

namespace xfer::cli {
namespace {

using transfer::Progress;

Progress sum(const std::map<transfer::SessionId, Progress>& sessions, const Progress& newest) {
  Progress all = newest;
  for (const auto& [id, one] : sessions) {
    if (id == newest.session) continue;
    all.files_done += one.files_done;
    all.bytes_done += one.bytes_done;
    all.bytes_total += one.bytes_total;
    all.total_known = all.total_known && one.total_known;
    all.rate += one.rate;
  }
  return all;
}

/// Share done, in whole percent rounded down; nullopt while it cannot be known.
std::optional<unsigned> percent(const Progress& p) {
  if (!p.total_known || p.bytes_total == 0) return std::nullopt;
  const double share = static_cast<double>(p.bytes_done) / static_cast<double>(p.bytes_total);
  return static_cast<unsigned>(std::clamp(share, 0.0, 1.0) * 100);
}

std::string time_left(const Progress& p) {
  if (!p.total_known || p.bytes_total <= p.bytes_done || p.rate < 1) return {};
  const double seconds = static_cast<double>(p.bytes_total - p.bytes_done) / p.rate;
  if (seconds > 360'000) return {};
  return format_duration(
             std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds))) +
         " left";
}

std::string amount(const Progress& p) {
  if (!p.total_known) return format_bytes(p.bytes_done);
  return fmt::format("{} of {}", format_bytes(p.bytes_done), format_bytes(p.bytes_total));
}

}  // namespace

std::string progress_bar(const Progress& progress, std::size_t columns) {
  std::string facts = fmt::format("  {}  {}", amount(progress), format_bit_rate(progress.rate * 8));
  if (const std::string left = time_left(progress); !left.empty()) facts += "  " + left;
  std::string line;
  if (const auto share = percent(progress)) {
    constexpr std::size_t kWidest = 30;
    constexpr std::size_t kNarrowest = 10;
    constexpr std::size_t kAround = 8;  // " 45 % [" and "]"
    line = fmt::format("{:3} %", *share);
    if (facts.size() + kAround + kNarrowest < columns) {
      const std::size_t width = std::min(columns - facts.size() - kAround, kWidest);
      const std::size_t filled = width * *share / 100;
      std::string bar(width, ' ');
      std::fill_n(bar.begin(), filled, '=');
      if (filled < width) bar[filled] = '>';
      line += " [" + bar + "]";
    }
  }
  line += facts;
  if (!progress.name.empty()) line += "  " + file::printable(progress.name);
  // The last column stays free: some terminals move to the next line when it is written.
  return clip(line, columns > 1 ? columns - 1 : 1);
}

std::string progress_line(const Progress& progress) {
  std::string line;
  if (const auto share = percent(progress)) line = fmt::format("{} % done: ", *share);
  line += fmt::format("{}, {}", amount(progress), format_bit_rate(progress.rate * 8));
  if (const std::string left = time_left(progress); !left.empty()) line += ", " + left;
  return line;
}

std::string ProgressDisplay::update(const Progress& progress, Duration now, std::size_t columns) {
  if (style_ == ProgressStyle::none) return {};
  sessions_[progress.session] = progress;
  if (style_ == ProgressStyle::bar) {
    drawn_ = true;
    // Clear to the end of the line; no wrapping while the line is drawn, in case of wide
    // characters.
    return "\r\x1b[?7l" + progress_bar(sum(sessions_, progress), columns) + "\x1b[K\x1b[?7h";
  }
  if (!last_line_) last_line_ = now;  // a short transfer needs no line
  if (now - *last_line_ < kPlainInterval) return {};
  last_line_ = now;
  return progress_line(sum(sessions_, progress)) + "\n";
}

void ProgressDisplay::end(transfer::SessionId session) { sessions_.erase(session); }

std::string ProgressDisplay::erase() {
  if (!drawn_) return {};
  drawn_ = false;
  return "\r\x1b[K";
}

}  // namespace xfer::cli

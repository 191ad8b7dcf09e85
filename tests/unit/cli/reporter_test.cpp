#include "cli/reporter.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "unit/cli/summaries.hpp"

namespace xfer::cli {
namespace {

/// A console whose text can be read back. Holds up to a pipe's capacity.
class Capture {
 public:
  Capture() : console_(-1) {
    int ends[2] = {};
    REQUIRE(::pipe2(ends, O_NONBLOCK) == 0);
    read_ = ends[0];
    write_ = ends[1];
    console_ = Console(write_);
  }
  ~Capture() {
    if (read_ >= 0) ::close(read_);
    ::close(write_);
  }
  Console* console() { return &console_; }
  std::string text() {
    std::string all;
    char part[4096];
    for (ssize_t n = 0; (n = ::read(read_, part, sizeof part)) > 0;)
      all.append(part, static_cast<std::size_t>(n));
    return all;
  }
  void close_reader() {
    ::close(read_);
    read_ = -1;
  }

 private:
  Console console_;
  int read_ = -1;
  int write_ = -1;
};

transfer::EntryResult failed_entry() {
  transfer::EntryResult entry;
  entry.name = "a\x1b";
  entry.error = {ErrorCode::source_error, 13, nullptr};
  entry.text = "permission denied";
  return entry;
}

// Pins where what goes: text on one side, each error as one line on the other.
TEST_CASE("text goes to the output, errors to the error output") {
  Capture out;
  Capture err;
  TextReporter reporter({out.console(), err.console()}, {}, 12U << 20U);
  reporter.on_listening(sample_summary().peer);
  reporter.on_entry(failed_entry());
  reporter.on_summary(sample_summary());
  reporter.on_failure({1, {ErrorCode::partial, 0, nullptr}, "1 of 4 entries failed"});
  reporter.finish({ErrorCode::partial, 0, nullptr});
  const std::string text = out.text();
  CHECK(text.starts_with("listening on 192.0.2.1:9000\nsent 3 files"));
  CHECK(text.find('\r') == std::string::npos);
  CHECK(err.text() == "xfer: a\\x1b: permission denied\nxfer: 1 of 4 entries failed\n");
}

// Pins that nothing is said twice: a job of one file fails with that file's line; an error without
// any line gets one.
TEST_CASE("each error is printed once") {
  Capture out;
  Capture err;
  TextReporter reporter({out.console(), err.console()}, {}, 0);
  reporter.on_entry(failed_entry());
  reporter.on_failure({1, {ErrorCode::source_error, 13, nullptr}, "a\\x1b: permission denied"});
  reporter.finish({ErrorCode::source_error, 13, nullptr});
  CHECK(err.text() == "xfer: a\\x1b: permission denied\n");
  reporter.finish({ErrorCode::interrupted, 0, nullptr});
  CHECK(err.text() == "xfer: interrupted\n");
}

// Pins --quiet: errors and the insistent warning only.
TEST_CASE("quiet prints errors only") {
  Capture out;
  Capture err;
  const OutputOptions quiet{.quiet = true};
  TextReporter text({out.console(), err.console()}, quiet, 1U << 30U);
  JsonReporter json({out.console(), err.console()}, quiet,
                    [](const SocketAddress&) { return "{}"; });
  for (transfer::Observer* const reporter :
       std::initializer_list<transfer::Observer*>{&text, &json}) {
    reporter->on_listening({});
    reporter->on_connected(1, {});
    reporter->on_progress({});
    transfer::EntryResult good;
    good.ok = true;
    reporter->on_entry(good);
    reporter->on_warning(1, "a warning");
    reporter->on_summary(sample_summary());
  }
  CHECK(out.text().empty());
  CHECK(err.text().empty());
  text.insist("insisting");
  text.on_failure({1, {ErrorCode::stalled, 0, nullptr}, "gone"});
  CHECK(err.text() == "xfer: warning: insisting\nxfer: gone\n");
  CHECK(out.text().empty());
}

// Pins that the hint about socket buffers comes once, not with each session of a serving receiver.
TEST_CASE("the socket buffer hint is given once") {
  Capture out;
  Capture err;
  TextReporter reporter({out.console(), err.console()}, {}, 1U << 30U);
  reporter.on_summary(sample_summary());
  CHECK(out.text().find("hint:") != std::string::npos);
  reporter.on_summary(sample_summary());
  CHECK(out.text().find("hint:") == std::string::npos);
}

// Pins that a tree full of links does not flood the terminal, unless everything is asked for.
TEST_CASE("warnings are limited") {
  for (const bool verbose : {false, true}) {
    Capture out;
    Capture err;
    TextReporter reporter({out.console(), err.console()}, {.verbose = verbose}, 0);
    for (std::size_t i = 0; i < 2 * kMaxWarnings; ++i)
      reporter.on_warning(1, "x: symbolic link, skipped");
    const std::string text = err.text();
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    CHECK(lines == (verbose ? 2 * kMaxWarnings : kMaxWarnings + 1));
    CHECK((text.find("--verbose shows them all") == std::string::npos) == verbose);
  }
}

// Pins --verbose: a line for each entry, with the name escaped.
TEST_CASE("verbose names each entry") {
  Capture out;
  Capture err;
  TextReporter reporter({out.console(), err.console()}, {.verbose = true}, 0);
  transfer::EntryResult entry;
  entry.ok = true;
  entry.name = "dir\n";
  entry.kind = transfer::EntryResult::Kind::directory;
  reporter.on_entry(entry);
  entry.kind = transfer::EntryResult::Kind::file;
  entry.bytes = 7;
  reporter.on_entry(entry);
  CHECK(out.text() == "done: dir\\x0a/\ndone: dir\\x0a, 7 bytes\n");
}

// Pins that JSON progress is at most one object a second for a session, and that every line parses.
TEST_CASE("JSON events go to the output at a calm pace") {
  Capture out;
  Capture err;
  JsonReporter reporter({out.console(), err.console()}, {.json = true},
                        [](const SocketAddress&) { return R"({"v":1,"event":"start"})"; });
  reporter.on_listening({});
  reporter.on_connected(1, {});
  for (int tenth = 0; tenth <= 20; ++tenth) {
    transfer::Progress progress;
    progress.elapsed = tenth * Duration(100ms);
    reporter.on_progress(progress);
  }
  reporter.on_entry(failed_entry());
  reporter.on_warning(1, "careful");
  reporter.on_summary(sample_summary());
  reporter.on_failure({1, {ErrorCode::partial, 0, nullptr}, "some failed"});
  std::map<std::string, int> count;
  std::istringstream lines(out.text());
  for (std::string line; std::getline(lines, line);)
    ++count[nlohmann::json::parse(line).at("event")];
  CHECK(count == std::map<std::string, int>{{"start", 1},
                                            {"connected", 1},
                                            {"progress", 3},
                                            {"file", 1},
                                            {"warning", 1},
                                            {"summary", 1},
                                            {"error", 1}});
  CHECK(err.text() ==
        "xfer: a\\x1b: permission denied\nxfer: warning: careful\nxfer: some failed\n");
}

// Pins that a reader which goes away neither ends nor blocks the job.
TEST_CASE("a closed output is dropped") {
  std::signal(SIGPIPE, SIG_IGN);
  Capture out;
  Capture err;
  TextReporter reporter({out.console(), err.console()}, {}, 0);
  out.close_reader();
  reporter.on_listening({});
  reporter.on_summary(sample_summary());
  CHECK(err.text().empty());
}

}  // namespace
}  // namespace xfer::cli

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "cli/fixture.hpp"

namespace xfer::test {
namespace {

constexpr const char* kPlainWarning =
    "xfer: warning: plain mode: the transfer is neither private nor authenticated\n";

struct Pair {
  Finished sent;
  Finished received;
};

/// Sends a small tree with the same output options on both sides.
Pair transfer(const std::vector<std::string>& options, const ProcessOptions& process = {}) {
  const TempDir dir;
  write_file(dir / "src/a", sample_bytes(300'000));
  write_file(dir / "src/b\x1b\xff", "b");
  std::vector<std::string> receive{"--once", "--dir", dir.make("in")};
  receive.insert(receive.end(), options.begin(), options.end());
  Receiver receiver(receive, process);
  std::vector<std::string> send{"send", "--plain", dir / "src", receiver.address()};
  send.insert(send.end(), options.begin(), options.end());
  Pair pair;
  pair.sent = run(send, process);
  pair.received.status = receiver.process().wait();
  pair.received.out = receiver.process().out();
  pair.received.err = receiver.process().err();
  CHECK(pair.sent.status == 0);
  CHECK(pair.received.status == 0);
  CHECK(tree(dir / "in/src") == tree(dir / "src"));
  return pair;
}

// Pins the plain report: the figures a user looks for, and not one control character where there is
// no terminal.
TEST_CASE("plain lines where there is no terminal") {
  const Pair pair = transfer({});
  for (const Finished& side : {pair.sent, pair.received}) {
    CAPTURE(side.out, side.err);
    CHECK(side.err == kPlainWarning);
    CHECK(std::ranges::none_of(side.out, [](char c) { return c != '\n' && (c & '\xe0') == 0; }));
    for (const char* const part :
         {"connected: 127.0.0.1:", "2 files and 1 directory", "300,001 bytes", "bit/s",
          "packets: ", "round-trip time", "CPU: ", "socket buffers: "}) {
      CAPTURE(part);
      CHECK(side.out.find(part) != std::string::npos);
    }
  }
  CHECK(pair.sent.out.find("retransmitted") != std::string::npos);
  CHECK(pair.received.out.find(" lost") != std::string::npos);
  CHECK(pair.received.out.starts_with("listening on 127.0.0.1:"));
}

// Pins the bar of a terminal: drawn in place, removed at the end, wrapping left switched on.
TEST_CASE("a bar on a terminal") {
  const TempDir dir;
  write_file(dir / "x", sample_bytes(300'000));
  ProcessOptions terminal;
  terminal.output_is_terminal = true;
  Receiver receiver({"--once", "--dir", dir.make("in")});
  const Finished sent = run({"send", "--plain", dir / "x", receiver.address()}, terminal);
  CHECK(sent.status == 0);
  CHECK(receiver.process().wait() == 0);
  CAPTURE(sent.out);
  CHECK(sent.out.find("\r\x1b[?7l") != std::string::npos);
  CHECK(sent.out.rfind("\x1b[?7h") > sent.out.rfind("\x1b[?7l"));
  // Behind the last bar there is the order to erase it, then the report and nothing drawn any more.
  const std::size_t erased = sent.out.rfind("\r\x1b[K");
  REQUIRE(erased != std::string::npos);
  CHECK(erased > sent.out.rfind("\x1b[?7h"));
  CHECK(sent.out.find("sent 1 file", erased) != std::string::npos);
}

// Pins that a terminal which cannot move its cursor gets plain lines.
TEST_CASE("no bar on a dumb terminal") {
  const TempDir dir;
  write_file(dir / "x", "x");
  ProcessOptions terminal;
  terminal.output_is_terminal = true;
  terminal.environment = {"TERM=dumb"};
  Receiver receiver({"--once", "--dir", dir.make("in")});
  const Finished sent = run({"send", "--plain", dir / "x", receiver.address()}, terminal);
  CHECK(sent.status == 0);
  CHECK(receiver.process().wait() == 0);
  CHECK(sent.out.find('\x1b') == std::string::npos);
}

// Pins --quiet: nothing but the warning that must not be silenced.
TEST_CASE("quiet prints the plain warning only") {
  const TempDir dir;
  write_file(dir / "x", "x");
  Receiver receiver({"--once", "--dir", dir.make("in")});
  const Finished sent = run({"send", "--plain", "-q", dir / "x", receiver.address()});
  CHECK(sent.status == 0);
  CHECK(sent.out.empty());
  CHECK(sent.err == kPlainWarning);
}

// Pins what users hear of a system that limits socket buffers: which limit, its value, what to set,
// once, whoever sends how often; and that it works all the same (case 60: nothing in /proc is
// needed for it). A sender is told at the end.
TEST_CASE("a system that limits socket buffers [case 60]") {
  if (!can_be_another_user("a system that limits socket buffers")) return;
  const TempDir dir;
  write_file(dir / "x", "x");
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(dir.make("in"), std::filesystem::perms(0777));
  ProcessOptions nobody;
  nobody.unprivileged = true;
  Receiver receiver({"--socket-buffer", "1000M", "--json", "--dir", dir / "in"}, nobody);
  for (int i = 0; i < 2; ++i) {
    const Finished sent =
        run({"send", "--plain", "--socket-buffer", "1000M", dir / "x", receiver.address()}, nobody);
    CHECK(sent.status == 0);
    CAPTURE(sent.out, sent.err);
    CHECK(sent.out.find("sysctl -w net.core.wmem_max=1048576000") != std::string::npos);
    CHECK(sent.err.find("rmem_max") == std::string::npos);
  }
  receiver.process().signal(SIGTERM);
  receiver.process().wait();
  const std::string out = receiver.process().out();
  CAPTURE(out);
  const std::string granted = json_field(out, "summary", "socket_receive_buffer");
  REQUIRE(json_count(out, "warning") == 1);
  const std::string text = json_field(out, "warning", "text");
  CHECK(text.starts_with("net.core.rmem_max is " + granted + ", "));
  CHECK(text.find("sysctl -w net.core.rmem_max=1048576000") != std::string::npos);
  CHECK(text.find("2097152000 bytes of kernel memory") != std::string::npos);
}

// Pins that every line of --json is an object, names of any bytes included, and that the story is
// complete.
TEST_CASE("JSON on both sides") {
  const Pair pair = transfer({"--json"});
  for (const Finished& side : {pair.sent, pair.received}) {
    CAPTURE(side.out);
    CHECK(json_count(side.out, "start") == 1);
    CHECK(json_count(side.out, "connected") == 1);
    CHECK(json_count(side.out, "progress") >= 1);
    CHECK(json_count(side.out, "file") == 3);
    CHECK(json_count(side.out, "summary") == 1);
    CHECK(json_count(side.out, "error") == 0);
    CHECK(json_field(side.out, "summary", "bytes") == "300001");
    CHECK(json_field(side.out, "summary", "ok") == "true");
    CHECK(side.out.find("b\\\\x1b\\\\xff") != std::string::npos);
    CHECK(side.err == kPlainWarning);
  }
}

// Pins that a failure is told to programs and to people, once each.
TEST_CASE("JSON has errors too") {
  const Finished sent = run({"send", "--plain", "--json", "x", "no-such-host.invalid:1"});
  CHECK(sent.status == 3);
  CHECK(json_count(sent.out, "error") == 1);
  CHECK(json_field(sent.out, "error", "error") == "resolve_failed");
  CHECK(json_field(sent.out, "error", "exit") == "3");
  CHECK(lines_of(sent.err).size() == 2);
  CHECK(lines_of(sent.err)[1].find("no-such-host.invalid:1") != std::string::npos);
}

// Pins that a standard output which is closed or full loses the text and nothing else: above all,
// that no text gets into a socket or file which happened to get its number.
TEST_CASE("closed and full outputs do not hurt the transfer") {
  const TempDir dir;
  write_file(dir / "x", sample_bytes(2'000'000));
  for (const bool closed : {true, false}) {
    CAPTURE(closed);
    ProcessOptions options;
    options.output_closed = closed;
    if (!closed) options.standard_output = "/dev/full";
    Receiver receiver({"--once", "--dir", dir.make("in")});
    const Finished sent = run({"send", "--plain", "-v", dir / "x", receiver.address()}, options);
    CHECK(sent.status == 0);
    CHECK(sent.err == kPlainWarning);
    CHECK(receiver.process().wait() == 0);
    CHECK(read_file(dir / "in/x") == read_file(dir / "x"));
  }
}

// Pins that data which cannot be written to standard output is a failure, never a success.
TEST_CASE("raw data to a closed or full output fails") {
  const TempDir dir;
  write_file(dir / "x", sample_bytes(2'000'000));
  for (const bool closed : {true, false}) {
    CAPTURE(closed);
    ProcessOptions options;
    options.output_closed = closed;
    if (!closed) options.standard_output = "/dev/full";
    Receiver receiver({"--raw", "--once", "-"}, options);
    run({"send", "--plain", "--raw", dir / "x", receiver.address()});
    CHECK(receiver.process().wait() == (closed ? 9 : 8));
    CAPTURE(receiver.process().err());
    CHECK(lines_of(receiver.process().err()).back().starts_with("xfer: "));
  }
}

}  // namespace
}  // namespace xfer::test

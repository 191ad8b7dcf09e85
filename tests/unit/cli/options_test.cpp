#include "cli/options.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <unistd.h>

namespace xfer::cli {
namespace {

using Words = std::vector<std::string>;

SendCommand send(const Words& words) {
  Words all{"send", "--plain"};
  all.insert(all.end(), words.begin(), words.end());
  Invocation invocation = parse(all);
  if (const auto* const error = std::get_if<UsageError>(&invocation)) FAIL(error->line);
  return std::get<SendCommand>(std::move(invocation));
}

RecvCommand recv(const Words& words) {
  Words all{"recv", "--plain"};
  all.insert(all.end(), words.begin(), words.end());
  Invocation invocation = parse(all);
  if (const auto* const error = std::get_if<UsageError>(&invocation)) FAIL(error->line);
  return std::get<RecvCommand>(std::move(invocation));
}

/// The line of the usage error, empty if there is none.
std::string refusal(const Words& words) {
  const Invocation invocation = parse(words);
  const auto* const error = std::get_if<UsageError>(&invocation);
  return error == nullptr ? "" : error->line;
}

/// A configuration file that exists as long as this does.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) {
    char name[] = "/tmp/xfer-options-test-XXXXXX";
    const int fd = ::mkstemp(name);
    REQUIRE(fd >= 0);
    path_ = name;
    std::ofstream(path_) << text;
    ::close(fd);
  }
  ~ConfigFile() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Pins that each option of send reaches the field it is for, in its unit.
TEST_CASE("send options fill the job") {
  const SendCommand c = send({"--mss",
                              "1400",
                              "--socket-buffer",
                              "2M",
                              "--timeout",
                              "2",
                              "--connect-timeout",
                              "500ms",
                              "--window",
                              "64M",
                              "--max-rate",
                              "800M",
                              "--cc",
                              "fixed",
                              "--bind",
                              "192.0.2.1:9001",
                              "-6",
                              "-v",
                              "--json",
                              "--stdin-name",
                              "a/b",
                              "x",
                              "-",
                              "host:9000"});
  CHECK(c.job.sources == Words{"x", "-"});
  CHECK(c.job.destination.host == "host");
  CHECK(c.job.destination.port == 9000);
  CHECK(c.job.stdin_name == "a/b");
  CHECK_FALSE(c.job.raw);
  CHECK(c.job.timeout == Duration(2s));
  CHECK(c.job.connection.mss == 1400);
  CHECK(c.job.connection.idle_timeout == Duration(2s));
  CHECK(c.job.connection.connect_timeout == Duration(500ms));
  CHECK(c.job.connection.send_window == (64U << 20U) / 1356 + 1);
  CHECK(c.job.connection.max_rate == 100'000'000U);
  CHECK(c.job.connection.controller == udt::ControllerKind::fixed_rate);
  CHECK(c.job.driver.socket_buffer == 2U << 20U);
  CHECK(c.job.driver.send_ring == 64U << 20U);
  CHECK(c.job.driver.family_hint == SocketAddress::Family::ipv6);
  REQUIRE(c.bind);
  CHECK(c.bind->host == "192.0.2.1");
  CHECK(c.bind->port == 9001);
  CHECK(c.output.verbose);
  CHECK(c.output.json);
  CHECK_FALSE(c.output.quiet);
  CHECK(send({"--raw", "x", "host:1"}).job.raw);
  CHECK(send({"x", "host:1", "-q"}).output.quiet);
  CHECK(send({"x", "host:1", "-4"}).job.driver.family_hint == SocketAddress::Family::ipv4);
}

// Pins that each option of recv reaches the field it is for, in its unit.
TEST_CASE("recv options fill the job") {
  const RecvCommand c =
      recv({"--listen", "[::1]:0", "--dir", "[d]", "--once", "--fsync", "never", "--max-sessions",
            "3", "--window", "4M", "--mss", "9000", "--timeout", "5m"});
  CHECK(c.job.listen.host == "::1");
  CHECK(c.job.listen.port == 0);
  CHECK(c.job.directory == "[d]");
  CHECK(c.job.once);
  CHECK(c.job.durability == transfer::Durability::cached);
  CHECK(c.job.max_sessions == 3);
  CHECK(c.job.connection.receive_window == (4U << 20U) / 8956 + 1);
  CHECK(c.job.timeout == Duration(300s));
  CHECK(c.job.connection.idle_timeout == Duration(300s));

  const RecvCommand raw = recv({"--raw", "--once", "--listen", ":9000", "-"});
  CHECK(raw.job.raw);
  CHECK(raw.job.raw_target == "-");
  CHECK(raw.job.listen.host.empty());
  CHECK(raw.job.durability == transfer::Durability::synced);
}

// Pins the options that tune the transport, on both sides.
TEST_CASE("tuning options fill the job") {
  const SendCommand s =
      send({"--mtu", "9000", "--max-memory", "64M", "--audt-recovery", "off", "--cc", "bbr",
            "--dupack-threshold", "7", "--no-gso", "--no-gro", "--no-batch", "x", "host:1"});
  CHECK(s.job.connection.max_mtu == 9000U);
  CHECK(s.job.connection.max_memory == 64U << 20U);
  CHECK_FALSE(s.job.connection.audt_recovery);
  CHECK(s.job.connection.controller == udt::ControllerKind::bbr);
  CHECK(s.job.connection.duplicate_ack_threshold == 7);
  CHECK_FALSE(s.job.driver.gso);
  CHECK_FALSE(s.job.driver.gro);
  CHECK_FALSE(s.job.driver.batched);

  const auto controller = [](const Words& words) {
    Words all{"x", "host:1"};
    all.insert(all.end(), words.begin(), words.end());
    return send(all).job.connection.controller;
  };
  CHECK(controller({}) == udt::ControllerKind::automatic);
  CHECK(controller({"--cc", "udt"}) == udt::ControllerKind::udt_native);
  CHECK(controller({"--cc", "udt", "--cc", "auto"}) == udt::ControllerKind::automatic);

  const RecvCommand r =
      recv({"--listen", ":0", "--dir", "d", "--fp", "8", "--direct", "--preallocate",
            "--nak-repeat-threshold", "1000", "--mtu", "1400", "--no-gro"});
  CHECK(r.job.connection.block_packets == 8);
  CHECK(r.job.direct);
  CHECK(r.job.preallocate);
  CHECK(r.job.connection.nak_repeat_threshold == 1000);
  CHECK(r.job.connection.max_mtu == 1400U);
  CHECK(r.job.connection.mss == 1400);
  CHECK_FALSE(r.job.driver.gro);
  CHECK(r.job.driver.gso);

  const RecvCommand plain =
      recv({"--listen", ":0", "--dir", "d", "--mtu", "9000", "--mtu", "auto"});
  CHECK_FALSE(plain.job.connection.max_mtu);
  CHECK_FALSE(plain.job.direct);
  CHECK_FALSE(plain.job.preallocate);
  CHECK(plain.job.connection.audt_recovery);
}

// Pins that the memory ceiling holds for every buffer, and that only an explicit --window may raise
// the default one.
TEST_CASE("--max-memory bounds windows and the send ring") {
  const SendCommand s = send({"--max-memory", "1M", "x", "host:1"});
  CHECK(s.job.driver.send_ring == 1U << 20U);
  CHECK(s.job.connection.send_window == (1U << 20U) / 1500);
  const RecvCommand r = recv({"--listen", ":0", "--dir", "d", "--max-memory", "2M"});
  CHECK(r.job.connection.receive_window == (2U << 20U) / 1500);
  CHECK(r.job.connection.validate().has_value());
  // The least that the protocol needs, whatever the packet size.
  CHECK(send({"--max-memory", "1M", "--mss", "65535", "x", "host:1"}).job.connection.send_window ==
        udt::kMinFlightWindow);

  const RecvCommand wide = recv({"--listen", ":0", "--dir", "d", "--window", "1G"});
  CHECK(wide.job.connection.receive_window == (1U << 30U) / 1456 + 1);
  CHECK(wide.job.connection.max_memory ==
        std::uint64_t{wide.job.connection.receive_window} * wide.job.connection.mss);
  CHECK(refusal({"send", "--plain", "--window", "2M", "--max-memory", "1M", "x", "host:1"})
            .starts_with("--window: '2M' is more than --max-memory"));
}

// Pins that no order of the arguments matters, options behind positionals and --window before the
// --mss it is counted with included.
TEST_CASE("the order of options does not matter [case 61]") {
  std::vector<Words> groups{{"--window", "8M"},
                            {"--mss=1000"},
                            {"--cc", "fixed"},
                            {"--max-rate", "1G"},
                            {"source", "host:1"}};
  std::ranges::sort(groups);
  int orders = 0;
  do {
    Words words;
    for (const Words& group : groups) words.insert(words.end(), group.begin(), group.end());
    const SendCommand c = send(words);
    CHECK(c.job.sources == Words{"source"});
    CHECK(c.job.connection.send_window == (8U << 20U) / 956 + 1);
    CHECK(c.job.connection.max_rate == 125'000'000U);
    CHECK(c.job.connection.controller == udt::ControllerKind::fixed_rate);
    ++orders;
  } while (std::ranges::next_permutation(groups).found);
  CHECK(orders == 120);
}

// Pins the same for what bounds the receive buffer: the peers of this tool obey a window only when
// it is set before the buffer.
TEST_CASE("the order of memory options does not matter [case 61]") {
  std::vector<Words> groups{{"--max-memory", "8M"},
                            {"--mss", "9000"},
                            {"--mtu", "4000"},
                            {"--socket-buffer", "1M"},
                            {"--fp", "4"}};
  std::ranges::sort(groups);
  int orders = 0;
  do {
    Words words{"--listen", ":0", "--dir", "d"};
    for (const Words& group : groups) words.insert(words.end(), group.begin(), group.end());
    const RecvCommand c = recv(words);
    CHECK(c.job.connection.mss == 4000);
    CHECK(c.job.connection.max_mtu == 4000U);
    CHECK(c.job.connection.receive_window == (8U << 20U) / 4000);
    CHECK(c.job.connection.block_packets == 4);
    CHECK(c.job.driver.socket_buffer == 1U << 20U);
    CHECK(c.job.driver.send_ring == 8U << 20U);
    ++orders;
  } while (std::ranges::next_permutation(groups).found);
  CHECK(orders == 120);
}

// Pins that file names which look like something else to a parser stay names.
TEST_CASE("any name can be a source") {
  CHECK(send({"[x]", "{}", "[a,b]", "send", "recv", "help", "%%", "\x01[y]", "a b", "host:1"})
            .job.sources ==
        Words{"[x]", "{}", "[a,b]", "send", "recv", "help", "%%", "\x01[y]", "a b"});
  CHECK(send({"--mss", "1400", "--", "--mss", "-x", "host:1"}).job.sources == Words{"--mss", "-x"});
  CHECK(recv({"--raw", "--once", "--listen", ":0", "[x]"}).job.raw_target == "[x]");
}

// Pins the rule for repeated options: scripts append theirs.
TEST_CASE("the last of a repeated option counts") {
  CHECK(send({"--mss", "1400", "x", "host:1", "--mss", "1300", "--plain"}).job.connection.mss ==
        1300);
}

// Pins that every option with a value refuses bad ones, names itself and says what is valid.
TEST_CASE("bad values are refused with the valid range") {
  struct Case {
    Words words;
    std::string option;
    std::string valid;
  };
  const Case cases[] = {
      {{"--mss", "75"}, "--mss", "76 to 65535"},
      {{"--mss", "65536"}, "--mss", "76 to 65535"},
      {{"--mss", "-1"}, "--mss", "76 to 65535"},
      {{"--mss", ""}, "--mss", "76 to 65535"},
      {{"--socket-buffer", "4095"}, "--socket-buffer", "4k to 1G"},
      {{"--socket-buffer", "2G"}, "--socket-buffer", "4k to 1G"},
      {{"--timeout", "1.9"}, "--timeout", "2s to 24h"},
      {{"--timeout", "25h"}, "--timeout", "2s to 24h"},
      {{"--connect-timeout", "99ms"}, "--connect-timeout", "100ms to 1h"},
      {{"--connect-timeout", "2h"}, "--connect-timeout", "100ms to 1h"},
      {{"--window", "46591"}, "--window", "46592 to"},
      {{"--window", "7G"}, "--window", "46592 to"},
      {{"--window", "x"}, "--window", "number of bytes"},
      {{"--max-rate", "9k"}, "--max-rate", "10k to 1T"},
      {{"--max-rate", "2T"}, "--max-rate", "10k to 1T"},
      {{"--cc", "cubic"}, "--cc", "auto, udt, bbr, fixed"},
      {{"--mtu", "75"}, "--mtu", "76 to 65535 bytes, or auto"},
      {{"--mtu", "70000"}, "--mtu", "76 to 65535 bytes, or auto"},
      {{"--mtu", "automatic"}, "--mtu", "76 to 65535 bytes, or auto"},
      {{"--max-memory", "1"}, "--max-memory", "1M to 1T"},
      {{"--max-memory", "1048575"}, "--max-memory", "1M to 1T"},
      {{"--max-memory", "1025G"}, "--max-memory", "1M to 1T"},
      {{"--audt-recovery", "yes"}, "--audt-recovery", "on, off"},
      {{"--dupack-threshold", "0"}, "--dupack-threshold", "1 to 1000"},
      {{"--dupack-threshold", "1001"}, "--dupack-threshold", "1 to 1000"},
      {{"--dupack-threshold", "1k"}, "--dupack-threshold", "1 to 1000"},
      {{"--bind", "host:x"}, "--bind", "an address of this host"},
      {{"--stdin-name", ""}, "--stdin-name", "a relative path"},
  };
  for (const Case& c : cases) {
    Words words{"send", "--plain", "x", "host:1"};
    words.insert(words.end(), c.words.begin(), c.words.end());
    const std::string line = refusal(words);
    CAPTURE(words, line);
    CHECK(line.starts_with(c.option + ": '" + c.words[1] + "' is not valid"));
    CHECK(line.find(c.valid) != std::string::npos);
  }
  const Case recv_cases[] = {
      {{"--listen", "9000"}, "--listen", ":9000"},
      {{"--listen", "host:65536"}, "--listen", "0 to 65535"},
      {{"--listen", "::1"}, "--listen", "[::1]:9000"},
      {{"--dir", ""}, "--dir", "an existing directory"},
      {{"--fsync", "maybe"}, "--fsync", "always, never"},
      {{"--fp", "0"}, "--fp", "1 to 64"},
      {{"--fp", "65"}, "--fp", "1 to 64"},
      {{"--fp", "-8"}, "--fp", "1 to 64"},
      {{"--fp", "99999999999999999999"}, "--fp", "1 to 64"},
      {{"--nak-repeat-threshold", "0"}, "--nak-repeat-threshold", "1 to 1000"},
      {{"--nak-repeat-threshold", ""}, "--nak-repeat-threshold", "1 to 1000"},
      {{"--max-sessions", "0"}, "--max-sessions", "1 to 1000"},
      {{"--max-sessions", "1001"}, "--max-sessions", "1 to 1000"},
      {{"--window", "1"}, "--window", "46592 to"},
  };
  for (const Case& c : recv_cases) {
    Words words{"recv", "--plain", "--listen", ":0", "--dir", "d"};
    words.insert(words.end(), c.words.begin(), c.words.end());
    const std::string line = refusal(words);
    CAPTURE(words, line);
    CHECK(line.starts_with(c.option + ": '" + c.words[1] + "' is not valid"));
    CHECK(line.find(c.valid) != std::string::npos);
  }
}

// Pins what is refused for its combination, and that the message names the cause.
TEST_CASE("wrong usage is refused") {
  struct Case {
    Words words;
    std::string part;
  };
  const Case cases[] = {
      {{}, "no command"},
      {{"copy"}, "'copy' is no command"},
      {{"send"}, "--plain"},
      {{"send", "x", "host:1"}, "--plain: must be given"},
      {{"send", "--plain"}, "missing"},
      {{"send", "--plain", "x"}, "only 'x' is given"},
      {{"send", "--plain", "x", "host"}, "'host' is not valid"},
      {{"send", "--plain", "x", "host:0"}, "port 1 to 65535"},
      {{"send", "--plain", "x", "::1"}, "'::1' is not valid"},
      {{"send", "--plain", "x", ":1"}, "':1' is not valid"},
      {{"send", "--plain", "", "host:1"}, "empty"},
      {{"send", "--plain", "-", "-", "host:1"}, "given twice"},
      {{"send", "--plain", "--raw", "x", "y", "host:1"}, "exactly one source"},
      {{"send", "--plain", "--cc", "fixed", "x", "host:1"}, "needs --max-rate"},
      {{"send", "--plain", "-4", "-6", "x", "host:1"}, "contradicts"},
      {{"send", "--plain", "-q", "-v", "x", "host:1"}, "contradicts"},
      {{"send", "--plain", "--no-such", "x", "host:1"}, "unknown option '--no-such'"},
      {{"send", "--plain", "--dir", "d", "x", "host:1"}, "unknown option '--dir'"},
      {{"send", "--plain", "x", "host:1", "--mss"}, "--mss"},
      {{"send", "--plain", "\x1b[31m\xff"}, "\\x1b[31m\\xff"},
      {{"recv", "--listen", ":0", "--dir", "d"}, "--plain: must be given"},
      {{"recv", "--plain", "--dir", "d"}, "--listen [ADDR]:PORT is missing"},
      {{"recv", "--plain", "--listen", ":0"}, "--dir DIR is missing"},
      {{"recv", "--plain", "--listen", ":0", "--dir", "d", "x"}, "'x' is not expected"},
      {{"recv", "--plain", "--raw", "--listen", ":0", "x"}, "needs --once"},
      {{"recv", "--plain", "--raw", "--once", "--listen", ":0"}, "exactly one file"},
      {{"recv", "--plain", "--raw", "--once", "--listen", ":0", "--dir", "d", "x"},
       "contradicts --dir"},
      {{"recv", "--plain", "--raw", "--once", "--listen", ":0", "--json", "-"}, "contradicts -"},
  };
  for (const Case& c : cases) {
    const std::string line = refusal(c.words);
    CAPTURE(c.words, line);
    CHECK(line.find(c.part) != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  }
}

// Pins which spellings of --bind are taken.
TEST_CASE("the local address may come without a port") {
  const auto bind = [](const char* text) {
    return send({"--bind", text, "x", "host:1"}).bind.value();
  };
  CHECK(bind("192.0.2.1").host == "192.0.2.1");
  CHECK(bind("192.0.2.1").port == 0);
  CHECK(bind("2001:db8::1").host == "2001:db8::1");
  CHECK(bind("[2001:db8::1]").host == "2001:db8::1");
  CHECK(bind("[2001:db8::1]:77").port == 77);
  CHECK(bind(":77").host.empty());
  CHECK(bind(":77").port == 77);
}

// Pins where a configuration file's keys count, and that the command line wins over it.
TEST_CASE("options come from a configuration file") {
  const ConfigFile file(
      "# comment\n"
      "mss = 1400\n"
      "[send]\n"
      "max-rate = \"500M\"\n"
      "json = true\n"
      "[recv]\n"
      "fsync = never\n"
      "listen = \"[::1]:9000\"\n");
  const SendCommand from_file = send({"--config", file.path(), "x", "host:1"});
  CHECK(from_file.job.connection.mss == 1400);
  CHECK(from_file.job.connection.max_rate == 62'500'000U);
  CHECK(from_file.output.json);
  CHECK(send({"x", "host:1", "--mss", "1300", "--config", file.path()}).job.connection.mss == 1300);
  const RecvCommand receiver = recv({"--config", file.path(), "--dir", "d"});
  CHECK(receiver.job.durability == transfer::Durability::cached);
  CHECK(receiver.job.listen.host == "::1");

  const Invocation by_default = parse({"send", "--plain", "x", "host:1"}, file.path());
  REQUIRE(std::holds_alternative<SendCommand>(by_default));
  CHECK(std::get<SendCommand>(by_default).job.connection.mss == 1400);
  CHECK(std::holds_alternative<SendCommand>(
      parse({"send", "--plain", "x", "host:1"}, "/no/such/file")));
}

// Pins that mistakes in a configuration file are errors, and that a file cannot switch protection
// off.
TEST_CASE("a bad configuration file is refused") {
  const auto line = [](const char* text) {
    const ConfigFile file(text);
    return refusal({"send", "--plain", "--config", file.path(), "x", "host:1"});
  };
  CHECK(line("mss = 14\n").find("76 to 65535") != std::string::npos);
  CHECK(line("mmss = 1400\n").find("unknown key 'mmss'") != std::string::npos);
  CHECK(line("[sendd]\nmss = 1400\n").find("unknown key 'sendd.mss'") != std::string::npos);
  CHECK(line("plain = true\n").find("plain") != std::string::npos);
  CHECK(line("SRC = x\n").find("SRC") != std::string::npos);
  // The file and the line are named, of the section that counts, and the line of the last of
  // several.
  const auto names_line = [](const char* text, int number, const std::string& part) {
    const ConfigFile file(text);
    const std::string message =
        refusal({"send", "--plain", "--config", file.path(), "x", "host:1"});
    CAPTURE(text, message);
    CHECK(message.starts_with("configuration file " + file.path() + ", line " +
                              std::to_string(number) + ": "));
    CHECK(message.find(part) != std::string::npos);
  };
  names_line("# comment\n\nmss = 14\n", 3, "76 to 65535");
  names_line("[send]\n  mmss = 1400\n", 2, "unknown key 'mmss'");
  names_line("[sendd]\n\nmss = 1400\n", 3, "unknown key 'sendd.mss'");
  names_line("json = true\nquiet = maybe\n", 2, "maybe");
  names_line("timeout = 9\nplain = true\n", 2, "plain");
  names_line("[recv]\nwindow = 4M\n[send]\nwindow = 1\n", 4, "46592");
  names_line("mss = 9000\n[default]\nmss = 15\n", 3, "'15'");
  names_line("cc = fixed\n", 1, "needs --max-rate");
  // What was typed is not blamed on the file.
  const ConfigFile good("mss = 1400\n");
  CHECK(refusal({"send", "--plain", "--config", good.path(), "--mss", "1", "x", "host:1"})
            .starts_with("--mss: '1' is not valid"));
  CHECK(refusal({"send", "--plain", "--config", good.path(), "x", "host"})
            .starts_with("destination"));
  CHECK(refusal({"send", "--plain", "--config", "/no/such/file", "x", "host:1"})
            .find("/no/such/file") != std::string::npos);
}

// Pins that help and version need nothing else and mention what they must.
TEST_CASE("help and version") {
  const auto text = [](const Words& words) {
    const Invocation invocation = parse(words);
    const auto* const shown = std::get_if<ShowText>(&invocation);
    return shown == nullptr ? std::string() : shown->text;
  };
  CHECK(text({"--version"}).starts_with("xfer "));
  CHECK(text({"help"}).find("xfer send") != std::string::npos);
  CHECK(text({"--help"}) == text({"help"}));
  CHECK(text({"help", "send"}) == text({"send", "--help"}));
  CHECK(text({"recv", "-h"}).find("--listen [ADDR]:PORT") != std::string::npos);
  for (const std::string& name : option_names("send"))
    CHECK(text({"help", "send"}).find(name) != std::string::npos);
}

}  // namespace
}  // namespace xfer::cli

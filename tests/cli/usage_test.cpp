#include <catch2/catch.hpp>

#include "cli/fixture.hpp"

namespace xfer::test {
namespace {

// Pins that wrong usage ends with status 2 and one line on standard error which names the thing,
// and nothing else.
TEST_CASE("wrong usage is one line and status 2") {
  struct Case {
    std::vector<std::string> arguments;
    std::string part;
  };
  const Case cases[] = {
      {{}, "no command"},
      {{"copy"}, "'copy'"},
      {{"send", "x", "host:1"}, "--plain"},
      {{"recv", "--listen", ":0", "--dir", "."}, "--plain"},
      {{"send", "--plain", "x", "nohost"}, "'nohost'"},
      {{"send", "--plain", "x", "host:99999"}, "'host:99999'"},
      {{"send", "--plain", "--mss", "12", "x", "host:1"}, "76 to 65535"},
      {{"recv", "--plain", "--listen", ":0", "--dir", ".", "--fp", "0"}, "--fp: '0' is not valid"},
      {{"send", "--plain", "--mtu", "70000", "x", "host:1"}, "76 to 65535 bytes, or auto"},
      {{"send", "--plain", "--max-memory", "1", "x", "host:1"}, "1M to 1T"},
      {{"send", "--plain", "--bogus", "x", "host:1"}, "'--bogus'"},
      {{"recv", "--plain", "--listen", "::1:9000", "--dir", "."}, "'::1:9000'"},
      {{"recv", "--plain", "--listen", ":0"}, "--dir"},
      {{"send", "--plain", "a/x", "b/y", "c/x", "host:1"},
       "same name at the destination: 'x' (a/x and c/x)"},
      {{"send", "--plain", "--stdin-name", "../x", "-", "host:1"}, "standard input"},
  };
  for (const Case& c : cases) {
    const Finished finished = run(c.arguments);
    CAPTURE(c.arguments, finished.err);
    CHECK(finished.status == 2);
    CHECK(finished.out.empty());
    std::vector<std::string> lines = lines_of(finished.err);
    std::erase_if(lines,
                  [](const std::string& line) { return line.starts_with("xfer: warning: "); });
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].starts_with("xfer: "));
    CHECK(lines[0].find(c.part) != std::string::npos);
  }
}

// Pins that help and version are on standard output with status 0.
TEST_CASE("help and version") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"help"},
                                                    {"--help"},
                                                    {"help", "send"},
                                                    {"send", "--help"},
                                                    {"recv", "-h"},
                                                    {"--version"}}) {
    const Finished finished = run(arguments);
    CAPTURE(arguments, finished.out);
    CHECK(finished.status == 0);
    CHECK(finished.err.empty());
    CHECK(finished.out.find("xfer") != std::string::npos);
    CHECK(finished.out.ends_with("\n"));
  }
}

// Pins that hostile names in arguments cannot write escape codes to the terminal.
TEST_CASE("arguments are escaped in messages") {
  const Finished finished = run({"send", "--plain", "x", "bad\x1b[31m\n\xffhost"});
  CHECK(finished.status == 2);
  CHECK(finished.err.find('\x1b') == std::string::npos);
  CHECK(lines_of(finished.err).size() == 1);
  CHECK(finished.err.find("\\x1b[31m\\x0a\\xff") != std::string::npos);
}

// Pins that the order of options does not matter to the running program (and that each of them is
// accepted by it).
TEST_CASE("options in any order give the same transfer") {
  const TempDir dir;
  write_file(dir / "x", "content");
  const std::vector<std::vector<std::string>> orders = {
      {"--mss",
       "1400",
       "--window",
       "2M",
       "--socket-buffer",
       "1M",
       "--max-rate",
       "1G",
       "--cc",
       "fixed",
       "--timeout",
       "9",
       "--connect-timeout",
       "3",
       "-4",
       "--bind",
       "127.0.0.1",
       "-v",
       "--mtu",
       "auto",
       "--max-memory",
       "8M",
       "--audt-recovery",
       "off",
       "--dupack-threshold",
       "3",
       "--no-gso",
       "--no-gro",
       "--no-batch"},
      {"--no-batch", "--no-gro",        "--no-gso", "--dupack-threshold",
       "3",          "--audt-recovery", "off",      "--max-memory",
       "8M",         "--mtu",           "auto",     "-v",
       "--bind",     "127.0.0.1",       "-4",       "--connect-timeout",
       "3",          "--timeout",       "9",        "--cc",
       "fixed",      "--max-rate",      "1G",       "--socket-buffer",
       "1M",         "--window",        "2M",       "--mss",
       "1400"},
  };
  for (const bool options_first : {true, false})
    for (const auto& options : orders) {
      Receiver receiver({"--window", "1M", "--mss", "1300", "--once", "--fsync", "never", "--dir",
                         dir.make("in"), "--fp", "4", "--nak-repeat-threshold", "3", "--direct",
                         "--preallocate", "--max-memory", "4M"});
      std::vector<std::string> arguments{"send"};
      const std::vector<std::string> rest{"--plain", dir / "x", receiver.address()};
      const auto append = [&](const auto& words) {
        arguments.insert(arguments.end(), words.begin(), words.end());
      };
      append(options_first ? options : rest);
      append(options_first ? rest : options);
      const Finished sent = run(arguments);
      CAPTURE(sent.err);
      CHECK(sent.status == 0);
      CHECK(receiver.process().wait() == 0);
      CHECK(read_file(dir / "in/x") == "content");
      std::filesystem::remove(dir / "in/x");
    }
}

// Pins that a configuration file in its usual place is read, and that its mistakes are reported.
TEST_CASE("the configuration file of the user") {
  const TempDir home;
  write_file(home / ".config/xfer/config.toml", "mss = 12\n");
  ProcessOptions options;
  options.environment = {"HOME=" + home.path()};
  CHECK(run({"send", "--plain", "x", "host:1"}, options)
            .err.find(home / ".config/xfer/config.toml" + ", line 1: --mss: '12'") !=
        std::string::npos);
  write_file(home / "xdg/xfer/config.toml", "mss = 13\n");
  options.environment.push_back("XDG_CONFIG_HOME=" + home / "xdg");
  CHECK(run({"send", "--plain", "x", "host:1"}, options).err.find("--mss: '13'") !=
        std::string::npos);
}

}  // namespace
}  // namespace xfer::test

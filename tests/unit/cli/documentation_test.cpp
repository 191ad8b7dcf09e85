#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "cli/options.hpp"

namespace xfer::cli {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(XFER_SOURCE_DIR "/" + path);
  INFO(path);
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

/// Whole-word search, so that `--mss` is not found in `--mss-probe`, nor `-v` in `--v`.
bool mentions(const std::string& text, const std::string& option) {
  for (std::size_t at = 0; (at = text.find(option, at)) != std::string::npos; ++at) {
    const bool starts = at == 0 || !is_word(text[at - 1]);
    const std::size_t end = at + option.size();
    if (starts && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

std::string part(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  INFO(from);
  REQUIRE(begin != std::string::npos);
  return text.substr(begin, text.find(to, begin + from.size()) - begin);
}

std::set<std::string> all_options() {
  std::set<std::string> all;
  for (const char* const command : {"send", "recv"})
    for (const std::string& name : option_names(command)) all.insert(name);
  return all;
}

// Pins that the parser has options at all: the checks below must not pass for want of them.
TEST_CASE("the parser names its options") {
  CHECK(all_options().contains("--mss"));
  CHECK(all_options().contains("-q"));
  CHECK(option_names("send").size() > 15);
  CHECK(option_names("recv").size() > 15);
  CHECK(option_names("copy").empty());
}

// Pins that no option is missing from docs/cli.md, in the table of its command.
TEST_CASE("docs/cli.md has every option") {
  const std::string text = contents("docs/cli.md");
  const std::string common = part(text, "### Options of both commands", "\n### ");
  const std::string send = part(text, "### Options of `xfer send`", "\n### ");
  const std::string recv = part(text, "### Options of `xfer recv`", "\n## ");
  for (const std::string& option : option_names("send")) {
    CAPTURE(option);
    CHECK((mentions(common, option) || mentions(send, option)));
  }
  for (const std::string& option : option_names("recv")) {
    CAPTURE(option);
    CHECK((mentions(common, option) || mentions(recv, option)));
  }
}

// Pins that the exit codes a script relies on are documented: each error with its number in one
// row.
TEST_CASE("docs/cli.md and the man page have every exit code") {
  std::set<int> codes{0};
#define XFER_COLLECT(name, exit, sentence) codes.insert(exit);
  XFER_ERROR_CODES(XFER_COLLECT)
#undef XFER_COLLECT
  const std::string text = part(contents("docs/cli.md"), "## Exit status", "\n## ");
  const std::string man = part(contents("docs/man/xfer.1"), ".SH EXIT STATUS", "\n.SH ");
  for (const int code : codes) {
    CAPTURE(code);
    CHECK(text.find("\n| " + std::to_string(code) + " |") != std::string::npos);
    CHECK(man.find("\n.B " + std::to_string(code) + "\n") != std::string::npos);
  }
}

// Pins the man page; in roff a hyphen of an option is written `\-`.
TEST_CASE("the man page has every option") {
  std::string text = contents("docs/man/xfer.1");
  for (std::size_t at = 0; (at = text.find("\\-", at)) != std::string::npos;) text.erase(at, 1);
  for (const std::string& option : all_options()) {
    CAPTURE(option);
    CHECK(mentions(text, option));
  }
}

// Pins the completions of three shells; fish names options without their hyphens.
TEST_CASE("the completions have every option") {
  const std::string bash = contents("src/cli/completions/xfer.bash");
  const std::string zsh = contents("src/cli/completions/_xfer");
  const std::string fish = contents("src/cli/completions/xfer.fish");
  for (const std::string& option : all_options()) {
    CAPTURE(option);
    CHECK(mentions(bash, option));
    CHECK(mentions(zsh, option));
    const bool is_long = option.starts_with("--");
    CHECK(mentions(fish, (is_long ? "-l " : "-s ") + option.substr(is_long ? 2 : 1)));
  }
}

// Pins the other direction: no document offers an option that does not exist.
TEST_CASE("no document invents an option") {
  const std::set<std::string> known = [] {
    std::set<std::string> names = all_options();
    names.insert({"--version", "--help"});
    return names;
  }();
  std::string man = contents("docs/man/xfer.1");
  for (std::size_t at = 0; (at = man.find("\\-", at)) != std::string::npos;) man.erase(at, 1);
  for (const std::string& text :
       {contents("docs/cli.md"), man, contents("src/cli/completions/_xfer")}) {
    for (std::size_t at = 0; (at = text.find("--", at)) != std::string::npos;) {
      std::size_t end = at;
      while (end < text.size() && is_word(text[end])) ++end;
      const std::string name = text.substr(at, end - at);
      const bool starts = at == 0 || !is_word(text[at - 1]);
      at = end;
      if (!starts || name.size() < 3 || name.find_first_not_of('-') != 2) continue;
      CAPTURE(name);
      CHECK(known.contains(name));
    }
  }
}

}  // namespace
}  // namespace xfer::cli

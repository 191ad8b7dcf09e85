#include "file/path_guard.hpp"

#include <catch2/catch.hpp>

namespace xfer::file {
namespace {

TEST_CASE("names that could lead out of the directory are refused") {
  // Pins each rule of the guard by a forged name.
  const std::string_view bad[] = {"",       "/",         "/etc/x",  "..",       "../x",
                                  "a/../b", "a/..",      ".",       "./a",      "a/.",
                                  "a/./b",  "a//b",      "a/",      "//a",      "a///b",
                                  "/..",    {"a\0b", 3}, {"\0", 1}, {"a/\0", 3}};
  for (const auto name : bad) {
    CAPTURE(std::string(name));
    const auto path = RelativePath::parse(name);
    REQUIRE_FALSE(path.has_value());
    CHECK(path.error().code == ErrorCode::malformed);
    CHECK(path.error().what != nullptr);
  }
}

TEST_CASE("odd but harmless names are kept as they are") {
  // Pins that the guard refuses nothing that a Unix file can be called.
  const std::string_view good[] = {"a",   "a/b",  "...",    "..a",      ".hidden", "a b", "\n",
                                   "-rf", "\x1b", "\xff/a", "a\\..\\b", "C:",      "~",   " /b",
                                   "a..", "*",    "..../b", "con",      "\t"};
  for (const auto name : good) {
    CAPTURE(std::string(name));
    const auto path = RelativePath::parse(name);
    REQUIRE(path.has_value());
    CHECK(path->text() == name);
  }
}

TEST_CASE("lengths are bounded exactly") {
  // Pins the limits and their neighbours: component, path, depth.
  const std::string component(kMaxComponent, 'c');
  CHECK(RelativePath::parse(component).has_value());
  CHECK(RelativePath::parse("a/" + component + "/b").has_value());
  CHECK(RelativePath::parse(component + 'c').error().code == ErrorCode::limit_reached);
  CHECK(RelativePath::parse("a/" + component + "c/b").error().code == ErrorCode::limit_reached);
  std::string longest;
  while (longest.size() + kMaxComponent + 1 <= kMaxPath) longest += component + '/';
  longest += std::string(kMaxPath - longest.size(), 'x');
  REQUIRE(longest.size() == kMaxPath);
  if (longest.back() == '/') longest.back() = 'x';
  CHECK(RelativePath::parse(longest.substr(0, kMaxPath)).has_value());
  CHECK_FALSE(RelativePath::parse(longest + "x").has_value());
  std::string deep = "d";
  for (std::size_t i = 1; i < kMaxDepth; ++i) deep += "/d";
  CHECK(RelativePath::parse(deep).has_value());
  CHECK(RelativePath::parse(deep + "/d").error().code == ErrorCode::limit_reached);
}

TEST_CASE("a path splits into parent and name") {
  // Pins the two halves that opening beneath a directory uses.
  CHECK(RelativePath::parse("f")->parent().empty());
  CHECK(RelativePath::parse("f")->name() == "f");
  CHECK(RelativePath::parse("a/b/f")->parent() == "a/b");
  CHECK(RelativePath::parse("a/b/f")->name() == "f");
}

}  // namespace
}  // namespace xfer::file

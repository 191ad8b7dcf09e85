#include "file/printable.hpp"

#include <catch2/catch.hpp>

namespace xfer::file {
namespace {

TEST_CASE("names are made safe for a terminal") {
  // Pins the escape of each kind of harmful byte, and that letters of any language pass.
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"plain.txt", "plain.txt"},
      {"with space", "with space"},
      {"", ""},
      {"\x1b[31mred", "\\x1b[31mred"},
      {"bell\a", "bell\\x07"},
      {"a\nb\rc\td", "a\\x0ab\\x0dc\\x09d"},
      {{"\0", 1}, "\\x00"},
      {"\x7f", "\\x7f"},
      {"back\\slash", "back\\\\slash"},
      {"\\x1b", "\\\\x1b"},
      {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
      {"\xe6\x97\xa5\xe6\x9c\xac", "\xe6\x97\xa5\xe6\x9c\xac"},
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
      {"\xff\xfe", "\\xff\\xfe"},
      {"\xc3", "\\xc3"},  // cut short
      {"\xc3(", "\\xc3("},
      {"\xc0\xaf", "\\xc0\\xaf"},                    // overlong slash
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},           // overlong
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // above U+10FFFF
      {"\xc2\x9b"
       "31m",
       "\\xc2\\x9b"
       "31m"},  // C1: CSI in one character
      {"\xe2\x80\xae"
       "cod.exe",
       "\\xe2\\x80\\xae"
       "cod.exe"},                          // right-to-left override
      {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},  // line separator
      {"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},  // byte order mark
  };
  for (const auto& [raw, shown] : cases) {
    CAPTURE(std::string(shown));
    CHECK(printable(raw) == shown);
  }
}

TEST_CASE("no byte string makes control characters come out") {
  // Pins the property itself, over all pairs of bytes.
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const char raw[] = {static_cast<char>(a), static_cast<char>(b)};
      for (const char c : printable({raw, 2})) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) FAIL("control character from " << a << ' ' << b);
      }
    }
  }
}

}  // namespace
}  // namespace xfer::file

#include "cli/units.hpp"

#include <catch2/catch.hpp>

namespace xfer::cli {
namespace {

// Pins the accepted spellings of quantities, and that sizes count by 1024 and rates by 1000.
TEST_CASE("quantities are read with their suffix") {
  CHECK(parse_size("0") == 0U);
  CHECK(parse_size("65536") == 65536U);
  CHECK(parse_size("64k") == 65536U);
  CHECK(parse_size("64K") == 65536U);
  CHECK(parse_size("64KiB") == 65536U);
  CHECK(parse_size("64kB") == 65536U);
  CHECK(parse_size("1.5M") == 1'572'864U);
  CHECK(parse_size("2G") == 2'147'483'648U);
  CHECK(parse_size("1T") == 1'099'511'627'776U);
  CHECK(parse_size("100B") == 100U);

  CHECK(parse_rate("500M") == 500'000'000U);
  CHECK(parse_rate("2.5G") == 2'500'000'000U);
  CHECK(parse_rate("800kbit/s") == 800'000U);
  CHECK(parse_rate("10Gbit") == 10'000'000'000U);
  CHECK(parse_rate("9600") == 9600U);

  CHECK(parse_duration("30") == Duration(30s));
  CHECK(parse_duration("0.5") == Duration(500ms));
  CHECK(parse_duration("2.5s") == Duration(2500ms));
  CHECK(parse_duration("500ms") == Duration(500ms));
  CHECK(parse_duration("5m") == Duration(300s));
  CHECK(parse_duration("1h") == Duration(3600s));
}

// Pins that nothing but a plain decimal number with a known suffix passes, whatever the number
// parser below allows.
TEST_CASE("other text is no quantity") {
  for (const char* const bad :
       {"", "-1", "+1", "abc", "1x", "1 M", " 1", "1e9", "inf", "nan", "0x10", ".", "1.2.3", "M",
        "1MM", "99999999999999999999", "9999999T", "1,5M"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_size(bad));
    CHECK_FALSE(parse_rate(bad));
    CHECK_FALSE(parse_duration(bad));
  }
  CHECK_FALSE(parse_rate("1iB"));
  CHECK_FALSE(parse_size("1bit"));
  CHECK_FALSE(parse_duration("1k"));
}

// Pins that limits in messages can be typed back in.
TEST_CASE("spelled quantities read back as the same value") {
  for (const std::uint64_t value :
       {1ULL, 999ULL, 1000ULL, 1024ULL, 4096ULL, 46'592ULL, 1'000'000ULL, 1ULL << 30U}) {
    CHECK(parse_size(spell_size(value)) == value);
    CHECK(parse_rate(spell_rate(value)) == value);
  }
  CHECK(spell_size(4096) == "4k");
  CHECK(spell_rate(1'000'000'000'000) == "1T");
  for (const Duration value :
       {Duration(100ms), Duration(2s), Duration(90s), Duration(60s), Duration(86'400s)})
    CHECK(parse_duration(spell_duration(value)) == value);
  CHECK(spell_duration(100ms) == "100ms");
  CHECK(spell_duration(std::chrono::hours(24)) == "24h");
}

}  // namespace
}  // namespace xfer::cli

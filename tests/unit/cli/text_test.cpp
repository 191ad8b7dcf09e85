#include "cli/text.hpp"

#include <catch2/catch.hpp>

namespace xfer::cli {
namespace {

// Pins how amounts read in reports: three digits, the unit changes where the rounded value would
// reach 1000.
TEST_CASE("amounts are written with three digits and the right unit") {
  CHECK(format_bytes(0) == "0 bytes");
  CHECK(format_bytes(1) == "1 byte");
  CHECK(format_bytes(999) == "999 bytes");
  CHECK(format_bytes(1000) == "1.00 kB");
  CHECK(format_bytes(9'994) == "9.99 kB");
  CHECK(format_bytes(9'995) == "10.0 kB");
  CHECK(format_bytes(99'949) == "99.9 kB");
  CHECK(format_bytes(99'950) == "100 kB");
  CHECK(format_bytes(999'499) == "999 kB");
  CHECK(format_bytes(999'500) == "1.00 MB");
  CHECK(format_bytes(1'073'741'824) == "1.07 GB");
  CHECK(format_bytes(~std::uint64_t{0}) == "18.4 EB");

  CHECK(format_bit_rate(0) == "0 bit/s");
  CHECK(format_bit_rate(999.4) == "999 bit/s");
  CHECK(format_bit_rate(999.5) == "1.00 kbit/s");
  CHECK(format_bit_rate(9.41e9) == "9.41 Gbit/s");
  CHECK(format_bit_rate(123.4e12) == "123 Tbit/s");

  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(1'234'567) == "1,234,567");
}

// Pins that memory sizes are exact where they can be: they are compared with what the user set.
TEST_CASE("memory is written in binary units") {
  CHECK(format_memory(0) == "0 bytes");
  CHECK(format_memory(1023) == "1023 bytes");
  CHECK(format_memory(1024) == "1 KiB");
  CHECK(format_memory(212'992) == "208 KiB");
  CHECK(format_memory(12U << 20U) == "12 MiB");
  CHECK(format_memory((12U << 20U) + (512U << 10U)) == "12.5 MiB");
}

// Pins the steps between units of time; 59.96 s must not read "60.0 s" and 59 min 59.7 s not "59
// min 60 s".
TEST_CASE("durations are written in the unit a person would use") {
  CHECK(format_duration(0ns) == "0 us");
  CHECK(format_duration(310us) == "310 us");
  CHECK(format_duration(1500us) == "1.50 ms");
  CHECK(format_duration(999ms) == "999 ms");
  CHECK(format_duration(4200ms) == "4.20 s");
  CHECK(format_duration(59'940ms) == "59.9 s");
  CHECK(format_duration(59'960ms) == "1 min 00 s");
  CHECK(format_duration(125s) == "2 min 05 s");
  CHECK(format_duration(3'599'700ms) == "1 h 00 min");
  CHECK(format_duration(11'220s) == "3 h 07 min");
}

// Pins that a cut never splits a character and always shows.
TEST_CASE("clip cuts between characters") {
  CHECK(clip("abc", 3) == "abc");
  CHECK(clip("abcd", 3) == "ab~");
  CHECK(clip("\xc3\xa4\xc3\xb6\xc3\xbc", 3) == "\xc3\xa4\xc3\xb6\xc3\xbc");
  CHECK(clip("\xc3\xa4\xc3\xb6\xc3\xbcx", 3) == "\xc3\xa4\xc3\xb6~");
  CHECK(clip("abc", 1) == "~");
  CHECK(clip("abc", 0).empty());
  CHECK(clip("", 5).empty());
}

}  // namespace
}  // namespace xfer::cli

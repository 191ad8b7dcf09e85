#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"

/// Quantities as a user types them: a decimal number and a suffix. nullopt: not such a text, or
/// more than the type holds.
namespace xfer::cli {

/// Bytes: `65536`, `64k`, `1.5M`, `2G`, `1T`; powers of 1024, either case, with or without `B` or
/// `iB` behind.
std::optional<std::uint64_t> parse_size(std::string_view text);
/// Bits per second: `500M`, `2.5G`, `800k`; powers of 1000, either case, with or without `bit/s` or
/// `bit` behind.
std::optional<std::uint64_t> parse_rate(std::string_view text);
/// `30`, `0.5`, `2.5s`, `500ms`, `5m`, `1h`; seconds where no unit is given.
std::optional<Duration> parse_duration(std::string_view text);

/// As the parsers read it, in the largest unit that divides it: for messages.
std::string spell_size(std::uint64_t bytes);
std::string spell_rate(std::uint64_t bits_per_second);
std::string spell_duration(Duration duration);

}  // namespace xfer::cli

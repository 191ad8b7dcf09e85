#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.hpp"

/// Text for people: numbers with units.
namespace xfer::cli {

/// `text`, which is printable UTF-8, cut to `columns` characters; a cut is marked by a final `~`.
std::string clip(std::string_view text, std::size_t columns);

/// `1,234,567`.
std::string format_count(std::uint64_t value);
/// `999 bytes`, `1.50 MB`, `12.0 GB`: decimal units, three digits.
std::string format_bytes(std::uint64_t bytes);
/// `416 KiB`, `12 MiB`: binary units, as memory is counted; exact where it divides, else one
/// decimal.
std::string format_memory(std::uint64_t bytes);
/// `9.41 Gbit/s`: three digits.
std::string format_bit_rate(double bits_per_second);
/// `0.31 ms`, `4.20 s`, `2 min 05 s`, `3 h 07 min`.
std::string format_duration(Duration duration);

}  // namespace xfer::cli

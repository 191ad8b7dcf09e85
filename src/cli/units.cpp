#include "cli/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

namespace xfer::cli {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t scale;
};
constexpr std::uint64_t kKibi = 1024;
constexpr std::uint64_t kKilo = 1000;
constexpr Unit kSizes[] = {{"T", kKibi* kKibi* kKibi* kKibi},
                           {"G", kKibi* kKibi* kKibi},
                           {"M", kKibi* kKibi},
                           {"k", kKibi},
                           {"", 1}};
constexpr Unit kRates[] = {{"T", kKilo* kKilo* kKilo* kKilo},
                           {"G", kKilo* kKilo* kKilo},
                           {"M", kKilo* kKilo},
                           {"k", kKilo},
                           {"", 1}};
constexpr Unit kTimes[] = {{"h", 3'600'000'000'000},
                           {"m", 60'000'000'000},
                           {"s", 1'000'000'000},
                           {"", 1'000'000'000},
                           {"ms", 1'000'000}};
/// Above this a double no longer counts whole units, and nothing here is that large.
constexpr double kLargest = 9.0e15;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// Drops the first of `endings` that `text` has.
std::string_view without_ending(std::string_view text,
                                std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings) {
    if (text.size() < ending.size()) continue;
    const std::size_t rest = text.size() - ending.size();
    if (equal_ignoring_case(text.substr(rest), ending)) return text.substr(0, rest);
  }
  return text;
}

/// Splits `1.5M` into number and suffix; no sign, exponent, `inf` or `nan`.
std::optional<double> scaled(std::string_view text, std::span<const Unit> units) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + digits) return std::nullopt;
  const auto unit = std::ranges::find_if(
      units, [&](const Unit& u) { return equal_ignoring_case(u.name, text.substr(digits)); });
  if (unit == units.end()) return std::nullopt;
  return number * static_cast<double>(unit->scale);
}

std::optional<std::uint64_t> whole(std::optional<double> value) {
  if (!value || *value > kLargest) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(*value));
}

std::string spell(std::uint64_t value, std::span<const Unit> units, std::string_view smallest) {
  for (const Unit& unit : units)
    if (unit.scale > 1 && value >= unit.scale && value % unit.scale == 0)
      return fmt::format("{}{}", value / unit.scale, unit.name);
  return fmt::format("{}{}", value, smallest);
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  return whole(scaled(without_ending(text, {"iB", "B"}), kSizes));
}

std::optional<std::uint64_t> parse_rate(std::string_view text) {
  return whole(scaled(without_ending(text, {"bit/s", "bit"}), kRates));
}

std::optional<Duration> parse_duration(std::string_view text) {
  const auto value = scaled(text, kTimes);
  if (!value || *value > kLargest) return std::nullopt;
  return Duration(std::llround(*value));
}

std::string spell_size(std::uint64_t bytes) { return spell(bytes, kSizes, ""); }
std::string spell_rate(std::uint64_t bits_per_second) { return spell(bits_per_second, kRates, ""); }
std::string spell_duration(Duration duration) {
  constexpr Unit kSpelled[] = {kTimes[0], kTimes[1], kTimes[2], kTimes[4]};
  return spell(static_cast<std::uint64_t>(duration.count()), kSpelled, "ns");
}

}  // namespace xfer::cli

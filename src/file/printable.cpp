#include "file/printable.hpp"

#include <cstdint>

namespace xfer::file {
namespace {

struct Decoded {
  std::uint32_t code_point = 0;
  std::size_t length = 0;  ///< 0: not UTF-8
};

/// The first character of `bytes`, which is not empty. Refuses overlong forms, surrogates and
/// values above U+10FFFF.
Decoded decode_utf8(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::uint8_t lead = at(0);
  if (lead < 0x80U) return {lead, 1};
  std::size_t length = 0;
  std::uint32_t value = 0;
  std::uint32_t least = 0;
  if (lead >= 0xC2U && lead < 0xE0U) {
    length = 2, value = lead & 0x1FU, least = 0x80;
  } else if (lead >= 0xE0U && lead < 0xF0U) {
    length = 3, value = lead & 0x0FU, least = 0x800;
  } else if (lead >= 0xF0U && lead < 0xF5U) {
    length = 4, value = lead & 0x07U, least = 0x10000;
  } else {
    return {};
  }
  if (bytes.size() < length) return {};
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (at(i) & 0x3FU);
  }
  if (value < least || value > 0x10FFFFU || (value >= 0xD800U && value < 0xE000U)) return {};
  return {value, length};
}

bool harmful(std::uint32_t c) {
  if (c < 0x20U || (c >= 0x7FU && c < 0xA0U)) return true;  // C0, DEL, C1
  if (c >= 0x200BU && c <= 0x200FU) return true;            // zero width, direction marks
  if (c >= 0x2028U && c <= 0x202EU) return true;            // separators, direction overrides
  return (c >= 0x2060U && c <= 0x206FU) || c == 0xFEFFU ||
         c == 0xADU;  // invisible, isolates, BOM, soft hyphen
}

void append_hex(std::string& out, std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto value = static_cast<std::uint8_t>(c);
    out += "\\x";
    out += kDigits[value >> 4U];
    out += kDigits[value & 15U];
  }
}

}  // namespace

std::string printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Decoded c = decode_utf8(bytes);
    const std::string_view raw = bytes.substr(0, c.length == 0 ? 1 : c.length);
    bytes.remove_prefix(raw.size());
    if (c.length == 0 || harmful(c.code_point)) {
      append_hex(out, raw);
    } else if (c.code_point == '\\') {
      out += "\\\\";
    } else {
      out += raw;
    }
  }
  return out;
}

}  // namespace xfer::file

#include "support/hex.hpp"

namespace xfer::test {

std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  unsigned value = 0;
  bool half = false;
  for (const char c : text) {
    if (c == ' ') continue;
    const auto digit = static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    value = value * 16 + digit;
    if (half) bytes.push_back(static_cast<std::byte>(value & 0xFFU));
    half = !half;
  }
  return bytes;
}

std::string to_hex(ByteView bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i != 0 && i % 4 == 0) text += ' ';
    const auto value = std::to_integer<unsigned>(bytes[i]);
    text += kDigits[value >> 4U];
    text += kDigits[value & 15U];
  }
  return text;
}

}  // namespace xfer::test

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"

namespace xfer::test {

/// The bytes written as lower-case hex digits; blanks between digits are skipped.
std::vector<std::byte> from_hex(std::string_view text);

/// Lower-case hex digits in groups of four bytes, as packets are written in the documentation.
std::string to_hex(ByteView bytes);

}  // namespace xfer::test

#pragma once

#include <string>
#include <string_view>

namespace xfer::file {

/// `bytes` (a file name, or text from a peer) made safe for a terminal, a log line or JSON: valid
/// UTF-8 without control characters. Everything else becomes \xNN (C0 controls, DEL, bytes that are
/// not UTF-8, and the bytes of C1 controls, line separators and characters that change the writing
/// direction or are invisible); a backslash becomes \\, so that the original can be told. Valid
/// UTF-8 letters stay as they are.
std::string printable(std::string_view bytes);

}  // namespace xfer::file

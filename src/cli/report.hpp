#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transfer/report.hpp"

namespace xfer::cli {

/// The end of a session in plain words, a line each: what arrived, how fast, what the network did,
/// CPU, socket buffers. `verbose` adds protocol figures.
std::vector<std::string> report_lines(const transfer::Summary& summary, bool verbose);

/// What to set so that the system grants a sender a send buffer of `wanted` bytes; nullopt if it
/// did. (A receiver warns of its receive buffer when it starts.)
std::optional<std::string> socket_buffer_hint(const transfer::Summary& summary, std::size_t wanted);

}  // namespace xfer::cli

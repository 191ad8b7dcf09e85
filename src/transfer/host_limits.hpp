#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace xfer::transfer {

/// What to tell the user of a receiver whose system grants a smaller UDP receive buffer than was
/// asked for: which limit it is, its value, what to set and what that costs. nullopt: it is large
/// enough. Sizes in bytes, as SocketStats counts them; nothing of the system is read for it.
std::optional<std::string> receive_buffer_warning(std::size_t asked, std::size_t granted);

}  // namespace xfer::transfer

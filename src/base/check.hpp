#pragma once

namespace xfer::detail {
/// Prints the broken condition and its place to stderr and aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}  // namespace xfer::detail

/// For our own bugs only, never for what a peer or the system did. Stays on in release builds.
#define XFER_ASSERT(condition)        \
  ((condition) ? static_cast<void>(0) \
               : ::xfer::detail::assertion_failed(#condition, __FILE__, __LINE__))

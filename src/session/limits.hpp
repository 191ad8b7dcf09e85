#pragma once

#include <cstddef>
#include <cstdint>

/// Every ceiling of the transfer protocol. A peer that exceeds one broke the protocol.
namespace xfer::session {

inline constexpr std::uint32_t kMagic = 0x58464552;  // "XFER"
inline constexpr std::uint16_t kVersion = 1;

/// Longest path of an entry, bytes, and longest component of one.
inline constexpr std::size_t kMaxPath = 4095;
inline constexpr std::size_t kMaxComponent = 255;
/// Most components of a path, and most directories open at a time.
inline constexpr std::size_t kMaxDepth = 256;
/// Longest explanation in a verdict or abort, bytes.
inline constexpr std::size_t kMaxText = 1024;
/// Largest content in one data frame, bytes.
inline constexpr std::size_t kMaxData = 1U << 20U;
/// Most entries of one session.
inline constexpr std::uint32_t kMaxEntries = 1U << 30U;
/// Most entries a sender announces ahead of their verdicts; then it waits. Bounds its memory.
inline constexpr std::size_t kMaxPending = 1U << 16U;
/// Most bytes of a hello: later versions may append to it.
inline constexpr std::size_t kMaxHello = 256;

inline constexpr std::size_t kFrameHeaderSize = 4;
/// Frame header, entry and offset in front of the content of a data frame.
inline constexpr std::size_t kDataHeaderSize = kFrameHeaderSize + 4 + 8;
/// Body of the largest frame but data.
inline constexpr std::size_t kMaxBody = 26 + kMaxPath;
inline constexpr std::size_t kMaxControlFrame = kFrameHeaderSize + kMaxBody;

static_assert(kMaxData + 12 < 1U << 24U, "a body's length has 24 bits");
static_assert(kMaxHello <= kMaxBody && kMaxText + 6 <= kMaxBody);

}  // namespace xfer::session

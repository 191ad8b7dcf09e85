#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.hpp"
#include "wire/handshake.hpp"
#include "wire/packet.hpp"

/// Every ceiling and protocol constant of the core, in one place. "facts" are the collected facts
/// of the UDT4 wire.
namespace xfer::udt {

/// Protocol tick: ACK timer and rate control (facts, section 1).
inline constexpr Duration kSynInterval = 10ms;
/// A light ACK each this many data packets since the last ACK event (facts, section 1).
inline constexpr std::uint32_t kLightAckInterval = 64;
/// With delivery reports: as often as this, but no more often than each so many packets.
inline constexpr Duration kReportSpacing = 1ms;
inline constexpr std::uint32_t kFewestPerReport = 8;
/// First packet of a pair has an index divisible by this (facts, section 1).
inline constexpr std::int64_t kPacketPairInterval = 16;

/// Smallest MSS we accept: stock takes anything from 45 up and can be crashed with it (faults D1,
/// D2). 76 is the smallest MSS a stock peer can be set to.
inline constexpr std::uint32_t kMinMss = 76;
inline constexpr std::uint32_t kMaxMss = 65'535;
inline constexpr std::uint32_t kDefaultMss = 1500;
/// Largest packet probed for unless more is asked for: jumbo frames. What loopback takes (64 KiB)
/// would make trains of one packet (decision 0012).
inline constexpr std::uint32_t kMaxAutoMtu = 9000;
/// Sizes to fall back to on a path that swallows larger packets (RFC 8899, BASE_PLPMTU; least size
/// an IPv4 host takes). Neither is refused by an IPv6 link.
inline constexpr std::uint32_t kBasePathMtu = 1200;
inline constexpr std::uint32_t kLeastPathMtu = 576;
/// A path that did not take the largest size is tried again after this long, and after a black
/// hole first sooner, then each time twice as late.
inline constexpr Duration kPathMtuRaise = 600s;
inline constexpr Duration kPathMtuFirstRaise = 15s;
/// Longest NAK body we send: it must get through where packets are small.
inline constexpr std::size_t kMaxNakSize = 512;
/// What an IPv6 header is longer than the IPv4 header that UDT's MSS counts (rule I-24).
inline constexpr std::uint32_t kIpv6ExtraOverhead = 20;

inline constexpr std::uint32_t kMinFlightWindow = 32;
inline constexpr std::uint32_t kDefaultFlightWindow = 8192;
/// Ceiling on what a peer may announce and we would use (fault D4): 2^22 packets are 6 GB at the
/// default MSS.
inline constexpr std::uint32_t kMaxFlightWindow = 1U << 22U;
/// Least receive or send memory per connection, bytes.
inline constexpr std::uint64_t kMinMemory = std::uint64_t{1} << 20U;
/// Packets of `packet` bytes that receive memory of that many bytes holds.
constexpr std::uint32_t window_within(std::uint64_t memory, std::uint32_t packet) {
  const std::uint64_t packets = memory / packet;
  if (packets < kMinFlightWindow) return kMinFlightWindow;
  return packets < kMaxFlightWindow ? static_cast<std::uint32_t>(packets) : kMaxFlightWindow;
}
/// Slots kept free behind the advertised window: a stock peer may always send two packets (rules
/// I-8, I-15).
inline constexpr std::uint32_t kWindowReserve = 2;

/// Estimates a stock peer can smooth without overflow (rule I-10).
inline constexpr std::uint32_t kMaxWireRate = 250'000'000;
inline constexpr std::uint32_t kMaxWireRttUs = 300'000'000;

/// UDT's start values until something has been measured.
inline constexpr Duration kInitialRtt = 100ms;
inline constexpr Duration kInitialRttVar = 50ms;

inline constexpr Duration kHandshakeRetry = 250ms;
/// Conclusion unanswered for this long: start again with a new cookie (rule I-5).
inline constexpr Duration kHandshakeRestart = 500ms;
/// Keep-alive after this long without sending anything; stock peers die 46 s after the last packet
/// (rule I-18).
inline constexpr Duration kKeepAliveInterval = 1s;
/// A cookie is valid in the slot it was made in and the next one.
inline constexpr Duration kCookieSlot = 30s;
/// Shutdown packets sent and their spacing (rule I-21).
inline constexpr unsigned kShutdownCount = 3;
inline constexpr Duration kShutdownInterval = 10ms;

/// Least age of an unrepaired hole before its NAK is repeated.
inline constexpr Duration kNakRepeatFloor = 10ms;
/// Packets that come later than this are waited for; and the shortest tick while some are.
inline constexpr Duration kLeastReordering = 20us;
inline constexpr Duration kLeastNakTick = 500us;
/// Reports of one hole at the same spacing; later ones come ever more slowly.
inline constexpr std::uint32_t kNaksBeforeBackoff = 4;
/// Probes without progress before everything in flight is sent again.
inline constexpr unsigned kProbesBeforeExp = 4;
/// Most packets that one probe sends again when probe after probe repairs only what it sent.
inline constexpr std::int64_t kMaxProbeRun = 256;
/// Probe time-out floor: two ACK ticks of the peer.
inline constexpr Duration kProbeFloor = 2 * kSynInterval;
inline constexpr Duration kMaxBackoff = 2s;
/// Most sending credit a late sender may catch up with (fault B6).
inline constexpr Duration kMaxPacingCredit = 1ms;

/// Most holes remembered on either side. The receiver drops new packets that would open one more.
inline constexpr std::size_t kMaxLossRanges = 1U << 16U;
/// Most datagrams in one train (Linux UDP_MAX_SEGMENTS) and most bytes in it.
inline constexpr std::size_t kMaxTrainSegments = 64;
inline constexpr std::size_t kMaxTrainBytes = 65'000;
/// Largest control packet we send: fits the smallest MSS that matters and holds a long NAK.
inline constexpr std::size_t kMaxControlSize = 1472;
/// No UDP message, joined by the kernel or not, is larger, bytes.
inline constexpr std::size_t kMaxUdpMessage = 65'535;
/// Datagrams the endpoint lends room for at a time.
inline constexpr std::size_t kMaxReceiveBatch = 64;

static_assert(kMinMss >= wire::kIpUdpOverhead + wire::kHandshakeSize);
static_assert(kMinMss > wire::kPayloadOverhead);
static_assert(kMaxFlightWindow < wire::SeqNo::kModulus / 4);
static_assert(kMinFlightWindow > kWindowReserve);

}  // namespace xfer::udt

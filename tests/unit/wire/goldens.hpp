#pragma once

#include <array>
#include <string_view>

namespace xfer::wire {

/// Whole packets as a stock UDT 4.11 peer writes them: client socket ID 777 (0x309), server socket
/// ID 888 (0x378), initial sequence number 1000, IPv4 loopback, little-endian host. The layout was
/// checked against packets captured between two stock peers on loopback; IDs and numbers were then
/// set to round values.
struct Golden {
  std::string_view name;
  std::string_view hex;
};

inline constexpr std::string_view kHandshakeRequest =
    "80000000 00000000 00000000 00000000 00000004 00000001 000003e8 000005dc 00002000 00000001 "
    "00000309 00000000 "
    "0100007f 00000000 00000000 00000000";
inline constexpr std::string_view kCookieAnswer =
    "80000000 00000000 00000000 00000309 00000004 00000001 000003e8 000005dc 00002000 00000001 "
    "00000309 8988b31e "
    "0100007f 00000000 00000000 00000000";
inline constexpr std::string_view kConclusion =
    "80000000 00000000 00000000 00000000 00000004 00000001 000003e8 000005dc 00002000 ffffffff "
    "00000309 8988b31e "
    "0100007f 00000000 00000000 00000000";
inline constexpr std::string_view kFinalAnswer =
    "80000000 00000000 00000000 00000309 00000004 00000001 000003e8 000005dc 00002000 ffffffff "
    "00000378 8988b31e "
    "0100007f 00000000 00000000 00000000";
inline constexpr std::string_view kDataSolo = "000003e8 c0000001 00001d99 00000378 61626364";
inline constexpr std::string_view kDataFirst = "000003e8 a0000002 00001d99 00000378 61626364";
inline constexpr std::string_view kDataMiddle = "000003e9 20000002 00001d99 00000378 61626364";
inline constexpr std::string_view kDataLast = "000003ea 60000002 00001d99 00000378 61626364";
inline constexpr std::string_view kKeepAlive = "80010000 00000000 00000000 00000378 00000000";
inline constexpr std::string_view kFullAck =
    "80020000 00000001 00000000 00000309 000003e9 000186a0 0000c350 00001ffe 00000001 000003e8";
inline constexpr std::string_view kPartialAck =
    "80020000 00000002 00000000 00000309 000003ea 000186a0 0000c350 00001ffd";
inline constexpr std::string_view kLightAck = "80020000 00000000 00000000 00000309 0000042a";
inline constexpr std::string_view kNakSingle = "80030000 00000000 00000000 00000309 000003ed";
inline constexpr std::string_view kNakRange =
    "80030000 00000000 00000000 00000309 800003ed 000003f1";
inline constexpr std::string_view kShutdown = "80050000 00000000 00000000 00000378 00000000";
inline constexpr std::string_view kAck2 = "80060000 00000002 00000000 00000378 00000000";
inline constexpr std::string_view kMessageDrop =
    "80070000 00000002 00000000 00000378 000003ec 000003ef";
inline constexpr std::string_view kErrorSignal = "80080000 00000fa0 00000000 00000378 00000000";
inline constexpr std::string_view kUserType5 = "ffff0005 00000000 00000000 00000378 00000000";

inline constexpr std::array kGoldens = {
    Golden{"handshake request", kHandshakeRequest},
    Golden{"cookie answer", kCookieAnswer},
    Golden{"conclusion", kConclusion},
    Golden{"final answer", kFinalAnswer},
    Golden{"data solo", kDataSolo},
    Golden{"data first", kDataFirst},
    Golden{"data middle", kDataMiddle},
    Golden{"data last", kDataLast},
    Golden{"keep-alive", kKeepAlive},
    Golden{"full ACK", kFullAck},
    Golden{"partial ACK", kPartialAck},
    Golden{"light ACK", kLightAck},
    Golden{"NAK single", kNakSingle},
    Golden{"NAK range", kNakRange},
    Golden{"shutdown", kShutdown},
    Golden{"ACK2", kAck2},
    Golden{"message drop", kMessageDrop},
    Golden{"error signal", kErrorSignal},
    Golden{"user type 5", kUserType5},
};

}  // namespace xfer::wire

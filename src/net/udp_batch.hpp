#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/time.hpp"
#include "net/clock.hpp"
#include "udt/transmit.hpp"

namespace xfer::net {

/// The kernel's description of a train of datagrams to send. Filled once per train, then used from
/// any datagram on.
class SendBatch {
 public:
  /// @param socket_family  AF_INET or AF_INET6.
  /// @return false: that address cannot be reached through such a socket.
  bool prepare(const udt::Transmit& transmit, const udt::TrainBuffer& train, int socket_family);

  /// Hands datagrams [first, first + count) to the kernel with one call, or only the first of them
  /// if not `batched`.
  /// @return how many the kernel took; -1: none, errno says why.
  int send(int fd, std::size_t first, std::size_t count, bool batched);

 private:
  static constexpr std::size_t kPieces = 3;  // head, payload, payload after the end of a ring

  sockaddr_storage destination_{};
  std::array<iovec, udt::kMaxTrainSegments * kPieces> pieces_{};
  std::array<mmsghdr, udt::kMaxTrainSegments> messages_{};
};

/// The kernel's description of room for datagrams to come.
class ReceiveBatch {
 public:
  /// Reads into `slots` with one call, or into the first of them if not `batched`.
  /// @return how many datagrams came; -1: none, errno says why.
  int receive(int fd, std::span<const udt::ReceiveSlot> slots, bool batched);

  /// Describes datagram `index` of the last call.
  /// @param kernel_drops  set when the kernel reports its drop counter with this datagram.
  udt::ReceivedDatagram describe(std::size_t index, const udt::ReceiveSlot& slot,
                                 const ClockPair& at_read,
                                 std::optional<std::uint32_t>& kernel_drops);

 private:
  // A timespec and a 32-bit counter.
  static constexpr std::size_t kControlSize =
      CMSG_SPACE(sizeof(timespec)) + CMSG_SPACE(sizeof(std::uint32_t));
  struct alignas(cmsghdr) Control {
    std::array<std::byte, kControlSize> bytes;
  };

  std::array<sockaddr_storage, udt::kMaxReceiveBatch> sources_{};
  std::array<Control, udt::kMaxReceiveBatch> controls_{};
  std::array<std::array<iovec, 2>, udt::kMaxReceiveBatch> pieces_{};
  std::array<mmsghdr, udt::kMaxReceiveBatch> messages_{};
  // An address and an arrival time seldom differ from the last ones.
  TimePoint last_arrival_{};
};

}  // namespace xfer::net

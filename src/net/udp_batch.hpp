#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
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
  /// The same as one message that the kernel, or the network card, cuts into datagrams
  /// (UDP_SEGMENT, udp(7)).
  int send_segmented(int fd, std::size_t first, std::size_t count);

 private:
  static constexpr std::size_t kPieces = 3;  // head, payload, payload after the end of a ring

  sockaddr_storage destination_{};
  std::uint16_t segment_size_ = 0;
  std::array<iovec, udt::kMaxTrainSegments * kPieces> pieces_{};  // without gaps, in order
  std::array<mmsghdr, udt::kMaxTrainSegments> messages_{};
};

/// Room for what comes with a message: a timespec, a drop counter, a segment size.
struct alignas(cmsghdr) ControlRoom {
  std::array<std::byte, CMSG_SPACE(sizeof(timespec)) + CMSG_SPACE(sizeof(std::uint32_t)) +
                            CMSG_SPACE(sizeof(int))>
      bytes;
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
  std::array<sockaddr_storage, udt::kMaxReceiveBatch> sources_{};
  std::array<ControlRoom, udt::kMaxReceiveBatch> controls_{};
  std::array<std::array<iovec, 2>, udt::kMaxReceiveBatch> pieces_{};
  std::array<mmsghdr, udt::kMaxReceiveBatch> messages_{};
  TimePoint last_arrival_{};
};

/// Room for messages that the kernel may have put together from many datagrams of one sender
/// (UDP_GRO, udp(7)), and the way through the datagrams in them.
class CoalescedBatch {
 public:
  CoalescedBatch();

  /// Reads messages with one call, about enough for `wanted` datagrams.
  /// REQUIRES: next() has returned nullopt, or nothing was read yet. Ends the views of the batch
  /// before.
  /// @return how many messages came; -1: none, errno says why.
  int receive(int fd, std::size_t wanted);
  /// Messages asked for in the last call.
  [[nodiscard]] std::size_t asked() const { return asked_; }
  /// The next datagram of what was read; nullopt: no more.
  std::optional<udt::ReceivedDatagram> next();
  /// The kernel's drop counter, if it came with the last call.
  [[nodiscard]] std::optional<std::uint32_t> kernel_drops() const { return kernel_drops_; }

 private:
  static constexpr std::size_t kMessages = udt::kMaxReceiveBatch;
  static constexpr std::size_t kMessageSize = 65'536;  // no UDP message is larger

  void open_message();

  std::unique_ptr<std::byte[]> memory_;  // kMessages x kMessageSize, touched only where used
  std::array<sockaddr_storage, kMessages> sources_{};
  std::array<ControlRoom, kMessages> controls_{};
  std::array<iovec, kMessages> pieces_{};
  std::array<mmsghdr, kMessages> messages_{};
  std::size_t asked_ = 0;
  std::size_t came_ = 0;
  std::size_t current_ = 0;            // message that is being taken apart
  ByteView rest_;                      // of it
  std::size_t stride_ = 0;             // size of the datagrams in it, but the last
  udt::ReceivedDatagram description_;  // what they have in common
  ClockPair at_read_{};
  TimePoint last_arrival_{};
  std::size_t datagrams_per_message_ = 1;  // of the last batch
  std::size_t datagrams_ = 0;              // of this batch so far
  std::optional<std::uint32_t> kernel_drops_;
};

}  // namespace xfer::net

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

/// The kernel's description of room for datagrams to come, and the way through what came.
///
/// A message, which the kernel may have put together from many datagrams of one sender and size
/// (UDP_GRO, udp(7)), is scattered over slots: head, payload, head, payload, and so on. Datagrams
/// of the size that the slots were made for are then where they belong. All others are picked up
/// from the slots, and from the spare room behind them, one by one.
class ReceiveBatch {
 public:
  struct Mode {
    bool batched = true;  ///< several messages per call
    bool joined = true;   ///< messages may hold several datagrams
  };

  ReceiveBatch();

  /// Reads with one call. REQUIRES: next() has returned nullopt, or nothing was read yet; `slots`
  /// is not empty.
  /// @return how many messages came; -1: none, errno says why.
  int receive(int fd, std::span<const udt::ReceiveSlot> slots, const Mode& mode);
  /// Whether the last call brought as many messages as it had room for.
  [[nodiscard]] bool full() const { return came_ == asked_; }
  /// The next datagram of what was read; nullopt: no more. Valid until the next call.
  std::optional<udt::ReceivedDatagram> next();
  /// The kernel's drop counter, if it came with the messages opened so far.
  [[nodiscard]] std::optional<std::uint32_t> kernel_drops() const { return kernel_drops_; }

 private:
  static constexpr std::size_t kMessages = udt::kMaxReceiveBatch;
  static constexpr std::size_t kMessageSize = 65'536;  // no UDP message is larger
  static constexpr std::size_t kPieces = 3;            // head, payload, spare room

  void choose_shape(std::size_t slots, const Mode& mode);
  void describe_room(std::span<const udt::ReceiveSlot> slots);
  void open_message();
  [[nodiscard]] bool is_in_place(std::size_t size) const;
  void pass(std::size_t size);
  MutByteView pick_up(std::size_t size);

  std::array<sockaddr_storage, kMessages> sources_{};
  std::array<ControlRoom, kMessages> controls_{};
  std::array<iovec, kMessages * kPieces> pieces_{};  // without gaps, in order
  std::array<mmsghdr, kMessages> messages_{};
  std::unique_ptr<std::byte[]> spare_;    // kMessages x kMessageSize, touched only where used
  std::unique_ptr<std::byte[]> pick_up_;  // for one datagram

  // Shape of the read.
  std::size_t asked_ = 1;  ///< messages
  std::size_t slots_per_message_ = 1;
  std::size_t came_ = 0;  ///< messages
  unsigned lone_ = 0;     ///< messages of one datagram in a row

  // The message that is being taken apart.
  std::size_t current_ = 0;
  std::size_t left_ = 0;               ///< bytes of it
  std::size_t stride_ = 0;             ///< size of the datagrams in it, but the last
  std::size_t piece_ = 0;              ///< where the next datagram begins
  std::size_t offset_ = 0;             ///< in that piece
  udt::ReceivedDatagram description_;  ///< what they have in common
  ClockPair at_read_{};
  TimePoint last_arrival_{};
  std::optional<std::uint32_t> kernel_drops_;
};

}  // namespace xfer::net

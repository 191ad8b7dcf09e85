#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "net/sockaddr.hpp"
#include "net/udp_batch.hpp"

namespace xfer::net {

namespace {

iovec piece(ByteView bytes) {
  // The kernel only reads what is sent.
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}
iovec piece(MutByteView bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

bool SendBatch::prepare(const udt::Transmit& transmit, const udt::TrainBuffer& train,
                        int socket_family) {
  XFER_ASSERT(transmit.segments > 0 && transmit.segments <= udt::kMaxTrainSegments);
  const socklen_t size = to_sockaddr(transmit.destination, socket_family, destination_);
  if (size == 0) return false;
  for (std::size_t i = 0; i < transmit.segments; ++i) {
    iovec* const pieces = &pieces_[i * kPieces];
    pieces[0] = piece(ByteView(train.heads[i]));
    std::size_t count = 1;
    if (!train.payloads[i].first.empty()) pieces[count++] = piece(train.payloads[i].first);
    if (!train.payloads[i].second.empty()) pieces[count++] = piece(train.payloads[i].second);
    msghdr& header = messages_[i].msg_hdr;
    header.msg_name = &destination_;
    header.msg_namelen = size;
    header.msg_iov = pieces;
    header.msg_iovlen = count;
  }
  return true;
}

int SendBatch::send(int fd, std::size_t first, std::size_t count, bool batched) {
  if (batched && count > 1)
    return ::sendmmsg(fd, &messages_[first], static_cast<unsigned>(count), MSG_DONTWAIT);
  return ::sendmsg(fd, &messages_[first].msg_hdr, MSG_DONTWAIT) < 0 ? -1 : 1;
}

int ReceiveBatch::receive(int fd, std::span<const udt::ReceiveSlot> slots, bool batched) {
  const std::size_t count = batched ? std::min(slots.size(), messages_.size()) : 1;
  for (std::size_t i = 0; i < count; ++i) {
    pieces_[i] = {piece(slots[i].head), piece(slots[i].payload)};
    msghdr& header = messages_[i].msg_hdr;
    header.msg_name = &sources_[i];
    header.msg_namelen = sizeof sources_[i];
    header.msg_iov = pieces_[i].data();
    header.msg_iovlen = pieces_[i].size();
    header.msg_control = &controls_[i];
    header.msg_controllen = sizeof controls_[i];
    header.msg_flags = 0;
  }
  if (batched)
    return ::recvmmsg(fd, messages_.data(), static_cast<unsigned>(count), MSG_DONTWAIT, nullptr);
  const ssize_t size = ::recvmsg(fd, &messages_[0].msg_hdr, MSG_DONTWAIT);
  if (size < 0) return -1;
  messages_[0].msg_len = static_cast<unsigned>(size);
  return 1;
}

udt::ReceivedDatagram ReceiveBatch::describe(std::size_t index, const udt::ReceiveSlot& slot,
                                             const ClockPair& at_read,
                                             std::optional<std::uint32_t>& kernel_drops) {
  mmsghdr& message = messages_[index];
  udt::ReceivedDatagram datagram;
  datagram.from = from_sockaddr(sources_[index]);
  datagram.truncated = (message.msg_hdr.msg_flags & MSG_TRUNC) != 0;
  const std::size_t head = std::min<std::size_t>(message.msg_len, slot.head.size());
  datagram.head = slot.head.first(head);
  datagram.payload =
      slot.payload.first(std::min<std::size_t>(message.msg_len - head, slot.payload.size()));

  datagram.arrival = at_read.monotonic;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message.msg_hdr); control != nullptr;
       control = CMSG_NXTHDR(&message.msg_hdr, control)) {
    if (control->cmsg_level != SOL_SOCKET) continue;
    if (control->cmsg_type == SCM_TIMESTAMPNS) {
      timespec stamp{};
      std::memcpy(&stamp, CMSG_DATA(control), sizeof stamp);
      datagram.arrival = arrival_time(
          std::chrono::seconds(stamp.tv_sec) + std::chrono::nanoseconds(stamp.tv_nsec), at_read);
    } else if (control->cmsg_type == SO_RXQ_OVFL) {
      std::uint32_t drops = 0;
      std::memcpy(&drops, CMSG_DATA(control), sizeof drops);
      kernel_drops = drops;
    }
  }
  // Datagrams come in order; a wall clock set back between two of them must not turn that round.
  datagram.arrival = std::max(datagram.arrival, last_arrival_);
  last_arrival_ = datagram.arrival;
  return datagram;
}

}  // namespace xfer::net

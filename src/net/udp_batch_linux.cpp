#include <netinet/in.h>
#include <netinet/udp.h>

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

/// What the kernel says about a message beside its bytes.
struct Ancillary {
  std::optional<Duration> wall_time;  ///< of arrival, since the epoch
  std::optional<std::uint32_t> drops;
  std::optional<int> segment_size;
};

template <typename T>
T control_value(const cmsghdr* control) {
  T value{};
  std::memcpy(&value, CMSG_DATA(control), sizeof value);
  return value;
}

Ancillary read_ancillary(msghdr& message) {
  Ancillary result;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level == SOL_UDP && control->cmsg_type == UDP_GRO) {
      result.segment_size = control_value<int>(control);
    } else if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_TIMESTAMPNS) {
      const auto stamp = control_value<timespec>(control);
      result.wall_time =
          std::chrono::seconds(stamp.tv_sec) + std::chrono::nanoseconds(stamp.tv_nsec);
    } else if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SO_RXQ_OVFL) {
      result.drops = control_value<std::uint32_t>(control);
    }
  }
  return result;
}

/// When it arrived. Messages come in order; a wall clock set back between two of them must not turn
/// that round.
TimePoint arrival_of(const Ancillary& ancillary, const ClockPair& at_read, TimePoint last) {
  const TimePoint arrival =
      ancillary.wall_time ? arrival_time(*ancillary.wall_time, at_read) : at_read.monotonic;
  return std::max(arrival, last);
}

void describe_room(msghdr& message, sockaddr_storage& source, std::span<iovec> pieces,
                   ControlRoom& control) {
  message.msg_name = &source;
  message.msg_namelen = sizeof source;
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  message.msg_flags = 0;
}

}  // namespace

bool SendBatch::prepare(const udt::Transmit& transmit, const udt::TrainBuffer& train,
                        int socket_family) {
  XFER_ASSERT(transmit.segments > 0 && transmit.segments <= udt::kMaxTrainSegments);
  const socklen_t size = to_sockaddr(transmit.destination, socket_family, destination_);
  if (size == 0) return false;
  segment_size_ = static_cast<std::uint16_t>(transmit.segment_size);
  iovec* pieces = pieces_.data();
  for (std::size_t i = 0; i < transmit.segments; ++i) {
    pieces[0] = piece(ByteView(train.heads[i]));
    std::size_t count = 1;
    if (!train.payloads[i].first.empty()) pieces[count++] = piece(train.payloads[i].first);
    if (!train.payloads[i].second.empty()) pieces[count++] = piece(train.payloads[i].second);
    msghdr& header = messages_[i].msg_hdr;
    header.msg_name = &destination_;
    header.msg_namelen = size;
    header.msg_iov = pieces;
    header.msg_iovlen = count;
    pieces += count;
  }
  return true;
}

int SendBatch::send(int fd, std::size_t first, std::size_t count, bool batched) {
  if (batched && count > 1)
    return ::sendmmsg(fd, &messages_[first], static_cast<unsigned>(count), MSG_DONTWAIT);
  return ::sendmsg(fd, &messages_[first].msg_hdr, MSG_DONTWAIT) < 0 ? -1 : 1;
}

int SendBatch::send_segmented(int fd, std::size_t first, std::size_t count) {
  msghdr message = messages_[first].msg_hdr;
  message.msg_iovlen = 0;
  for (std::size_t i = first; i < first + count; ++i)
    message.msg_iovlen += messages_[i].msg_hdr.msg_iovlen;

  struct alignas(cmsghdr) {
    std::array<std::byte, CMSG_SPACE(sizeof segment_size_)> bytes;
  } room{};
  message.msg_control = &room;
  message.msg_controllen = sizeof room;
  cmsghdr* const control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_UDP;
  control->cmsg_type = UDP_SEGMENT;
  control->cmsg_len = CMSG_LEN(sizeof segment_size_);
  std::memcpy(CMSG_DATA(control), &segment_size_, sizeof segment_size_);
  return ::sendmsg(fd, &message, MSG_DONTWAIT) < 0 ? -1 : static_cast<int>(count);
}

int ReceiveBatch::receive(int fd, std::span<const udt::ReceiveSlot> slots, bool batched) {
  const std::size_t count = batched ? std::min(slots.size(), messages_.size()) : 1;
  for (std::size_t i = 0; i < count; ++i) {
    pieces_[i] = {piece(slots[i].head), piece(slots[i].payload)};
    describe_room(messages_[i].msg_hdr, sources_[i], pieces_[i], controls_[i]);
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

  const Ancillary ancillary = read_ancillary(message.msg_hdr);
  if (ancillary.drops) kernel_drops = ancillary.drops;
  datagram.arrival = arrival_of(ancillary, at_read, last_arrival_);
  last_arrival_ = datagram.arrival;
  return datagram;
}

CoalescedBatch::CoalescedBatch()
    : memory_(std::make_unique_for_overwrite<std::byte[]>(kMessages * kMessageSize)) {}

int CoalescedBatch::receive(int fd, std::size_t wanted) {
  // Few large messages or many small ones, as the last batch had.
  asked_ = std::clamp<std::size_t>(wanted / datagrams_per_message_, 1, kMessages);
  for (std::size_t i = 0; i < asked_; ++i) {
    pieces_[i] = {memory_.get() + i * kMessageSize, kMessageSize};
    describe_room(messages_[i].msg_hdr, sources_[i], std::span(pieces_).subspan(i, 1),
                  controls_[i]);
  }
  came_ = current_ = datagrams_ = 0;
  rest_ = {};
  kernel_drops_.reset();
  const int count =
      ::recvmmsg(fd, messages_.data(), static_cast<unsigned>(asked_), MSG_DONTWAIT, nullptr);
  if (count <= 0) return count;
  came_ = static_cast<std::size_t>(count);
  at_read_ = now_on_both();
  open_message();
  return count;
}

void CoalescedBatch::open_message() {
  msghdr& message = messages_[current_].msg_hdr;
  rest_ = {memory_.get() + current_ * kMessageSize, messages_[current_].msg_len};
  const Ancillary ancillary = read_ancillary(message);
  if (ancillary.drops) kernel_drops_ = ancillary.drops;
  stride_ = ancillary.segment_size && *ancillary.segment_size > 0
                ? static_cast<std::size_t>(*ancillary.segment_size)
                : kMessageSize;
  last_arrival_ = arrival_of(ancillary, at_read_, last_arrival_);
  description_ = {};
  description_.from = from_sockaddr(sources_[current_]);
  description_.truncated = (message.msg_flags & MSG_TRUNC) != 0;
  description_.arrival = last_arrival_;
}

std::optional<udt::ReceivedDatagram> CoalescedBatch::next() {
  if (current_ == came_) return std::nullopt;
  const ByteView datagram = rest_.first(std::min(stride_, rest_.size()));
  rest_ = rest_.subspan(datagram.size());
  ++datagrams_;
  udt::ReceivedDatagram result = description_;
  result.head = datagram.first(std::min(datagram.size(), wire::kHeaderSize));
  result.payload = datagram.subspan(result.head.size());

  if (rest_.empty()) {
    if (++current_ == came_)
      datagrams_per_message_ = datagrams_ / came_;
    else
      open_message();
  }
  return result;
}

}  // namespace xfer::net

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

MutByteView view(const iovec& piece) {
  return {static_cast<std::byte*>(piece.iov_base), piece.iov_len};
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

ReceiveBatch::ReceiveBatch()
    : spare_(std::make_unique_for_overwrite<std::byte[]>(kMessages * kMessageSize)),
      pick_up_(std::make_unique_for_overwrite<std::byte[]>(kMessageSize)) {}

/// With joining: one message a call, whose datagrams then are where they belong whatever their
/// number. After many lone datagrams in a row nothing is joined on this path: then, as without
/// joining, many messages of one datagram, some more than the last time.
void ReceiveBatch::choose_shape(std::size_t slots, const Mode& mode) {
  constexpr unsigned kNothingIsJoined = 64;
  const bool one = !mode.batched || (mode.joined && lone_ < kNothingIsJoined);
  asked_ = one ? 1 : std::min({std::max<std::size_t>(2 * came_, 8), slots, kMessages});
  slots_per_message_ = one && mode.joined ? slots : 1;
}

void ReceiveBatch::describe_room(std::span<const udt::ReceiveSlot> slots) {
  iovec* free = pieces_.data();
  for (std::size_t i = 0; i < asked_; ++i) {
    iovec* const first = free;
    std::size_t room = 0;
    for (const auto& slot : slots.subspan(i * slots_per_message_, slots_per_message_)) {
      if (room >= kMessageSize) break;
      *free++ = piece(slot.head);
      *free++ = piece(slot.payload);
      room += slot.head.size() + slot.payload.size();
    }
    *free++ = {spare_.get() + i * kMessageSize, kMessageSize};
    msghdr& message = messages_[i].msg_hdr;
    message.msg_name = &sources_[i];
    message.msg_namelen = sizeof sources_[i];
    message.msg_iov = first;
    message.msg_iovlen = static_cast<std::size_t>(free - first);
    message.msg_control = &controls_[i];
    message.msg_controllen = sizeof controls_[i];
    message.msg_flags = 0;
  }
}

int ReceiveBatch::receive(int fd, std::span<const udt::ReceiveSlot> slots, const Mode& mode) {
  choose_shape(slots.size(), mode);
  describe_room(slots);
  came_ = current_ = left_ = 0;
  kernel_drops_.reset();
  if (asked_ > 1) {
    const int count =
        ::recvmmsg(fd, messages_.data(), static_cast<unsigned>(asked_), MSG_DONTWAIT, nullptr);
    if (count <= 0) return count;
    came_ = static_cast<std::size_t>(count);
  } else {
    const ssize_t size = ::recvmsg(fd, &messages_[0].msg_hdr, MSG_DONTWAIT);
    if (size < 0) return -1;
    messages_[0].msg_len = static_cast<unsigned>(size);
    came_ = 1;
  }
  at_read_ = now_on_both();
  open_message();
  return static_cast<int>(came_);
}

void ReceiveBatch::open_message() {
  msghdr& message = messages_[current_].msg_hdr;
  const Ancillary ancillary = read_ancillary(message);
  if (ancillary.drops) kernel_drops_ = ancillary.drops;
  left_ = messages_[current_].msg_len;
  stride_ = ancillary.segment_size && *ancillary.segment_size > 0
                ? static_cast<std::size_t>(*ancillary.segment_size)
                : kMessageSize;
  lone_ = left_ > stride_ ? 0 : lone_ + 1;
  piece_ = offset_ = 0;
  last_arrival_ = arrival_of(ancillary, at_read_, last_arrival_);
  description_ = {};
  description_.from = from_sockaddr(sources_[current_]);
  description_.truncated = (message.msg_flags & MSG_TRUNC) != 0;
  description_.arrival = last_arrival_;
}

std::optional<udt::ReceivedDatagram> ReceiveBatch::next() {
  if (current_ == came_) return std::nullopt;
  const std::size_t size = std::min(stride_, left_);
  udt::ReceivedDatagram result = description_;
  const MutByteView bytes = is_in_place(size) ? MutByteView{} : pick_up(size);
  if (bytes.data() == nullptr) {
    const iovec* const slot = &messages_[current_].msg_hdr.msg_iov[piece_];
    result.head = view(slot[0]).first(std::min(size, slot[0].iov_len));
    result.payload = view(slot[1]).first(size - result.head.size());
  } else {
    result.head = bytes.first(std::min(size, wire::kHeaderSize));
    result.payload = bytes.subspan(result.head.size());
  }
  pass(size);
  left_ -= size;
  if (left_ == 0 && ++current_ < came_) open_message();
  return result;
}

/// Whether the next datagram begins at a slot and ends in it.
bool ReceiveBatch::is_in_place(std::size_t size) const {
  const msghdr& message = messages_[current_].msg_hdr;
  if (offset_ != 0 || piece_ % 2 != 0 || piece_ + 1 >= message.msg_iovlen) return false;
  return size <= message.msg_iov[piece_].iov_len + message.msg_iov[piece_ + 1].iov_len;
}

/// Goes `size` bytes on in the pieces of the message.
void ReceiveBatch::pass(std::size_t size) {
  const iovec* const pieces = messages_[current_].msg_hdr.msg_iov;
  offset_ += size;
  while (offset_ > 0 && offset_ >= pieces[piece_].iov_len) offset_ -= pieces[piece_++].iov_len;
}

/// Copies the next datagram into one piece.
MutByteView ReceiveBatch::pick_up(std::size_t size) {
  const iovec* from = &messages_[current_].msg_hdr.msg_iov[piece_];
  std::size_t offset = offset_;
  for (std::size_t done = 0; done < size; ++from, offset = 0) {
    const auto part =
        view(*from).subspan(offset).first(std::min(size - done, from->iov_len - offset));
    std::copy(part.begin(), part.end(), pick_up_.get() + done);
    done += part.size();
  }
  return {pick_up_.get(), size};
}

}  // namespace xfer::net

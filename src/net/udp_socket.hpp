#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.hpp"
#include "base/socket_address.hpp"
#include "net/refused_paths.hpp"
#include "udt/transmit.hpp"

namespace xfer::net {

class ReceiveBatch;
class SendBatch;

/// A seam for tests: stands between the socket and the kernel. Called on the network thread.
class SocketFaults {
 public:
  virtual ~SocketFaults() = default;
  /// Asked before the `datagram`-th datagram (from 0) is handed to the kernel, each time it is
  /// tried: an errno to fail with, or 0.
  virtual int send_error(std::uint64_t /*datagram*/) { return 0; }
  /// Asked before the `train`-th train (from 0) is handed over for the kernel to cut: an errno to
  /// fail with, or 0.
  virtual int segmentation_error(std::uint64_t /*train*/, const SocketAddress& /*destination*/) {
    return 0;
  }
  /// Datagrams sent are dropped instead.
  virtual bool drop_sent() { return false; }
  /// Datagrams received are dropped instead.
  virtual bool drop_received() { return false; }
};

struct SocketOptions {
  /// Family::none: any address of `family_hint`, with the port given here.
  SocketAddress bind{};
  /// For an unspecified address: none means IPv4 and IPv6 with one socket where the system has
  /// IPv6.
  SocketAddress::Family family_hint = SocketAddress::Family::none;
  std::size_t receive_buffer = 12U << 20U;  ///< bytes asked for
  std::size_t send_buffer = 12U << 20U;     ///< bytes asked for
  bool batched = true;                      ///< sendmmsg/recvmmsg; false: one datagram per call
  /// The kernel cuts trains into datagrams (UDP_SEGMENT) where it can; needs `batched`.
  bool gso = true;
  /// The kernel puts received datagrams together (UDP_GRO) where it can; needs `batched`.
  bool gro = true;
  bool kernel_timestamps = true;  ///< arrival times from the kernel
  /// How long the kernel is not asked to cut trains for a path after it could not; longer each
  /// time.
  Duration segmentation_retry = 10s;
  SocketFaults* faults = nullptr;  ///< tests only; must outlive the socket
};

/// What the socket saw. Counters only grow.
struct SocketStats {
  std::uint64_t datagrams_sent = 0;
  std::uint64_t datagrams_received = 0;
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;
  std::uint64_t trains_segmented = 0;  ///< sent as one message for the kernel to cut
  std::uint64_t trains_refused = 0;    ///< could not be sent so; sent in single messages
  std::uint64_t send_blocked = 0;      ///< the send buffer was full (EAGAIN); sent later
  std::uint64_t send_no_buffers =
      0;  ///< the kernel had no memory or queue space (ENOBUFS); sent later
  std::uint64_t send_too_big =
      0;  ///< refused for their size (EMSGSIZE), then sent in fragments unless they were probes
  std::uint64_t send_retried = 0;    ///< failed for another reason and tried again
  std::uint64_t send_failed = 0;     ///< datagrams given up after retries; left to retransmission
  std::uint64_t receive_errors = 0;  ///< errors of receive calls, pending network errors included
  std::uint64_t network_errors = 0;  ///< ICMP and local errors read from the error queue
  std::uint64_t kernel_drops =
      0;  ///< datagrams lost because the receive buffer was full (SO_RXQ_OVFL)
  std::size_t receive_buffer = 0;  ///< effective size, bytes, comparable to what was asked for
  std::size_t send_buffer = 0;
  std::uint32_t path_mtu = 0;         ///< last one the network reported, bytes; 0: none
  bool fragmenting = false;           ///< "don't fragment" had to be given up for some
  std::size_t unsegmented_paths = 0;  ///< hosts that trains are not sent so to, for a time
  bool segmenting = false;            ///< trains are sent as one message, on paths that allow it
  bool coalescing = false;            ///< received datagrams may come put together
  bool batching = false;              ///< several datagrams per system call

  /// Trains are sent as one message on every path.
  [[nodiscard]] bool gso_in_use() const { return segmenting && unsegmented_paths == 0; }
};

/// A bad message from the network about a destination we sent to.
struct NetworkError {
  SocketAddress peer;
  bool port_refused = false;   ///< the host is there, the port is not
  std::uint32_t path_mtu = 0;  ///< not 0: IP packets above this many bytes do not reach it
};

/// One UDP socket: non-blocking, not connected, IPv4, IPv6 or both. IPv4 peers always appear as
/// Family::ipv4. Owned and used by one thread.
///
/// Outgoing packets carry "don't fragment", unless the train allows it. When one is larger than the
/// interface takes, the socket sends the train again in fragments, unless it was a probe: slower,
/// counted, but nothing is lost. What routers say about the path is passed on, not obeyed.
class UdpSocket {
 public:
  ///   ErrorCode::bind_failed  with the errno of socket() or bind().
  static Result<UdpSocket> open(const SocketOptions& options);

  UdpSocket(UdpSocket&& other) noexcept;
  UdpSocket& operator=(UdpSocket&&) = delete;
  ~UdpSocket();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] SocketAddress local_address() const { return local_; }
  [[nodiscard]] const SocketStats& stats() const { return stats_; }

  /// Reads with one call, as much as came and fits into `slots` or into room of the socket; then
  /// next_datagram() tells what came. REQUIRES: it has returned nullopt since the last read, and
  /// `slots` is not empty.
  /// @return whether there may be more to read.
  bool receive(std::span<const udt::ReceiveSlot> slots);
  /// The next datagram of the last read, in the slots if it fits, else in memory of the socket.
  /// Valid until the next call. nullopt: no more.
  std::optional<udt::ReceivedDatagram> next_datagram();

  enum class SendStatus : std::uint8_t {
    done,        ///< the whole train is gone (or given up, counted)
    blocked,     ///< go on when the socket is writable
    no_buffers,  ///< go on a moment later; writability says nothing here
  };
  struct SendResult {
    std::size_t taken = 0;  ///< datagrams of the train that need not be sent again
    SendStatus status = SendStatus::done;
  };
  /// Sends the datagrams of a train from number `first` on.
  SendResult send(const udt::Transmit& transmit, const udt::TrainBuffer& train, std::size_t first);

  /// The next message about an unreachable destination; nullopt: none now.
  std::optional<NetworkError> next_error();

  /// Closes the descriptor, before the object goes; only after the thread that used it is gone.
  void close();

 private:
  UdpSocket();
  Result<void> create(const SocketOptions& options);
  bool bind_to(const SocketAddress& address, int family);
  void set_options(const SocketOptions& options);
  bool allow_fragments(bool allow);
  int send_some(const SocketAddress& destination, std::size_t first, std::size_t count);
  int send_now(const SocketAddress& destination, std::size_t first, std::size_t count);
  std::optional<int> send_segmented(const SocketAddress& destination, std::size_t first,
                                    std::size_t count);
  bool is_over(unsigned& retries);
  void note_drops(std::optional<std::uint32_t> drops);
  bool next_error_message(std::optional<NetworkError>& out);

  int fd_ = -1;
  int family_ = 0;  ///< AF_INET or AF_INET6
  SocketFaults* faults_ = nullptr;
  bool fragments_allowed_ = false;  ///< for what is sent now
  SocketAddress too_big_for_;       ///< where the last datagram that was refused for its size went
  int next_failure_ = 0;            ///< decided by faults_, not shown yet
  SocketAddress local_;
  SocketStats stats_;
  std::optional<NetworkError> local_error_;  ///< found while sending
  RefusedPaths not_segmented_{SocketOptions{}.segmentation_retry};
  std::unique_ptr<SendBatch> sending_;
  std::unique_ptr<ReceiveBatch> receiving_;
};

}  // namespace xfer::net

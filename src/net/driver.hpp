#pragma once

#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "net/stream.hpp"
#include "net/udp_socket.hpp"
#include "udt/config.hpp"
#include "udt/stats.hpp"

namespace xfer::trace {
class Sink;
}

namespace xfer::net {

inline constexpr std::size_t kMinSendRing = 64U << 10U;

struct DriverOptions {
  /// Local address. Family::none: any address of `family_hint`, with the port given here (0: the
  /// system's choice).
  SocketAddress bind{};
  /// For an unspecified `bind`: none means IPv4 and IPv6 with one socket.
  SocketAddress::Family family_hint = SocketAddress::Family::none;

  // Changes performance.

  /// Kernel receive and send buffer asked for, bytes. Above net.core.rmem_max only if permitted
  /// (CAP_NET_ADMIN); DriverStats has the effective values.
  std::size_t socket_buffer = 12U << 20U;
  /// Bytes a worker can write ahead per connection. At least kMinSendRing; memory is touched only
  /// when used.
  std::size_t send_ring = 16U << 20U;

  /// Receives the core's events on the network thread; must outlive the driver. Nullable.
  trace::Sink* sink = nullptr;

  // For tests and for finding out what a machine can do.

  bool batched = true;             ///< sendmmsg/recvmmsg; false: one system call per datagram
  bool gso = true;                 ///< UDP_SEGMENT where the kernel has it; needs `batched`
  bool gro = true;                 ///< UDP_GRO where the kernel has it; needs `batched`
  bool kernel_timestamps = true;   ///< arrival times from the kernel
  SocketFaults* faults = nullptr;  ///< must outlive the driver
};

/// Counters only grow.
struct DriverStats {
  SocketStats socket;
  udt::EndpointStats endpoint;
  std::uint64_t turns = 0;      ///< of the network loop
  std::uint64_t sleeps = 0;     ///< turns that ended in a wait for something to happen
  std::size_t connections = 0;  ///< that exist now
};

/// A UDP socket, a udt::Endpoint and the one network thread that runs it.
///
/// Methods may be called from any thread unless they say otherwise. Ending the driver shuts down
/// the connections that are left, joins the thread, then closes the socket.
class Driver {
 public:
  ///   ErrorCode::bind_failed   with the errno.
  ///   ErrorCode::out_of_range  an option is outside its range.
  ///   ErrorCode::system        another resource is missing; with the errno.
  static Result<std::unique_ptr<Driver>> open(const DriverOptions& options);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  [[nodiscard]] SocketAddress local_address() const;

  /// Connects; blocks until it is decided.
  ///   ErrorCode::connect_refused, connect_timeout, connect_rejected, unreachable, version_mismatch
  ///   ErrorCode::interrupted   cancel() was called.
  ///   ErrorCode::out_of_range  the configuration is invalid.
  Result<std::shared_ptr<Stream>> connect(const SocketAddress& peer,
                                          const udt::ConnectionConfig& config);
  /// The same with a peer that does the same towards us.
  Result<std::shared_ptr<Stream>> rendezvous(const SocketAddress& peer,
                                             const udt::ConnectionConfig& config);

  /// Accepts connections from now on.
  ///   ErrorCode::out_of_range  the configuration is invalid.
  Result<void> listen(const udt::ListenConfig& config);
  /// Accepts no more; existing connections stay.
  void stop_listening();
  /// The longest waiting connection that was not accepted yet. One thread at a time.
  ///   ErrorCode::would_block  none came in time.
  ///   ErrorCode::interrupted  cancel() was called.
  Result<std::shared_ptr<Stream>> accept(Duration timeout);

  /// Any thread; async-signal-safe. For good: connect, rendezvous and accept, now or later, end
  /// with ErrorCode::interrupted. Existing connections are left alone.
  void cancel();

  /// At most about 100 ms old.
  [[nodiscard]] DriverStats stats() const;

 private:
  explicit Driver(std::shared_ptr<DriverCore> core);
  Result<std::shared_ptr<Stream>> start(const SocketAddress& peer,
                                        const udt::ConnectionConfig& config, bool rendezvous);

  std::shared_ptr<DriverCore> core_;
  std::thread thread_;
};

/// A connection with the driver that carries it.
struct Connected {
  std::unique_ptr<Driver> driver;
  std::shared_ptr<Stream> stream;
};

/// Time one address has to answer before the next one is tried beside it (Happy Eyeballs, RFC 8305,
/// section 5).
inline constexpr Duration kConnectionAttemptDelay = 250ms;

/// The order in which connect_any() tries addresses: IPv6 first, then the families in turn, the
/// order within a family as given.
std::vector<SocketAddress> connection_order(const std::vector<SocketAddress>& addresses);

/// Connects to the first of a host's addresses that answers. The next address is tried after
/// kConnectionAttemptDelay or when an attempt fails; attempts that were beaten are shut down.
/// @param options  `bind` with an address is used for the addresses of its family only.
/// @param cancel   a stop request ends the call with ErrorCode::interrupted.
/// @return the error that tells most if all fail.
Result<Connected> connect_any(const std::vector<SocketAddress>& addresses,
                              const DriverOptions& options, const udt::ConnectionConfig& config,
                              std::stop_token cancel = {});

}  // namespace xfer::net

#pragma once

#include <memory>

#include "base/random.hpp"
#include "base/time.hpp"
#include "udt/config.hpp"

namespace xfer::udt {

/// Congestion control: told what happens, asked for a window and a send period. It knows no
/// connection, reads no clock, and gets its randomness injected. Packet numbers are 64-bit indices
/// from the initial sequence number.
class Controller {
 public:
  struct Sent {
    TimePoint now;
    std::int64_t index;
    std::uint32_t payload_bytes;
    bool retransmission;
  };
  /// What is known of the path's deliveries, in packets.
  struct Delivery {
    std::uint64_t delivered = 0;        ///< in all
    std::uint64_t lost = 0;             ///< transmissions taken for lost, in all
    std::uint64_t eased_sent = 0;       ///< transmissions while eased(), in all
    std::uint64_t eased_lost = 0;       ///< of those reported lost, in all
    std::uint32_t pipe = 0;             ///< on their way
    double rate = 0;                    ///< sample, packets/s; 0: none
    std::uint64_t prior_delivered = 0;  ///< of the sample: `delivered` when its packet was sent
    bool limited = false;               ///< of the sample: the path was not asked for more
    std::optional<Duration> rtt{};      ///< sample of this round trip alone
  };
  struct Ack {
    TimePoint now;
    std::int64_t next;         ///< everything before it has been received
    std::int64_t newly_acked;  ///< packets this ACK confirmed first
    bool light;
    Duration rtt;                    ///< smoothed
    std::uint32_t arrival_rate_pps;  ///< the receiver's, smoothed; 0 = unknown
    std::uint32_t capacity_pps;      ///< the receiver's, smoothed; 0 = unknown
    bool window_limited;  ///< sending was limited by cwnd, not by the application or the peer
    Delivery delivery{};
  };
  struct Loss {
    TimePoint now;
    std::int64_t first;  ///< lowest packet reported lost
    std::int64_t newest_sent;
    Duration rtt;
    std::uint32_t arrival_rate_pps;
  };
  struct Timeout {
    TimePoint now;
    Duration rtt;
    std::uint32_t arrival_rate_pps;
  };

  virtual ~Controller() = default;
  virtual void on_sent(const Sent&) = 0;
  virtual void on_ack(const Ack&) = 0;
  virtual void on_loss(const Loss&) = 0;
  virtual void on_timeout(const Timeout&) = 0;

  /// Packets that may be in flight.
  [[nodiscard]] virtual std::uint32_t cwnd() const = 0;
  /// Whether less is sent now than the path is known to carry: what is lost of it was not lost by
  /// congestion that we cause.
  [[nodiscard]] virtual bool eased() const { return false; }
  /// Whether cwnd() limits what is on its way, Delivery::pipe; else it limits what is not
  /// acknowledged, received packets behind a hole included.
  [[nodiscard]] virtual bool limits_pipe() const { return false; }
  /// Time from one new packet to the next; zero: not paced.
  [[nodiscard]] virtual Duration send_period() const = 0;
};

/// What a controller needs to know when it is made.
struct ControllerSetup {
  std::uint32_t mss = kDefaultMss;                   ///< agreed, bytes
  std::uint32_t peer_window = kDefaultFlightWindow;  ///< from the peer's handshake, packets
  std::uint32_t max_window = 0;  ///< what that may grow to, packets; less: it stays as it is
  Duration rtt = kInitialRtt;    ///< from the handshake, where it measured one
  std::optional<std::uint64_t> max_rate;  ///< bytes/s
};

/// Makes the controller of that kind. `random` must outlive it.
std::unique_ptr<Controller> make_controller(ControllerKind kind, const ControllerSetup& setup,
                                            RandomSource& random);

}  // namespace xfer::udt

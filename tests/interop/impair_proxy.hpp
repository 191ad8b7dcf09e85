#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/time.hpp"

namespace xfer::interop {

/// One direction or the other of a proxied conversation.
enum class Way : std::uint8_t {
  forward,  ///< from the client to the target
  back,
};

/// What the proxy does to the datagrams of both directions. Probabilities are per datagram, in [0,
/// 1].
struct Impairment {
  double loss = 0;
  double reorder = 0;
  double duplicate = 0;
  Duration delay{};              ///< one way
  Duration reorder_delay = 1ms;  ///< a reordered datagram arrives this much late
  std::uint64_t seed = 1;

  /// Drops `count` data packets from index `packet` on (0 is the connection's first of that
  /// direction), each the first `times` times it is sent. The direction must start at the sequence
  /// number of the client's handshake: not for rendezvous.
  struct ScriptedDrop {
    Way way = Way::forward;
    std::uint32_t packet = 0;
    unsigned times = 1;
    std::uint32_t count = 1;
  };
  std::optional<ScriptedDrop> drop{};

  /// Where clients send to: an IPv4 address of this host.
  std::string listen_host = "127.0.0.1";
  std::string target_host = "127.0.0.1";

  /// One line per datagram, decoded, to standard error.
  bool log = false;
};

/// What the proxy saw.
struct ImpairStats {
  struct Direction {
    std::uint64_t datagrams = 0;  ///< arrived at the proxy
    std::uint64_t dropped = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::uint64_t data_packets = 0;   ///< UDT data packets that arrived at the proxy
    std::uint64_t data_repeated = 0;  ///< of those, with a sequence number forwarded earlier
    std::uint64_t largest_datagram = 0;
  };
  Direction forward;
  Direction back;
  std::optional<std::uint32_t> isn;  ///< of the client's first handshake
  unsigned scripted_drops = 0;
  /// From the first scripted drop to the moment a copy of the first such packet was let through;
  /// nullopt: never.
  std::optional<Duration> repair_time;
};

/// UDP proxy, IPv4, on the loopback interface unless told otherwise, for one client and one target,
/// with a thread of its own.
class ImpairProxy {
 public:
  /// Aborts when the system gives no sockets.
  ImpairProxy(std::uint16_t target_port, const Impairment& impairment);
  ~ImpairProxy();
  ImpairProxy(const ImpairProxy&) = delete;
  ImpairProxy& operator=(const ImpairProxy&) = delete;

  /// Where the client is to send.
  [[nodiscard]] std::uint16_t port() const;
  /// Where the target sees the client: its peer in a rendezvous.
  [[nodiscard]] std::uint16_t back_port() const;
  /// Stops forwarding; returns what was seen. Once.
  ImpairStats stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

std::string to_string(const ImpairStats& stats);

}  // namespace xfer::interop

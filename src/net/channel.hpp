#pragma once

#include <atomic>
#include <mutex>

#include "base/error.hpp"
#include "base/socket_address.hpp"
#include "base/spsc_byte_ring.hpp"
#include "net/spsc_queue.hpp"
#include "net/wakeup.hpp"
#include "udt/stats.hpp"

namespace xfer::net {

/// What the two threads of one connection share: worker (a Stream) and network thread (the
/// DriverCore). Each field is written by one side only, unless it says otherwise.
struct Channel {
  Channel(const SocketAddress& address, std::size_t ring_bytes, std::size_t max_ring_bytes,
          std::size_t window_bytes)
      : peer(address), ring(ring_bytes, max_ring_bytes), consume_step(window_bytes / 8) {}

  // Written by the worker. It tells the network thread by DriverCore::wake().

  enum Request : unsigned { kFinish = 1, kAbort = 2, kLetGo = 4, kVanish = 8 };

  SocketAddress peer;          ///< fixed
  SpscByteRing ring;           ///< the stream out
  std::uint64_t consume_step;  ///< fixed: so many bytes consumed are news
  std::atomic<std::uint64_t> flush_mark{
      0};  ///< stored after publishing, read before: never ahead of it
  std::atomic<std::uint64_t> consumed{0};  ///< bytes of the stream in that the worker is done with
  std::atomic<unsigned> requests{0};       ///< Request bits, only added

  // Written by the network thread. It tells the worker by parker.notify().

  enum Status : unsigned {
    kConnected = 1,
    kPeerClosed = 2,  ///< the peer has shut down
    kInputDone = 4,   ///< nothing more will be pushed to `slices`
    kDead = 8,        ///< the connection has ended; `error` is final
  };
  /// What a parked worker can be told.
  enum News : unsigned { kNewsReadable = 1, kNewsWritable = 2, kNewsStatus = 4, kAllNews = 7 };

  static constexpr std::size_t kMaxSlices = 4096;

  SpscQueue<ByteView> slices{kMaxSlices};  ///< the stream in, in place
  std::atomic<unsigned> status{0};         ///< Status bits, only added
  Error error{};                           ///< before kDead is set
  bool has_error = false;                  ///< before kDead is set
  std::uint32_t payload_size = 0;          ///< before kConnected is set
  std::atomic<std::uint64_t> acked{0};     ///< bytes of the stream out the peer has acknowledged

  // Either side.

  std::atomic<bool> error_signal{false};  ///< set by the network thread, taken back by the worker
  Parker parker;                          ///< where the worker sleeps
  std::atomic<bool> cancelled{false};     ///< Stream::cancel(), from any thread
  mutable std::mutex stats_mutex;
  udt::ConnectionStats stats{};  ///< under stats_mutex

  /// Whether any of these Status bits is set.
  [[nodiscard]] bool has(unsigned bits) const {
    return (status.load(std::memory_order_acquire) & bits) != 0;
  }
  void add_status(unsigned bits) {
    status.fetch_or(bits, std::memory_order_release);
    parker.notify(kAllNews);
  }
  /// Network thread: the last word on this connection.
  void die(const Error* reason) {
    if (has(kDead)) return;
    has_error = reason != nullptr;
    if (has_error) error = *reason;
    add_status(kDead);
  }
};

}  // namespace xfer::net

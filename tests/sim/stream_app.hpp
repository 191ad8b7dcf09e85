#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/spsc_byte_ring.hpp"
#include "core_memory.hpp"
#include "link.hpp"
#include "udt/endpoint.hpp"

namespace xfer::sim {

/// The bytes of a stream, each computable from its offset. Byte 0 is the stream's number, so that a
/// receiver knows what to compare with.
class StreamPattern {
 public:
  StreamPattern(std::uint64_t run_seed, std::uint8_t stream)
      : seed_(run_seed ^ (std::uint64_t{stream} << 56U)), stream_(stream) {}
  void fill(std::uint64_t offset, MutByteView out) const;
  [[nodiscard]] bool matches(std::uint64_t offset, ByteView bytes) const;

 private:
  [[nodiscard]] std::uint64_t word(std::uint64_t index) const;
  std::uint64_t seed_;
  std::uint8_t stream_;
};

/// How an application uses one connection.
struct AppOptions {
  std::uint8_t stream = 0;      ///< number of its stream out, unique in a run
  std::uint64_t bytes_out = 0;  ///< it writes
  std::uint64_t bytes_in = 0;   ///< it expects
  /// It closes when it has written and received everything; the other kind waits for the peer's
  /// shutdown.
  bool closes = false;
  std::size_t ring = 256 << 10;  ///< bytes it can write ahead
  // Writing: at most `write_chunk` bytes each `write_pause`.
  std::size_t write_chunk = ~std::size_t{0};
  Duration write_pause{};
  bool flush_always = true;  ///< each write is to be sent without waiting for a full packet
  // Reading: at most `read_chunk` bytes each `read_pause`, nothing during `read_stops`.
  std::size_t read_chunk = ~std::size_t{0};
  Duration read_pause{};
  std::vector<Interval> read_stops;
  bool verify = true;  ///< compare what is read; off where damaged packets are delivered
};

/// An application on one connection: writes a StreamPattern, checks what it reads, closes, and
/// remembers what it was told. Every broken promise of the core ends up in failure().
class StreamApp {
 public:
  /// What the core allocates in calls from here is booked on `memory`.
  StreamApp(const AppOptions& initial, std::uint64_t run_seed, CoreMemory& memory)
      : options(initial),
        run_seed_(run_seed),
        memory_(memory),
        pattern_(run_seed, initial.stream),
        ring_(initial.ring) {}

  AppOptions options;  ///< may be changed in the middle of a run

  /// Uses the connection from now on (it may still be connecting). The connection must not outlive
  /// the application.
  void attach(udt::Connection& connection);
  /// The connection is about to go.
  void detach() { connection_ = nullptr; }
  void on_event(const udt::Event& event, TimePoint now);
  /// Reads and writes what is possible now. True: it called the core.
  bool pump(TimePoint now);
  /// When pump() is to be called without an event.
  [[nodiscard]] std::optional<TimePoint> next_wake(TimePoint now) const;
  void abort(TimePoint now);

  [[nodiscard]] wire::SocketId id() const { return id_; }
  [[nodiscard]] udt::Connection* connection() const { return connection_; }
  [[nodiscard]] bool connected() const { return connected_at.has_value(); }
  [[nodiscard]] bool ended() const { return ended_at.has_value(); }
  [[nodiscard]] std::uint64_t written() const { return ring_.published(); }
  [[nodiscard]] std::uint64_t acked() const { return acked_; }
  [[nodiscard]] std::uint64_t received() const { return consumed_; }
  /// Number of the stream in, once its first byte was read.
  [[nodiscard]] std::optional<std::uint8_t> stream_in() const { return stream_in_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }

  // What happened when.
  std::optional<TimePoint> connected_at;
  std::optional<TimePoint> received_all_at;
  std::optional<TimePoint> acked_all_at;
  std::optional<TimePoint> peer_closed_at;
  std::optional<TimePoint> ended_at;
  std::optional<Error> error;       ///< of the last event
  udt::ConnectionStats last_stats;  ///< as of the end

 private:
  void fail(const char* what);
  bool write(TimePoint now);
  bool read(TimePoint now);
  void check_bytes(std::uint64_t offset, ByteView bytes);
  [[nodiscard]] bool stopped(TimePoint now) const;

  std::uint64_t run_seed_;
  CoreMemory& memory_;
  StreamPattern pattern_;
  SpscByteRing ring_;
  udt::Connection* connection_ = nullptr;
  wire::SocketId id_;
  std::uint64_t offered_flush_ = 0;
  std::uint64_t acked_ = 0;
  TimePoint next_write_{};
  TimePoint next_read_{};
  bool readable_ = false;
  bool writable_ = true;
  bool close_called_ = false;
  std::deque<ByteView> taken_;
  std::uint64_t taken_end_ = 0;
  std::uint64_t consumed_ = 0;
  std::optional<std::uint8_t> stream_in_;
  std::string failure_;
};

}  // namespace xfer::sim

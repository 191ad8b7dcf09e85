#pragma once

#include <memory>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/socket_address.hpp"
#include "base/time.hpp"
#include "udt/stats.hpp"

namespace xfer::net {

struct Channel;
class DriverCore;

/// One connection's two byte streams, between the network thread and ONE worker thread. Made by a
/// Driver.
///
/// Methods are for the worker thread only unless they say otherwise. Dropping the last reference
/// lets go of the connection: one that was not finished is shut down at once. A Stream may outlive
/// its Driver: it is dead then.
class Stream {
 public:
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // The stream out.

  /// The next free run of the send ring; empty when the ring is full. Fill it from the front, then
  /// publish().
  [[nodiscard]] MutByteView write_space();
  /// The first `count` bytes of write_space() belong to the stream now.
  /// @param flush  send what there is without waiting for a full packet.
  void publish(std::size_t count, bool flush);
  /// Everything published so far is to be sent without waiting for a full packet.
  void flush();
  /// Copies `data` into the ring, waiting for room as needed.
  ///   ErrorCode::peer_closed  the peer has shut down.
  ///   ErrorCode::peer_error   the peer signalled, once, that it cannot use what it got; the
  ///   connection lives on. ErrorCode::interrupted  cancel() was called. others why the connection
  ///   died.
  Result<void> write(ByteView data, bool flush);

  // The stream in.

  /// The next run of in-order bytes, in place; each call hands out the bytes after those of the
  /// call before. A view is valid until consume() has covered it. Empty view: end of the stream
  /// (the peer has shut down).
  ///   ErrorCode::would_block  nothing right now: wait(kReadable, ...).
  ///   ErrorCode::interrupted  cancel() was called.
  ///   others                  why the connection died; everything that had arrived was handed out
  ///   before.
  Result<ByteView> try_read();
  /// The oldest `count` bytes handed out are done with, which opens the peer's window.
  void consume(std::size_t count);

  // Waiting.

  enum Ready : unsigned {
    kReadable = 1,  ///< try_read() has something to say, the end of the stream included
    kWritable = 2,  ///< write_space() is not empty
    kEnded = 4,     ///< the peer has shut down, the connection is dead, or cancel() was called
  };
  /// Sleeps until one of `interest` or kEnded holds.
  /// @return all of `interest | kEnded` that holds; 0: the time is up.
  unsigned wait(unsigned interest, Duration timeout);

  // The end.

  /// Nothing more will be written: everything published is delivered, then the connection shuts
  /// down. Returns at once. What the peer still sends is read as before.
  void finish();
  /// After finish(): waits until it is done. ok: the peer acknowledged everything and the
  /// connection is shut down.
  ///   ErrorCode::would_block  not yet, the time is up.
  ///   ErrorCode::interrupted  cancel() was called.
  ///   others                  why not everything was acknowledged.
  Result<void> wait_closed(Duration timeout);
  /// Shuts down at once; what was not acknowledged is lost.
  void abort();
  /// Ends the connection without telling the peer, which will find it lost after its time limit:
  /// for a byte stream whose end means that it is complete when it is not.
  void vanish();
  /// Any thread; async-signal-safe. For good: calls that block, now or later, end with
  /// ErrorCode::interrupted. The connection itself is left alone.
  void cancel();

  // Facts.

  /// Whether the connection is dead for another reason than an orderly end. @param error  why, if
  /// not null.
  bool failed(Error* error = nullptr) const;
  [[nodiscard]] SocketAddress peer() const;
  /// Bytes in a full packet.
  [[nodiscard]] std::uint32_t payload_size() const;
  /// Any thread: counters at most about 100 ms old, and final once the connection has ended.
  [[nodiscard]] udt::ConnectionStats stats() const;
  /// Any thread: bytes of the stream out that the peer has acknowledged.
  [[nodiscard]] std::uint64_t acked_bytes() const;
  /// Any thread: bytes of the stream out published so far.
  [[nodiscard]] std::uint64_t published_bytes() const;

 private:
  friend class DriverCore;
  Stream(std::shared_ptr<DriverCore> core, std::shared_ptr<Channel> channel);
  void tell_network();
  Result<void> may_write();
  [[nodiscard]] unsigned look(unsigned interest) const;
  template <typename Look>
  unsigned wait_until(Look look_now, unsigned news, Duration timeout);

  // Order matters: the core has connections that know the channel's ring, so it goes first.
  std::shared_ptr<Channel> channel_;
  std::shared_ptr<DriverCore> core_;
  std::uint64_t handed_out_ = 0;     ///< bytes returned by try_read()
  std::uint64_t told_consumed_ = 0;  ///< bytes consumed when the network thread was last told
  bool unreported_ = false;          ///< read or consumed since then
  bool finished_ = false;
};

}  // namespace xfer::net

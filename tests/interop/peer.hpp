#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.hpp"

/// One end of a test transfer as a program of its own, the same for our implementation and for
/// stock UDT4: the test starts two of them, of any pairing, and judges what they print. `our_peer`
/// and `stock_peer` differ only in their Link.
namespace xfer::interop {

enum class Role { listen, connect, rendezvous };

/// What a peer program is told on its command line. 0 means "the implementation's default" for
/// every size.
struct PeerOptions {
  Role role = Role::listen;
  std::string bind_host = "127.0.0.1";
  std::string peer_host;
  std::uint16_t peer_port = 0;

  std::uint64_t send = 0;     ///< bytes
  std::uint64_t receive = 0;  ///< bytes
  std::uint64_t send_seed = 1;
  std::uint64_t receive_seed = 1;
  bool close_last = false;  ///< wait for the peer's end of stream before closing
  unsigned end_wait_ms =
      0;  ///< close_last: give up waiting after this long; 0: never, the end must come
  unsigned read_pause_ms = 0;    ///< a slow reader: nothing is read for this long
  unsigned timeout_ms = 20'000;  ///< the program fails when it runs longer

  int mss = 0;                       ///< bytes
  int window = 0;                    ///< packets (stock: UDT_FC)
  int udt_buffer = 0;                ///< bytes, both directions
  int udp_buffer = 0;                ///< bytes, both directions
  bool datagram = false;             ///< stock only: a message-oriented socket
  bool near_wrap = false;            ///< stock only: initial sequence number just below 2^31
  std::optional<std::uint32_t> isn;  ///< ours only
};

/// The pseudo-random bytes that a seed stands for, readable from any place; both ends make them for
/// themselves.
class Pattern {
 public:
  explicit Pattern(std::uint64_t seed) : seed_(seed) {}
  void fill(std::uint64_t offset, MutByteView out) const;
  /// Index in `bytes` of the first byte that differs from those at `offset`; nullopt: none.
  [[nodiscard]] std::optional<std::size_t> mismatch(std::uint64_t offset, ByteView bytes) const;

 private:
  [[nodiscard]] std::uint64_t word(std::uint64_t index) const;
  std::uint64_t seed_;
};

/// What is still to be sent and received, and the check of what came. One thread may produce while
/// another consumes.
class Flow {
 public:
  explicit Flow(const PeerOptions& options);

  [[nodiscard]] bool sent_all() const { return sent_ == options_.send; }
  /// Fills the front of `out` with the next bytes to send; returns how many, 0 at the end.
  std::size_t produce(MutByteView out);
  /// The last `count` bytes produced were not taken; they are produced again.
  void unproduce(std::size_t count) { sent_ -= count; }

  [[nodiscard]] bool received_all() const { return received_ >= options_.receive; }
  /// Takes the next bytes of the stream in; notes the first wrong one.
  void consume(ByteView bytes);
  void note_end() { ended_ = true; }
  [[nodiscard]] bool ended() const { return ended_; }

  /// Whether exactly the bytes expected came, and the end of the stream if it was required.
  [[nodiscard]] bool correct() const;
  [[nodiscard]] std::string report() const;

 private:
  const PeerOptions& options_;
  Pattern out_;
  Pattern in_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::optional<std::uint64_t> first_wrong_;
  bool ended_ = false;
};

/// One implementation of UDT, driven through its public API. Every call blocks; a failing one
/// describes itself in error(). The program's own time limit ends a call that hangs.
class Link {
 public:
  virtual ~Link() = default;
  /// Binds a free UDP port on options.bind_host, listens if that is the role; returns the port.
  virtual std::optional<std::uint16_t> open(const PeerOptions& options) = 0;
  /// Accepts, connects or meets.
  virtual bool establish(const PeerOptions& options) = 0;
  /// Moves the bytes both ways at once, then ends the connection as the options say.
  virtual bool transfer(const PeerOptions& options, Flow& flow) = 0;
  /// `name=value` pairs about the connection, for people.
  [[nodiscard]] virtual std::string facts() const = 0;
  /// Where it failed, the implementation's error code, and its text.
  [[nodiscard]] virtual std::string error() const = 0;
};

/// The program: parses the command line, prints `port N` once bound (a rendezvous side then reads
/// the peer's port from standard input), `connected`, and `done ...` or `error ...`. Exit status 0
/// only if everything was as expected. Does not return: the process ends without running
/// destructors of libraries that would wait.
[[noreturn]] void run_peer(int argc, char** argv, std::unique_ptr<Link> link);

}  // namespace xfer::interop

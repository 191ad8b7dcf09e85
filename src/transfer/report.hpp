#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/socket_address.hpp"
#include "base/time.hpp"
#include "net/udp_socket.hpp"
#include "udt/stats.hpp"

/// What a job tells its caller. Names in these structs are the raw bytes of the file system unless
/// the comment says "printable": pass them through file::printable() before they reach a terminal,
/// a log or JSON.
namespace xfer::transfer {

/// Numbers the connections of one job from 1, in order of arrival; a sender has only number 1.
using SessionId = std::uint64_t;

/// The fate of one entry (file or directory), reported once.
struct EntryResult {
  enum class Kind : std::uint8_t { file, directory };

  SessionId session = 1;
  Kind kind = Kind::file;
  std::string name;  ///< raw: relative path at the destination; for a source that could not be
                     ///< opened its local path
  std::uint64_t bytes = 0;  ///< of the content, as far as it was moved
  bool ok = false;          ///< sender: the receiver has said so; receiver: it has its final name
  bool by_peer = false;     ///< the failure happened at the peer
  Error error{};            ///< if !ok
  std::string text;         ///< if !ok: printable cause, as "permission denied"; no name in it

  /// If !ok, printable: "name: cause" or "name: cause (at the peer)".
  [[nodiscard]] std::string line() const;
};

/// How far a session is. Counts only grow.
struct Progress {
  SessionId session = 1;
  std::uint64_t files_done = 0;  ///< finished files, failed ones included
  std::uint64_t bytes_done = 0;  ///< content bytes; sender: acknowledged, receiver: written
  std::uint64_t bytes_total =
      0;  ///< content bytes known of so far (announced by the peer, or found on disk)
  bool total_known =
      false;  ///< bytes_total is everything there will be (false for pipes, and while scanning)
  std::string name;                 ///< raw: entry being moved, empty between entries
  Duration elapsed{};               ///< since the connection was up
  double rate = 0;                  ///< recent goodput, bytes/s
  udt::ConnectionStats connection;  ///< a recent snapshot
};

/// System calls of a session for content. Counters only grow.
struct FileCalls {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_written = 0;
};

/// The end of a session.
struct Summary {
  enum class Role : std::uint8_t { sender, receiver };

  Role role = Role::sender;
  bool raw = false;
  SessionId session = 1;
  SocketAddress peer{};
  std::optional<Error> error;  ///< nullopt: complete success; the session's exit status otherwise
  std::uint64_t files = 0;     ///< files that are complete at the destination; raw mode: 0 or 1
  std::uint64_t directories = 0;  ///< directories that exist at the destination
  std::uint64_t failed = 0;       ///< entries that failed on either side
  std::uint64_t skipped = 0;  ///< not sent on purpose: links, special files, vanished (sender only)
  std::uint64_t bytes = 0;    ///< content bytes of complete files; raw mode: stream bytes
  Duration elapsed{};         ///< connection up ... everything confirmed
  double goodput = 0;         ///< bytes / elapsed, bytes/s
  double user_seconds = 0;    ///< CPU of the whole process since the session began
  double system_seconds = 0;
  FileCalls calls;
  net::SocketStats socket;            ///< since the socket opened; it may serve several sessions
  udt::ConnectionStats connection;    ///< packets, retransmissions, losses, RTT
  std::vector<EntryResult> failures;  ///< the first kMaxListedFailures ones
};

/// More failures than these are counted and reported by on_entry(), but not kept.
inline constexpr std::size_t kMaxListedFailures = 1000;

/// Why a session (or the whole job) ended without success, as one printable line that names the
/// thing and the cause.
struct Failure {
  SessionId session = 0;  ///< 0: the job as a whole (address in use, name does not resolve, ...)
  Error error{};
  std::string line;
};

/// Receives a job's reports. Calls never overlap but come from several threads; they must return
/// quickly and must not call back into the job.
class Observer {
 public:
  virtual ~Observer() = default;
  /// run_recv: ready for senders at this address (its port is the real one where 0 was asked for).
  virtual void on_listening(const SocketAddress& /*local*/) {}
  virtual void on_connected(SessionId /*session*/, const SocketAddress& /*peer*/) {}
  /// At most every 100 ms for each session, and once at its end.
  virtual void on_progress(const Progress& /*progress*/) {}
  /// Once for each entry, in order.
  virtual void on_entry(const EntryResult& /*entry*/) {}
  /// `text` is one printable line: "docs/link: symbolic link skipped".
  virtual void on_warning(SessionId /*session*/, std::string_view /*text*/) {}
  /// Once for each session that was connected, success or not.
  virtual void on_summary(const Summary& /*summary*/) {}
  /// After on_summary(), for each session or job that did not succeed.
  virtual void on_failure(const Failure& /*failure*/) {}
};

}  // namespace xfer::transfer

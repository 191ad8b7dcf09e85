#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "net/driver.hpp"
#include "net/resolve.hpp"
#include "transfer/report.hpp"
#include "udt/config.hpp"

namespace xfer::file {
class FileSystem;
}

namespace xfer::transfer {

/// Asks a job to end early: `source.request_stop()` from any thread (not from a signal handler;
/// have a thread wait for the signal). The peer is told, temporary files are removed, the job
/// returns ErrorCode::interrupted.
using CancelToken = std::stop_token;

/// When received data is forced to the disk.
enum class Durability : std::uint8_t {
  synced,  ///< file before it gets its final name, directory before the sender hears of success
  cached,  ///< left to the operating system: faster for many small files, a power cut may lose
           ///< confirmed files
};

struct SendOptions {
  /// What to send, in this order. A file arrives under its last component; `DIR` arrives as
  /// DIR/..., `DIR/` (or `DIR/.`) as its contents; "-" is standard input. At least one; raw mode:
  /// exactly one, not a directory.
  std::vector<std::string> sources;
  net::HostPort destination;
  /// The bare bytes of the one source, for a peer that is any UDT4 program. Success: the peer
  /// acknowledged all bytes.
  bool raw = false;
  /// The name that standard input gets at the destination; a relative path.
  std::string stdin_name = "stdin";
  /// File descriptor read for "-"; not closed.
  int stdin_fd = 0;
  udt::ConnectionConfig connection;
  net::DriverOptions driver;
  /// The job fails with ErrorCode::stalled when the peer takes nothing for this long. At least 1 s.
  /// Waiting for standard input does not count.
  Duration timeout = 30s;
  /// For tests; nullptr: the system's. Must outlive the job and be thread-safe.
  file::FileSystem* file_system = nullptr;
};

struct RecvOptions {
  /// Address to listen at; empty host: all addresses, IPv6 and IPv4; port 0: any.
  net::HostPort listen;
  /// Where everything received goes, and nothing outside of it. Must exist. Not used in raw mode.
  std::string directory = ".";
  /// Return after the first sender is done, whatever came of it. Otherwise serve until cancelled.
  bool once = false;
  /// Receive one bare byte stream from any UDT4 program into raw_target; needs `once`. Success: the
  /// peer closed the connection in order.
  bool raw = false;
  std::string raw_target;  ///< a file, or "-": stdout_fd
  /// File descriptor written for "-"; not closed.
  int stdout_fd = 1;
  Durability durability = Durability::synced;
  /// Write files past the page cache where the file system can (O_DIRECT), for files much larger
  /// than memory; costs a copy of the content. Not what raw mode writes in place.
  bool direct = false;
  /// Reserve the announced size of each file before its content comes, where the file system can:
  /// a full disk is known at once, and the file is in one piece.
  bool preallocate = false;
  /// Senders served at the same time; further ones are rejected.
  std::size_t max_sessions = 16;
  udt::ConnectionConfig connection;
  net::DriverOptions driver;
  /// A session fails with ErrorCode::stalled when nothing arrives for this long. At least 1 s. A
  /// sender that waits for its standard input says so and does not count as stalled.
  Duration timeout = 30s;
  /// For tests; nullptr: the system's. Must outlive the job and be thread-safe.
  file::FileSystem* file_system = nullptr;
};

/// Connects, sends everything, waits for the receiver's verdict on each entry. Blocks until done.
///
/// @return a value only when every entry is complete at the destination. Otherwise the error that
/// decides the exit
///   status, after on_entry() for the failed entries, on_summary() if there was a connection, and
///   on_failure():
///   - usage: the options contradict each other;
///   - resolve_failed, connect_*, unreachable, version_mismatch, peer_error, peer_lost,
///   peer_closed, stalled,
///     interrupted: as the sentence in base/error.hpp says;
///   - no_space: the receiver's disk is full; nothing more was sent;
///   - partial: some entries failed and others did not; the code of the failure (source_error,
///   source_changed,
///     destination_error, integrity) when all did.
Result<Summary> run_send(const SendOptions& options, Observer& observer, const CancelToken& cancel);

/// Listens and receives. Blocks until the one sender is done (`once`) or until cancelled.
///
/// @return `once`: as run_send(), for the session; else only ErrorCode::interrupted, or why
/// listening failed
///   (bind_failed, resolve_failed, destination_error, usage). Failed sessions are reported through
///   the observer and do not end a serving receiver.
Result<Summary> run_recv(const RecvOptions& options, Observer& observer, const CancelToken& cancel);

}  // namespace xfer::transfer

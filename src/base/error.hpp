#pragma once

#include <string>

namespace xfer {

/// Every way an operation can fail: X(name, exit code of the command, sentence for a user).
/// Exit codes are a promise to scripts: documented in docs/cli.md, never renumbered.
#define XFER_ERROR_CODES(X)                                                 \
  X(internal, 1, "internal error")                                          \
  X(usage, 2, "wrong usage")                                                \
  X(resolve_failed, 3, "host name does not resolve")                        \
  X(connect_refused, 4, "connection refused: nothing listens on that port") \
  X(connect_timeout, 4, "no answer from the peer")                          \
  X(connect_rejected, 4, "the peer rejected the connection")                \
  X(unreachable, 4, "host or network unreachable")                          \
  X(version_mismatch, 5, "the peer speaks another protocol or version")     \
  X(peer_error, 5, "the peer broke the protocol")                           \
  X(peer_lost, 6, "connection lost: the peer does not answer any more")     \
  X(peer_closed, 6, "the peer closed the connection before the end")        \
  X(stalled, 7, "no progress within the time limit")                        \
  X(no_space, 8, "no space left at the destination")                        \
  X(destination_error, 9, "the destination cannot be written")              \
  X(source_error, 10, "the source cannot be read")                          \
  X(source_changed, 11, "the source changed while it was read")             \
  X(integrity, 12, "the received data does not match its checksum")         \
  X(partial, 13, "some entries failed")                                     \
  X(bind_failed, 14, "the local address cannot be used")                    \
  X(interrupted, 130, "interrupted")                                        \
  /* Results of decoding and validating; they stay inside the program. */   \
  X(truncated, 1, "shorter than its format needs")                          \
  X(malformed, 1, "not in the expected format")                             \
  X(out_of_range, 1, "a value is outside its valid range")                  \
  X(out_of_window, 1, "refers to what was never sent")                      \
  X(limit_reached, 1, "a fixed limit is reached")                           \
  X(would_block, 1, "not possible right now")                               \
  X(system, 1, "a system call failed")

enum class ErrorCode : int {
#define XFER_ERROR_ENUM(name, exit, sentence) name,
  XFER_ERROR_CODES(XFER_ERROR_ENUM)
#undef XFER_ERROR_ENUM
};

/// A failure. Making one allocates nothing.
struct Error {
  ErrorCode code = ErrorCode::internal;
  int sys_errno = 0;           ///< errno of the failed call, 0 if none
  const char* what = nullptr;  ///< what was attempted; a literal or nullptr

  friend bool operator==(const Error& a, const Error& b) {
    return a.code == b.code && a.sys_errno == b.sys_errno;
  }
};

/// The enumerator's name, as used in JSON output.
const char* error_name(ErrorCode code);
/// One sentence for a user, lower case, without a full stop.
const char* error_sentence(ErrorCode code);
/// Exit status of a command that ends with this error.
int exit_code(ErrorCode code);
/// `what: sentence: strerror`, with the parts that there are.
std::string to_string(const Error& error);

}  // namespace xfer

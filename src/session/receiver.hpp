#pragma once

#include <string>
#include <vector>

#include "session/messages.hpp"

namespace xfer::session {

/// The receiver's side of a session as a pure state machine: checks that what the sender writes is
/// in order, and counts verdicts. It checks no names (that is the file layer's) and no hashes.
///
/// Order: hello; then entries. A file is its entry, data at contiguous offsets, end. A directory is
/// its entry, the entries beneath it, end. Then done. Alive at any time, abort at any time.
class ReceivingSession {
 public:
  // Getters.

  [[nodiscard]] bool greeted() const { return greeted_; }
  /// The sender has announced everything.
  [[nodiscard]] bool done() const { return done_.has_value(); }
  [[nodiscard]] const std::optional<Done>& done_message() const { return done_; }
  /// Everything announced has its verdict.
  [[nodiscard]] bool all_judged() const { return ok_ + failed_ == last_id_; }
  /// The final message as it stands.
  [[nodiscard]] Final final() const { return {ok_, failed_, bytes_, worst_}; }

  // Handle.

  /// Validates a message of the sender and takes it into account; act on it only after success.
  ///   ErrorCode::version_mismatch  no hello of ours first
  ///   ErrorCode::peer_error        not allowed now, `what` says what. Both are final.
  Result<void> handle(const Message& message);

  // Commands.

  /// Counts a verdict that is about to be sent. REQUIRES: at most one for each entry. `bytes`:
  /// content, if ok.
  void judged(Code code, std::uint64_t bytes);

 private:
  struct OpenDirectory {
    std::uint32_t id = 0;
    std::string path;
  };
  struct OpenFile {
    std::uint32_t id = 0;
    std::uint64_t received = 0;
    std::optional<std::uint64_t> size;
  };

  Result<void> on_entry(const Entry& entry);
  Result<void> on_data(const Data& data);
  Result<void> on_end(const End& end);
  Result<void> on_done(const Done& done);

  bool greeted_ = false;
  std::uint32_t last_id_ = 0;
  std::vector<OpenDirectory> directories_;  ///< innermost last; at most kMaxDepth
  std::optional<OpenFile> file_;
  std::uint64_t bytes_ended_ = 0;
  std::optional<Done> done_;
  std::uint32_t ok_ = 0;
  std::uint32_t failed_ = 0;
  std::uint64_t bytes_ = 0;
  Code worst_;
};

/// Whichever of two results says more about what the user has to do: no_space before integrity
/// before destination_error before source errors before others.
Code more_telling(Code a, Code b);

}  // namespace xfer::session

#pragma once

#include <string>
#include <unordered_map>

#include "session/messages.hpp"

namespace xfer::session {

/// The sender's side of a session as a pure state machine: numbers the entries and keeps the ones
/// without a verdict. Commands are what the sender writes, handle() is told what the receiver
/// wrote.
class SendingSession {
 public:
  struct Pending {
    EntryKind kind = EntryKind::file;
    std::string name;         ///< path at the destination
    std::uint64_t bytes = 0;  ///< of content, once ended
    bool ended = false;
    EndStatus status = EndStatus::ok;
  };

  // Getters.

  [[nodiscard]] bool greeted() const { return greeted_; }
  /// Everything is sent, judged and confirmed.
  [[nodiscard]] bool complete() const { return final_.has_value(); }
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }
  /// No room for another entry until verdicts arrive.
  [[nodiscard]] bool full() const { return pending_.size() >= kMaxPending; }
  /// The receiver refused this entry before its end.
  [[nodiscard]] bool refused(std::uint32_t id) const { return pending_.count(id) == 0; }
  /// Set once complete().
  [[nodiscard]] const std::optional<Final>& final() const { return final_; }

  // Commands. REQUIRES: in protocol order.

  /// The id of the new entry.
  ///   ErrorCode::limit_reached  kMaxEntries: too many for one session.
  Result<std::uint32_t> begin(EntryKind kind, std::string name);
  void ended(const End& end);
  /// `failed` entries could not be announced. The message to send.
  Done finish(std::uint32_t failed);

  // Handle.

  /// Validates a message of the receiver. After a Verdict, resolve() it.
  ///   ErrorCode::version_mismatch  no hello of ours first
  ///   ErrorCode::peer_error        not allowed now, `what` says what. Both are final.
  Result<void> handle(const Message& message);
  /// Takes the entry of a verdict that handle() accepted.
  Pending resolve(const Verdict& verdict);

 private:
  Result<void> on_verdict(const Verdict& verdict);
  Result<void> on_final(const Final& final);

  bool greeted_ = false;
  std::uint32_t last_id_ = 0;
  std::unordered_map<std::uint32_t, Pending> pending_;
  std::uint32_t ok_ = 0;
  std::uint32_t failed_ = 0;
  std::uint64_t bytes_ended_ = 0;
  std::uint64_t bytes_ok_ = 0;
  bool done_ = false;
  std::optional<Final> final_;
};

}  // namespace xfer::session

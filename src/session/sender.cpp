#include "session/sender.hpp"

#include "base/check.hpp"

namespace xfer::session {
namespace {

Error broke(const char* what) { return {ErrorCode::peer_error, 0, what}; }

}  // namespace

Result<std::uint32_t> SendingSession::begin(EntryKind kind, std::string name) {
  XFER_ASSERT(!done_ && !full());
  if (last_id_ == kMaxEntries) return Error{ErrorCode::limit_reached, 0, "entries of one session"};
  ++last_id_;
  pending_[last_id_] = Pending{kind, std::move(name), 0, false, EndStatus::ok};
  return last_id_;
}

void SendingSession::ended(const End& end) {
  if (end.status == EndStatus::ok) bytes_ended_ += end.size;
  const auto it = pending_.find(end.id);
  if (it == pending_.end()) return;  // refused meanwhile
  XFER_ASSERT(!it->second.ended);
  it->second.ended = true;
  it->second.bytes = end.size;
  it->second.status = end.status;
}

Done SendingSession::finish(std::uint32_t failed) {
  XFER_ASSERT(!done_);
  done_ = true;
  return {last_id_, failed, bytes_ended_};
}

Result<void> SendingSession::handle(const Message& message) {
  if (!greeted_) {
    if (const auto* hello = std::get_if<Hello>(&message)) {
      if (hello->role != Role::receiver)
        return Error{ErrorCode::version_mismatch, 0, "the peer is a sender, too"};
      greeted_ = true;
      return {};
    }
    if (std::holds_alternative<Abort>(message)) return {};
    return Error{ErrorCode::version_mismatch, 0, "first frame"};
  }
  if (final_) return broke("frame after the final one");
  if (std::holds_alternative<Alive>(message) || std::holds_alternative<Abort>(message)) return {};
  if (const auto* verdict = std::get_if<Verdict>(&message)) return on_verdict(*verdict);
  if (const auto* final = std::get_if<Final>(&message)) return on_final(*final);
  return broke("frame that only a sender may send");
}

Result<void> SendingSession::on_verdict(const Verdict& verdict) {
  const auto it = pending_.find(verdict.id);
  if (it == pending_.end()) return broke("verdict on an entry that has none to come");
  if (!verdict.code && !(it->second.ended && it->second.status == EndStatus::ok))
    return broke("success of an entry that was not sent");
  return {};
}

SendingSession::Pending SendingSession::resolve(const Verdict& verdict) {
  const auto it = pending_.find(verdict.id);
  XFER_ASSERT(it != pending_.end());
  Pending entry = std::move(it->second);
  pending_.erase(it);
  if (verdict.code) {
    ++failed_;
  } else {
    ++ok_;
    bytes_ok_ += entry.bytes;
  }
  return entry;
}

Result<void> SendingSession::on_final(const Final& final) {
  if (!done_) return broke("final frame before the end");
  if (!pending_.empty()) return broke("final frame before all verdicts");
  if (final.ok != ok_ || final.failed != failed_ || final.bytes != bytes_ok_)
    return broke("final counts do not match the verdicts");
  final_ = final;
  return {};
}

}  // namespace xfer::session

#include "session/receiver.hpp"

#include "base/check.hpp"

namespace xfer::session {
namespace {

Error broke(const char* what) { return {ErrorCode::peer_error, 0, what}; }

int weight(Code code) {
  if (!code) return 0;
  switch (*code) {
    case ErrorCode::no_space:
      return 6;
    case ErrorCode::integrity:
      return 5;
    case ErrorCode::destination_error:
      return 4;
    case ErrorCode::source_error:
      return 3;
    case ErrorCode::source_changed:
      return 2;
    default:
      return 1;
  }
}

bool beneath(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.substr(0, directory.size()) == directory &&
         path[directory.size()] == '/';
}

}  // namespace

Code more_telling(Code a, Code b) { return weight(b) > weight(a) ? b : a; }

Result<void> ReceivingSession::handle(const Message& message) {
  if (!greeted_) {
    if (const auto* hello = std::get_if<Hello>(&message)) {
      if (hello->role != Role::sender)
        return Error{ErrorCode::version_mismatch, 0, "the peer is a receiver, too"};
      greeted_ = true;
      return {};
    }
    if (std::holds_alternative<Abort>(message)) return {};
    return Error{ErrorCode::version_mismatch, 0, "first frame"};
  }
  if (std::holds_alternative<Alive>(message) || std::holds_alternative<Abort>(message)) return {};
  if (done_) return broke("frame after done");
  if (const auto* entry = std::get_if<Entry>(&message)) return on_entry(*entry);
  if (const auto* data = std::get_if<Data>(&message)) return on_data(*data);
  if (const auto* end = std::get_if<End>(&message)) return on_end(*end);
  if (const auto* done = std::get_if<Done>(&message)) return on_done(*done);
  if (std::holds_alternative<Hello>(message)) return broke("second hello");
  return broke("frame that only a receiver may send");
}

Result<void> ReceivingSession::on_entry(const Entry& entry) {
  if (file_) return broke("entry before the end of the last file");
  if (entry.id != last_id_ + 1 || entry.id > kMaxEntries) return broke("entry number");
  if (!directories_.empty() && !beneath(entry.path, directories_.back().path))
    return broke("entry outside of the open directory");
  if (entry.kind == EntryKind::directory) {
    if (directories_.size() == kMaxDepth) return broke("directories too deep");
    directories_.push_back({entry.id, std::string(entry.path)});
  } else {
    file_ = OpenFile{entry.id, 0, entry.size};
  }
  last_id_ = entry.id;
  return {};
}

Result<void> ReceivingSession::on_data(const Data& data) {
  if (!file_ || data.id != file_->id) return broke("data of a file that is not open");
  if (data.offset != file_->received) return broke("data out of order");
  if (file_->size && data.bytes.size() > *file_->size - file_->received)
    return broke("more data than announced");
  file_->received += data.bytes.size();
  return {};
}

Result<void> ReceivingSession::on_end(const End& end) {
  if (file_) {
    if (end.id != file_->id) return broke("end of an entry that is not open");
    const bool right_size =
        end.size == file_->received && (!file_->size || *file_->size == end.size);
    if (end.status == EndStatus::ok && !right_size) return broke("size at the end of a file");
    if (end.status == EndStatus::ok) bytes_ended_ += end.size;
    file_.reset();
    return {};
  }
  if (directories_.empty() || end.id != directories_.back().id)
    return broke("end of an entry that is not open");
  if (end.size != 0) return broke("size of a directory");
  directories_.pop_back();
  return {};
}

Result<void> ReceivingSession::on_done(const Done& done) {
  if (file_ || !directories_.empty()) return broke("done before the end of an entry");
  if (done.entries != last_id_) return broke("number of entries");
  if (done.bytes != bytes_ended_) return broke("number of bytes");
  done_ = done;
  return {};
}

void ReceivingSession::judged(Code code, std::uint64_t bytes) {
  XFER_ASSERT(ok_ + failed_ < last_id_);
  if (code) {
    ++failed_;
    worst_ = more_telling(worst_, code);
  } else {
    ++ok_;
    bytes_ += bytes;
  }
}

}  // namespace xfer::session

#include "transfer/send_job.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "file/destination.hpp"
#include "file/path_guard.hpp"
#include "file/printable.hpp"
#include "transfer/goodbye.hpp"

namespace xfer::transfer {
namespace {

/// Content read and sent at a time: still in the cache when it is hashed.
constexpr std::size_t kChunk = 256U << 10U;
static_assert(kChunk <= session::kMaxData);

/// Least room in the ring for reading straight into it; less goes through scratch memory.
constexpr std::size_t kDirectRoom = session::kDataHeaderSize + 4096;

session::EndStatus status_of(const Error& error) {
  if (error.code == ErrorCode::source_changed) return session::EndStatus::changed;
  if (error.sys_errno == ENOENT || error.sys_errno == ESTALE) return session::EndStatus::vanished;
  return session::EndStatus::unreadable;
}

EntryResult::Kind kind_of(session::EntryKind kind) {
  return kind == session::EntryKind::file ? EntryResult::Kind::file : EntryResult::Kind::directory;
}

}  // namespace

TotalCounter::TotalCounter(file::FileSystem& fs, const std::vector<std::string>& sources)
    : thread_([this, &fs, sources](const std::stop_token& stop) {
        file::Scanner scanner(fs, sources, false);
        while (auto found = scanner.next()) {
          if (stop.stop_requested()) return;
          if (found->what == file::Found::What::file)
            bytes_.fetch_add(found->info.size, std::memory_order_relaxed);
        }
        complete_.store(true, std::memory_order_relaxed);
      }) {}

SendJob::SendJob(const SendOptions& options, file::FileSystem& fs, net::Stream& stream,
                 const CancelToken& cancel, SessionReport& report)
    : options_(options),
      fs_(fs),
      stream_(stream),
      link_(stream, cancel, options.timeout),
      report_(report) {
  const auto& sources = options.sources;
  if (std::find(sources.begin(), sources.end(), "-") == sources.end())
    total_ = std::make_unique<TotalCounter>(fs, sources);
}

Result<void> SendJob::run() {
  auto done = transfer();
  if (!done) {
    say_goodbye(done.error());
    return done;
  }
  stream_.finish();
  // The verdict is there: a failure to close changes nothing.
  static_cast<void>(stream_.wait_closed(kCloseTimeout).has_value());
  return {};
}

Progress SendJob::progress() const {
  Progress now;
  now.files_done = files_done_;
  const std::uint64_t on_the_way = stream_.published_bytes() - stream_.acked_bytes();
  now.bytes_done = content_published_ - std::min(on_the_way, content_published_);
  now.bytes_total = total_ ? total_->bytes() : content_published_;
  now.total_known = total_ && total_->complete();
  now.name = current_;
  return now;
}

Result<void> SendJob::transfer() {
  XFER_TRY(greet());
  for (const std::string& source : options_.sources) XFER_TRY(send_source(source));
  return confirm();
}

Result<void> SendJob::greet() {
  XFER_TRY(put_frame(session::Hello{session::kVersion, session::Role::sender}));
  stream_.flush();
  while (!session_.greeted()) {
    const auto waited = wait(net::Stream::kReadable);
    const bool silent = !waited && (waited.error().code == ErrorCode::stalled ||
                                    waited.error().code == ErrorCode::peer_closed);
    if (silent && !peer_gave_up_)
      return Error{ErrorCode::version_mismatch, 0,
                   "it does not greet as a receiver (is --raw given on one side only?)"};
    XFER_TRY(waited);
  }
  return {};
}

Result<void> SendJob::confirm() {
  current_.clear();
  XFER_TRY(put_frame(session_.finish(failed_unannounced_)));
  stream_.flush();
  while (!session_.complete()) XFER_TRY(wait(net::Stream::kReadable));
  return {};
}

Result<void> SendJob::send_source(const std::string& source) {
  if (source == "-") return send_stdin();
  file::Scanner scanner(fs_, {source});
  while (auto found = scanner.next()) XFER_TRY(send(*found));
  return {};
}

Result<void> SendJob::send(file::Found& found) {
  using What = file::Found::What;
  switch (found.what) {
    case What::file:
      return send_file(found);
    case What::directory: {
      session::Entry entry;
      entry.kind = session::EntryKind::directory;
      entry.mode = found.info.mode;
      entry.mtime_ns = found.info.mtime_ns;
      entry.path = found.path;
      const auto id = begin(entry);
      if (!id) return id.error();
      directories_.push_back(*id);
      return {};
    }
    case What::leave: {
      session::End ending;
      ending.id = directories_.back();
      directories_.pop_back();
      return end(ending);
    }
    case What::skipped:
      report_.skipped(found.local, found.reason);
      return {};
    case What::failed:
      cannot_send(found.info.type == file::FileInfo::Type::directory ? EntryResult::Kind::directory
                                                                     : EntryResult::Kind::file,
                  found.local, found.error);
      return {};
  }
  return {};
}

Result<void> SendJob::send_file(file::Found& found) {
  session::Entry entry;
  entry.mode = found.info.mode;
  entry.mtime_ns = found.info.mtime_ns;
  entry.size = found.info.size;
  entry.path = found.path;
  const auto id = begin(entry);
  if (!id) return id.error();
  current_ = found.path;
  session::End ending;
  ending.id = *id;
  XFER_TRY(send_content(*found.file, ending));
  XFER_TRY(end(ending));
  ++files_done_;
  return {};
}

Result<void> SendJob::send_stdin() {
  session::Entry entry;
  entry.mode = 0666;
  entry.path = options_.stdin_name;
  const auto id = begin(entry);
  if (!id) return id.error();
  current_ = options_.stdin_name;
  session::End ending;
  ending.id = *id;
  XFER_TRY(send_stdin_content(ending));
  XFER_TRY(end(ending));
  ++files_done_;
  return {};
}

Result<void> SendJob::send_content(file::SourceFile& source, session::End& ending) {
  hash_.reset();
  std::optional<Error> failure;
  const auto read = [&](MutByteView into) -> std::size_t {
    const auto count = source.read(into);
    if (count) return *count;
    failure = count.error();
    return 0;
  };
  while (true) {
    XFER_TRY(take_input());
    if (session_.refused(ending.id)) {
      ending.status = session::EndStatus::refused;
      return {};
    }
    const auto count = put_content(ending.id, ending.size, read);
    if (!count) return count.error();
    if (*count == 0) break;
    ending.size += *count;
  }
  if (!failure) {
    if (const auto same = source.check_unchanged(); !same) failure = same.error();
  }
  if (failure) {
    ending.status = status_of(*failure);
    local_failures_[ending.id] = *failure;
    return {};
  }
  ending.hash = hash_.digest();
  return {};
}

Result<void> SendJob::send_stdin_content(session::End& ending) {
  hash_.reset();
  std::optional<Error> failure;
  const auto read = [&](MutByteView into) -> std::size_t {
    const auto count = fs_.read(options_.stdin_fd, into);
    if (count) return *count;
    failure = Error{ErrorCode::source_error, count.error().sys_errno, count.error().what};
    return 0;
  };
  while (true) {
    XFER_TRY(wait_for_stdin());
    if (session_.refused(ending.id)) {
      ending.status = session::EndStatus::refused;
      return {};
    }
    const auto count = put_content(ending.id, ending.size, read);
    if (!count) return count.error();
    if (*count == 0) break;
    ending.size += *count;
  }
  if (failure) {
    ending.status = status_of(*failure);
    local_failures_[ending.id] = *failure;
    return {};
  }
  ending.hash = hash_.digest();
  return {};
}

/// Reads the next run of content into the ring, behind its frame header. 0: there is no more.
template <typename Read>
Result<std::size_t> SendJob::put_content(std::uint32_t id, std::uint64_t offset, Read read) {
  MutByteView space = stream_.write_space();
  while (space.empty()) {
    XFER_TRY(wait(net::Stream::kWritable));
    space = stream_.write_space();
  }
  const bool direct = space.size() >= kDirectRoom;
  const MutByteView frame = direct ? space : MutByteView(scratch_);
  const MutByteView room = frame.subspan(session::kDataHeaderSize);
  const MutByteView into = room.first(std::min(room.size(), kChunk));
  ++reads_;
  const std::size_t count = read(into);
  if (count == 0) return count;
  hash_.update(into.first(count));
  ByteWriter header(frame.first(session::kDataHeaderSize));
  session::encode_data_header(header, id, offset, count);
  if (direct) {
    stream_.publish(session::kDataHeaderSize + count, false);
  } else {
    XFER_TRY(put(frame.first(session::kDataHeaderSize + count)));
  }
  content_published_ += count;
  link_.progress();
  report_progress();
  return count;
}

Result<std::uint32_t> SendJob::begin(session::Entry entry) {
  if (session_.full()) stream_.flush();
  while (session_.full()) XFER_TRY(wait(net::Stream::kReadable));
  const auto id = session_.begin(entry.kind, std::string(entry.path));
  if (!id) return id.error();
  entry.id = *id;
  XFER_TRY(put_frame(entry));
  return *id;
}

Result<void> SendJob::end(session::End ending) {
  session_.ended(ending);
  return put_frame(ending);
}

void SendJob::cannot_send(EntryResult::Kind kind, const std::string& name, const Error& error) {
  ++failed_unannounced_;
  EntryResult result;
  result.kind = kind;
  result.name = name;
  result.error = error;
  result.text = file::cause(error);
  report_.entry(std::move(result));
}

template <typename Message>
Result<void> SendJob::put_frame(const Message& message) {
  std::array<std::byte, session::kMaxControlFrame> buffer;
  ByteWriter out(buffer);
  session::encode(out, message);
  XFER_ASSERT(out.ok());
  XFER_TRY(put(out.written()));
  return take_input();
}

Result<void> SendJob::put(ByteView bytes) {
  mid_frame_ = true;
  while (!bytes.empty()) {
    const MutByteView space = stream_.write_space();
    if (space.empty()) {
      XFER_TRY(wait(net::Stream::kWritable));
      continue;
    }
    const std::size_t count = std::min(space.size(), bytes.size());
    std::copy_n(bytes.begin(), count, space.begin());
    stream_.publish(count, false);
    bytes = bytes.subspan(count);
  }
  mid_frame_ = false;
  return {};
}

Result<void> SendJob::wait(unsigned interest) {
  const auto ready = link_.wait(interest | net::Stream::kReadable);
  if (!ready) return ready.error();
  XFER_TRY(take_input());
  if ((*ready & net::Stream::kEnded) != 0 && !session_.complete()) return link_.death();
  report_progress();
  return {};
}

/// Until standard input has something, or its end. Idling is no stall: the receiver gets signs of
/// life.
Result<void> SendJob::wait_for_stdin() {
  XFER_TRY(take_input());
  int sleep_ms = 0;
  TimePoint last_sign = net::now();
  while (true) {
    pollfd input{options_.stdin_fd, POLLIN, 0};
    const int ready = ::poll(&input, 1, sleep_ms);
    // Also on errors: reading will tell.
    if (ready > 0 || (ready < 0 && errno != EINTR)) return {};
    if (sleep_ms == 0) stream_.flush();
    sleep_ms = static_cast<int>(kTick / 1ms);
    XFER_TRY(take_input());
    report_progress();
    const bool acknowledged = stream_.acked_bytes() == stream_.published_bytes();
    if (acknowledged) link_.progress();
    if (acknowledged && net::now() - last_sign >= kAliveInterval) {
      last_sign = net::now();
      XFER_TRY(put_frame(session::Alive{}));
      stream_.flush();
    }
  }
}

void SendJob::report_progress() {
  if (!report_.progress_due()) return;
  Progress now = progress();
  now.connection = stream_.stats();
  report_.progress(std::move(now));
}

Result<void> SendJob::take_input() {
  XFER_TRY(link_.check());
  while (true) {
    const auto run = stream_.try_read();
    if (!run) {
      if (run.error().code == ErrorCode::would_block) return {};
      return run.error();
    }
    if (run->empty()) {
      if (session_.complete()) return {};
      return ErrorCode::peer_closed;
    }
    link_.progress();
    ByteView rest = *run;
    while (true) {
      const auto message = reader_.next(rest);
      if (!message) return not_our_protocol(session_.greeted());
      if (!*message) break;
      XFER_TRY(on_message(**message));
    }
    stream_.consume(run->size());
  }
}

Result<void> SendJob::on_message(const session::Message& message) {
  XFER_TRY(session_.handle(message));
  if (const auto* verdict = std::get_if<session::Verdict>(&message)) on_verdict(*verdict);
  if (const auto* abort = std::get_if<session::Abort>(&message)) return on_abort(*abort);
  return {};
}

void SendJob::on_verdict(const session::Verdict& verdict) {
  const auto entry = session_.resolve(verdict);
  EntryResult result;
  result.kind = kind_of(entry.kind);
  result.name = entry.name;
  result.bytes = entry.bytes;
  result.ok = !verdict.code;
  const auto local = local_failures_.find(verdict.id);
  if (local != local_failures_.end()) {
    result.error = local->second;
    result.text = file::cause(local->second);
    local_failures_.erase(local);
  } else if (verdict.code) {
    result.by_peer = true;
    result.error = {*verdict.code, 0, nullptr};
    result.text =
        verdict.text.empty() ? error_sentence(*verdict.code) : file::printable(verdict.text);
  }
  report_.entry(std::move(result));
}

Error SendJob::on_abort(const session::Abort& abort) {
  peer_gave_up_ = true;
  const Farewell farewell = read_abort(abort);
  detail_ = farewell.detail;
  return farewell.error;
}

void SendJob::say_goodbye(const Error& error) {
  if (detail_.empty() && error.code == ErrorCode::stalled)
    detail_ = "the receiver took nothing for " + std::to_string(options_.timeout / 1s) + " s";
  if (!peer_gave_up_ && !mid_frame_) put_abort(stream_, error, detail_);
  link_.hang_up();
}

}  // namespace xfer::transfer

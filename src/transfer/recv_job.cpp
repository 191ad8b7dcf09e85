#include "transfer/recv_job.hpp"

#include <algorithm>
#include <future>
#include <utility>

#include "file/printable.hpp"
#include "transfer/goodbye.hpp"

namespace xfer::transfer {
namespace {

/// Most complete entries, and bytes in them, that wait to be settled together.
constexpr std::size_t kMaxUnsettled = 64;
constexpr std::uint64_t kMaxUnsettledBytes = 16U << 20U;

/// What a failed source looks like to the receiver.
Error error_of(session::EndStatus status) {
  switch (status) {
    case session::EndStatus::changed:
      return {ErrorCode::source_changed, 0, "the source changed while it was read"};
    case session::EndStatus::vanished:
      return {ErrorCode::source_error, 0, "the source vanished while it was read"};
    case session::EndStatus::unreadable:
      return {ErrorCode::source_error, 0, "the source could not be read"};
    case session::EndStatus::ok:
    case session::EndStatus::refused:
      break;
  }
  return {ErrorCode::peer_error, 0, "given up by the sender"};
}

}  // namespace

RecvJob::RecvJob(const RecvOptions& options, file::Destination destination, net::Stream& stream,
                 const CancelToken& cancel, SessionReport& report)
    : options_(options),
      destination_(std::move(destination)),
      stream_(stream),
      link_(stream, cancel, options.timeout),
      report_(report),
      writer_(block_size(options.connection, stream)) {
  destination_.set_durable(options.durability == Durability::synced);
}

Result<void> RecvJob::run() {
  auto done = transfer();
  // Pieces are views into the connection, and an unfinished file must go before the user hears of
  // the end.
  writer_.drop();
  file_.reset();
  if (!done) {
    // What is complete is kept, even if the sender does not hear of it.
    static_cast<void>(settle().has_value());
    say_goodbye(done.error());
    return done;
  }
  stream_.finish();
  // Everything is in place: whether the sender still hears of it changes nothing here.
  static_cast<void>(stream_.wait_closed(kCloseTimeout).has_value());
  return {};
}

Progress RecvJob::progress() const {
  Progress now;
  now.files_done = files_done_;
  now.bytes_done = content_received_;
  now.bytes_total = std::max(content_announced_, content_received_);
  now.total_known = session_.done();
  if (file_) now.name = file_->name;
  return now;
}

Result<void> RecvJob::transfer() {
  XFER_TRY(put_frame(session::Hello{session::kVersion, session::Role::receiver}));
  stream_.flush();
  while (!finished_) {
    XFER_TRY(link_.check());
    const auto run = stream_.try_read();
    if (run) {
      if (run->empty()) {
        // A few bytes that are not even the beginning of a greeting.
        const bool fragment = !session_.greeted() && !reader_.at_boundary();
        return fragment ? not_our_protocol(false) : Error{ErrorCode::peer_closed, 0, nullptr};
      }
      link_.progress();
      XFER_TRY(take_run(*run));
      report_progress();
      continue;
    }
    if (run.error().code != ErrorCode::would_block) return run.error();
    if (const auto patience = writer_.patience(net::now())) {
      const auto ready = link_.wait(net::Stream::kReadable, *patience);
      if (!ready) return ready.error();
      continue;
    }
    // Nothing to take in: a good moment to write, and to let the sender know.
    XFER_TRY(write_gathered());
    give_back();
    stream_.flush();
    const auto ready = link_.wait(net::Stream::kReadable);
    if (!ready) return ready.error();
    // The sender pauses (a pipe, a slow disk): no reason to keep it waiting for names.
    if (*ready == 0) XFER_TRY(settle());
    report_progress();
  }
  return {};
}

Result<void> RecvJob::take_run(ByteView run) {
  while (!run.empty() && !finished_) {
    const std::size_t before = run.size();
    const auto message = reader_.next(run);
    if (!message) return not_our_protocol(session_.greeted());
    parsed_ += before - run.size();
    if (!*message) break;
    XFER_TRY(on_message(**message));
    // A frame without content (and content that is dropped) is copied or done with already.
    if (writer_.empty()) give_back();
  }
  return {};
}

Result<void> RecvJob::on_message(const session::Message& message) {
  XFER_TRY(session_.handle(message));
  if (const auto* data = std::get_if<session::Data>(&message)) return on_data(*data);
  if (const auto* entry = std::get_if<session::Entry>(&message)) return on_entry(*entry);
  if (const auto* end = std::get_if<session::End>(&message)) return on_end(*end);
  if (const auto* done = std::get_if<session::Done>(&message)) return on_done(*done);
  if (const auto* abort = std::get_if<session::Abort>(&message)) return on_abort(*abort);
  return {};
}

Result<void> RecvJob::on_entry(const session::Entry& entry) {
  auto path = file::RelativePath::parse(entry.path);
  if (!path) {
    // No sender of ours names a file like that.
    detail_ = "unsafe name \"" + file::printable(entry.path) + "\": " + file::cause(path.error());
    return Error{ErrorCode::peer_error, 0, path.error().what};
  }
  const std::string name(entry.path);
  if (entry.kind == session::EntryKind::directory) {
    // A directory that comes again is left before it is entered.
    const bool again = std::any_of(unsettled_.begin(), unsettled_.end(), [&](const auto& waiting) {
      const auto* directory = std::get_if<OpenDirectory>(&waiting);
      return directory != nullptr && directory->name == name;
    });
    if (again) XFER_TRY(settle());
    OpenDirectory open{entry.id, name, *path, entry.mtime_ns, false, {}};
    if (const auto entered = destination_.enter(*path, entry.mode)) {
      open.directory = *entered;
    } else {
      open.judged = true;
      XFER_TRY(fail(entry.id, EntryResult::Kind::directory, name, entered.error()));
    }
    directories_.push_back(std::move(open));
    return {};
  }
  content_announced_ += entry.size.value_or(0);
  file_.emplace(OpenFile{entry.id, name, *path, entry.mtime_ns, 0, false, {}});
  hash_.reset();
  auto created = destination_.create(*path, entry.mode);
  if (!created) {
    file_->judged = true;
    return fail(entry.id, EntryResult::Kind::file, name, created.error());
  }
  if (const auto ready = prepare(*created, entry.size); !ready) {
    created->discard();
    file_->judged = true;
    return fail(entry.id, EntryResult::Kind::file, name, ready.error());
  }
  file_->file.emplace(std::move(*created));
  return {};
}

Result<void> RecvJob::prepare(file::OutputFile& file, std::optional<std::uint64_t> size) {
  if (options_.preallocate && size) {
    // A file system that cannot reserve has nothing to warn of: only the time of an error changes.
    if (const auto reserved = file.reserve(*size); !reserved) return reserved.error();
  }
  if (options_.direct && !file.set_direct()) warn_about_direct();
  return {};
}

Result<void> RecvJob::on_data(const session::Data& data) {
  content_received_ += data.bytes.size();
  file_->received += data.bytes.size();
  if (file_->judged) return {};
  writer_.add(data.bytes);
  return writer_.full() ? write_gathered() : Result<void>();
}

Result<void> RecvJob::on_end(const session::End& end) {
  return file_ ? on_file_end(end) : on_directory_end();
}

Result<void> RecvJob::on_file_end(const session::End& end) {
  XFER_TRY(write_gathered());
  OpenFile open = std::move(*file_);
  file_.reset();
  ++files_done_;
  if (open.judged) return {};
  std::optional<Error> failure;
  if (end.status != session::EndStatus::ok) {
    failure = error_of(end.status);
  } else if (hash_.digest() != end.hash) {
    failure = Error{ErrorCode::integrity, 0, nullptr};
  } else if (const auto done = writer_.counted(*open.file, [&] { return open.file->complete(); });
             !done) {
    failure = done.error();
  } else if (open.mtime_ns) {
    if (const auto kept = open.file->set_mtime(*open.mtime_ns); !kept) {
      failure = kept.error();
    } else if (!*kept) {
      warn_about_attributes();
    }
  }
  if (failure) {
    open.file->discard();
    return fail(end.id, EntryResult::Kind::file, open.name, *failure);
  }
  if (options_.durability == Durability::synced) open.file->start_sync();
  return settle_later(std::move(open));
}

Result<void> RecvJob::on_directory_end() {
  OpenDirectory open = std::move(directories_.back());
  directories_.pop_back();
  if (open.judged) return {};
  return settle_later(std::move(open));
}

Result<void> RecvJob::settle_later(std::variant<OpenFile, OpenDirectory> entry) {
  if (const auto* file = std::get_if<OpenFile>(&entry)) unsettled_bytes_ += file->received;
  unsettled_.push_back(std::move(entry));
  const bool wait = options_.durability == Durability::synced &&
                    unsettled_.size() < kMaxUnsettled && unsettled_bytes_ < kMaxUnsettledBytes;
  return wait ? Result<void>() : settle();
}

/// Forces complete entries to the disk, gives them their names, and tells the sender. All of them,
/// whatever happens to one; the first failure that ends the session is returned.
Result<void> RecvJob::settle() {
  auto entries = std::exchange(unsettled_, {});
  unsettled_bytes_ = 0;
  if (entries.empty()) return {};
  const bool durable = options_.durability == Durability::synced;
  std::vector<Result<void>> results(entries.size());
  if (durable) {
    XFER_TRY(while_alive([&] {
      for (std::size_t i = 0; i < entries.size(); ++i)
        if (auto* open = std::get_if<OpenFile>(&entries[i])) results[i] = open->file->sync();
      return Result<void>();
    }));
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!results[i]) continue;
    if (auto* open = std::get_if<OpenFile>(&entries[i])) {
      results[i] = destination_.publish(*open->file, open->path);
    } else {
      const auto& directory = std::get<OpenDirectory>(entries[i]);
      const auto kept = destination_.leave(directory.path, directory.directory, directory.mtime_ns);
      if (!kept) {
        results[i] = kept.error();
      } else if (!*kept) {
        warn_about_attributes();
      }
    }
  }
  auto ended = durable ? while_alive([&] { return destination_.sync(); }) : Result<void>();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto* open = std::get_if<OpenFile>(&entries[i]);
    const auto kind = open != nullptr ? EntryResult::Kind::file : EntryResult::Kind::directory;
    const auto& name = open != nullptr ? open->name : std::get<OpenDirectory>(entries[i]).name;
    const auto id = open != nullptr ? open->id : std::get<OpenDirectory>(entries[i]).id;
    const auto told = results[i] ? succeed(id, kind, name, open != nullptr ? open->received : 0)
                                 : fail(id, kind, name, results[i].error());
    if (ended && !told) ended = told;
  }
  return ended;
}

/// Runs `work` aside: a disk may take longer than the time limit, so the sender is told that we
/// live.
Result<void> RecvJob::while_alive(const std::function<Result<void>()>& work) {
  auto done = std::async(std::launch::async, work);
  while (done.wait_for(kAliveInterval) == std::future_status::timeout) {
    if (mid_frame_ || stream_.write_space().size() < session::kFrameHeaderSize) continue;
    if (put_frame(session::Alive{})) stream_.flush();
  }
  link_.progress();
  return done.get();
}

Result<void> RecvJob::on_done(const session::Done& done) {
  XFER_TRY(settle());
  XFER_ASSERT(session_.all_judged());
  if (const auto synced = destination_.sync(); !synced) return synced.error();
  if (done.failed > 0) report_.failed_at_peer(done.failed);
  XFER_TRY(put_frame(session_.final()));
  stream_.flush();
  finished_ = true;
  return {};
}

Error RecvJob::on_abort(const session::Abort& abort) {
  peer_gave_up_ = true;
  const Farewell farewell = read_abort(abort);
  detail_ = farewell.detail;
  return farewell.error;
}

Result<void> RecvJob::write_gathered() {
  if (writer_.empty()) return {};
  const auto written = writer_.write(*file_->file, &hash_);
  give_back();
  link_.progress();
  if (file_->file->direct_refused()) warn_about_direct();
  if (written) return {};
  file_->judged = true;
  file_->file.reset();
  return fail(file_->id, EntryResult::Kind::file, file_->name, written.error());
}

/// Everything taken in so far is written or of no more use.
void RecvJob::give_back() {
  if (parsed_ == 0 || !writer_.empty()) return;
  stream_.consume(parsed_);
  parsed_ = 0;
}

/// One bad entry does not stop the rest; a full disk does.
Result<void> RecvJob::fail(std::uint32_t id, EntryResult::Kind kind, const std::string& name,
                           const Error& error) {
  EntryResult result;
  result.kind = kind;
  result.name = name;
  result.error = error;
  result.text = file::cause(error);
  result.by_peer = error.code == ErrorCode::source_error || error.code == ErrorCode::source_changed;
  session_.judged(error.code, 0);
  session::Verdict verdict;
  verdict.id = id;
  verdict.code = error.code;
  verdict.text = result.text;
  XFER_TRY(put_frame(verdict));
  stream_.flush();
  report_.entry(result);
  if (error.code != ErrorCode::no_space) return {};
  detail_ = file::printable(name) + ": " + result.text;
  return error;
}

Result<void> RecvJob::succeed(std::uint32_t id, EntryResult::Kind kind, const std::string& name,
                              std::uint64_t bytes) {
  session_.judged(std::nullopt, bytes);
  session::Verdict verdict;
  verdict.id = id;
  XFER_TRY(put_frame(verdict));
  EntryResult result;
  result.kind = kind;
  result.name = name;
  result.bytes = bytes;
  result.ok = true;
  report_.entry(std::move(result));
  return {};
}

void RecvJob::warn_about_attributes() {
  if (warned_) return;
  warned_ = true;
  report_.warning("the file system of the destination cannot keep modes or times");
}

void RecvJob::warn_about_direct() {
  if (warned_of_direct_) return;
  warned_of_direct_ = true;
  report_.warning(
      "the file system of the destination cannot write past the page cache (--direct): files are "
      "written as without");
}

template <typename Message>
Result<void> RecvJob::put_frame(const Message& message) {
  std::array<std::byte, session::kMaxControlFrame> buffer;
  ByteWriter out(buffer);
  session::encode(out, message);
  XFER_ASSERT(out.ok());
  ByteView bytes = out.written();
  mid_frame_ = true;
  while (!bytes.empty()) {
    const MutByteView space = stream_.write_space();
    if (space.empty()) {
      const auto ready = link_.wait(net::Stream::kWritable);
      if (!ready) return ready.error();
      if ((*ready & net::Stream::kEnded) != 0) return link_.death();
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

void RecvJob::report_progress() {
  if (!report_.progress_due()) return;
  Progress now = progress();
  now.connection = stream_.stats();
  report_.progress(std::move(now));
}

void RecvJob::say_goodbye(const Error& error) {
  if (detail_.empty() && error.code == ErrorCode::stalled)
    detail_ = "nothing arrived for " + std::to_string(options_.timeout / 1s) + " s";
  if (!peer_gave_up_ && !mid_frame_) put_abort(stream_, error, detail_);
  link_.hang_up();
}

}  // namespace xfer::transfer

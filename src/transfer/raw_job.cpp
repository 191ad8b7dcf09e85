#include "transfer/raw_job.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "file/printable.hpp"

namespace xfer::transfer {
namespace {

constexpr std::size_t kChunk = 256U << 10U;

/// A bare stream may begin like a greeting; it does not stop behind it for so long.
constexpr Duration kGreetingPause = 1s;

Error not_raw(const char* what) { return {ErrorCode::version_mismatch, 0, what}; }

}  // namespace

// RawSendJob

Result<void> RawSendJob::run() {
  auto done = transfer();
  if (!done) {
    // What was sent must not look like the whole, and in this mode the end of the connection says
    // so. A peer of the transfer protocol knows better, and need not wait.
    if (done.error().code == ErrorCode::version_mismatch) {
      stream_.abort();
    } else {
      stream_.vanish();
    }
    static_cast<void>(stream_.wait_closed(kCloseTimeout).has_value());
    return done;
  }
  stream_.finish();
  static_cast<void>(stream_.wait_closed(kCloseTimeout).has_value());
  report_.add_bytes(stream_.published_bytes());
  report_.count_file();
  return {};
}

Progress RawSendJob::progress() const {
  Progress now;
  now.bytes_done = stream_.acked_bytes();
  now.bytes_total = size_.value_or(stream_.published_bytes());
  now.total_known = size_.has_value();
  now.name = options_.sources.front();
  return now;
}

Result<void> RawSendJob::transfer() {
  const std::string& name = options_.sources.front();
  if (name == "-") {
    XFER_TRY(send_all(nullptr));
  } else {
    file::Scanner scanner(fs_, {name});
    auto found = scanner.next();
    const bool file = found && found->what == file::Found::What::file;
    if (!file) {
      const Error error = found && found->what == file::Found::What::failed
                              ? found->error
                              : Error{ErrorCode::source_error, EISDIR, nullptr};
      detail_ = file::printable(name) + ": " + file::cause(error);
      return error;
    }
    size_ = found->info.size;
    const auto sent = send_all(&*found->file);
    if (!sent) {
      const bool source = sent.error().code == ErrorCode::source_error ||
                          sent.error().code == ErrorCode::source_changed;
      if (source) detail_ = file::printable(name) + ": " + file::cause(sent.error());
      return sent;
    }
  }
  stream_.flush();
  while (stream_.acked_bytes() < stream_.published_bytes()) {
    const auto waited = wait(0);
    if (stream_.acked_bytes() == stream_.published_bytes()) break;
    if (!waited) {
      if (waited.error().code == ErrorCode::peer_closed)
        detail_ = "it did not acknowledge the last " +
                  std::to_string(stream_.published_bytes() - stream_.acked_bytes()) + " bytes";
      return waited;
    }
  }
  return {};
}

Result<void> RawSendJob::send_all(file::SourceFile* source) {
  while (true) {
    MutByteView space = stream_.write_space();
    while (space.empty()) {
      XFER_TRY(wait(net::Stream::kWritable));
      space = stream_.write_space();
    }
    if (source == nullptr) XFER_TRY(wait_for_input());
    const auto count = read(source, space.first(std::min(space.size(), kChunk)));
    if (!count) return count.error();
    if (*count == 0) break;
    stream_.publish(*count, false);
    link_.progress();
    XFER_TRY(drop_input());
    report_progress();
  }
  if (source == nullptr) return {};
  return source->check_unchanged();
}

Result<std::size_t> RawSendJob::read(file::SourceFile* source, MutByteView into) {
  ++reads_;
  if (source != nullptr) return source->read(into);
  const auto count = fs_.read(options_.stdin_fd, into);
  if (!count) return Error{ErrorCode::source_error, count.error().sys_errno, count.error().what};
  return count;
}

Result<void> RawSendJob::wait(unsigned interest) {
  const auto ready = link_.wait(interest);
  if (!ready) return ready.error();
  XFER_TRY(drop_input());
  if ((*ready & net::Stream::kEnded) != 0) return link_.death();
  report_progress();
  return {};
}

Result<void> RawSendJob::wait_for_input() {
  int sleep_ms = 0;
  while (true) {
    pollfd input{options_.stdin_fd, POLLIN, 0};
    const int ready = ::poll(&input, 1, sleep_ms);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return {};
    if (sleep_ms == 0) stream_.flush();
    sleep_ms = static_cast<int>(kTick / 1ms);
    if (stream_.acked_bytes() == stream_.published_bytes()) link_.progress();
    XFER_TRY(drop_input());
    report_progress();
  }
}

/// A peer that talks back is not what raw mode is for; its bytes must not fill the receive buffer.
Result<void> RawSendJob::drop_input() {
  XFER_TRY(link_.check());
  while (true) {
    const auto run = stream_.try_read();
    if (!run) {
      if (run.error().code == ErrorCode::would_block) return {};
      return run.error();
    }
    if (run->empty()) return ErrorCode::peer_closed;
    greeting_.see(*run);
    stream_.consume(run->size());
    if (greeting_.only_greeted(session::Role::receiver))
      return not_raw(
          "the receiver expects a transfer with names and checksums: give --raw on "
          "both sides or on none");
  }
}

void RawSendJob::report_progress() {
  if (!report_.progress_due()) return;
  Progress now = progress();
  now.connection = stream_.stats();
  report_.progress(std::move(now));
}

// RawRecvJob

Result<void> RawRecvJob::run() {
  if (options_.direct && !target_.set_direct())
    report_.warning("--direct has no effect on this target");
  auto done = transfer();
  writer_.drop();
  if (!done) {
    target_.discard();
    stream_.abort();
    static_cast<void>(stream_.wait_closed(kCloseTimeout).has_value());
    return done;
  }
  report_.add_bytes(target_.size());
  report_.count_file();
  stream_.finish();
  static_cast<void>(stream_.wait_closed(kCloseTimeout).has_value());
  return {};
}

Progress RawRecvJob::progress() const {
  Progress now;
  now.bytes_done = target_.size();
  now.bytes_total = target_.size();
  now.name = options_.raw_target;
  return now;
}

Result<void> RawRecvJob::transfer() {
  while (true) {
    XFER_TRY(link_.check());
    const auto run = stream_.try_read();
    if (run) {
      if (run->empty()) break;
      link_.progress();
      greeting_.see(*run);
      last_arrival_ = net::now();
      writer_.add(*run);
      if (writer_.full()) XFER_TRY(write_gathered());
      report_progress();
      continue;
    }
    if (run.error().code != ErrorCode::would_block) return run.error();
    const auto patience = writer_.patience(net::now());
    if (!patience) XFER_TRY(write_gathered());
    if (greeting_.only_greeted(session::Role::sender) &&
        net::now() - last_arrival_ >= kGreetingPause)
      return not_raw(
          "the sender expects a transfer with names and checksums: give --raw on both "
          "sides or on none");
    const auto ready = link_.wait(net::Stream::kReadable, patience.value_or(kTick));
    if (!ready) return ready.error();
    report_progress();
  }
  XFER_TRY(write_gathered());
  auto stored = store();
  if (!stored) detail_ = file::printable(options_.raw_target) + ": " + file::cause(stored.error());
  return stored;
}

Result<void> RawRecvJob::store() {
  XFER_TRY(writer_.counted(target_, [this] { return target_.complete(); }));
  const bool durable = options_.durability == Durability::synced;
  if (durable) XFER_TRY(target_.sync());
  return target_.publish(durable);
}

Result<void> RawRecvJob::write_gathered() {
  const std::size_t size = writer_.size();
  auto written = target_.may_wait() ? write_patiently() : writer_.write(target_, nullptr);
  stream_.consume(size);
  if (!written && written.error().code != ErrorCode::interrupted)
    detail_ = file::printable(options_.raw_target) + ": " + file::cause(written.error());
  return written;
}

/// Writes to what may make us wait for its reader as long as it likes, but not for the user who
/// interrupts.
Result<void> RawRecvJob::write_patiently() {
  for (ByteView piece : writer_.pieces()) {
    while (!piece.empty()) {
      XFER_TRY(link_.check());
      const auto count = writer_.counted(target_, [&] { return target_.write_some(piece); });
      if (!count) return count.error();
      piece = piece.subspan(*count);
      if (*count > 0) continue;
      if (const auto room = target_.wait_writable(kTick); !room) return room.error();
    }
  }
  writer_.drop();
  link_.progress();
  return {};
}

void RawRecvJob::report_progress() {
  if (!report_.progress_due()) return;
  Progress now = progress();
  now.connection = stream_.stats();
  report_.progress(std::move(now));
}

}  // namespace xfer::transfer

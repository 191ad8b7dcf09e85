#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "crypto/hash.hpp"
#include "file/source.hpp"
#include "session/frame_reader.hpp"
#include "session/sender.hpp"
#include "transfer/link.hpp"
#include "transfer/session_report.hpp"

namespace xfer::transfer {

/// Adds up the sizes of all sources in the background, for "how much is left". Sends nothing and
/// reports nothing.
class TotalCounter {
 public:
  TotalCounter(file::FileSystem& fs, const std::vector<std::string>& sources);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool complete() const { return complete_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<bool> complete_{false};
  std::jthread thread_;
};

/// The sending side of one session, on a connection that is up. For one thread; run() once.
class SendJob {
 public:
  SendJob(const SendOptions& options, file::FileSystem& fs, net::Stream& stream,
          const CancelToken& cancel, SessionReport& report);

  /// Sends everything and waits for the last verdict.
  /// @return the error that ended the session early; success does not mean that every entry did
  /// (SessionReport knows).
  Result<void> run();
  /// Printable, more about the error of run(); may be empty.
  [[nodiscard]] const std::string& detail() const { return detail_; }
  [[nodiscard]] Progress progress() const;
  [[nodiscard]] FileCalls calls() const { return {reads_, 0, 0}; }

 private:
  Result<void> transfer();
  Result<void> greet();
  Result<void> confirm();
  Result<void> send_source(const std::string& source);
  Result<void> send(file::Found& found);
  Result<void> send_file(file::Found& found);
  Result<void> send_stdin();
  Result<void> send_content(file::SourceFile& source, session::End& end);
  Result<void> send_stdin_content(session::End& end);
  template <typename Read>
  Result<std::size_t> put_content(std::uint32_t id, std::uint64_t offset, Read read);

  Result<std::uint32_t> begin(session::Entry entry);
  Result<void> end(session::End end);
  void cannot_send(EntryResult::Kind kind, const std::string& name, const Error& error);

  template <typename Message>
  Result<void> put_frame(const Message& message);
  Result<void> put(ByteView bytes);
  Result<void> wait(unsigned interest);
  Result<void> wait_for_stdin();
  void report_progress();

  Result<void> take_input();
  Result<void> on_message(const session::Message& message);
  void on_verdict(const session::Verdict& verdict);
  Error on_abort(const session::Abort& abort);
  void say_goodbye(const Error& error);

  const SendOptions& options_;
  file::FileSystem& fs_;
  net::Stream& stream_;
  Link link_;
  SessionReport& report_;
  session::SendingSession session_;
  session::FrameReader reader_;
  crypto::Xxh128 hash_;
  std::vector<std::uint32_t> directories_;  ///< announced and not ended, innermost last
  std::unordered_map<std::uint32_t, Error> local_failures_;  ///< ended as failed, verdict to come
  std::uint32_t failed_unannounced_ = 0;
  std::uint64_t files_done_ = 0;
  std::uint64_t content_published_ = 0;
  std::uint64_t reads_ = 0;
  std::string current_;
  std::string detail_;
  bool mid_frame_ = false;  ///< the stream out ends inside of a frame
  bool peer_gave_up_ = false;
  std::array<std::byte, session::kDataHeaderSize + 4096> scratch_{};
  std::unique_ptr<TotalCounter> total_;  ///< null: there is none
};

}  // namespace xfer::transfer

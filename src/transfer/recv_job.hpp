#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "crypto/hash.hpp"
#include "file/destination.hpp"
#include "session/frame_reader.hpp"
#include "session/receiver.hpp"
#include "transfer/link.hpp"
#include "transfer/run_writer.hpp"
#include "transfer/session_report.hpp"

namespace xfer::transfer {

/// The receiving side of one session, on a connection that is up. For one thread; run() once.
///
/// Content goes from the receive buffer to the file without a copy: runs of bytes are gathered as
/// views (RunWriter), hashed, and written with one call; only then are they given back to the
/// connection, which opens the sender's window.
class RecvJob {
 public:
  RecvJob(const RecvOptions& options, file::Destination destination, net::Stream& stream,
          const CancelToken& cancel, SessionReport& report);

  /// Receives everything, answers each entry with a verdict.
  /// @return the error that ended the session early; success does not mean that every entry did
  /// (SessionReport knows).
  Result<void> run();
  /// Printable, more about the error of run(); may be empty.
  [[nodiscard]] const std::string& detail() const { return detail_; }
  [[nodiscard]] Progress progress() const;
  [[nodiscard]] FileCalls calls() const { return {0, writer_.writes(), writer_.bytes_written()}; }

 private:
  struct OpenFile {
    std::uint32_t id = 0;
    std::string name;
    file::RelativePath path;
    std::optional<std::int64_t> mtime_ns;
    std::uint64_t received = 0;
    bool judged = false;                   ///< failed already; what still comes is dropped
    std::optional<file::OutputFile> file;  ///< set unless `judged`
  };
  struct OpenDirectory {
    std::uint32_t id = 0;
    std::string name;
    file::RelativePath path;
    std::optional<std::int64_t> mtime_ns;
    bool judged = false;
    file::Destination::Directory directory;
  };

  Result<void> transfer();
  Result<void> take_run(ByteView run);
  Result<void> on_message(const session::Message& message);
  Result<void> on_entry(const session::Entry& entry);
  Result<void> on_data(const session::Data& data);
  Result<void> on_end(const session::End& end);
  Result<void> on_file_end(const session::End& end);
  Result<void> on_directory_end();
  Result<void> on_done(const session::Done& done);
  Error on_abort(const session::Abort& abort);

  Result<void> write_gathered();
  void give_back();
  Result<void> settle_later(std::variant<OpenFile, OpenDirectory> entry);
  Result<void> settle();
  Result<void> while_alive(const std::function<Result<void>()>& work);

  Result<void> fail(std::uint32_t id, EntryResult::Kind kind, const std::string& name,
                    const Error& error);
  Result<void> succeed(std::uint32_t id, EntryResult::Kind kind, const std::string& name,
                       std::uint64_t bytes);
  Result<void> prepare(file::OutputFile& file, std::optional<std::uint64_t> size);
  void warn_about_attributes();
  void warn_about_direct();
  template <typename Message>
  Result<void> put_frame(const Message& message);
  void report_progress();
  void say_goodbye(const Error& error);

  const RecvOptions& options_;
  file::Destination destination_;
  net::Stream& stream_;
  Link link_;
  SessionReport& report_;
  session::ReceivingSession session_;
  session::FrameReader reader_;
  crypto::Xxh128 hash_;

  std::optional<OpenFile> file_;
  std::vector<OpenDirectory> directories_;  ///< innermost last

  /// Complete entries that wait to be forced to the disk and named together, in order. One by one,
  /// each would wait for the disk.
  std::vector<std::variant<OpenFile, OpenDirectory>> unsettled_;
  std::uint64_t unsettled_bytes_ = 0;

  RunWriter writer_;        ///< with content of file_ that is not written yet
  std::size_t parsed_ = 0;  ///< bytes handed out by the stream, taken in, and not given back yet

  std::uint64_t files_done_ = 0;
  std::uint64_t content_received_ = 0;
  std::uint64_t content_announced_ = 0;
  bool mid_frame_ = false;
  bool peer_gave_up_ = false;
  bool finished_ = false;  ///< the final message is written
  bool warned_ = false;    ///< that modes or times are not kept
  bool warned_of_direct_ = false;
  std::string detail_;
};

}  // namespace xfer::transfer

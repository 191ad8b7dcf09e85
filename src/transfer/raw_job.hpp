#pragma once

#include <string>

#include "file/destination.hpp"
#include "file/source.hpp"
#include "transfer/greeting_watch.hpp"
#include "transfer/link.hpp"
#include "transfer/run_writer.hpp"
#include "transfer/session_report.hpp"

/// Raw mode: the connection carries the bytes of one file and nothing else, so the peer may be any
/// UDT4 program.
namespace xfer::transfer {

/// Sends the one source of `options`. For one thread; run() once.
class RawSendJob {
 public:
  RawSendJob(const SendOptions& options, file::FileSystem& fs, net::Stream& stream,
             const CancelToken& cancel, SessionReport& report)
      : options_(options),
        fs_(fs),
        stream_(stream),
        link_(stream, cancel, options.timeout),
        report_(report) {}

  /// Success: the peer has acknowledged every byte.
  Result<void> run();
  [[nodiscard]] const std::string& detail() const { return detail_; }
  [[nodiscard]] Progress progress() const;
  [[nodiscard]] FileCalls calls() const { return {reads_, 0, 0}; }

 private:
  Result<void> transfer();
  Result<void> send_all(file::SourceFile* source);
  Result<std::size_t> read(file::SourceFile* source, MutByteView into);
  Result<void> wait(unsigned interest);
  Result<void> wait_for_input();
  Result<void> drop_input();
  void report_progress();

  const SendOptions& options_;
  file::FileSystem& fs_;
  net::Stream& stream_;
  Link link_;
  SessionReport& report_;
  std::optional<std::uint64_t> size_;
  std::uint64_t reads_ = 0;
  GreetingWatch greeting_;
  std::string detail_;
};

/// Receives into `target`. For one thread; run() once.
class RawRecvJob {
 public:
  RawRecvJob(const RecvOptions& options, file::OutputFile target, net::Stream& stream,
             const CancelToken& cancel, SessionReport& report)
      : options_(options),
        target_(std::move(target)),
        stream_(stream),
        link_(stream, cancel, options.timeout),
        report_(report),
        writer_(block_size(options.connection, stream)) {}

  /// Success: the peer has shut down the connection, and everything it sent has its final name.
  Result<void> run();
  [[nodiscard]] const std::string& detail() const { return detail_; }
  [[nodiscard]] Progress progress() const;
  [[nodiscard]] FileCalls calls() const { return {0, writer_.writes(), target_.size()}; }

 private:
  Result<void> transfer();
  Result<void> write_gathered();
  Result<void> write_patiently();
  Result<void> store();
  void report_progress();

  const RecvOptions& options_;
  file::OutputFile target_;
  net::Stream& stream_;
  Link link_;
  SessionReport& report_;
  RunWriter writer_;
  GreetingWatch greeting_;
  TimePoint last_arrival_ = net::now();
  std::string detail_;
};

}  // namespace xfer::transfer

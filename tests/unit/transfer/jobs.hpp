#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "session/frame_reader.hpp"
#include "transfer/job.hpp"

namespace xfer::test {

/// Remembers everything a job reports.
class Recorder final : public transfer::Observer {
 public:
  void on_listening(const SocketAddress& local) override { listening_.set_value(local.port); }
  void on_connected(transfer::SessionId session, const SocketAddress& peer) override;
  void on_progress(const transfer::Progress& progress) override;
  void on_entry(const transfer::EntryResult& entry) override;
  void on_warning(transfer::SessionId session, std::string_view text) override;
  void on_summary(const transfer::Summary& summary) override;
  void on_failure(const transfer::Failure& failure) override;

  /// The port, once the receiver listens.
  std::uint16_t port() { return listening_.get_future().get(); }
  /// Waits until `condition`, which may look at everything here, holds.
  void wait_until(const std::function<bool()>& condition);

  std::function<void(const transfer::EntryResult&)> when_entry;
  std::function<void(const transfer::Progress&)> when_progress;

  std::vector<transfer::SessionId> connected;
  std::vector<transfer::Progress> progress;
  std::vector<transfer::EntryResult> entries;
  std::vector<std::string> warnings;
  std::vector<transfer::Summary> summaries;
  std::vector<transfer::Failure> failures;

  /// The last failure's line, or "".
  [[nodiscard]] std::string line() const { return failures.empty() ? "" : failures.back().line; }

 private:
  std::promise<std::uint16_t> listening_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// The code of a failed job; nullopt: success.
std::optional<ErrorCode> code_of(const Result<transfer::Summary>& result);

/// A receiver on a thread of its own, at a port of the system's choice on 127.0.0.1. `once` unless
/// told otherwise.
class Receiver {
 public:
  explicit Receiver(const std::string& directory,
                    const std::function<void(transfer::RecvOptions&)>& change = {});
  ~Receiver();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  Recorder& seen() { return recorder_; }
  void cancel() { stop_.request_stop(); }
  /// The result, once the job is over.
  Result<transfer::Summary> result();

 private:
  Recorder recorder_;
  std::stop_source stop_;
  std::future<Result<transfer::Summary>> job_;
  std::uint16_t port_ = 0;
};

transfer::SendOptions send_options(std::uint16_t port, std::vector<std::string> sources);

/// A peer that speaks frames by hand.
class HandSender {
 public:
  explicit HandSender(std::uint16_t port);

  template <typename Message>
  void send(const Message& message) {
    std::vector<std::byte> frame(session::kMaxControlFrame);
    ByteWriter out(frame);
    session::encode(out, message);
    write(out.written());
  }
  void send_data(std::uint32_t id, std::uint64_t offset, std::string_view content);
  void write(ByteView bytes);
  /// The codes of verdicts, and of the abort or final frame that ends it, as "v:ok v:integrity
  /// final" and so on; reads until the end of the stream or a final frame.
  std::string answers();
  net::Stream& stream() { return *connected_.stream; }

 private:
  net::Connected connected_;
};

}  // namespace xfer::test

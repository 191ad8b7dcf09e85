#include "jobs.hpp"

#include <catch2/catch.hpp>

namespace xfer::test {

void Recorder::on_connected(transfer::SessionId session, const SocketAddress& /*peer*/) {
  const std::lock_guard lock(mutex_);
  connected.push_back(session);
  changed_.notify_all();
}

void Recorder::on_progress(const transfer::Progress& now) {
  {
    const std::lock_guard lock(mutex_);
    progress.push_back(now);
    changed_.notify_all();
  }
  if (when_progress) when_progress(now);
}

void Recorder::on_entry(const transfer::EntryResult& entry) {
  {
    const std::lock_guard lock(mutex_);
    entries.push_back(entry);
    changed_.notify_all();
  }
  if (when_entry) when_entry(entry);
}

void Recorder::on_warning(transfer::SessionId /*session*/, std::string_view text) {
  const std::lock_guard lock(mutex_);
  warnings.emplace_back(text);
}

void Recorder::on_summary(const transfer::Summary& summary) {
  const std::lock_guard lock(mutex_);
  summaries.push_back(summary);
  changed_.notify_all();
}

void Recorder::on_failure(const transfer::Failure& failure) {
  const std::lock_guard lock(mutex_);
  failures.push_back(failure);
  changed_.notify_all();
}

void Recorder::wait_until(const std::function<bool()>& condition) {
  std::unique_lock lock(mutex_);
  REQUIRE(changed_.wait_for(lock, std::chrono::seconds(20), condition));
}

std::optional<ErrorCode> code_of(const Result<transfer::Summary>& result) {
  if (result) return std::nullopt;
  return result.error().code;
}

Receiver::Receiver(const std::string& directory,
                   const std::function<void(transfer::RecvOptions&)>& change) {
  transfer::RecvOptions options;
  options.listen = {"127.0.0.1", 0};
  options.directory = directory;
  options.once = true;
  options.timeout = 10s;
  if (change) change(options);
  job_ = std::async(std::launch::async, [this, options] {
    return transfer::run_recv(options, recorder_, stop_.get_token());
  });
  port_ = recorder_.port();
}

Receiver::~Receiver() {
  stop_.request_stop();
  if (job_.valid()) job_.wait();
}

Result<transfer::Summary> Receiver::result() {
  REQUIRE(job_.valid());
  REQUIRE(job_.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
  return job_.get();
}

transfer::SendOptions send_options(std::uint16_t port, std::vector<std::string> sources) {
  transfer::SendOptions options;
  options.sources = std::move(sources);
  options.destination = {"127.0.0.1", port};
  options.timeout = 10s;
  return options;
}

HandSender::HandSender(std::uint16_t port) {
  const auto addresses = net::resolve("127.0.0.1", port);
  REQUIRE(addresses.has_value());
  auto connected = net::connect_any(*addresses, {}, {});
  REQUIRE(connected.has_value());
  connected_ = std::move(*connected);
}

void HandSender::write(ByteView bytes) { REQUIRE(stream().write(bytes, true).has_value()); }

void HandSender::send_data(std::uint32_t id, std::uint64_t offset, std::string_view content) {
  std::vector<std::byte> head(session::kDataHeaderSize);
  ByteWriter out(head);
  session::encode_data_header(out, id, offset, content.size());
  write(head);
  write(as_byte_view(content));
}

std::string HandSender::answers() {
  std::string text;
  session::FrameReader reader;
  const auto add = [&](const char* what, session::Code code) {
    text += std::string(text.empty() ? "" : " ") + what + (code ? error_name(*code) : "ok");
  };
  while (true) {
    auto run = stream().try_read();
    if (!run) {
      if (run.error().code != ErrorCode::would_block) break;
      REQUIRE(stream().wait(net::Stream::kReadable, 20s) != 0);
      continue;
    }
    if (run->empty()) break;
    ByteView rest = *run;
    while (true) {
      const auto message = reader.next(rest);
      REQUIRE(message.has_value());
      if (!*message) break;
      if (const auto* verdict = std::get_if<session::Verdict>(&**message)) add("v:", verdict->code);
      if (const auto* abort = std::get_if<session::Abort>(&**message)) add("abort:", abort->code);
      if (const auto* final = std::get_if<session::Final>(&**message)) {
        add("final:", final->worst);
        stream().finish();
        return text;
      }
    }
    stream().consume(run->size());
  }
  return text;
}

}  // namespace xfer::test

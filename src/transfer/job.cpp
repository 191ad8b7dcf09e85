#include "transfer/job.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "file/destination.hpp"
#include "file/path_guard.hpp"
#include "file/printable.hpp"
#include "file/source.hpp"
#include "transfer/host_limits.hpp"
#include "transfer/raw_job.hpp"
#include "transfer/recv_job.hpp"
#include "transfer/send_job.hpp"

namespace xfer::transfer {
namespace {

/// How often a serving receiver looks for finished sessions while no sender comes.
constexpr Duration kReapInterval = 1s;
/// Verdicts are small; a receiver needs no more to write ahead.
constexpr std::size_t kReceiverRing = 1U << 20U;

Error usage(const char* what) { return {ErrorCode::usage, 0, what}; }

file::FileSystem& file_system(file::FileSystem* given) {
  return given != nullptr ? *given : file::posix_file_system();
}

/// Ends a job that never got a connection.
Error fail_job(Observer& observer, const std::string& subject, const Error& error,
               const std::string& detail = {}) {
  observer.on_failure({0, error, failure_line(subject, error, detail)});
  return error;
}

/// @param detail  set to more about the error, printable, where there is more.
Result<void> validate(const SendOptions& options, std::string& detail) {
  if (options.sources.empty()) return usage("nothing to send");
  if (options.timeout < 1s) return usage("time-out below 1 s");
  if (options.raw && options.sources.size() != 1) return usage("raw mode sends exactly one source");
  if (std::find(options.sources.begin(), options.sources.end(), "") != options.sources.end())
    return usage("empty source name");
  if (options.raw) return {};
  // Two files of one name would replace each other.
  std::map<std::string, std::string> sources;
  for (const std::string& source : options.sources) {
    const std::string name = source == "-" ? options.stdin_name : file::destination_name(source);
    if (source == "-" && !file::RelativePath::parse(name))
      return usage("the name for standard input is not a plain relative path");
    if (name.empty()) continue;
    const auto [first, added] = sources.emplace(name, source);
    if (added) continue;
    detail = "two sources have the same name at the destination: '" + file::printable(name) +
             "' (" + file::printable(first->second) + " and " + file::printable(source) + ")";
    return usage("two sources have the same name at the destination");
  }
  return {};
}

Result<void> validate(const RecvOptions& options) {
  if (options.timeout < 1s) return usage("time-out below 1 s");
  if (options.max_sessions == 0) return usage("no senders allowed");
  if (options.raw && !options.once) return usage("raw mode receives one stream: it needs --once");
  if (options.raw && options.raw_target.empty()) return usage("raw mode needs a target");
  return {};
}

/// Addresses of the wanted family. Those of Family::none (any local address) fit each.
Result<std::vector<SocketAddress>> resolve(const net::HostPort& host,
                                           SocketAddress::Family family) {
  using Family = SocketAddress::Family;
  auto addresses = net::resolve(host.host, host.port);
  if (!addresses || family == Family::none) return addresses;
  std::erase_if(*addresses, [family](const SocketAddress& address) {
    return address.family != Family::none && address.family != family;
  });
  if (addresses->empty())
    return Error{ErrorCode::resolve_failed, 0,
                 family == Family::ipv4 ? "it has no IPv4 address" : "it has no IPv6 address"};
  return addresses;
}

/// A peer that went away is found lost before it can be found stalled.
udt::ConnectionConfig connection_config(const udt::ConnectionConfig& asked, Duration timeout) {
  udt::ConnectionConfig config = asked;
  config.idle_timeout =
      std::clamp<Duration>(timeout, 2s, std::max<Duration>(asked.idle_timeout, 2s));
  return config;
}

/// Writing to a pipe that nobody reads any more shall be an error, not the end of the process.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, &before_);
  }
  ~NoSigpipe() {
    // A pending one would strike when it is let through.
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    const timespec now{};
    while (::sigtimedwait(&pipe, nullptr, &now) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t before_{};
};

/// Lets several sessions share an observer that is not thread-safe.
class SharedObserver final : public Observer {
 public:
  explicit SharedObserver(Observer& observer) : observer_(&observer) {}

  void on_listening(const SocketAddress& local) override {
    const std::lock_guard lock(mutex_);
    observer_->on_listening(local);
  }
  void on_connected(SessionId session, const SocketAddress& peer) override {
    const std::lock_guard lock(mutex_);
    observer_->on_connected(session, peer);
  }
  void on_progress(const Progress& progress) override {
    const std::lock_guard lock(mutex_);
    observer_->on_progress(progress);
  }
  void on_entry(const EntryResult& entry) override {
    const std::lock_guard lock(mutex_);
    observer_->on_entry(entry);
  }
  void on_warning(SessionId session, std::string_view text) override {
    const std::lock_guard lock(mutex_);
    observer_->on_warning(session, text);
  }
  void on_summary(const Summary& summary) override {
    const std::lock_guard lock(mutex_);
    observer_->on_summary(summary);
  }
  void on_failure(const Failure& failure) override {
    const std::lock_guard lock(mutex_);
    observer_->on_failure(failure);
  }

 private:
  std::mutex mutex_;
  Observer* observer_;
};

/// Runs a session's job to its end and reports it.
template <typename Job>
Result<Summary> conclude(Job& job, net::Driver& driver, net::Stream& stream,
                         SessionReport& report) {
  const auto done = job.run();
  std::optional<Error> error;
  if (!done) {
    error = done.error();
  } else {
    error = report.verdict();
  }
  Summary summary = report.finish(error, job.detail(), stream.stats(), driver.stats().socket,
                                  job.calls(), job.progress());
  if (error) return *error;
  return summary;
}

// Receiving.

Result<file::OutputFile> open_raw_target(const RecvOptions& options, file::FileSystem& fs) {
  if (options.raw_target != "-") return file::create_at(fs, options.raw_target);
  return file::OutputFile::onto(fs, options.stdout_fd);
}

Result<Summary> receive_raw(const RecvOptions& options, file::OutputFile target,
                            net::Driver& driver, net::Stream& stream, Observer& observer,
                            const CancelToken& cancel) {
  observer.on_connected(1, stream.peer());
  SessionReport report(observer, 1, Summary::Role::receiver, true, stream.peer());
  RawRecvJob job(options, std::move(target), stream, cancel, report);
  return conclude(job, driver, stream, report);
}

Result<Summary> receive_session(const RecvOptions& options, SessionId id, net::Driver& driver,
                                net::Stream& stream, Observer& observer,
                                const CancelToken& cancel) {
  observer.on_connected(id, stream.peer());
  SessionReport report(observer, id, Summary::Role::receiver, false, stream.peer());
  auto destination = file::Destination::open(file_system(options.file_system), options.directory);
  if (!destination) {
    // It was there when the job began.
    stream.abort();
    const std::string detail =
        file::printable(options.directory) + ": " + file::cause(destination.error());
    report.finish(destination.error(), detail, stream.stats(), driver.stats().socket, {}, {});
    return destination.error();
  }
  RecvJob job(options, std::move(*destination), stream, cancel, report);
  return conclude(job, driver, stream, report);
}

/// `raw_target`: set in raw mode.
Result<Summary> receive_once(const RecvOptions& options, std::optional<file::OutputFile> raw_target,
                             net::Driver& driver, Observer& observer, const CancelToken& cancel) {
  while (true) {
    auto stream = driver.accept(kReapInterval);
    if (cancel.stop_requested())
      return fail_job(observer, {}, Error{ErrorCode::interrupted, 0, nullptr});
    // There is room for one connection only: further senders are rejected.
    if (stream && raw_target)
      return receive_raw(options, std::move(*raw_target), driver, **stream, observer, cancel);
    if (stream) return receive_session(options, 1, driver, **stream, observer, cancel);
    if (stream.error().code != ErrorCode::would_block)
      return fail_job(observer, net::to_string(driver.local_address()), stream.error());
  }
}

/// A session of a serving receiver, on a thread of its own.
struct Served {
  std::thread thread;
  std::atomic<bool> finished{false};
};

void reap(std::list<Served>& sessions, bool all) {
  for (auto it = sessions.begin(); it != sessions.end();) {
    if (all || it->finished.load(std::memory_order_acquire)) {
      it->thread.join();
      it = sessions.erase(it);
    } else {
      ++it;
    }
  }
}

Error serve(const RecvOptions& options, net::Driver& driver, Observer& observer,
            const CancelToken& cancel) {
  std::list<Served> sessions;
  SessionId last_id = 0;
  Error end{ErrorCode::interrupted, 0, nullptr};
  while (!cancel.stop_requested()) {
    auto stream = driver.accept(kReapInterval);
    reap(sessions, false);
    if (stream) {
      Served& served = sessions.emplace_back();
      const SessionId id = ++last_id;
      served.thread = std::thread([&options, &driver, &observer, cancel, id, &served,
                                   connection = std::move(*stream)]() mutable {
        // The outcome is reported by the session itself.
        static_cast<void>(
            receive_session(options, id, driver, *connection, observer, cancel).has_value());
        connection.reset();
        served.finished.store(true, std::memory_order_release);
      });
    } else if (stream.error().code != ErrorCode::would_block) {
      end = stream.error();
      break;
    }
  }
  driver.stop_listening();
  reap(sessions, true);
  return fail_job(observer, {}, end);
}

}  // namespace

Result<Summary> run_send(const SendOptions& options, Observer& observer,
                         const CancelToken& cancel) {
  std::string detail;
  if (const auto valid = validate(options, detail); !valid)
    return fail_job(observer, {}, valid.error(), detail);
  const std::string& host = options.destination.host;
  const std::string target = (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" +
                             std::to_string(options.destination.port);
  const auto addresses = resolve(options.destination, options.driver.family_hint);
  if (!addresses) return fail_job(observer, file::printable(target), addresses.error());
  auto connected = net::connect_any(*addresses, options.driver,
                                    connection_config(options.connection, options.timeout), cancel);
  if (!connected) {
    const Error error = connected.error();
    std::string subject = file::printable(target);
    if (error.code == ErrorCode::interrupted) subject.clear();
    if (error.code == ErrorCode::bind_failed) subject = net::to_string(options.driver.bind);
    return fail_job(observer, subject, error);
  }
  net::Driver& driver = *connected->driver;
  net::Stream& stream = *connected->stream;
  observer.on_connected(1, stream.peer());
  file::FileSystem& fs = file_system(options.file_system);
  SessionReport report(observer, 1, Summary::Role::sender, options.raw, stream.peer());
  if (options.raw) {
    RawSendJob job(options, fs, stream, cancel, report);
    return conclude(job, driver, stream, report);
  }
  SendJob job(options, fs, stream, cancel, report);
  return conclude(job, driver, stream, report);
}

Result<Summary> run_recv(const RecvOptions& options, Observer& observer,
                         const CancelToken& cancel) {
  if (const auto valid = validate(options); !valid) return fail_job(observer, {}, valid.error());
  const NoSigpipe no_sigpipe;
  // What can be found wrong before anybody is asked to send, is.
  std::optional<file::OutputFile> raw_target;
  if (options.raw) {
    auto opened = open_raw_target(options, file_system(options.file_system));
    if (!opened) return fail_job(observer, file::printable(options.raw_target), opened.error());
    raw_target.emplace(std::move(*opened));
  } else {
    const auto destination =
        file::Destination::open(file_system(options.file_system), options.directory);
    if (!destination)
      return fail_job(observer, file::printable(options.directory), destination.error());
  }
  const auto addresses = resolve(options.listen, options.driver.family_hint);
  if (!addresses)
    return fail_job(observer, file::printable(options.listen.host), addresses.error());
  net::DriverOptions driver_options = options.driver;
  driver_options.bind = addresses->front();
  driver_options.send_ring = std::min(driver_options.send_ring, kReceiverRing);
  auto driver = net::Driver::open(driver_options);
  if (!driver) return fail_job(observer, net::to_string(addresses->front()), driver.error());
  udt::ListenConfig listen;
  listen.connection = connection_config(options.connection, options.timeout);
  listen.max_connections = options.once ? 1 : options.max_sessions;
  if (const auto listening = (*driver)->listen(listen); !listening)
    return fail_job(observer, net::to_string(addresses->front()), listening.error());
  SharedObserver shared(observer);
  shared.on_listening((*driver)->local_address());
  if (const auto warning = receive_buffer_warning(driver_options.socket_buffer,
                                                  (*driver)->stats().socket.receive_buffer))
    shared.on_warning(0, *warning);
  const std::stop_callback wake(cancel, [&driver] { (*driver)->cancel(); });
  if (options.once) return receive_once(options, std::move(raw_target), **driver, shared, cancel);
  return serve(options, **driver, shared, cancel);
}

}  // namespace xfer::transfer

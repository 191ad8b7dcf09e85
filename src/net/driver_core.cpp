#include "net/driver_core.hpp"

#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <utility>

#include "net/clock.hpp"

namespace xfer::net {

namespace {

/// Datagrams received, and trains sent, in one turn before the other side of the loop gets its
/// share. A light ACK is due each 64 packets, so a larger receive budget would delay it.
constexpr std::size_t kReceiveBudget = 64;
constexpr unsigned kTrainBudget = 4;

/// A reader is woken at once if that was not done for this long, else when so many bytes wait for
/// it: the cost of waking it is shared by the packets of some batches, and a lone message does not
/// wait.
constexpr Duration kAnnounceSpacing = 500us;
constexpr std::uint64_t kAnnounceBytes = 256U << 10U;

/// A turn that receives so many datagrams is part of a burst, which lasts until no turn was for
/// this long. During a burst the loop sleeps between turns without waiting for the socket, then
/// takes what has come with one call: waking up for each handful of datagrams costs more than
/// handling it. Single datagrams outside of a burst are answered at once.
constexpr std::size_t kBurst = 4;
constexpr Duration kBurstMemory = 2ms;

constexpr Duration kBurstNap = 100us;

/// Deadlines closer than this are met this late instead: a paced sender then sends a few packets
/// each time it wakes up, at the same rate, for the pacer's credit makes up for the delay.
constexpr Duration kShortestSleep = 200us;

/// After ENOBUFS: nothing tells when the device queue has room again.
constexpr Duration kNoBuffersPause = 1ms;

constexpr Duration kStatsInterval = 100ms;

/// Time for the last shutdown packets when the driver ends with connections open.
constexpr Duration kShutDownTime = 100ms;

constexpr unsigned kErrorBudget = 64;

}  // namespace

Result<std::shared_ptr<DriverCore>> DriverCore::open(const DriverOptions& options) {
  if (options.send_ring < kMinSendRing) return Error{ErrorCode::out_of_range, 0, "send_ring"};
  SocketOptions socket_options;
  socket_options.bind = options.bind;
  socket_options.family_hint = options.family_hint;
  socket_options.receive_buffer = options.socket_buffer;
  socket_options.send_buffer = options.socket_buffer;
  socket_options.batched = options.batched;
  socket_options.gso = options.gso;
  socket_options.gro = options.gro;
  socket_options.kernel_timestamps = options.kernel_timestamps;
  socket_options.faults = options.faults;
  auto socket = UdpSocket::open(socket_options);
  if (!socket) return socket.error();
  auto cookie_hash = crypto::CookieHash::create();
  if (!cookie_hash) return cookie_hash.error();

  auto core = std::make_shared<DriverCore>(options, std::move(*socket), std::move(*cookie_hash));
  if (!core->wakeup_.ok()) return Error{ErrorCode::system, errno, "eventfd"};
  auto poller = Poller::open(core->socket_.fd(), core->wakeup_.fd());
  if (!poller) return poller.error();
  core->poller_.emplace(std::move(*poller));
  return core;
}

DriverCore::DriverCore(const DriverOptions& options, UdpSocket socket,
                       crypto::CookieHash cookie_hash)
    : send_ring_(options.send_ring),
      cookie_hash_(std::move(cookie_hash)),
      socket_(std::move(socket)),
      local_address_(socket_.local_address()),
      endpoint_(random_, cookie_hash_, options.sink) {
  stats_.socket = socket_.stats();
}

// The loop.

void DriverCore::run() {
  // Signals are for the threads that expect them.
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  ::prctl(PR_SET_NAME, "xfer-net");
  // Naps and time-outs to the microsecond; the default is 50 times that.
  ::prctl(PR_SET_TIMERSLACK, 1000);

  while (true) {
    TimePoint now = read_clock();
    ++turns_;
    run_commands(now);
    if (stopping_.load(std::memory_order_acquire)) {
      shut_down(now);
      const bool all_ended = std::all_of(entries_.begin(), entries_.end(),
                                         [](const Entry& entry) { return entry.ended; });
      if (now >= *give_up_at_ || (all_ended && unsent_.empty())) break;
    }
    bool more = receive();
    handle_network_errors();
    now = now_;  // receive() has moved it
    for (Entry& entry : entries_) take_inputs(entry, now);
    endpoint_.handle_timeout(now);
    more = transmit(now) || more;
    handle_events();
    for (Entry& entry : entries_) give_outputs(entry, now);
    remove_finished();
    if (more) {
      look_at_socket_ = true;
      if (now - stats_published_ >= kStatsInterval) publish_all_stats(now);
    } else {
      sleep(now);
    }
  }
  publish_all_stats(now_);
}

TimePoint DriverCore::read_clock() {
  now_ = std::max(now_, net::now());
  return now_;
}

void DriverCore::run_commands(TimePoint now) {
  if (has_commands_.load(std::memory_order_acquire)) {
    std::vector<std::function<void(TimePoint)>> commands;
    {
      const std::lock_guard lock(commands_mutex_);
      commands.swap(commands_);
      has_commands_.store(false, std::memory_order_relaxed);
    }
    for (const auto& command : commands) command(now);
  }
  if (cancelled()) give_up_connecting();
}

bool DriverCore::receive() {
  received_ = 0;
  if (!look_at_socket_) return false;
  std::size_t budget = kReceiveBudget;
  while (budget > 0) {
    const std::size_t lent =
        endpoint_.lend(std::span(slots_).first(std::min(budget, slots_.size())));
    const std::size_t count = socket_.receive(std::span(slots_).first(lent), datagrams_);
    const TimePoint now = read_clock();
    for (std::size_t i = 0; i < count; ++i) endpoint_.handle_datagram(datagrams_[i], now);
    received_ += count;
    if (count < lent) {
      look_at_socket_ = false;
      return false;
    }
    budget -= count;
  }
  return true;
}

void DriverCore::handle_network_errors() {
  const SocketStats& stats = socket_.stats();
  const std::uint64_t seen = stats.receive_errors + stats.send_retried + stats.send_failed;
  if (seen == errors_seen_ && !look_at_errors_) return;
  look_at_errors_ = false;
  errors_seen_ = seen;
  for (unsigned i = 0; i < kErrorBudget; ++i) {
    const auto error = socket_.next_error();
    if (!error) break;
    endpoint_.handle_unreachable(error->peer, error->port_refused, now_);
  }
}

void DriverCore::take_inputs(Entry& entry, TimePoint now) {
  Channel& channel = *entry.channel;
  udt::Connection& connection = *entry.connection;
  // In this order, the reverse of the worker's: what a request or the flush mark covers has been
  // published.
  const unsigned requests = channel.requests.load(std::memory_order_acquire);
  const std::uint64_t flush = channel.flush_mark.load(std::memory_order_acquire);
  const std::uint64_t published = channel.ring.published();
  if (published != entry.offered || flush != entry.flushed) {
    entry.offered = published;
    entry.flushed = flush;
    if (!entry.ended) connection.offer(published, flush, now);
  }
  const std::uint64_t consumed = channel.consumed.load(std::memory_order_acquire);
  if (consumed != entry.consumed) {
    connection.consume(consumed - entry.consumed, now);
    entry.consumed = consumed;
  }
  const unsigned added = requests & ~entry.requests;
  if (added == 0) return;
  const bool finishing = (requests & Channel::kFinish) != 0;
  const bool abandoned = (requests & Channel::kLetGo) != 0 && !finishing;
  entry.requests = requests;
  if (entry.ended) return;
  if ((requests & Channel::kVanish) != 0) {
    const Error reason{ErrorCode::interrupted, 0, "left without a word"};
    entry.ended = true;
    publish_stats(entry);
    channel.die(&reason);
  } else if ((requests & Channel::kAbort) != 0 || abandoned) {
    connection.abort(now);
  } else if ((added & Channel::kFinish) != 0) {
    connection.close(now);
  }
}

bool DriverCore::transmit(TimePoint now) {
  if (!unsent_.empty() && !send_unsent(now)) return false;
  for (unsigned trains = 0; trains < kTrainBudget; ++trains) {
    const auto transmit = endpoint_.poll_transmit(now, train_);
    if (!transmit) return false;
    const auto result = socket_.send(*transmit, train_, 0);
    if (result.status != UdpSocket::SendStatus::done) {
      keep_unsent(*transmit, result, now);
      return false;
    }
  }
  return true;
}

void DriverCore::keep_unsent(const udt::Transmit& transmit, const UdpSocket::SendResult& result,
                             TimePoint now) {
  unsent_.transmit = transmit;
  unsent_.next = result.taken;
  unsent_.train = train_;
  unsent_.bytes.resize(transmit.segments * transmit.segment_size);
  MutByteView room(unsent_.bytes);
  for (std::size_t i = result.taken; i < transmit.segments; ++i) {
    const Slices& payload = train_.payloads[i];
    std::copy(payload.first.begin(), payload.first.end(), room.begin());
    std::copy(payload.second.begin(), payload.second.end(),
              room.begin() + static_cast<std::ptrdiff_t>(payload.first.size()));
    unsent_.train.payloads[i] = {room.first(payload.size()), {}};
    room = room.subspan(payload.size());
  }
  await_room(result.status, now);
}

/// Arranges for another try after the kernel took only a part.
void DriverCore::await_room(UdpSocket::SendStatus status, TimePoint now) {
  unsent_.retry_at = now + kNoBuffersPause;
  unsent_.writable_tells = status == UdpSocket::SendStatus::blocked;
  poller_->want_writable(unsent_.writable_tells);
}

bool DriverCore::send_unsent(TimePoint now) {
  const auto result = socket_.send(unsent_.transmit, unsent_.train, unsent_.next);
  unsent_.next += result.taken;
  await_room(result.status, now);
  return result.status == UdpSocket::SendStatus::done;
}

void DriverCore::handle_events() {
  while (const auto event = endpoint_.poll_event()) handle_event(*event);
}

void DriverCore::handle_event(const udt::Event& event) {
  using Kind = udt::Event::Kind;
  if (event.kind == Kind::incoming) {
    udt::Connection* connection = endpoint_.find(event.id);
    if (connection == nullptr) return;
    auto channel = std::make_shared<Channel>(connection->peer(), send_ring_, listen_window_);
    connected(add(event.id, channel));
    {
      const std::lock_guard lock(accept_mutex_);
      incoming_.push_back(std::move(channel));
    }
    acceptor_.notify(Channel::kAllNews);
    return;
  }
  Entry* const entry = find(event.id);
  if (entry == nullptr) return;  // given up
  Channel& channel = *entry->channel;
  switch (event.kind) {
    case Kind::connected:
      connected(*entry);
      break;
    case Kind::error_signal:
      channel.error_signal.store(true, std::memory_order_release);
      break;
    case Kind::peer_closed:
      channel.add_status(Channel::kPeerClosed);
      break;
    case Kind::closed:
      entry->ended = true;
      publish_stats(*entry);
      channel.die(event.has_error ? &event.error : nullptr);
      break;
    case Kind::failed:
      entry->ended = true;
      publish_stats(*entry);
      channel.die(&event.error);
      break;
    case Kind::incoming:
    case Kind::readable:  // give_outputs() asks each connection anyway
    case Kind::acknowledged:
      break;
  }
}

void DriverCore::give_outputs(Entry& entry, TimePoint now) {
  Channel& channel = *entry.channel;
  const std::uint64_t acked = entry.connection->acked_offset();
  if (acked != channel.acked.load(std::memory_order_relaxed)) {
    channel.acked.store(acked, std::memory_order_release);
    channel.ring.release(acked);
    // A writer that filled the ring is woken for a fair amount of room, not for each packet's
    // worth.
    const std::uint64_t used = channel.ring.published() - acked;
    if (used <= channel.ring.capacity() - channel.ring.capacity() / 4)
      channel.parker.notify(Channel::kNewsWritable);
  }
  const bool all_read = read_input(entry);
  if (all_read && channel.has(Channel::kPeerClosed | Channel::kDead) &&
      !channel.has(Channel::kInputDone)) {
    channel.add_status(Channel::kInputDone);
    entry.unannounced = 0;
    entry.announcement_due.reset();
  }
  announce_input(entry, now);
}

/// Moves what has arrived to the worker's queue. @return whether that was all.
bool DriverCore::read_input(Entry& entry) {
  SpscQueue<ByteView>& queue = entry.channel->slices;
  const auto push = [&] {
    if (entry.unpushed.empty()) return;
    XFER_ASSERT(queue.push(entry.unpushed));
    entry.unannounced += entry.unpushed.size();
    entry.unpushed = {};
  };
  // There is room for what was taken already before more is taken.
  while (!queue.full()) {
    const auto slice = entry.connection->take_readable();
    if (!slice) {
      push();
      entry.input_blocked = false;
      return true;
    }
    if (entry.unpushed.data() + entry.unpushed.size() == slice->data()) {
      entry.unpushed = {entry.unpushed.data(), entry.unpushed.size() + slice->size()};
      continue;
    }
    push();
    entry.unpushed = *slice;
  }
  entry.input_blocked = true;
  return false;
}

void DriverCore::announce_input(Entry& entry, TimePoint now) {
  if (entry.unannounced == 0) return;
  const TimePoint due = entry.announced + kAnnounceSpacing;
  if (now < due && entry.unannounced < kAnnounceBytes) {
    entry.announcement_due = due;
    return;
  }
  entry.channel->parker.notify(Channel::kNewsReadable);
  entry.unannounced = 0;
  entry.announced = now;
  entry.announcement_due.reset();
}

void DriverCore::remove_finished() {
  std::erase_if(entries_, [this](const Entry& entry) {
    const bool finished = entry.ended && (entry.requests & Channel::kLetGo) != 0;
    if (finished) endpoint_.forget(entry.id);
    return finished;
  });
}

void DriverCore::sleep(TimePoint now) {
  look_at_socket_ = true;
  auto deadline = next_deadline(now);
  if (deadline && *deadline <= now) return;
  if (deadline) deadline = std::max(*deadline, now + kShortestSleep);

  const bool long_sleep = !deadline || *deadline - now >= kStatsInterval;
  if (long_sleep || now - stats_published_ >= kStatsInterval) publish_all_stats(now);

  if (received_ >= kBurst) burst_until_ = now + kBurstMemory;
  if (received_ > 0 && now < burst_until_) {
    Poller::nap(now + kBurstNap);
    return;
  }
  wakeup_.prepare();
  if (!has_news()) {
    ++sleeps_;
    const Poller::Ready ready = poller_->wait(deadline);
    look_at_socket_ = ready.readable || ready.error;
    look_at_errors_ = ready.error;
  }
  wakeup_.awake();
}

std::optional<TimePoint> DriverCore::next_deadline(TimePoint now) const {
  auto deadline = endpoint_.next_deadline();
  if (!unsent_.empty()) {
    // What the endpoint wants to send has to wait for the rest of the last train.
    if (deadline) deadline = std::max(*deadline, unsent_.retry_at);
    if (!unsent_.writable_tells)
      deadline = earlier(deadline, std::max(unsent_.retry_at, now + 1ns));
  }
  for (const Entry& entry : entries_) deadline = earlier(deadline, entry.announcement_due);
  return earlier(deadline, give_up_at_);
}

bool DriverCore::has_news() const {
  if (has_commands_.load(std::memory_order_acquire)) return true;
  if (cancelled() && !cancel_done_) return true;
  if (stopping_.load(std::memory_order_acquire) && !give_up_at_) return true;
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    const Channel& channel = *entry.channel;
    return channel.requests.load(std::memory_order_acquire) != entry.requests ||
           channel.ring.published() != entry.offered ||
           channel.flush_mark.load(std::memory_order_acquire) != entry.flushed ||
           channel.consumed.load(std::memory_order_acquire) != entry.consumed ||
           (entry.input_blocked && !channel.slices.full());
  });
}

// Connections.

DriverCore::Entry* DriverCore::find(wire::SocketId id) {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.id == id; });
  return at == entries_.end() ? nullptr : &*at;
}

DriverCore::Entry& DriverCore::add(wire::SocketId id, std::shared_ptr<Channel> channel) {
  Entry entry;
  entry.id = id;
  entry.connection = endpoint_.find(id);
  XFER_ASSERT(entry.connection != nullptr);
  entry.connection->set_source(channel->ring);
  entry.channel = std::move(channel);
  entries_.push_back(std::move(entry));
  return entries_.back();
}

void DriverCore::connected(Entry& entry) {
  entry.channel->payload_size = entry.connection->payload_size();
  publish_stats(entry);
  entry.channel->add_status(Channel::kConnected);
}

void DriverCore::give_up_connecting() {
  const Error reason{ErrorCode::interrupted, 0, nullptr};
  std::erase_if(entries_, [&](const Entry& entry) {
    if (entry.channel->has(Channel::kConnected)) return false;
    entry.channel->die(&reason);
    endpoint_.forget(entry.id);
    return true;
  });
  cancel_done_ = true;
}

void DriverCore::shut_down(TimePoint now) {
  if (give_up_at_) return;
  give_up_at_ = now + kShutDownTime;
  endpoint_.stop_listening();
  give_up_connecting();
  const Error reason{ErrorCode::interrupted, 0, "the network thread has ended"};
  for (Entry& entry : entries_) {
    if (entry.ended) continue;
    entry.channel->die(&reason);
    entry.connection->abort(now);
  }
}

void DriverCore::publish_stats(const Entry& entry) {
  const std::lock_guard lock(entry.channel->stats_mutex);
  entry.channel->stats = entry.connection->stats();
}

void DriverCore::publish_all_stats(TimePoint now) {
  stats_published_ = now;
  for (const Entry& entry : entries_) publish_stats(entry);
  const std::lock_guard lock(stats_mutex_);
  stats_.socket = socket_.stats();
  stats_.endpoint = endpoint_.stats();
  stats_.turns = turns_;
  stats_.sleeps = sleeps_;
  stats_.connections = endpoint_.connection_count();
}

// Other threads.

void DriverCore::stop() {
  stopping_.store(true, std::memory_order_release);
  wake();
}

void DriverCore::close() {
  for (const Entry& entry : entries_) entry.channel->add_status(Channel::kInputDone);
  {
    const std::lock_guard lock(accept_mutex_);
    incoming_.clear();
  }
  poller_.reset();
  socket_.close();
}

void DriverCore::cancel() {
  cancelled_.store(true, std::memory_order_release);
  acceptor_.notify(Channel::kAllNews);
  wake();
}

Result<void> DriverCore::call(std::function<Result<void>(TimePoint)> command) {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Result<void>> answer;
  {
    const std::lock_guard lock(commands_mutex_);
    commands_.emplace_back([&](TimePoint now) {
      const Result<void> result = command(now);
      const std::lock_guard answer_lock(mutex);
      answer = result;
      answered.notify_one();
    });
    has_commands_.store(true, std::memory_order_release);
  }
  wake();
  std::unique_lock lock(mutex);
  answered.wait(lock, [&] { return answer.has_value(); });
  return *answer;
}

Result<std::shared_ptr<Channel>> DriverCore::start(const SocketAddress& peer,
                                                   const udt::ConnectionConfig& config,
                                                   bool rendezvous) {
  const std::uint64_t window = std::uint64_t{config.receive_window} * config.mss;
  auto channel = std::make_shared<Channel>(peer, send_ring_, window);
  XFER_TRY(call([&](TimePoint now) -> Result<void> {
    const auto id =
        rendezvous ? endpoint_.rendezvous(peer, config, now) : endpoint_.connect(peer, config, now);
    if (!id) return id.error();
    add(*id, channel);
    return {};
  }));
  return channel;
}

std::shared_ptr<Stream> DriverCore::make_stream(std::shared_ptr<DriverCore> core,
                                                std::shared_ptr<Channel> channel) {
  return std::shared_ptr<Stream>(new Stream(std::move(core), std::move(channel)));
}

Result<void> DriverCore::wait_connected(Channel& channel) {
  while (!channel.has(Channel::kConnected) && !channel.has(Channel::kDead)) {
    channel.parker.prepare(Channel::kNewsStatus);
    if (channel.has(Channel::kConnected) || channel.has(Channel::kDead)) {
      channel.parker.unprepare();
    } else {
      channel.parker.sleep(Channel::kNewsStatus, Duration::max());
    }
  }
  if (channel.has(Channel::kConnected)) return {};
  return channel.has_error ? channel.error : Error{ErrorCode::peer_closed, 0, nullptr};
}

Result<void> DriverCore::listen(const udt::ListenConfig& config) {
  return call([&](TimePoint) -> Result<void> {
    listen_window_ = std::uint64_t{config.connection.receive_window} * config.connection.mss;
    return endpoint_.listen(config);
  });
}

void DriverCore::stop_listening() {
  [[maybe_unused]] const auto done = call([this](TimePoint) -> Result<void> {
    endpoint_.stop_listening();
    return {};
  });
}

Result<std::shared_ptr<Channel>> DriverCore::accept(Duration timeout) {
  const TimePoint begin = net::now();
  while (true) {
    acceptor_.prepare(Channel::kAllNews);
    const auto channel = cancelled() ? nullptr : next_incoming();
    const Duration left = timeout - (net::now() - begin);
    if (channel != nullptr || cancelled() || left <= Duration::zero()) {
      acceptor_.unprepare();
      if (channel != nullptr) return channel;
      return cancelled() ? ErrorCode::interrupted : ErrorCode::would_block;
    }
    acceptor_.sleep(Channel::kAllNews, left);
  }
}

/// The longest waiting connection that is still of use; nullptr: none.
std::shared_ptr<Channel> DriverCore::next_incoming() {
  const std::lock_guard lock(accept_mutex_);
  while (!incoming_.empty()) {
    auto channel = std::move(incoming_.front());
    incoming_.pop_front();
    if (!channel->has(Channel::kDead) || !channel->has_error) return channel;
    channel->requests.fetch_or(Channel::kLetGo, std::memory_order_acq_rel);
    wake();
  }
  return nullptr;
}

DriverStats DriverCore::stats() const {
  const std::lock_guard lock(stats_mutex_);
  return stats_;
}

}  // namespace xfer::net

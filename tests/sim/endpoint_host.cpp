#include "endpoint_host.hpp"

#include <algorithm>

namespace xfer::sim {
namespace {

/// A driver that sends this much in one turn has been asked to send for ever.
constexpr std::size_t kMaxDatagramsPerTurn = 500'000;
constexpr unsigned kMaxRoundsPerTurn = 100'000;
constexpr unsigned kMaxTurnsWithoutTime = 64;

}  // namespace

/// Good enough for cookies nobody attacks.
class EndpointHost::CookieHash final : public KeyedHash {
 public:
  explicit CookieHash(std::uint64_t key) : key_(key) {}
  [[nodiscard]] std::uint64_t hash(ByteView message) const override {
    std::uint64_t state = key_;
    for (const std::byte b : message)
      state = SeededRandom(state ^ std::to_integer<std::uint64_t>(b)).next_u64();
    return state;
  }

 private:
  std::uint64_t key_;
};

EndpointHost::EndpointHost(Network& network, const EndpointHostOptions& options)
    : Host(network, options.address),
      options_(options),
      driver_random_(network.sub_seed(0x22000U + options.address.ip[3] + options.address.ip[15])),
      core_random_(network.sub_seed(0x33000U + options.address.ip[3] + options.address.ip[15])),
      cookie_hash_(std::make_unique<CookieHash>(core_random_.next_u64())),
      memory_limit_(1 << 20),
      train_(std::make_unique<udt::TrainBuffer>()),
      watch_(options.mss) {
  const CoreScope core(memory_);
  endpoint_ = std::make_unique<udt::Endpoint>(core_random_, *cookie_hash_, options.sink);
  endpoint_->set_routes(*this);
}

EndpointHost::~EndpointHost() {
  const CoreScope core(memory_);
  endpoint_.reset();
}

StreamApp& EndpointHost::connect(const SocketAddress& peer, const udt::ConnectionConfig& config,
                                 const AppOptions& app) {
  const CoreScope core(memory_);
  return start(endpoint_->connect(peer, config, network_.now()), config, app);
}

StreamApp& EndpointHost::rendezvous(const SocketAddress& peer, const udt::ConnectionConfig& config,
                                    const AppOptions& app) {
  const CoreScope core(memory_);
  return start(endpoint_->rendezvous(peer, config, network_.now()), config, app);
}

StreamApp& EndpointHost::start(Result<wire::SocketId> id, const udt::ConnectionConfig& config,
                               const AppOptions& app) {
  const OutsideScope outside;
  XFER_ASSERT(id.has_value());
  apps_.push_back(std::make_unique<StreamApp>(app, network_.seed(), memory_));
  previous_stats_.emplace_back();
  forgotten_.push_back(false);
  add_memory_limit(config);
  apps_.back()->attach(*endpoint_->find(*id));
  poke();
  return *apps_.back();
}

void EndpointHost::listen(const udt::ListenConfig& config,
                          std::function<AppOptions(std::size_t)> accept) {
  const CoreScope core(memory_);
  const auto listening = endpoint_->listen(config);
  XFER_ASSERT(listening.has_value());
  const OutsideScope outside;
  accept_ = std::move(accept);
  listen_config_ = config.connection;
}

void EndpointHost::add_memory_limit(const udt::ConnectionConfig& config) {
  // The flight is bounded by the peer's window too.
  const auto grown = config.capabilities
                         ? std::int64_t{udt::window_within(config.max_memory, config.mss)}
                         : std::int64_t{std::min(config.send_window, udt::kDefaultFlightWindow)};
  memory_limit_ += (512 << 10) + grown * 80;
  memory_limit_ += config.capabilities ? static_cast<std::int64_t>(config.max_memory)
                                       : std::int64_t{config.receive_window} * (config.mss + 64);
}

void EndpointHost::freeze(bool frozen) {
  frozen_ = frozen;
  if (!frozen) poke();
}

void EndpointHost::arrive(ByteView bytes, const SocketAddress& from, TimePoint now) {
  if (vanished_ || inbox_bytes_ + bytes.size() > options_.driver.socket_buffer) return;
  std::vector<std::byte> copy;
  if (!spare_.empty()) {
    copy = std::move(spare_.back());
    spare_.pop_back();
  }
  copy.assign(bytes.begin(), bytes.end());
  inbox_.push_back({from, now, std::move(copy)});
  inbox_bytes_ += bytes.size();
  wake_at(now + latency());
}

void EndpointHost::turn(TimePoint now) {
  if (frozen_ || vanished_) return;
  ++turn_count_;
  receive(now);
  const auto due = endpoint_->next_deadline();
  // Early calls are harmless, so some are made.
  if ((due && *due <= now) || turn_count_ % 8 == 0) {
    const CoreScope core(memory_);
    endpoint_->handle_timeout(now);
  }
  drive(now);
  check(now);

  if (!inbox_.empty()) wake_at(now);
  std::optional<TimePoint> next = endpoint_->next_deadline();
  if (next) next = std::max(*next, now) + latency();
  for (std::size_t i = 0; i < apps_.size(); ++i)
    if (!forgotten_[i]) next = earlier(next, apps_[i]->next_wake(now));
  if (next) wake_at(*next);
}

void EndpointHost::receive(TimePoint now) {
  std::array<udt::ReceiveSlot, udt::kMaxReceiveBatch> slots;
  std::size_t count = std::min({inbox_.size(), options_.driver.receive_batch, slots.size()});
  if (options_.driver.lend && count > 0) {
    const CoreScope core(memory_);
    // A driver asks for a full batch, for it does not know how much waits.
    const std::size_t lent = endpoint_->lend(
        std::span(slots).first(std::min(options_.driver.receive_batch, slots.size())));
    if (lent == 0) network_.fail("no room was lent");
    count = std::min(count, lent);
  }
  for (std::size_t i = 0; i < count; ++i) {
    give(inbox_.front(), options_.driver.lend ? &slots[i] : nullptr, now);
    inbox_bytes_ -= inbox_.front().bytes.size();
    spare_.push_back(std::move(inbox_.front().bytes));
    inbox_.pop_front();
  }
}

void EndpointHost::give(const Waiting& datagram, const udt::ReceiveSlot* slot, TimePoint now) {
  const ByteView bytes(datagram.bytes);
  ByteView head = bytes.first(std::min(bytes.size(), wire::kHeaderSize));
  ByteView payload = bytes.subspan(head.size());
  udt::ReceivedDatagram received;
  received.from = datagram.from;
  if (slot != nullptr) {
    if (slot->head.size() != wire::kHeaderSize) network_.fail("lent a head of another size");
    received.truncated = payload.size() > slot->payload.size();
    payload = payload.first(std::min(payload.size(), slot->payload.size()));
    std::copy(head.begin(), head.end(), slot->head.begin());
    std::copy(payload.begin(), payload.end(), slot->payload.begin());
    head = slot->head.first(head.size());
    payload = slot->payload.first(payload.size());
  }
  received.head = head;
  received.payload = payload;
  received.arrival = datagram.arrival;
  // Before the core has it: its answers follow only in transmit().
  if (options_.watch) watch_.received(bytes, datagram.from);
  const CoreScope core(memory_);
  endpoint_->handle_datagram(received, now);
}

void EndpointHost::drive(TimePoint now) {
  for (unsigned round = 0; round < kMaxRoundsPerTurn; ++round) {
    transmit(now);
    bool busy = handle_events(now);
    busy = pump(now) || busy;
    if (!busy) return;
  }
  fail("the endpoint never comes to rest");
}

void EndpointHost::transmit(TimePoint now) {
  std::vector<udt::ConnectionStats>& before = previous_stats_;
  for (std::size_t i = 0; i < apps_.size(); ++i)
    if (!forgotten_[i]) before[i] = apps_[i]->connection()->stats();
  std::size_t datagrams = 0;
  const auto poll = [&] {
    const CoreScope core(memory_);
    return endpoint_->poll_transmit(now, *train_, options_.driver.max_segments);
  };
  while (const auto transmit = poll()) {
    if (transmit->segments == 0 || transmit->segments > options_.driver.max_segments)
      return fail("a train of no or too many datagrams");
    std::size_t train_bytes = 0;
    for (std::size_t i = 0; i < transmit->segments; ++i) {
      const ByteView head(train_->heads[i]);
      const std::array<ByteView, 2> parts{train_->payloads[i].first, train_->payloads[i].second};
      const std::size_t size = head.size() + train_->payloads[i].size();
      const bool last = i + 1 == transmit->segments;
      if (size > transmit->segment_size || (!last && size != transmit->segment_size))
        return fail("a train of unequal datagrams");
      train_bytes += size;
      if (options_.watch) {
        std::vector<std::byte>& copy = watch_buffer_;
        copy.assign(head.begin(), head.end());
        for (const ByteView part : parts) copy.insert(copy.end(), part.begin(), part.end());
        watch_.sent(copy, transmit->destination);
      }
      network_.send(*this, transmit->destination, head, parts.data(), parts.size());
    }
    if (transmit->segments > 1 && train_bytes > udt::kMaxTrainBytes)
      return fail("a train longer than the kernel takes");
    datagrams += transmit->segments;
    if (datagrams > kMaxDatagramsPerTurn) return fail("the endpoint never stops sending");
  }
  if (!options_.watch) return;
  if (!watch_.failure().empty()) return fail(watch_.failure());
  for (std::size_t i = 0; i < apps_.size(); ++i)
    if (!forgotten_[i]) check_stats(*apps_[i], i);
}

bool EndpointHost::handle_events(TimePoint now) {
  bool any = false;
  const auto poll = [&] {
    const CoreScope core(memory_);
    return endpoint_->poll_event();
  };
  while (const auto event = poll()) {
    any = true;
    if (event->kind == udt::Event::Kind::incoming) {
      udt::Connection* connection = endpoint_->find(event->id);
      if (connection == nullptr || !accept_) {
        fail("a connection came in that does not exist or was not asked for");
        return false;
      }
      apps_.push_back(std::make_unique<StreamApp>(accept_(accepted_++), network_.seed(), memory_));
      previous_stats_.emplace_back();
      forgotten_.push_back(false);
      add_memory_limit(listen_config_);
      apps_.back()->attach(*connection);
    }
    std::size_t i = 0;
    while (i < apps_.size() && (forgotten_[i] || apps_[i]->id() != event->id)) ++i;
    if (i == apps_.size()) {
      fail("an event of a connection that was forgotten");
      return false;
    }
    StreamApp& app = *apps_[i];
    app.on_event(*event, now);
    if (app.ended()) {
      forgotten_[i] = true;
      app.detach();
      const CoreScope core(memory_);
      endpoint_->forget(event->id);
    }
  }
  return any;
}

bool EndpointHost::pump(TimePoint now) {
  bool any = false;
  for (std::size_t i = 0; i < apps_.size(); ++i) {
    StreamApp& app = *apps_[i];
    if (!forgotten_[i]) any = app.pump(now) || any;
    if (!app.failure().empty()) fail(app.failure());
  }
  return any && network_.failure().empty();
}

void EndpointHost::check(TimePoint now) {
  const auto deadline = endpoint_->next_deadline();
  turns_without_time_ = deadline && *deadline <= now ? turns_without_time_ + 1 : 0;
  if (turns_without_time_ > kMaxTurnsWithoutTime) fail("the deadline is stuck in the past");
  if (memory_.live_bytes > memory_limit_) fail("more memory than the windows account for");
}

void EndpointHost::check_stats(StreamApp& app, std::size_t index) {
  const udt::ConnectionStats& before = previous_stats_[index];
  const udt::ConnectionStats after = app.connection()->stats();
  using Stats = udt::ConnectionStats;
  constexpr std::array<std::uint64_t Stats::*, 23> kCounters{&Stats::packets_sent,
                                                             &Stats::packets_retransmitted,
                                                             &Stats::payload_bytes_sent,
                                                             &Stats::acks_received,
                                                             &Stats::light_acks_received,
                                                             &Stats::naks_received,
                                                             &Stats::probes_sent,
                                                             &Stats::exp_fired,
                                                             &Stats::packets_received,
                                                             &Stats::packets_duplicate,
                                                             &Stats::packets_outside_window,
                                                             &Stats::packets_lost,
                                                             &Stats::payload_bytes_received,
                                                             &Stats::payload_copies,
                                                             &Stats::acks_sent,
                                                             &Stats::light_acks_sent,
                                                             &Stats::ack2s_sent,
                                                             &Stats::naks_sent,
                                                             &Stats::nak_repeats,
                                                             &Stats::peak_reordered_ranges,
                                                             &Stats::control_malformed,
                                                             &Stats::control_implausible,
                                                             &Stats::control_ignored};
  for (const auto counter : kCounters)
    if (after.*counter < before.*counter) fail("a counter went back");
  const std::uint64_t new_packets = (after.packets_sent - after.packets_retransmitted) -
                                    (before.packets_sent - before.packets_retransmitted);
  if (new_packets > 0 && after.counted_flight > std::max(before.cwnd, after.cwnd))
    fail("new data beyond the congestion window");
  if (after.peak_reordered_ranges > udt::kMaxLossRanges) fail("more holes than the limit");
}

Duration EndpointHost::latency() {
  const Duration jitter = options_.driver.wake_jitter;
  if (jitter.count() == 0) return options_.driver.wake_latency;
  return options_.driver.wake_latency + Duration(static_cast<std::int64_t>(driver_random_.below(
                                            static_cast<std::uint64_t>(jitter.count()) + 1)));
}

}  // namespace xfer::sim

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "base/random.hpp"
#include "fuzz_input.hpp"
#include "udt/endpoint.hpp"
#include "wire/control.hpp"
#include "wire/handshake.hpp"
#include "wire/loss_list_codec.hpp"

namespace {

using namespace xfer;
using udt::Connection;
using udt::Endpoint;
using udt::Event;

constexpr std::size_t kMaxOperations = 300;
constexpr std::size_t kMaxPending = 256;
constexpr std::uint64_t kMaxWritten = 200'000;
constexpr std::uint64_t kBystanderBytes = 60'000;
constexpr Duration kCalm = 30s;
constexpr std::size_t kMaxDatagramsPerTurn = 5000;
constexpr int kMaxTurnsWithoutTime = 50;
/// Largest IP packet that may be probed for.
constexpr std::uint32_t kMaxMtu = 4000;

SocketAddress address(std::uint8_t last) {
  SocketAddress result;
  result.family = SocketAddress::Family::ipv4;
  result.ip = {10, 0, 0, last};
  result.port = 9000;
  return result;
}

/// Nobody guesses it here either; good enough to tell cookies apart.
class MixingHash final : public KeyedHash {
 public:
  [[nodiscard]] std::uint64_t hash(ByteView message) const override {
    std::uint64_t state = 0x243F6A8885A308D3U;
    for (const std::byte b : message)
      state = (state ^ std::to_integer<std::uint64_t>(b)) * 0x100000001B3U;
    return state ^ (state >> 32U);
  }
};

/// The stream that every application here writes.
class PatternSource final : public ByteSource {
 public:
  PatternSource() : bytes_(kMaxWritten) {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      bytes_[i] = static_cast<std::byte>((i * 7 + i / 255) & 0xFFU);
  }
  [[nodiscard]] Slices view(std::uint64_t offset, std::size_t size) const override {
    XFER_ASSERT(offset + size <= bytes_.size());
    return {ByteView(bytes_).subspan(static_cast<std::size_t>(offset), size), {}};
  }

 private:
  std::vector<std::byte> bytes_;
};

struct Datagram {
  SocketAddress from;
  SocketAddress to;
  std::vector<std::byte> bytes;
};

/// An endpoint with the simplest driver and applications. Connections to the bystander are read at
/// once and checked; the others are read when the fuzzer says so.
struct Node {
  Node(const SocketAddress& own, const KeyedHash& hash, std::uint64_t seed)
      : self(own),
        random(seed),
        endpoint(random, hash),
        train(std::make_unique<udt::TrainBuffer>()) {}

  SocketAddress self;
  SeededRandom random;
  Endpoint endpoint;
  std::unique_ptr<udt::TrainBuffer> train;
  std::vector<wire::SocketId> connections;

  Connection* attacked(const SocketAddress& peer) {
    for (const auto id : connections) {
      Connection* connection = endpoint.find(id);
      if (connection != nullptr && connection->peer() == peer) return connection;
    }
    return nullptr;
  }
};

class World {
 public:
  World(ByteView input, const PatternSource& source)
      : choices_(input),
        source_(source),
        server_(address(1), hash_, 1),
        client_(address(2), hash_, 2),
        bystander_(address(3), hash_, 3) {
    udt::ListenConfig listen;
    listen.connection = config(false, udt::kDefaultMss);
    listen.max_connections = 4;
    XFER_ASSERT(server_.endpoint.listen(listen));
    start(bystander_, false);
    run(1s);
    XFER_ASSERT(bystander_up_);
    offer_bystander(kBystanderBytes / 2);

    const std::uint8_t setup = choices_.byte();
    constexpr std::array<std::uint32_t, 4> kMss = {1500, 76, 576, 1400};
    const std::uint32_t mss = kMss[(setup >> 3U) % kMss.size()];
    capabilities_ = (setup & 32U) == 0;
    if ((setup & 4U) == 0) {
      start(client_, (setup & 1U) != 0, mss);
    } else {
      rendezvous(client_, server_.self, (setup & 1U) != 0, mss);
      rendezvous(server_, client_.self, false, udt::kDefaultMss);
    }
    if ((setup & 2U) == 0) {  // else the attack begins with the handshake
      for (int i = 0; i < 8; ++i) {
        while (!pending_.empty()) deliver_oldest();
        run(10ms);
      }
    }
  }

  void attack() {
    for (std::size_t i = 0; i < kMaxOperations && !choices_.empty(); ++i) {
      operation();
      settle();
    }
  }

  /// The bystander's transfer completes whatever happened to its neighbour on the port.
  void check_bystander() {
    offer_bystander(kBystanderBytes);
    for (Duration waited{}; waited < kCalm && bystander_read_ < kBystanderBytes; waited += 100ms)
      run(100ms);
    run(100ms);  // for the last acknowledgement
    Connection* connection = bystander_.endpoint.find(bystander_.connections.front());
    XFER_ASSERT(connection != nullptr);
    XFER_ASSERT(connection->acked_offset() == kBystanderBytes);
    XFER_ASSERT(bystander_read_ == kBystanderBytes);
  }

 private:
  [[nodiscard]] udt::ConnectionConfig config(bool near_wrap, std::uint32_t mss) const {
    udt::ConnectionConfig config;
    config.mss = mss;
    if (near_wrap) config.isn = wire::SeqNo(0x7FFFFFF0);
    config.receive_window = 64;
    config.send_window = 64;
    config.max_memory = udt::kMinMemory;
    config.max_mtu = kMaxMtu;
    config.capabilities = capabilities_;
    config.linger = 2s;
    config.idle_timeout = 10s;
    return config;
  }

  void start(Node& node, bool near_wrap, std::uint32_t mss = udt::kDefaultMss) {
    begin(node, node.endpoint.connect(server_.self, config(near_wrap, mss), now_));
  }
  void rendezvous(Node& node, const SocketAddress& peer, bool near_wrap, std::uint32_t mss) {
    begin(node, node.endpoint.rendezvous(peer, config(near_wrap, mss), now_));
  }
  void begin(Node& node, const Result<wire::SocketId>& id) {
    XFER_ASSERT(id);
    node.connections.push_back(*id);
    node.endpoint.find(*id)->set_source(source_);
    settle();
  }

  void offer_bystander(std::uint64_t end) {
    bystander_.endpoint.find(bystander_.connections.front())->offer(end, end, now_);
    settle();
  }

  // Operations.

  void operation() {
    switch (choices_.below(16)) {
      case 0:
        run(1ms);
        break;
      case 1:
        run(15ms);
        break;
      case 2:
        run(choices_.flag() ? 300ms : 2s);
        break;
      case 3:
      case 4:
        deliver_oldest();
        break;
      case 5:
        for (std::uint8_t n = choices_.byte(); n > 0 && !pending_.empty(); --n) deliver_oldest();
        break;
      case 6:
        if (!pending_.empty()) pending_.pop_front();
        break;
      case 7:
        if (!pending_.empty()) {
          pending_.push_back(pending_.front());  // later, and out of order
          pending_.pop_front();
        }
        break;
      case 8:
        inject(mutant(), false);
        break;
      case 9:
      case 10:
      case 11:
        inject(crafted(), false);
        break;
      case 12:
        inject(choices_.flag() ? mutant() : crafted(), true);
        break;
      case 13:
        write();
        break;
      case 14:
        read();
        break;
      default:
        rare();
        break;
    }
  }

  Node& side() { return choices_.flag() ? server_ : client_; }
  Connection* attacked_on(Node& node) {
    return node.attacked(&node == &server_ ? client_.self : server_.self);
  }

  void write() {
    Node& node = side();
    Connection* connection = attacked_on(node);
    std::uint64_t& written = &node == &server_ ? server_written_ : client_written_;
    const bool flush = choices_.flag();
    if (connection == nullptr) return;
    written = std::min(kMaxWritten, written + choices_.below(20'000));
    std::uint64_t& flushed = &node == &server_ ? server_flushed_ : client_flushed_;
    if (flush) flushed = written;
    connection->offer(written, flushed, now_);
  }

  void read() {
    Connection* connection = attacked_on(side());
    if (connection == nullptr) return;
    const auto run = connection->take_readable();
    if (!run) return;
    const std::size_t whole = run->size();
    const std::size_t part = choices_.below(whole + 1);
    connection->consume(part, now_);
    connection->consume(whole - part, now_);
  }

  void rare() {
    Node& node = side();
    Connection* connection = attacked_on(node);
    switch (choices_.below(6)) {
      case 0:
        if (connection != nullptr) connection->close(now_);
        break;
      case 1:
        if (connection != nullptr) connection->abort(now_);
        break;
      case 2:
        if (connection != nullptr) node.endpoint.forget(connection->id());
        break;
      case 3:
        node.endpoint.handle_unreachable(&node == &server_ ? client_.self : server_.self,
                                         choices_.flag(), now_);
        break;
      case 4:
        node.endpoint.handle_timeout(now_);
        break;
      default:
        if (client_.endpoint.connection_count() < 4) start(client_, choices_.flag());
        break;
    }
  }

  // Datagrams.

  /// A copy of a recent genuine datagram with a few changes.
  Datagram mutant() {
    if (recent_.empty()) return crafted();
    Datagram datagram = recent_[choices_.below(recent_.size())];
    for (std::uint32_t changes = 1 + choices_.below(3); changes > 0; --changes) {
      auto& bytes = datagram.bytes;
      const std::size_t at = choices_.below(std::max<std::size_t>(bytes.size(), 1));
      switch (choices_.below(4)) {
        case 0:
          if (!bytes.empty()) bytes[at] = static_cast<std::byte>(choices_.byte());
          break;
        case 1:
          bytes.resize(at);
          break;
        case 2:
          bytes.resize(bytes.size() + choices_.below(64), std::byte{0x5A});
          break;
        default:
          if (bytes.size() >= 4) {  // a word moves a little
            const std::size_t word = std::min(at, bytes.size() - 4) & ~std::size_t{3};
            const std::uint32_t value =
                ByteReader(ByteView(bytes).subspan(word)).u32() + choices_.byte() - 128;
            ByteWriter(MutByteView(bytes).subspan(word)).u32(value);
          }
          break;
      }
    }
    return datagram;
  }

  /// A number near one that is in use, or anywhere.
  std::uint32_t near(std::uint32_t value) {
    switch (choices_.below(4)) {
      case 0:
        return choices_.u32();
      case 1:
        return value + 0x40000000U;
      default:
        return value + choices_.below(128) - 64;
    }
  }

  /// A packet of any type with plausible numbers, as somebody who watches the connection could
  /// forge it.
  Datagram crafted() {
    const bool to_server = choices_.flag();
    const Seen& seen = to_server ? to_server_ : to_client_;
    const Seen& back = to_server ? to_client_ : to_server_;
    Datagram datagram;
    datagram.from = to_server ? client_.self : server_.self;
    datagram.to = to_server ? server_.self : client_.self;
    datagram.bytes.resize(4096);
    ByteWriter out(datagram.bytes);

    const std::uint32_t kind = choices_.below(11);
    const wire::SocketId destination(kind == 10 && choices_.flag() ? 0 : seen.id);
    if (kind == 0) {
      wire::encode(wire::DataHeader{wire::SeqNo(near(seen.seq)),
                                    static_cast<wire::Boundary>(choices_.below(4)), choices_.flag(),
                                    wire::MsgNo(1), 0, destination},
                   out);
      constexpr std::array<std::size_t, 5> kSizes = {0, 1, 1456, 1457, 3000};
      const std::vector<std::byte> payload(kSizes[choices_.below(kSizes.size())], std::byte{0xAA});
      out.bytes(payload);
    } else {
      constexpr std::array kTypes = {
          wire::ControlType::keep_alive,   wire::ControlType::ack,
          wire::ControlType::nak,          wire::ControlType::congestion_warning,
          wire::ControlType::shutdown,     wire::ControlType::ack2,
          wire::ControlType::message_drop, wire::ControlType::error_signal,
          wire::ControlType::user_defined, wire::ControlType::handshake};
      const wire::ControlType type = kTypes[kind - 1];
      wire::encode(
          wire::ControlHeader{type, 0,
                              type == wire::ControlType::handshake ? 0 : near(seen.ack_number), 0,
                              destination},
          out);
      body(type, back.seq, out);
    }
    datagram.bytes.resize(out.size());
    return datagram;
  }

  /// @param sent a sequence number that the receiver of the packet has sent.
  void body(wire::ControlType type, std::uint32_t sent, ByteWriter& out) {
    switch (type) {
      case wire::ControlType::ack: {
        wire::AckBody ack;
        ack.kind = static_cast<wire::AckBody::Kind>(choices_.below(3));
        ack.next = wire::SeqNo(near(sent));
        ack.rtt_us = choices_.flag() ? choices_.u32() : 1000;
        ack.rtt_var_us = choices_.flag() ? choices_.u32() : 100;
        ack.window = choices_.flag() ? choices_.u32() : choices_.below(70);
        ack.arrival_rate = choices_.u32();
        ack.capacity = choices_.u32();
        wire::encode(ack, out);
        break;
      }
      case wire::ControlType::nak:
        for (std::uint32_t n = choices_.below(6); n > 0; --n)
          out.u32(near(sent) ^ (choices_.flag() ? 0x80000000U : 0));
        break;
      case wire::ControlType::message_drop:
        out.u32(near(sent));
        out.u32(near(sent));
        break;
      case wire::ControlType::handshake: {
        wire::Handshake handshake;
        handshake.version = choices_.flag() ? 4 : choices_.below(6);
        handshake.socket_type = choices_.flag() ? 1 : choices_.below(4);
        handshake.isn = near(sent);
        constexpr std::array<std::uint32_t, 6> kMss = {1500, 1400, 76, 44, 0, 0xFFFFFFFF};
        handshake.mss = kMss[choices_.below(kMss.size())];
        constexpr std::array<std::uint32_t, 5> kWindows = {64, 25'600, 0, 1, 0xFFFFFFFF};
        handshake.flight_window = kWindows[choices_.below(kWindows.size())];
        constexpr std::array kRequests = {
            wire::RequestType::induction, wire::RequestType::rendezvous,
            wire::RequestType::conclusion, wire::RequestType::agreement,
            wire::RequestType::rejected};
        handshake.request = kRequests[choices_.below(kRequests.size())];
        handshake.socket_id = wire::SocketId(choices_.flag() ? to_client_.id : choices_.u32());
        handshake.cookie = choices_.flag() ? cookie_ : choices_.u32();
        if (choices_.flag())
          handshake.capabilities =
              wire::CapabilityBlock{1, static_cast<std::uint16_t>(choices_.u32()), choices_.u32()};
        wire::encode(handshake, out);
        break;
      }
      default:
        if (choices_.flag()) wire::encode_padding(out);
        break;
    }
  }

  void inject(Datagram datagram, bool from_stranger) {
    if (from_stranger) {
      datagram.from = address(static_cast<std::uint8_t>(4 + choices_.below(3)));
    } else if (datagram.from == bystander_.self || datagram.to == bystander_.self) {
      return;  // its own packets cannot be told from forged ones
    }
    deliver(datagram);
  }

  void deliver_oldest() {
    if (pending_.empty()) return;
    const Datagram datagram = pending_.front();
    pending_.pop_front();
    deliver(datagram);
  }

  void deliver(const Datagram& datagram) {
    Node* node = node_at(datagram.to);
    if (node == nullptr) return;
    const std::size_t head = std::min(datagram.bytes.size(), wire::kHeaderSize);
    udt::ReceivedDatagram received;
    received.from = datagram.from;
    received.head = ByteView(datagram.bytes).first(head);
    received.payload = ByteView(datagram.bytes).subspan(head);
    received.arrival = now_;
    node->endpoint.handle_datagram(received, now_);
    settle();
  }

  /// What a watcher learns from genuine datagrams.
  void watch(const Datagram& datagram) {
    const auto header = wire::decode_header(datagram.bytes);
    XFER_ASSERT(header);
    Seen& seen = datagram.to == server_.self ? to_server_ : to_client_;
    if (const auto* data = std::get_if<wire::DataHeader>(&*header)) {
      seen.id = data->destination.value();
      seen.seq = data->seq.value();
      return;
    }
    const auto& control = std::get<wire::ControlHeader>(*header);
    if (control.destination.value() != 0) seen.id = control.destination.value();
    if (control.type == wire::ControlType::ack) seen.ack_number = control.info;
    if (control.type == wire::ControlType::handshake) {
      const auto handshake =
          wire::decode_handshake(ByteView(datagram.bytes).subspan(wire::kHeaderSize));
      XFER_ASSERT(handshake);
      seen.seq = handshake->isn;
      if (handshake->cookie != 0) cookie_ = handshake->cookie;
    }
  }

  // Time and drivers.

  void run(Duration span) {
    const TimePoint until = now_ + span;
    int turns_without_time = 0;
    while (true) {
      std::optional<TimePoint> deadline;
      for (Node* node : nodes_) deadline = earlier(deadline, node->endpoint.next_deadline());
      if (!deadline || *deadline > until) break;
      turns_without_time = *deadline > now_ ? 0 : turns_without_time + 1;
      XFER_ASSERT(turns_without_time < kMaxTurnsWithoutTime);
      now_ = std::max(now_, *deadline);
      for (Node* node : nodes_) node->endpoint.handle_timeout(now_);
      settle();
    }
    now_ = until;
  }

  /// Polls every endpoint until nothing is left to say; the bystander's datagrams arrive at once.
  void settle() {
    if (settling_) return;
    settling_ = true;
    std::size_t sent = 0;
    for (bool busy = true; busy;) {
      busy = false;
      for (Node* node : nodes_) {
        while (const auto transmit = node->endpoint.poll_transmit(now_, *node->train)) {
          busy = true;
          send(*node, *transmit);
          sent += transmit->segments;
          XFER_ASSERT(sent < kMaxDatagramsPerTurn);
        }
        while (const auto event = node->endpoint.poll_event()) {
          busy = true;
          handle(*node, *event);
        }
      }
      while (!at_once_.empty()) {
        busy = true;
        const Datagram datagram = at_once_.front();
        at_once_.pop_front();
        deliver(datagram);
      }
    }
    settling_ = false;
  }

  void send(const Node& node, const udt::Transmit& transmit) {
    XFER_ASSERT(transmit.segments > 0 && transmit.segments <= udt::kMaxTrainSegments);
    for (std::size_t i = 0; i < transmit.segments; ++i) {
      Datagram datagram{node.self, transmit.destination, {}};
      const auto append = [&datagram](ByteView part) {
        datagram.bytes.insert(datagram.bytes.end(), part.begin(), part.end());
      };
      append(node.train->heads[i]);
      append(node.train->payloads[i].first);
      append(node.train->payloads[i].second);
      const bool last = i + 1 == transmit.segments;
      XFER_ASSERT(last ? datagram.bytes.size() <= transmit.segment_size
                       : datagram.bytes.size() == transmit.segment_size);
      XFER_ASSERT(datagram.bytes.size() <= kMaxMtu - wire::kIpUdpOverhead);
      if (datagram.from == bystander_.self || datagram.to == bystander_.self) {
        at_once_.push_back(std::move(datagram));
      } else if (node_at(datagram.to) != nullptr) {
        watch(datagram);
        recent_.push_back(datagram);
        if (recent_.size() > 16) recent_.erase(recent_.begin());
        pending_.push_back(std::move(datagram));
        if (pending_.size() > kMaxPending) pending_.pop_front();  // a full queue drops
      }
    }
  }

  void handle(Node& node, const Event& event) {
    Connection* connection = node.endpoint.find(event.id);
    XFER_ASSERT(connection != nullptr);
    switch (event.kind) {
      case Event::Kind::incoming:
        XFER_ASSERT(&node == &server_);
        node.connections.push_back(event.id);
        connection->set_source(source_);
        break;
      case Event::Kind::connected:
        if (&node == &bystander_) bystander_up_ = true;
        break;
      case Event::Kind::readable:
        if (&node == &server_ && connection->peer() == bystander_.self) read_bystander(*connection);
        break;
      case Event::Kind::closed:
      case Event::Kind::failed:
        XFER_ASSERT(connection->peer() != bystander_.self && &node != &bystander_);
        node.endpoint.forget(event.id);
        break;
      case Event::Kind::acknowledged:
      case Event::Kind::error_signal:
      case Event::Kind::peer_closed:
        break;
    }
  }

  void read_bystander(Connection& connection) {
    while (const auto run = connection.take_readable()) {
      const ByteView expected = source_.view(bystander_read_, run->size()).first;
      XFER_ASSERT(std::equal(run->begin(), run->end(), expected.begin(), expected.end()));
      bystander_read_ += run->size();
      connection.consume(run->size(), now_);
    }
  }

  Node* node_at(const SocketAddress& where) {
    for (Node* node : nodes_)
      if (node->self == where) return node;
    return nullptr;
  }

  struct Seen {
    std::uint32_t id = 0;          ///< destination socket ID in that direction
    std::uint32_t seq = 0;         ///< newest sequence number in that direction
    std::uint32_t ack_number = 0;  ///< newest ACK sub-sequence number in that direction
  };

  fuzz::Choices choices_;
  MixingHash hash_;
  const PatternSource& source_;
  TimePoint now_{1s};
  Node server_;
  Node client_;
  Node bystander_;
  std::array<Node*, 3> nodes_ = {&server_, &client_, &bystander_};

  std::deque<Datagram>
      pending_;  ///< between the client and the server, until the fuzzer delivers them
  std::deque<Datagram> at_once_;  ///< of the bystander
  std::vector<Datagram> recent_;
  Seen to_server_;
  Seen to_client_;
  std::uint32_t cookie_ = 0;
  bool capabilities_ = true;  ///< of connections made from now on

  std::uint64_t client_written_ = 0;
  std::uint64_t client_flushed_ = 0;
  std::uint64_t server_written_ = 0;
  std::uint64_t server_flushed_ = 0;
  bool bystander_up_ = false;
  std::uint64_t bystander_read_ = 0;
  bool settling_ = false;
};

}  // namespace

// A connection under attack: somebody who sees its packets delays, drops, repeats, alters and
// forges them while both applications write, read and close as they like. Nothing crashes, no
// deadline sticks, nothing longer than the MSS is sent, and a second connection on the same port
// completes its transfer (faults C1, C5, D1 - D16).
XFER_FUZZ_TARGET(xfer::ByteView input) {
  static const PatternSource source;
  World world(input, source);
  world.attack();
  world.check_bystander();
}

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/raw_peer.hpp"

#include <catch2/catch.hpp>

namespace xfer::test {

using udt::Connection;
using udt::ConnectionConfig;
using udt::Event;

/// 10.0.0.`number`:9000, or fd00::`number` port 9000.
inline SocketAddress address(std::uint8_t number, bool ipv6 = false) {
  SocketAddress result;
  result.family = ipv6 ? SocketAddress::Family::ipv6 : SocketAddress::Family::ipv4;
  result.port = 9000;
  if (ipv6)
    result.ip = {0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number};
  else
    result.ip = {10, 0, 0, number};
  return result;
}

/// FNV-1a under a key: good enough for cookies nobody attacks.
class TestHash final : public KeyedHash {
 public:
  explicit TestHash(std::uint64_t key = 0x1234) : key_(key) {}
  [[nodiscard]] std::uint64_t hash(ByteView message) const override {
    std::uint64_t state = 0xCBF29CE484222325U ^ key_;
    for (const std::byte b : message)
      state = (state ^ std::to_integer<std::uint64_t>(b)) * 0x100000001B3U;
    return state ^ (state >> 32U);
  }

 private:
  std::uint64_t key_;
};

/// A stream without an end whose bytes repeat after a prime number of them.
class PatternSource final : public ByteSource {
 public:
  PatternSource() : memory_(kPeriod + 65'536) {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      memory_[i] = static_cast<std::byte>((i % kPeriod) * 7 % 251);
  }
  [[nodiscard]] Slices view(std::uint64_t offset, std::size_t size) const override {
    return {ByteView(memory_).subspan(static_cast<std::size_t>(offset % kPeriod), size), {}};
  }
  /// The same as one run.
  [[nodiscard]] ByteView bytes(std::uint64_t offset, std::size_t size) const {
    return view(offset, size).first;
  }
  [[nodiscard]] bool matches(std::uint64_t offset, ByteView data) const {
    while (!data.empty()) {
      const ByteView expected = bytes(offset, std::min<std::size_t>(data.size(), 65'536));
      if (!std::equal(expected.begin(), expected.end(), data.begin())) return false;
      data = data.subspan(expected.size());
      offset += expected.size();
    }
    return true;
  }

 private:
  static constexpr std::size_t kPeriod = 4093;
  std::vector<std::byte> memory_;
};

/// A packet and when it was sent.
struct Sent : RawPacket {
  TimePoint at;
};

/// What an endpoint sent, oldest first.
class SentLog : public std::vector<Sent> {
 public:
  [[nodiscard]] SentLog to(const SocketAddress& address) const {
    return where([&](const Sent& packet) { return packet.destination == address; });
  }
  [[nodiscard]] SentLog of(wire::ControlType type) const {
    return where([&](const Sent& packet) { return packet.is(type); });
  }
  [[nodiscard]] SentLog data() const {
    return where([](const Sent& packet) { return packet.is_data(); });
  }
  /// Full and partial ones.
  [[nodiscard]] SentLog acks() const {
    return where([](const Sent& packet) {
      const auto ack = packet.ack();
      return ack && ack->kind != wire::AckBody::Kind::light;
    });
  }
  [[nodiscard]] SentLog light_acks() const {
    return where([](const Sent& packet) {
      const auto ack = packet.ack();
      return ack && ack->kind == wire::AckBody::Kind::light;
    });
  }
  /// Lost ranges of all NAKs, in order.
  [[nodiscard]] std::vector<wire::LossRange> losses() const {
    std::vector<wire::LossRange> all;
    for (const auto& packet : *this)
      for (const auto& range : packet.losses()) all.push_back(range);
    return all;
  }
  /// Sequence numbers of all data packets, in order.
  [[nodiscard]] std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> all;
    for (const auto& packet : *this)
      if (packet.is_data()) all.push_back(packet.data().seq.value());
    return all;
  }

 private:
  template <typename Predicate>
  [[nodiscard]] SentLog where(Predicate wanted) const {
    SentLog chosen;
    for (const auto& packet : *this)
      if (wanted(packet)) chosen.push_back(packet);
    return chosen;
  }
};

/// An endpoint under test in virtual time. Its peers are made by hand.
class Desk {
 public:
  explicit Desk(std::uint64_t seed = 1) : random(seed), endpoint(random, hash) {}

  SeededRandom random;
  TestHash hash;
  udt::Endpoint endpoint;
  TimePoint now{100s};
  PatternSource source;

  void give(const RawPeer& peer, ByteView datagram) { feed(endpoint, peer.address, datagram, now); }
  void give_from(const SocketAddress& from, ByteView datagram) {
    feed(endpoint, from, datagram, now);
  }

  /// What the endpoint wants to send now.
  SentLog sent() {
    SentLog log;
    collect(log);
    return log;
  }
  /// Lets time pass, serving every deadline when it is due.
  SentLog run(Duration span) {
    SentLog log;
    const TimePoint end = now + span;
    collect(log);
    for (unsigned at_this_time = 0;;) {
      const auto next = endpoint.next_deadline();
      if (!next || *next > end) break;
      at_this_time = *next > now ? 0 : at_this_time + 1;
      REQUIRE(at_this_time < 1000);  // the deadline is stuck in the past
      now = std::max(now, *next);
      endpoint.handle_timeout(now);
      collect(log);
    }
    now = end;
    endpoint.handle_timeout(now);
    collect(log);
    return log;
  }
  std::vector<Event> events() {
    std::vector<Event> all;
    while (const auto event = endpoint.poll_event()) all.push_back(*event);
    return all;
  }
  /// Kinds of all events, in order.
  std::vector<Event::Kind> event_kinds() {
    std::vector<Event::Kind> kinds;
    for (const auto& event : events()) kinds.push_back(event.kind);
    return kinds;
  }

  void listen(const udt::ListenConfig& config = {}) {
    REQUIRE(endpoint.listen(config).has_value());
  }
  /// Connects `peer` to the listener, from induction on.
  Connection& accept(RawPeer& peer) {
    connect_raw(peer, endpoint, now);
    const auto all = events();
    REQUIRE(peer.connected);
    REQUIRE(all.size() == 1);
    REQUIRE(all[0].kind == Event::Kind::incoming);
    return use(all[0].id);
  }
  /// Connects to `peer`, who answers as a listener.
  Connection& call(RawPeer& peer, const ConnectionConfig& config = {}) {
    const auto id = endpoint.connect(peer.address, config, now);
    REQUIRE(id.has_value());
    accept_raw(peer, endpoint, now);
    const auto all = events();
    REQUIRE(all.size() == 1);
    REQUIRE(all[0].kind == Event::Kind::connected);
    return use(*id);
  }
  Connection& use(wire::SocketId id) {
    Connection* connection = endpoint.find(id);
    REQUIRE(connection != nullptr);
    connection->set_source(source);
    return *connection;
  }

 private:
  void collect(SentLog& log) {
    for (auto& packet : drain(endpoint, now)) log.push_back({std::move(packet), now});
  }
};

inline RawPeer make_peer(std::uint8_t number, std::uint32_t isn = 1000, bool ipv6 = false) {
  RawPeer peer;
  peer.address = address(number, ipv6);
  peer.id = wire::SocketId(777 + std::uint32_t{number});
  peer.isn = peer.peer_isn = wire::SeqNo(isn);
  return peer;
}

/// A full payload of `peer`'s stream: packet `index` of the pattern.
inline Bytes full_packet(const RawPeer& peer, const PatternSource& source, std::int64_t index) {
  const std::size_t size = peer.mss - wire::kPayloadOverhead;
  return peer.data(peer.isn.advanced(index),
                   source.bytes(static_cast<std::uint64_t>(index) * size, size));
}

/// A second connection on the endpoint that must not notice what happens to others.
class Bystander {
 public:
  explicit Bystander(Desk& desk)
      : desk_(desk), peer_(make_peer(200, 5000)), connection_(desk.accept(peer_)) {
    talk();
  }
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;

  /// A short packet each way, both acknowledged at once. Nothing else may have gone to the peer.
  void talk() {
    const auto sent_meanwhile = desk_.sent().to(peer_.address);
    CHECK(sent_meanwhile.data().empty());
    CHECK(sent_meanwhile.of(wire::ControlType::nak).empty());
    CHECK(sent_meanwhile.of(wire::ControlType::shutdown).empty());

    desk_.give(peer_, peer_.data(peer_.isn.advanced(rounds_), as_byte_view("ping")));
    const std::uint64_t end = std::uint64_t{4} * static_cast<std::uint64_t>(rounds_ + 1);
    connection_.offer(end, end, desk_.now);
    const auto answers = desk_.run(1ms).to(peer_.address);
    ++rounds_;
    REQUIRE(answers.acks().size() == 1);
    CHECK(answers.acks()[0].ack()->next == peer_.isn.advanced(rounds_));
    desk_.give(peer_, peer_.ack2(answers.acks()[0].control().info));
    REQUIRE(answers.data().size() == 1);
    CHECK(answers.data()[0].data().seq == peer_.peer_isn.advanced(rounds_ - 1));
    desk_.give(peer_, peer_.full_ack(static_cast<std::uint32_t>(rounds_),
                                     peer_.peer_isn.advanced(rounds_), 8192));
    const auto ack2 = desk_.sent().to(peer_.address);
    REQUIRE(ack2.size() == 1);
    CHECK(ack2[0].is(wire::ControlType::ack2));
    CHECK(connection_.acked_offset() == end);
    const auto read = connection_.take_readable();
    REQUIRE(read.has_value());
    CHECK(as_text(*read) == "ping");
    connection_.consume(read->size(), desk_.now);
    CHECK(connection_.state() == Connection::State::connected);
    CHECK(connection_.stats().control_malformed == 0);
    CHECK(connection_.stats().control_implausible == 0);
    desk_.events();
  }

  [[nodiscard]] const RawPeer& peer() const { return peer_; }

 private:
  Desk& desk_;
  RawPeer peer_;
  Connection& connection_;
  std::int64_t rounds_ = 0;
};

}  // namespace xfer::test

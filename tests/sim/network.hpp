#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "link.hpp"

namespace xfer::sim {

class Network;

/// Something with an address. All its calls come from Network::run.
class Host {
 public:
  Host(Network& network, const SocketAddress& address) : network_(network), address_(address) {}
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] const SocketAddress& address() const { return address_; }

  /// A datagram has arrived at the socket; `bytes` are valid for the call.
  virtual void arrive(ByteView bytes, const SocketAddress& from, TimePoint now) = 0;
  /// The time asked for by wake_at() has come.
  virtual void turn(TimePoint now) = 0;

 protected:
  /// Asks for a turn() at `at` or now, whichever is later; an earlier request stands.
  void wake_at(TimePoint at);
  /// Says what broke; the run ends with it.
  void fail(const std::string& what);

  Network& network_;

 private:
  friend class Network;
  SocketAddress address_;
  std::size_t index_ = 0;
  std::optional<TimePoint> wake_;
};

/// Virtual time, hosts, and a link each way between each two of them. Everything that happens is an
/// event in one queue ordered by (time, order of insertion), so a run depends on nothing but its
/// seed.
class Network {
 public:
  explicit Network(std::uint64_t seed);
  ~Network();

  [[nodiscard]] TimePoint now() const { return now_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// A number that depends on the seed and `purpose` only.
  [[nodiscard]] std::uint64_t sub_seed(std::uint64_t purpose) const;

  /// Makes a host of type T(Network&, args...) that lives as long as the network.
  template <typename T, typename... Args>
  T& add(Args&&... args) {
    auto host = std::make_unique<T>(*this, std::forward<Args>(args)...);
    T& reference = *host;
    adopt(std::move(host));
    return reference;
  }
  /// The link from one host to another; made on first use, perfect until its options are changed.
  Link& link(const Host& from, const Host& to);
  /// Sets both directions.
  void set_path(const Host& a, const Host& b, const LinkOptions& options);

  /// Sends a datagram; nobody at `to`: it is lost.
  void send(const Host& from, const SocketAddress& to, ByteView head, const ByteView* parts,
            std::size_t part_count, bool may_fragment = false);
  void send(const Host& from, const SocketAddress& to, ByteView datagram) {
    send(from, to, datagram, nullptr, 0);
  }

  /// Calls `task` at that time.
  void at(TimePoint when, std::function<void()> task);
  void after(Duration delay, std::function<void()> task) { at(now_ + delay, std::move(task)); }

  /// Runs until `done` (asked after every event), the time `limit`, a failure, or nothing is left
  /// to happen. Returns whether `done`.
  bool run(TimePoint limit, const std::function<bool()>& done);
  void run_for(Duration span) {
    run(now_ + span, [] { return false; });
  }

  /// Writes every packet that is sent or arrives to `file`, a line each; nullptr: no more.
  void log_to(std::FILE* file) { log_ = file; }

  /// Ends the run: something that must never happen has.
  void fail(const std::string& what);
  /// The first failure; empty: none.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// Of everything that happened: equal for equal runs, and hardly ever for others.
  [[nodiscard]] std::uint64_t event_hash() const { return hash_; }
  [[nodiscard]] std::uint64_t event_count() const { return event_count_; }

 private:
  friend class Host;
  enum class Kind : std::uint8_t { arrival, wake, task };
  struct QueuedEvent {
    TimePoint at;
    std::uint64_t order = 0;
    Kind kind = Kind::wake;
    std::uint32_t host = 0;
    std::uint32_t item = 0;
  };
  struct Packet {
    SocketAddress from;
    std::vector<std::byte> bytes;
  };
  struct Path {
    std::size_t from = 0;
    std::size_t to = 0;
    std::unique_ptr<Link> link;
  };

  void adopt(std::unique_ptr<Host> host);
  void push(TimePoint at, Kind kind, std::size_t host, std::size_t item);
  void dispatch(const QueuedEvent& event);
  std::size_t allocate_packet();
  void log(const char* what, const SocketAddress& from, const SocketAddress& to,
           ByteView datagram) const;
  void mix(std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001B3U; }

  std::uint64_t seed_;
  TimePoint now_;
  std::uint64_t order_ = 0;
  std::vector<QueuedEvent> queue_;  ///< a heap
  std::vector<std::unique_ptr<Packet>> packets_;
  std::vector<std::size_t> free_packets_;
  std::vector<std::function<void()>> tasks_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Path> paths_;
  std::vector<std::byte> outgoing_;
  std::uint64_t hash_ = 0xCBF29CE484222325U;
  std::uint64_t event_count_ = 0;
  std::string failure_;
  std::FILE* log_ = nullptr;
};

/// 10.0.0.`number`:9000 or fd00::`number` port 9000.
SocketAddress host_address(unsigned number, bool ipv6 = false);

}  // namespace xfer::sim

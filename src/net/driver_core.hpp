#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "crypto/cookie_hash.hpp"
#include "net/channel.hpp"
#include "net/driver.hpp"
#include "net/host_routes.hpp"
#include "net/poller.hpp"
#include "net/system_random.hpp"
#include "udt/endpoint.hpp"

namespace xfer::net {

/// What a Driver and its Streams own together: socket, endpoint, and the loop that the network
/// thread runs. Lives until the driver and the last stream are gone, because bytes handed to
/// workers live in the endpoint.
class DriverCore {
 public:
  static Result<std::shared_ptr<DriverCore>> open(const DriverOptions& options);
  DriverCore(const DriverOptions& options, UdpSocket socket, crypto::CookieHash cookie_hash);

  // The network thread.

  /// Runs until stop(), then shuts down what is left.
  void run();

  // Other threads.

  /// Lets the network thread look at the channels and commands; costs a system call only while it
  /// sleeps.
  void wake() { wakeup_.notify(); }
  void stop();
  void cancel();
  [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  /// Runs `command` on the network thread and returns its result. Must not be called after stop().
  Result<void> call(std::function<Result<void>(TimePoint now)> command);
  Result<std::shared_ptr<Channel>> start(const SocketAddress& peer,
                                         const udt::ConnectionConfig& config, bool rendezvous);
  Result<void> listen(const udt::ListenConfig& config);
  void stop_listening();
  Result<std::shared_ptr<Channel>> accept(Duration timeout);
  [[nodiscard]] DriverStats stats() const;
  [[nodiscard]] const SocketAddress& local_address() const { return local_address_; }

  static std::shared_ptr<Stream> make_stream(std::shared_ptr<DriverCore> core,
                                             std::shared_ptr<Channel> channel);
  /// Waits until a started connection is decided. @return why there is none, or success.
  static Result<void> wait_connected(Channel& channel);

  /// After the network thread has been joined: nothing will happen any more.
  void close();

 private:
  /// One connection, as the network thread sees it.
  struct Entry {
    wire::SocketId id;
    udt::Connection* connection = nullptr;
    std::shared_ptr<Channel> channel;
    std::uint64_t offered = 0;
    std::uint64_t flushed = 0;
    std::uint64_t consumed = 0;
    bool ended = false;             ///< its last event has come
    unsigned requests = 0;          ///< carried out
    ByteView unpushed{};            ///< taken from the connection, found the queue full
    bool input_blocked = false;     ///< the queue was full; the connection may have more
    std::uint64_t unannounced = 0;  ///< bytes pushed since the worker was last told
    TimePoint announced{};          ///< when it was
    std::optional<TimePoint> announcement_due;  ///< when to tell it at the latest
  };

  /// A train that the kernel did not take whole, with its payloads copied: their owners may go.
  struct Unsent {
    udt::Transmit transmit;
    std::size_t next = 0;  ///< first datagram not sent yet
    udt::TrainBuffer train;
    std::vector<std::byte> bytes;
    TimePoint retry_at{};
    bool writable_tells = false;  ///< epoll will say when to go on; else `retry_at` does
    [[nodiscard]] bool empty() const { return next == transmit.segments; }
  };

  // One turn of the loop, in this order.
  void run_commands(TimePoint now);
  bool receive();
  void take_inputs(Entry& entry, TimePoint now);
  bool transmit(TimePoint now);
  void handle_events();
  void give_outputs(Entry& entry, TimePoint now);
  void remove_finished();
  void sleep(TimePoint now);

  bool send_unsent(TimePoint now);
  void await_room(UdpSocket::SendStatus status, TimePoint now);
  void keep_unsent(const udt::Transmit& transmit, const UdpSocket::SendResult& result,
                   TimePoint now);
  void handle_event(const udt::Event& event);
  void handle_network_errors();
  bool read_input(Entry& entry);
  void announce_input(Entry& entry, TimePoint now);
  void give_up_connecting();
  void shut_down(TimePoint now);
  static void publish_stats(const Entry& entry);
  void publish_all_stats(TimePoint now);
  std::shared_ptr<Channel> next_incoming();
  [[nodiscard]] bool has_news() const;
  [[nodiscard]] std::optional<TimePoint> next_deadline(TimePoint now) const;
  Entry* find(wire::SocketId id);
  Entry& add(wire::SocketId id, std::shared_ptr<Channel> channel);
  void connected(Entry& entry);
  TimePoint read_clock();

  const std::size_t send_ring_;
  SystemRandom random_;
  HostRoutes routes_;
  crypto::CookieHash cookie_hash_;
  UdpSocket socket_;
  const SocketAddress local_address_;
  EventWakeup wakeup_;
  std::optional<Poller> poller_;
  std::vector<Entry> entries_;  // before the endpoint, whose connections know the rings
  udt::Endpoint endpoint_;

  // Network thread only.
  std::uint64_t listen_window_ = 0;      ///< bytes
  std::uint64_t listen_max_memory_ = 0;  ///< bytes
  std::array<udt::ReceiveSlot, udt::kMaxReceiveBatch> slots_{};
  udt::TrainBuffer train_{};
  Unsent unsent_{};
  TimePoint now_{};
  bool look_at_socket_ = true;
  std::size_t received_ = 0;  ///< datagrams, this turn
  TimePoint burst_until_{};
  bool look_at_errors_ = false;
  bool cancel_done_ = false;
  std::uint64_t errors_seen_ = 0;
  std::uint64_t turns_ = 0;
  std::uint64_t sleeps_ = 0;
  TimePoint stats_published_{};
  std::optional<TimePoint> give_up_at_;  ///< while shutting down

  // Shared.
  std::atomic<bool> stopping_{false};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> has_commands_{false};
  std::mutex commands_mutex_;
  std::vector<std::function<void(TimePoint)>> commands_;  ///< under commands_mutex_
  std::mutex accept_mutex_;
  std::deque<std::shared_ptr<Channel>> incoming_;  ///< under accept_mutex_
  Parker acceptor_;
  mutable std::mutex stats_mutex_;
  DriverStats stats_;  ///< under stats_mutex_
};

}  // namespace xfer::net

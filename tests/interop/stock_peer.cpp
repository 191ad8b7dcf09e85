// One end of a test transfer on stock UDT4: see peer.hpp.

#include <chrono>
#include <thread>
#include <vector>

#include "interop/peer.hpp"
#include "interop/stock.hpp"

namespace xfer::interop {
namespace {

class StockLink final : public Link {
 public:
  std::optional<std::uint16_t> open(const PeerOptions& options) override {
    if (options.near_wrap) stock::start_sequence_numbers_near_wrap();
    socket_ = stock::open_bound(options.bind_host, 0,
                                {.datagram = options.datagram,
                                 .rendezvous = options.role == Role::rendezvous,
                                 .mss = options.mss,
                                 .window = options.window,
                                 .udt_buffer = options.udt_buffer,
                                 .udp_buffer = options.udp_buffer});
    if (socket_ == stock::kNone) return failed("bind");
    if (options.role == Role::listen && !stock::listen(socket_)) return failed("listen");
    const auto port = stock::local_port(socket_);
    if (!port) return failed("getsockname");
    return port;
  }

  bool establish(const PeerOptions& options) override {
    if (options.role == Role::listen) {
      listener_ = socket_;
      socket_ = stock::accept(listener_);
      if (socket_ == stock::kNone) failed("accept");
      return socket_ != stock::kNone;
    }
    const bool connected = stock::connect(socket_, options.peer_host, options.peer_port);
    if (!connected) failed("connect");
    return connected;
  }

  bool transfer(const PeerOptions& options, Flow& flow) override {
    bool sent = false;
    std::string send_error;
    std::thread sender([&] { sent = send(flow, send_error); });
    const bool received = receive(options, flow);
    sender.join();
    if (received && !sent) error_ = send_error;
    facts_ = stock::facts(socket_);
    stock::close(socket_);
    return sent && received;
  }

  [[nodiscard]] std::string facts() const override { return facts_; }
  [[nodiscard]] std::string error() const override { return error_; }

 private:
  static constexpr std::size_t kBlock = 364'000;

  bool send(Flow& flow, std::string& error) const {
    std::vector<std::byte> block(kBlock);
    while (const std::size_t count = flow.produce(block)) {
      if (!stock::send_all(socket_, reinterpret_cast<const char*>(block.data()), count)) {
        error = stock::last_error("send");
        return false;
      }
    }
    return true;
  }

  bool receive(const PeerOptions& options, Flow& flow) {
    std::this_thread::sleep_for(std::chrono::milliseconds(options.read_pause_ms));
    std::vector<std::byte> block(kBlock);
    auto* const chars = reinterpret_cast<char*>(block.data());
    while (!flow.received_all() || options.close_last) {
      if (flow.received_all() && options.end_wait_ms != 0)
        stock::limit_receive(socket_, static_cast<int>(options.end_wait_ms));
      const int count = stock::receive_some(socket_, chars, static_cast<int>(kBlock));
      if (count < 0 && flow.received_all() && options.end_wait_ms != 0) return true;
      if (count < 0) {
        failed("recv");
        return false;
      }
      if (count == 0) {
        flow.note_end();
        return true;
      }
      flow.consume({block.data(), static_cast<std::size_t>(count)});
    }
    return true;
  }

  std::nullopt_t failed(const char* where) {
    error_ = stock::last_error(where);
    return std::nullopt;
  }

  stock::Handle listener_ = stock::kNone;
  stock::Handle socket_ = stock::kNone;
  std::string facts_;
  std::string error_;
};

}  // namespace
}  // namespace xfer::interop

int main(int argc, char** argv) {
  xfer::interop::run_peer(argc, argv, std::make_unique<xfer::interop::StockLink>());
}

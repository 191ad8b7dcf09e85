// One end of a test transfer on our implementation: see peer.hpp.

#include <algorithm>
#include <chrono>

#include "interop/ours.hpp"
#include "interop/peer.hpp"

namespace xfer::interop {
namespace {

using net::Stream;

class OurLink final : public Link {
 public:
  std::optional<std::uint16_t> open(const PeerOptions& options) override {
    if (options.mss != 0) config_.mss = static_cast<std::uint32_t>(options.mss);
    if (options.window != 0) config_.receive_window = static_cast<std::uint32_t>(options.window);
    if (options.isn) config_.isn = wire::SeqNo(*options.isn);
    driver_ = ours::open_driver(options.bind_host, options.udp_buffer, error_);
    if (!driver_) return std::nullopt;
    if (options.role == Role::listen) {
      const auto listening = driver_->listen({.connection = config_});
      if (!listening) {
        error_ = ours::describe("listen", listening.error());
        return std::nullopt;
      }
    }
    return driver_->local_address().port;
  }

  bool establish(const PeerOptions& options) override {
    auto stream = [&] {
      if (options.role == Role::listen) return driver_->accept(1h);
      const auto peer = ours::numeric_address(options.peer_host, options.peer_port);
      if (options.role == Role::rendezvous) return driver_->rendezvous(peer, config_);
      return driver_->connect(peer, config_);
    }();
    if (!stream) {
      error_ = ours::describe("establish", stream.error());
      return false;
    }
    stream_ = std::move(*stream);
    payload_size_ = stream_->payload_size();
    return true;
  }

  bool transfer(const PeerOptions& options, Flow& flow) override {
    const auto start = std::chrono::steady_clock::now();
    const auto pause_end = start + std::chrono::milliseconds(options.read_pause_ms);
    std::optional<std::chrono::steady_clock::time_point> end_deadline;
    for (;;) {
      const auto now = std::chrono::steady_clock::now();
      const bool may_read = now >= pause_end;
      if (!flow.sent_all()) write(flow);
      if (may_read && !read(flow)) return false;
      if (flow.received_all() && options.end_wait_ms != 0 && !end_deadline)
        end_deadline = now + std::chrono::milliseconds(options.end_wait_ms);

      const bool given_up = end_deadline && now >= *end_deadline;
      const bool writing = !flow.sent_all();
      const bool reading =
          !flow.ended() && !given_up && (!flow.received_all() || options.close_last);
      if (!writing && !reading) break;
      if (writing && (flow.ended() || stream_->failed())) {
        error_ = "write: the peer has closed";
        return false;
      }
      unsigned interest = 0;
      if (writing) interest |= Stream::kWritable;
      if (reading && may_read) interest |= Stream::kReadable;
      stream_->wait(interest, 20ms);
    }
    const auto finished = ours::finish_and_wait(*stream_, 1h);
    if (!finished) error_ = ours::describe("finish", finished.error());
    return finished.has_value();
  }

  [[nodiscard]] std::string facts() const override {
    const auto stats = stream_->stats();
    return "payload=" + std::to_string(payload_size_) +
           " packets_sent=" + std::to_string(stats.packets_sent) +
           " retransmitted=" + std::to_string(stats.packets_retransmitted) +
           " probes=" + std::to_string(stats.probes_sent) +
           " exp=" + std::to_string(stats.exp_fired) +
           " packets_received=" + std::to_string(stats.packets_received) +
           " duplicate=" + std::to_string(stats.packets_duplicate) +
           " outside_window=" + std::to_string(stats.packets_outside_window) +
           " lost=" + std::to_string(stats.packets_lost) +
           " malformed=" + std::to_string(stats.control_malformed) +
           " implausible=" + std::to_string(stats.control_implausible) +
           " rtt_ms=" + std::to_string(to_seconds(stats.rtt) * 1e3);
  }
  [[nodiscard]] std::string error() const override { return error_; }

 private:
  void write(Flow& flow) {
    const MutByteView space = stream_->write_space();
    if (space.empty()) return;
    const std::size_t count = flow.produce(space.first(std::min(space.size(), kBlock)));
    stream_->publish(count, flow.sent_all());
  }

  /// Takes what is there; false when the connection is dead.
  bool read(Flow& flow) {
    while (!flow.ended()) {
      const auto run = stream_->try_read();
      if (!run && run.error().code == ErrorCode::would_block) return true;
      if (!run) {
        error_ = ours::describe("read", run.error());
        return false;
      }
      if (run->empty()) {
        flow.note_end();
      } else {
        flow.consume(*run);
        stream_->consume(run->size());
      }
    }
    return true;
  }

  static constexpr std::size_t kBlock = 364'000;

  udt::ConnectionConfig config_;
  std::unique_ptr<net::Driver> driver_;
  std::shared_ptr<Stream> stream_;
  std::uint32_t payload_size_ = 0;
  std::string error_;
};

}  // namespace
}  // namespace xfer::interop

int main(int argc, char** argv) {
  xfer::interop::run_peer(argc, argv, std::make_unique<xfer::interop::OurLink>());
}

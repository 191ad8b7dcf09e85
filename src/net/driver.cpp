#include "net/driver.hpp"

#include "net/driver_core.hpp"

namespace xfer::net {

Driver::Driver(std::shared_ptr<DriverCore> core)
    : core_(std::move(core)), thread_([running = core_.get()] { running->run(); }) {}

Result<std::unique_ptr<Driver>> Driver::open(const DriverOptions& options) {
  auto core = DriverCore::open(options);
  if (!core) return core.error();
  return std::unique_ptr<Driver>(new Driver(std::move(*core)));
}

Driver::~Driver() {
  core_->stop();
  thread_.join();
  core_->close();
}

SocketAddress Driver::local_address() const { return core_->local_address(); }

Result<std::shared_ptr<Stream>> Driver::start(const SocketAddress& peer,
                                              const udt::ConnectionConfig& config,
                                              bool rendezvous) {
  if (core_->cancelled()) return ErrorCode::interrupted;
  auto channel = core_->start(peer, config, rendezvous);
  if (!channel) return channel.error();
  // From here on the stream, even one that nobody gets to see, takes care of the connection's end.
  auto stream = DriverCore::make_stream(core_, *channel);
  XFER_TRY(DriverCore::wait_connected(**channel));
  return stream;
}

Result<std::shared_ptr<Stream>> Driver::connect(const SocketAddress& peer,
                                                const udt::ConnectionConfig& config) {
  return start(peer, config, false);
}

Result<std::shared_ptr<Stream>> Driver::rendezvous(const SocketAddress& peer,
                                                   const udt::ConnectionConfig& config) {
  return start(peer, config, true);
}

Result<void> Driver::listen(const udt::ListenConfig& config) { return core_->listen(config); }

void Driver::stop_listening() { core_->stop_listening(); }

Result<std::shared_ptr<Stream>> Driver::accept(Duration timeout) {
  auto channel = core_->accept(timeout);
  if (!channel) return channel.error();
  return DriverCore::make_stream(core_, std::move(*channel));
}

void Driver::cancel() { core_->cancel(); }

DriverStats Driver::stats() const { return core_->stats(); }

}  // namespace xfer::net

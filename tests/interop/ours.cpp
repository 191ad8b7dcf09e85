#include "interop/ours.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "net/resolve.hpp"

namespace xfer::interop::ours {

std::string describe(const char* where, const Error& error) {
  return std::string(where) + ": " + error_name(error.code) + " " + to_string(error);
}

SocketAddress numeric_address(const std::string& host, std::uint16_t port) {
  const auto addresses = net::resolve(host, port);
  XFER_ASSERT(addresses && !addresses->empty());
  return addresses->front();
}

std::unique_ptr<net::Driver> open_driver(const std::string& host, int socket_buffer,
                                         std::string& error) {
  net::DriverOptions options;
  options.bind = numeric_address(host, 0);
  if (socket_buffer > 0) options.socket_buffer = static_cast<std::size_t>(socket_buffer);
  auto driver = net::Driver::open(options);
  if (driver) return std::move(*driver);
  error = describe("open", driver.error());
  return nullptr;
}

Result<void> Reader::read(MutByteView out) {
  while (!out.empty()) {
    if (rest_.empty()) {
      const auto run = stream_.try_read();
      if (!run && run.error().code != ErrorCode::would_block) return run.error();
      if (!run) {
        stream_.wait(net::Stream::kReadable, 1s);
        continue;
      }
      if (run->empty()) return ErrorCode::peer_closed;
      rest_ = *run;
    }
    const std::size_t count = std::min(out.size(), rest_.size());
    std::copy_n(rest_.begin(), count, out.begin());
    stream_.consume(count);
    rest_ = rest_.subspan(count);
    out = out.subspan(count);
  }
  return {};
}

Result<void> finish_and_wait(net::Stream& stream, Duration limit) {
  stream.finish();
  const auto closed = stream.wait_closed(limit);
  if (!closed && closed.error().code != ErrorCode::peer_closed) return closed;
  return {};
}

}  // namespace xfer::interop::ours

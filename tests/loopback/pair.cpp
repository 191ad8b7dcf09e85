#include "pair.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <thread>

namespace xfer::test {

namespace {

std::byte pattern_byte(std::uint64_t seed, std::uint64_t offset) {
  // Multiplication mixes upwards: the top byte depends on every bit of the offset.
  return static_cast<std::byte>(((offset + seed) * 0x9E3779B97F4A7C15U) >> 56U);
}

std::string describe(const char* where, const Error& error) {
  return std::string(where) + ": " + to_string(error);
}

}  // namespace

void fill_pattern(std::uint64_t seed, std::uint64_t offset, MutByteView out) {
  for (std::byte& byte : out) byte = pattern_byte(seed, offset++);
}

bool is_pattern(std::uint64_t seed, std::uint64_t offset, ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [&](std::byte byte) { return byte == pattern_byte(seed, offset++); });
}

std::unique_ptr<net::Driver> make_driver(const net::DriverOptions& options) {
  auto driver = net::Driver::open(options);
  REQUIRE(driver.has_value());
  return std::move(*driver);
}

std::unique_ptr<net::Driver> make_listener(SocketAddress address, net::DriverOptions options,
                                           const udt::ListenConfig& config) {
  options.bind = address;
  auto driver = make_driver(options);
  REQUIRE(driver->listen(config).has_value());
  return driver;
}

Pair make_pair(const PairOptions& options) {
  Pair pair;
  pair.listener = make_listener(loopback(options.family), options.listener, options.listen);
  net::DriverOptions caller = options.caller;
  caller.bind = loopback(options.family);
  pair.caller = make_driver(caller);
  auto connected = pair.caller->connect(pair.listener->local_address(), options.connect);
  if (!connected) FAIL(to_string(connected.error()));
  pair.connected = std::move(*connected);
  auto accepted = pair.listener->accept(kPatience);
  if (!accepted) FAIL(to_string(accepted.error()));
  pair.accepted = std::move(*accepted);
  return pair;
}

std::string exchange(net::Stream& stream, std::uint64_t out_seed, std::uint64_t out_size,
                     std::uint64_t in_seed, std::uint64_t in_size) {
  constexpr std::size_t kStep = 256U << 10U;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  TimePoint last_progress = net::now();
  while (sent < out_size || received < in_size || stream.acked_bytes() < out_size) {
    bool progress = false;
    const MutByteView space = stream.write_space();
    const std::size_t count =
        static_cast<std::size_t>(std::min<std::uint64_t>({space.size(), kStep, out_size - sent}));
    if (count > 0) {
      fill_pattern(out_seed, sent, space.first(count));
      sent += count;
      stream.publish(count, sent == out_size);
      progress = true;
    }
    const auto run = stream.try_read();
    if (run && run->empty()) return "unexpected end of stream";
    if (!run && run.error().code != ErrorCode::would_block) return describe("read", run.error());
    if (run) {
      if (received + run->size() > in_size) return "more than was sent";
      if (!is_pattern(in_seed, received, *run)) return "wrong bytes";
      received += run->size();
      stream.consume(run->size());
      progress = true;
    }
    if (progress) {
      last_progress = net::now();
      continue;
    }
    if (net::now() - last_progress > kPatience)
      return "no progress: sent " + std::to_string(sent) + ", acknowledged " +
             std::to_string(stream.acked_bytes()) + ", received " + std::to_string(received);
    const bool all_written = sent == out_size;
    const bool all_read = received == in_size;
    // An acknowledgement alone wakes nobody: look every few milliseconds.
    const unsigned interest =
        (all_written ? 0U : net::Stream::kWritable) | (all_read ? 0U : net::Stream::kReadable);
    const unsigned ready = stream.wait(interest, all_written ? Duration(5ms) : Duration(1s));
    Error error;
    if ((ready & net::Stream::kEnded) != 0 && stream.failed(&error)) return describe("wait", error);
  }
  return {};
}

std::string exchange(Pair& pair, std::uint64_t caller_size, std::uint64_t listener_size) {
  constexpr std::uint64_t kCallerSeed = 1;
  constexpr std::uint64_t kListenerSeed = 1'000'003;
  std::string listener_result;
  std::thread listener([&] {
    listener_result =
        exchange(*pair.accepted, kListenerSeed, listener_size, kCallerSeed, caller_size);
  });
  const std::string caller_result =
      exchange(*pair.connected, kCallerSeed, caller_size, kListenerSeed, listener_size);
  listener.join();
  if (!caller_result.empty()) return "caller: " + caller_result;
  if (!listener_result.empty()) return "listener: " + listener_result;
  return {};
}

std::string close_in_order(Pair& pair) {
  pair.connected->finish();
  const auto closed = pair.connected->wait_closed(kPatience);
  if (!closed) return describe("caller close", closed.error());
  const auto end = read_some(*pair.accepted);
  if (!end) return describe("listener read", end.error());
  if (!end->empty()) return "bytes after the end";
  pair.accepted->finish();
  const auto finished = pair.accepted->wait_closed(kPatience);
  if (!finished) return describe("listener close", finished.error());
  return {};
}

Result<ByteView> read_some(net::Stream& stream, Duration timeout) {
  auto run = stream.try_read();
  if (run || run.error().code != ErrorCode::would_block) return run;
  stream.wait(net::Stream::kReadable, timeout);
  return stream.try_read();
}

Result<std::string> read_text(net::Stream& stream, std::size_t size) {
  std::string text;
  while (text.size() < size) {
    const auto run = read_some(stream);
    if (!run) return run.error();
    if (run->empty()) return ErrorCode::peer_closed;
    text += as_text(*run);
    stream.consume(run->size());
  }
  return text;
}

}  // namespace xfer::test

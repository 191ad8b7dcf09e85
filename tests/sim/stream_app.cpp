#include "stream_app.hpp"

#include <algorithm>
#include <cstring>

namespace xfer::sim {

std::uint64_t StreamPattern::word(std::uint64_t index) const {
  std::uint64_t z = seed_ + (index + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  return z ^ (z >> 29U);
}

void StreamPattern::fill(std::uint64_t offset, MutByteView out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t at = offset + done;
    const std::uint64_t value = word(at / 8);
    const std::size_t skip = static_cast<std::size_t>(at % 8);
    const std::size_t count = std::min(8 - skip, out.size() - done);
    std::array<std::byte, 8> bytes{};
    std::memcpy(bytes.data(), &value, 8);
    std::memcpy(out.data() + done, bytes.data() + skip, count);
    done += count;
  }
  if (offset == 0 && !out.empty()) out[0] = static_cast<std::byte>(stream_);
}

bool StreamPattern::matches(std::uint64_t offset, ByteView bytes) const {
  std::array<std::byte, 1024> expected;
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), expected.size());
    fill(offset, MutByteView(expected).first(count));
    if (std::memcmp(expected.data(), bytes.data(), count) != 0) return false;
    offset += count;
    bytes = bytes.subspan(count);
  }
  return true;
}

void StreamApp::attach(udt::Connection& connection) {
  connection_ = &connection;
  id_ = connection.id();
  const CoreScope core(memory_);
  connection.set_source(ring_);
}

void StreamApp::on_event(const udt::Event& event, TimePoint now) {
  using Kind = udt::Event::Kind;
  if (ended()) return fail("an event came after the last one");
  if (!connected() && event.kind != Kind::incoming && event.kind != Kind::connected &&
      event.kind != Kind::failed && event.kind != Kind::closed)
    fail("an event came before the connection was reported");
  switch (event.kind) {
    case Kind::incoming:
    case Kind::connected:
      if (connected()) fail("connected twice");
      connected_at = now;
      break;
    case Kind::readable:
      readable_ = true;
      break;
    case Kind::acknowledged:
      writable_ = true;
      break;
    case Kind::error_signal:
      break;
    case Kind::peer_closed:
      if (peer_closed_at) fail("closed twice by the peer");
      peer_closed_at = now;
      readable_ = true;
      break;
    case Kind::closed:
    case Kind::failed: {
      ended_at = now;
      if (event.kind == Kind::failed || event.has_error) error = event.error;
      const std::uint64_t acked = connection_->acked_offset();
      if (acked < acked_) fail("acked_offset went back");
      acked_ = acked;
      last_stats = connection_->stats();
      break;
    }
  }
}

bool StreamApp::pump(TimePoint now) {
  if (connection_ == nullptr || !connected() || ended()) return false;
  bool called = write(now);
  called = read(now) || called;
  if (close_called_) return called;
  const bool all_written = ring_.published() == options.bytes_out;
  const bool drained = taken_.empty() && !readable_;
  const bool finished = options.closes ? all_written && consumed_ >= options.bytes_in
                                       : peer_closed_at.has_value() && drained;
  // A peer that closes early leaves nothing to wait for either.
  if (finished || (peer_closed_at.has_value() && drained)) {
    close_called_ = true;
    const CoreScope core(memory_);
    connection_->close(now);
    called = true;
  }
  return called;
}

bool StreamApp::write(TimePoint now) {
  bool called = false;
  if (writable_) {
    writable_ = false;
    const std::uint64_t acked = connection_->acked_offset();
    if (acked < acked_) fail("acked_offset went back");
    if (acked > ring_.published()) fail("bytes acknowledged that were never written");
    acked_ = acked;
    ring_.release(acked);
    if (acked == options.bytes_out && !acked_all_at) acked_all_at = now;
  }
  if (close_called_ || now < next_write_) return called;
  std::size_t budget = options.write_chunk;
  std::uint64_t end = ring_.published();
  while (budget > 0 && end < options.bytes_out) {
    MutByteView space = ring_.free_space();
    space = space.first(static_cast<std::size_t>(
        std::min<std::uint64_t>({space.size(), budget, options.bytes_out - end})));
    if (space.empty()) break;
    pattern_.fill(end, space);
    ring_.publish(space.size());
    end += space.size();
    budget -= space.size();
    called = true;
  }
  if (called) {
    const bool last = end == options.bytes_out;
    // A full ring may hold less than a packet: waiting for more would be waiting for ever.
    if (options.flush_always || last || ring_.free_space().empty()) offered_flush_ = end;
    const CoreScope core(memory_);
    connection_->offer(end, offered_flush_, now);
    if (options.write_pause.count() > 0 && !last) next_write_ = now + options.write_pause;
  }
  return called;
}

bool StreamApp::read(TimePoint now) {
  bool called = false;
  if (readable_ && !stopped(now)) {
    readable_ = false;
    const auto take = [this] {
      const CoreScope core(memory_);
      return connection_->take_readable();
    };
    while (const auto run = take()) {
      if (run->empty()) {
        fail("an empty run of bytes");
        break;
      }
      if (!stream_in_) stream_in_ = std::to_integer<std::uint8_t>(run->front());
      check_bytes(taken_end_, *run);
      taken_end_ += run->size();
      taken_.push_back(*run);
      called = true;
    }
  }
  if (taken_.empty() || stopped(now) || now < next_read_) return called;
  std::size_t budget = options.read_chunk;
  std::uint64_t consumed = 0;
  while (budget > 0 && !taken_.empty()) {
    ByteView& run = taken_.front();
    const std::size_t count = std::min(budget, run.size());
    // Slow readers look at the bytes twice: they must stay unchanged until they are consumed.
    if (options.read_pause.count() > 0) check_bytes(consumed_ + consumed, run.first(count));
    run = run.subspan(count);
    consumed += count;
    budget -= count;
    if (run.empty()) taken_.pop_front();
  }
  consumed_ += consumed;
  {
    const CoreScope core(memory_);
    connection_->consume(consumed, now);
  }
  if (consumed_ == options.bytes_in && !received_all_at) received_all_at = now;
  if (options.read_pause.count() > 0) next_read_ = now + options.read_pause;
  return true;
}

std::optional<TimePoint> StreamApp::next_wake(TimePoint now) const {
  if (connection_ == nullptr || !connected() || ended()) return std::nullopt;
  std::optional<TimePoint> wake;
  if (!close_called_ && ring_.published() < options.bytes_out && next_write_ > now)
    wake = next_write_;
  if (readable_ || !taken_.empty()) {
    TimePoint at = std::max(next_read_, now);
    for (const auto& stop : options.read_stops)
      if (at >= stop.begin && at < stop.end) at = stop.end;
    if (at > now) wake = earlier(wake, at);
  }
  return wake;
}

void StreamApp::abort(TimePoint now) {
  if (ended() || connection_ == nullptr) return;
  close_called_ = true;
  const CoreScope core(memory_);
  connection_->abort(now);
}

bool StreamApp::stopped(TimePoint now) const {
  return std::any_of(options.read_stops.begin(), options.read_stops.end(),
                     [now](const Interval& stop) { return now >= stop.begin && now < stop.end; });
}

void StreamApp::check_bytes(std::uint64_t offset, ByteView bytes) {
  if (options.verify && stream_in_ && !StreamPattern(run_seed_, *stream_in_).matches(offset, bytes))
    fail("received bytes differ from the ones sent");
}

void StreamApp::fail(const char* what) {
  if (failure_.empty()) failure_ = what;
}

}  // namespace xfer::sim

#include "transfer/link.hpp"

namespace xfer::transfer {
namespace {

/// How long a farewell may take to arrive.
constexpr Duration kHangUpTimeout = 1s;

}  // namespace

Result<void> Link::check() const {
  if (cancel_.stop_requested()) return ErrorCode::interrupted;
  return {};
}

Result<unsigned> Link::wait(unsigned interest, Duration limit) {
  XFER_TRY(check());
  const unsigned ready = stream_->wait(interest, limit);
  XFER_TRY(check());
  if (const std::uint64_t acked = stream_->acked_bytes(); acked != acked_) {
    acked_ = acked;
    progress();
  }
  if (ready == 0 && net::now() - last_progress_ >= timeout_) return ErrorCode::stalled;
  return ready;
}

Error Link::death() const {
  Error error{ErrorCode::peer_closed, 0, nullptr};
  static_cast<void>(stream_->failed(&error));
  return error;
}

void Link::hang_up() {
  stream_->finish();
  static_cast<void>(stream_->wait_closed(kHangUpTimeout).has_value());
  stream_->abort();
}

}  // namespace xfer::transfer

#include "udt/config.hpp"

namespace xfer::udt {
namespace {

Error out_of_range(const char* field) { return {ErrorCode::out_of_range, 0, field}; }

}  // namespace

Result<void> ConnectionConfig::validate() const {
  if (connect_timeout < 100ms || connect_timeout > 3600s) return out_of_range("connect_timeout");
  if (idle_timeout < 2s || idle_timeout > 24h) return out_of_range("idle_timeout");
  if (linger < 0s || linger > 3600s) return out_of_range("linger");
  if (mss < kMinMss || mss > kMaxMss) return out_of_range("mss");
  if (receive_window < kMinFlightWindow || receive_window > kMaxFlightWindow)
    return out_of_range("receive_window");
  if (send_window < kMinFlightWindow || send_window > kMaxFlightWindow)
    return out_of_range("send_window");
  if (nak_repeat_threshold < 1 || nak_repeat_threshold > 1000)
    return out_of_range("nak_repeat_threshold");
  if (duplicate_ack_threshold < 1 || duplicate_ack_threshold > 1000)
    return out_of_range("duplicate_ack_threshold");
  if (block_packets < 1 || block_packets > kMaxTrainSegments) return out_of_range("block_packets");
  if (max_memory < kMinMemory) return out_of_range("max_memory");
  if (max_mtu && (*max_mtu < kMinMss || *max_mtu > kMaxMss)) return out_of_range("max_mtu");
  if (max_rate && *max_rate < 1000) return out_of_range("max_rate");
  if (controller == ControllerKind::fixed_rate && !max_rate) return out_of_range("max_rate");
  return {};
}

Result<void> ListenConfig::validate() const {
  if (max_connections < 1) return out_of_range("max_connections");
  return connection.validate();
}

}  // namespace xfer::udt

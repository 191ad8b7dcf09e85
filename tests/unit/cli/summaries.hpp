#pragma once

#include "transfer/report.hpp"

namespace xfer::cli {

/// A session with a different figure in each field.
inline transfer::Summary sample_summary() {
  transfer::Summary s;
  s.role = transfer::Summary::Role::sender;
  s.session = 3;
  s.peer.family = SocketAddress::Family::ipv4;
  s.peer.port = 9000;
  s.peer.ip = {192, 0, 2, 1};
  s.files = 3;
  s.directories = 1;
  s.bytes = 1'073'741'824;
  s.elapsed = 1'230ms;
  s.goodput = 872'960'832;
  s.user_seconds = 0.4;
  s.system_seconds = 0.83;
  s.socket.receive_buffer = 12U << 20U;
  s.socket.send_buffer = 12U << 20U;
  s.connection.packets_sent = 737'400;
  s.connection.packets_retransmitted = 12;
  s.connection.packets_received = 700'000;
  s.connection.packets_lost = 7000;
  s.connection.rtt = 310us;
  s.connection.min_rtt = 290us;
  s.connection.nak_repeats = 21;
  s.connection.dupack_retransmits = 22;
  s.connection.spurious_retransmits = 23;
  s.connection.probes_sent = 24;
  s.connection.exp_fired = 25;
  s.connection.payload_copies = 26;
  s.calls = {31, 32, 32 * 11'648};
  s.socket.segmenting = true;
  s.socket.trains_segmented = 41;
  s.socket.send_calls = 42;
  s.socket.receive_calls = 43;
  s.socket.send_blocked = 44;
  s.socket.send_no_buffers = 1;
  s.socket.send_too_big = 46;
  s.socket.send_failed = 47;
  return s;
}

}  // namespace xfer::cli

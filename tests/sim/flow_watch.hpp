#pragma once

#include <optional>
#include <string>
#include <vector>

#include "link.hpp"
#include "wire/control.hpp"
#include "wire/handshake.hpp"

namespace xfer::sim {

/// Watches one endpoint from outside, by its packets alone, and checks that a stock peer could live
/// with what it sends: rules I-2, I-7, I-9, I-10, I-20, I-22, the flow window, and that it
/// acknowledges nothing it does not have.
class FlowWatch {
 public:
  /// `mss`: the longest IP packet the endpoint may send, headers included.
  explicit FlowWatch(std::uint32_t mss) : mss_(mss) {}

  /// The endpoint sends a datagram.
  void sent(ByteView datagram, const SocketAddress& to);
  /// The endpoint is given a datagram.
  void received(ByteView datagram, const SocketAddress& from);
  /// The first rule that was broken; empty: none.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  /// One connection. Packet indices count from the initial sequence number of their direction.
  struct Flow {
    SocketAddress peer;
    std::uint32_t local_id = 0;
    std::uint32_t peer_id = 0;
    // What the peer said.
    std::uint32_t peer_isn = 0;
    std::uint32_t peer_window = 0;
    std::uint32_t peer_mss = 0;
    // What we said.
    std::uint32_t own_isn = 0;
    std::uint32_t own_window = 0;
    // What both said they can, in the answer that completed the connection.
    std::uint32_t capabilities = 0;
    std::uint32_t max_packet = 0;
    // Data out.
    std::int64_t next_new = 0;    ///< one past the newest packet sent
    std::int64_t acked = 0;       ///< the peer's newest ACK
    std::int64_t window_end = 0;  ///< highest end of a window the peer ever opened
    std::vector<std::uint16_t> lengths;
    // Data in.
    std::vector<bool> have;
    std::int64_t prefix = 0;    ///< everything before it was received
    std::int64_t acked_in = 0;  ///< newest ACK sent
    std::int64_t newest_in = -1;
    std::uint32_t ack_number = 0;
  };
  /// A handshake that was received, until the connection's own ID is known.
  struct Caller {
    SocketAddress peer;
    wire::Handshake body;
  };

  void handshake_sent(const wire::Handshake& body, std::uint32_t destination,
                      const SocketAddress& to);
  void handshake_received(const wire::Handshake& body, std::uint32_t destination,
                          const SocketAddress& from);
  void open(const SocketAddress& peer, std::uint32_t local_id);
  void agree(const SocketAddress& peer, std::uint32_t local_id, const wire::Handshake& answer);
  [[nodiscard]] bool may_carry_block(const wire::Handshake& body, std::uint32_t destination) const;
  void data_sent(Flow& flow, const wire::DataHeader& header, std::size_t length);
  void ack_sent(Flow& flow, std::uint32_t number, ByteView body);
  void nak_sent(const Flow& flow, ByteView body);
  Flow* by_peer_id(const SocketAddress& peer, std::uint32_t id);
  Flow* by_local_id(const SocketAddress& peer, std::uint32_t id);
  void fail(const char* what);

  std::uint32_t mss_;
  std::vector<Flow> flows_;
  std::vector<Caller> callers_;             ///< by (peer, its ID)
  std::vector<wire::Handshake> own_;        ///< newest handshake of each own ID
  std::vector<std::uint32_t> block_shown_;  ///< socket IDs in handshakes received with a block
  std::string failure_;
};

}  // namespace xfer::sim

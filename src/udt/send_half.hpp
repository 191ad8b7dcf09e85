#pragma once

#include <memory>
#include <utility>

#include "base/byte_source.hpp"
#include "base/interval_set.hpp"
#include "udt/cc/controller.hpp"
#include "udt/pacer.hpp"
#include "udt/rtt_estimator.hpp"
#include "udt/sent_packets.hpp"
#include "udt/stats.hpp"
#include "udt/tracer.hpp"
#include "udt/transmit.hpp"
#include "wire/control.hpp"

namespace xfer::udt {

/// The sending direction of a connection: cuts the stream into packets, decides which leaves when,
/// repairs losses. Pure; the connection calls it and sends what it builds.
class SendHalf {
 public:
  struct Setup {
    wire::SeqNo isn;              ///< of our direction
    wire::SocketId destination;   ///< the peer's socket ID
    std::uint32_t payload_size;   ///< of a full packet
    std::uint32_t peer_window;    ///< announced in the peer's handshake, packets
    std::uint32_t max_flight;     ///< our own ceiling, packets
    bool growing_window = false;  ///< ACKs may open more than `peer_window`
    bool recovery;                ///< ConnectionConfig::audt_recovery
    std::uint32_t duplicate_ack_threshold;
    TimePoint opened;  ///< origin of the time stamps in data packets
  };

  /// `rtt`, `stats` and `tracer` are shared with the connection and must outlive this.
  SendHalf(const Setup& setup, std::unique_ptr<Controller> controller, RttEstimator& rtt,
           ConnectionStats& stats, const Tracer& tracer);

  // The application's side.

  void set_source(const ByteSource& source) { source_ = &source; }
  void offer(std::uint64_t end, std::uint64_t flush, TimePoint now);
  [[nodiscard]] std::uint64_t acked_offset() const { return acked_offset_; }
  [[nodiscard]] std::uint64_t sent_offset() const { return packetized_; }
  /// Bytes offered were all acknowledged, by an ACK that also tells a stock peer's application
  /// (rule I-21).
  [[nodiscard]] bool all_acknowledged() const {
    return acked_offset_ == offered_ && firmly_acked_ == packets_.end();
  }

  // Handle.

  /// `number` is the ACK's sub-sequence number. The caller answers with ACK2.
  void handle_ack(wire::AckNo number, const wire::AckBody& body, TimePoint now);
  void handle_nak(ByteView body, TimePoint now);
  void handle_timeout(TimePoint now);
  /// Something arrived from the peer: it is alive.
  void on_heard() { heard_since_probe_ = true; }
  /// From now on full packets hold `payload` bytes, and those of more than `unfragmented` bytes may
  /// be fragmented.
  void set_packet_size(std::uint32_t payload, std::uint32_t unfragmented);
  /// Nothing gets through: a second probe is out, and it is not the window that is closed.
  [[nodiscard]] bool stuck() const { return probes_ >= 2 && !peer_full(); }
  /// Payload of the largest packet acknowledged since the last call that could not be fragmented.
  std::uint32_t take_delivered() { return std::exchange(delivered_, 0); }

  // Poll.

  /// Appends due data packets to a train of at most `max_segments`; returns how many. All but the
  /// last are `size` bytes long (header included), which is set.
  /// `may_fragment` is set to what all of them have in common.
  std::size_t poll_train(TimePoint now, TrainBuffer& out, std::size_t max_segments,
                         std::size_t& size, bool& may_fragment);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

  void fill_stats(ConnectionStats& stats) const;

 private:
  struct Choice {
    PacketIndex index;
    std::uint32_t size;
    bool retransmission;
  };

  /// The packet to send next, if any may be sent apart from pacing.
  [[nodiscard]] std::optional<Choice> choose() const;
  [[nodiscard]] std::uint32_t next_new_size() const;
  [[nodiscard]] bool second_of_pair(const Choice& choice) const;
  [[nodiscard]] bool measures_capacity(const Choice& choice, TimePoint now) const;
  [[nodiscard]] bool asks_for_ack(const Choice& choice, TimePoint now) const;
  void write_packet(const Choice& choice, TimePoint now, TrainBuffer& out, std::size_t at);
  /// Packets on their way, as far as is known.
  [[nodiscard]] std::uint32_t pipe() const;
  /// What is in flight, in the controller's way of counting.
  [[nodiscard]] std::uint32_t counted_flight() const;
  /// Packets are to be sent again; returns how many were not to be before.
  std::uint64_t mark_lost(PacketIndex begin, PacketIndex end);
  Controller::Delivery note_delivery(const wire::AckBody& body, PacketIndex next, TimePoint now);
  void take_sample(const SentPackets::Record& packet, TimePoint now, Controller::Delivery& result);
  void note_report(const wire::DeliveryReport& report, bool full, TimePoint now);
  void count_duplicate_ack(PacketIndex next, PacketIndex newly_acked, TimePoint now);
  void advance(PacketIndex next, TimePoint now);
  /// The peer has room for no more than a stock sender may always send.
  [[nodiscard]] bool peer_full() const {
    return window_end_ - packets_.begin() <= PacketIndex{kWindowReserve};
  }
  void arm_probe(TimePoint now);
  void on_probe_timer(TimePoint now);
  void send_probe(TimePoint now, PacketIndex count);
  void trace_rate(TimePoint now);

  SeqMapper mapper_;
  wire::SocketId destination_;
  std::uint32_t payload_size_;
  std::uint32_t unfragmented_;     ///< largest payload that is sent with "don't fragment"
  std::uint32_t delivered_ = 0;    ///< see take_delivered()
  std::uint32_t max_peer_window_;  ///< ACKs may not open more, packets
  std::uint32_t max_flight_;
  bool recovery_;
  std::uint32_t duplicate_ack_threshold_;
  TimePoint opened_;
  std::unique_ptr<Controller> controller_;
  RttEstimator& rtt_;
  ConnectionStats& stats_;
  const Tracer& tracer_;

  const ByteSource* source_ = nullptr;
  std::uint64_t offered_ = 0;     ///< end of the stream as far as the application wrote it
  std::uint64_t flush_ = 0;       ///< below: send without waiting for a full packet
  std::uint64_t packetized_ = 0;  ///< bytes cut into packets so far
  std::uint64_t acked_offset_ = 0;

  SentPackets packets_;  ///< in flight
  DeliveryMeter delivery_;
  std::uint32_t reported_received_ = 0;    ///< of the newest delivery report
  std::uint32_t reported_duplicates_ = 0;  ///< same
  PacketIndex reported_end_ = 0;           ///< same
  bool reports_ = false;                   ///< the peer sends them
  IntervalSet loss_list_;                  ///< of those, to be sent again
  PacketIndex window_end_;                 ///< first packet the peer has no room for
  PacketIndex firmly_acked_ = 0;           ///< highest number of a non-light ACK
  std::optional<wire::AckNo> last_number_;
  unsigned duplicate_acks_ = 0;  ///< equal numbers in a row
  bool cwnd_limited_ = false;
  bool pair_open_ = false;               ///< the last packet was the new first one of a pair
  std::optional<TimePoint> last_asked_;  ///< when a packet was last made short to draw an ACK
  bool pair_measured_ = false;           ///< the last packet was the first of a pair and left alone
  std::optional<TimePoint> last_measured_;  ///< when a packet of a pair last left alone
  Pacer pacer_;

  std::optional<TimePoint> probe_timer_;
  unsigned probes_ = 0;          ///< since the last progress
  PacketIndex probed_from_ = 0;  ///< [from, to) were the oldest packets when probes sent them again
  PacketIndex probed_to_ = 0;    ///< from == to: every probe is answered
  bool heard_since_probe_ = true;
};

}  // namespace xfer::udt

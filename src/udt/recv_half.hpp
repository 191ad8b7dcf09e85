#pragma once

#include "base/byte_writer.hpp"
#include "udt/ack_history.hpp"
#include "udt/arrival_window.hpp"
#include "udt/hole_list.hpp"
#include "udt/recv_buffer.hpp"
#include "udt/rtt_estimator.hpp"
#include "udt/stats.hpp"
#include "udt/tracer.hpp"
#include "udt/transmit.hpp"
#include "wire/control.hpp"
#include "wire/packet.hpp"

namespace xfer::udt {

/// The receiving direction of a connection: what has arrived, what is missing, which ACKs and NAKs
/// are due. Pure; the connection calls it and sends what it builds.
class RecvHalf {
 public:
  struct Setup {
    wire::SeqNo isn;                ///< of the peer's direction
    std::uint32_t window;           ///< packets announced to the peer; kWindowReserve more are kept
    std::uint32_t max_window;       ///< what it may grow to, packets
    std::uint32_t payload_size;     ///< of a full packet as agreed, bytes
    std::uint32_t largest_payload;  ///< of any packet, bytes
    std::uint32_t block_packets;    ///< ConnectionConfig::block_packets
    bool varying;                   ///< the sender may change the size of its packets
    bool reports;                   ///< ACKs carry a delivery report
    bool recovery;                  ///< ConnectionConfig::audt_recovery
    std::uint32_t nak_repeat_threshold;
  };

  /// `rtt`, `stats` and `tracer` are shared with the connection and must outlive this.
  RecvHalf(const Setup& setup, RttEstimator& rtt, ConnectionStats& stats, const Tracer& tracer);

  // Handle.

  void handle_data(wire::SeqNo seq, ByteView payload, TimePoint now, TimePoint arrival);
  /// A packet of that payload got through: the sender may use them from now on.
  void expect_payload(std::uint32_t size) { full_payload_ = size; }
  void handle_ack2(wire::AckNo number, TimePoint now);
  void handle_timeout(TimePoint now);

  /// See ReceiveUnits.
  std::size_t lend(std::span<MutByteView> rooms) { return units_.lend(rooms); }
  void end_loan() { units_.end_loan(); }

  // The application's side.

  std::optional<ByteView> take_readable() { return buffer_.take(); }
  [[nodiscard]] bool has_readable() const { return buffer_.taken() < buffer_.contiguous(); }
  void consume(std::uint64_t bytes, TimePoint now);

  // Poll: control packets that are due now.

  struct Ack {
    wire::AckNo number;  ///< 0 in a light ACK
    wire::AckBody body;
  };
  std::optional<Ack> poll_ack(TimePoint now);
  /// Makes an ACK due if something is not acknowledged: the last chance before a shutdown.
  void acknowledge_rest() {
    if (ack_value() > last_ack_) ack_due_ = Due::regular;
  }
  /// Writes the ranges to report into `out`; false if there are none. Call until false.
  bool poll_nak(TimePoint now, ByteWriter& out);
  [[nodiscard]] bool wants_transmit() const { return ack_due_ != Due::none || nak_due_; }
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

  [[nodiscard]] std::uint32_t arrival_rate() const { return arrival_rate_.packets_per_second(); }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_.packets_per_second(); }
  [[nodiscard]] const RecvBuffer& buffer() const { return buffer_; }
  [[nodiscard]] std::uint32_t window() const { return window_; }

 private:
  enum class Due : std::uint8_t { none, light, regular };

  void grow_window(TimePoint now);
  [[nodiscard]] bool is_full(std::size_t payload) const;
  [[nodiscard]] PacketIndex window_end() const { return buffer_.base() + window_; }
  [[nodiscard]] PacketIndex ack_value() const {
    return std::min(buffer_.contiguous(), window_end());
  }
  void count_standstill();
  void note_reordering(const HoleList::Hole& hole, TimePoint now);
  [[nodiscard]] Duration nak_tick() const;
  [[nodiscard]] bool report_due(const HoleList::Hole& hole, TimePoint now) const;
  void add_report(Ack& ack, TimePoint now);
  void on_ack_timer(TimePoint now);
  void on_nak_timer(TimePoint now);
  [[nodiscard]] Duration nak_interval(std::uint32_t naks) const;
  void arm_ack_timer(TimePoint at);

  SeqMapper mapper_;
  std::uint32_t window_;
  std::uint32_t max_window_;
  std::uint32_t payload_size_;
  std::uint32_t largest_payload_;
  std::uint32_t full_payload_;  ///< of a full packet as the sender makes them now
  bool varying_;
  bool reports_;
  bool recovery_;
  std::uint32_t nak_repeat_threshold_;
  RttEstimator& rtt_;
  ConnectionStats& stats_;
  const Tracer& tracer_;
  UnitPool units_;
  RecvBuffer buffer_;
  HoleList holes_;
  AckHistory history_;
  ArrivalRate arrival_rate_;
  LinkCapacity capacity_;

  TimePoint window_measured_at_{};        ///< when grow_window() last looked
  PacketIndex window_measured_from_ = 0;  ///< newest packet then
  std::optional<Duration> shortest_rtt_;

  Due ack_due_ = Due::none;
  bool nak_due_ = false;
  Duration reorder_window_{};         ///< how late packets come that are not lost
  PacketIndex last_opportunity_ = 0;  ///< ACK number at the last ACK opportunity
  std::uint32_t standstills_ = 0;     ///< opportunities since then with the same number
  std::uint32_t received_ = 0;        ///< different packets so far, modulo 2^32
  std::uint32_t last_reported_ = 0;   ///< received_ in the last report
  TimePoint newest_arrival_{};        ///< of the packet below buffer_.end()
  bool repeat_ack_ = false;  ///< the peer sends what it has sent before: it may have missed our ACK
  wire::AckNo last_number_;  ///< sub-sequence number of the last non-light ACK; the first is 1
  PacketIndex last_ack_ = 0;         ///< number in it
  PacketIndex last_window_end_ = 0;  ///< last_ack_ plus the window it advertised
  PacketIndex confirmed_ = 0;        ///< highest number confirmed by ACK2
  std::optional<TimePoint> last_ack_time_;
  std::optional<TimePoint> last_full_ack_time_;
  std::optional<TimePoint> ack_timer_;
  std::optional<TimePoint> nak_timer_;
  std::uint32_t packets_since_ack_ = 0;
  std::uint32_t light_ack_interval_ = kLightAckInterval;  ///< packets from one to the next
  std::uint32_t light_acks_since_ack_ = 0;
};

}  // namespace xfer::udt

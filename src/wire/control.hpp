#pragma once

#include <optional>

#include "base/byte_writer.hpp"
#include "base/bytes.hpp"
#include "base/result.hpp"
#include "wire/seqno.hpp"

namespace xfer::wire {

/// Body of the packets that have none in the draft and one zero word in stock UDT4 (keep-alive,
/// congestion warning, shutdown, ACK2, error signal). We send the word and accept anything (rule
/// I-14).
inline constexpr std::size_t kPaddingSize = 4;
void encode_padding(ByteWriter& out);

/// What has arrived in all, holes or not: an extension of ACKs between two peers that agreed on it.
/// A cumulative number alone says little while a hole is open, and a sender that models the path
/// needs to know what the path delivers.
struct DeliveryReport {
  std::uint32_t received = 0;  ///< different packets received so far, modulo 2^32
  SeqNo end;                   ///< one past the newest packet received
  /// In full ACKs only: packets received that were there already, modulo 2^32.
  std::uint32_t duplicates = 0;
  /// In full ACKs only: since the newest packet arrived, microseconds.
  std::uint32_t delay_us = 0;

  friend bool operator==(const DeliveryReport&, const DeliveryReport&) = default;
};

/// Body of an ACK (wire facts, 3.1). Its length is its kind.
struct AckBody {
  enum class Kind : std::uint8_t {
    light,    ///< 4 bytes: `next` only, 12 with a report; never answered by ACK2
    partial,  ///< 16 bytes: up to `window`; without report
    full,     ///< 24 bytes, 40 with a report
  };

  Kind kind = Kind::light;
  SeqNo next;                      ///< everything before it has been received
  std::uint32_t rtt_us = 0;        ///< microseconds
  std::uint32_t rtt_var_us = 0;    ///< microseconds
  std::uint32_t window = 0;        ///< free receive buffer, packets
  std::uint32_t arrival_rate = 0;  ///< packets/s, 0 = unknown
  std::uint32_t capacity = 0;  ///< estimated link capacity, packets/s, 0 or top bit set = unknown
  std::optional<DeliveryReport> report{};

  friend bool operator==(const AckBody&, const AckBody&) = default;
};

/// Decodes an ACK body: 4 bytes are a light ACK, 12 one with a report, 16 to 20 partial, 24 and
/// more full (rule I-7), 40 and more with a report.
///   ErrorCode::truncated  fewer than 4 bytes
///   ErrorCode::malformed  any other length, or a number with the top bit set: ignore the
///   packet.
Result<AckBody> decode_ack(ByteView body);
void encode(const AckBody& ack, ByteWriter& out);

/// Body of a message-drop request (wire facts, section 12). Parsed so that it can be refused; never
/// sent on streams.
struct MessageDropBody {
  SeqNo first;
  SeqNo last;  ///< inclusive

  friend bool operator==(const MessageDropBody&, const MessageDropBody&) = default;
};

///   ErrorCode::truncated  fewer than 8 bytes
///   ErrorCode::malformed  a number with the top bit set, or a reversed range
Result<MessageDropBody> decode_message_drop(ByteView body);
void encode(const MessageDropBody& drop, ByteWriter& out);

}  // namespace xfer::wire

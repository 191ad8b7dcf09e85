#include "wire/control.hpp"

#include "base/byte_reader.hpp"

namespace xfer::wire {
namespace {
constexpr std::size_t kLightSize = 4;
constexpr std::size_t kLightReportSize = 12;
constexpr std::size_t kPartialSize = 16;
constexpr std::size_t kFullSize = 24;
constexpr std::size_t kFullReportSize = 40;

std::optional<DeliveryReport> read_report(ByteReader& in) {
  DeliveryReport report;
  report.received = in.u32();
  const std::uint32_t end = in.u32();
  if (end > SeqNo::kMax) return std::nullopt;
  report.end = SeqNo(end);
  return report;
}

void write_report(const DeliveryReport& report, ByteWriter& out) {
  out.u32(report.received);
  out.u32(report.end.value());
}

}  // namespace

void encode_padding(ByteWriter& out) { out.u32(0); }

Result<AckBody> decode_ack(ByteView body) {
  if (body.size() < kLightSize) return ErrorCode::truncated;
  if (body.size() != kLightSize && body.size() != kLightReportSize && body.size() < kPartialSize)
    return ErrorCode::malformed;

  ByteReader in(body);
  AckBody ack;
  const std::uint32_t next = in.u32();
  if (next > SeqNo::kMax) return ErrorCode::malformed;
  ack.next = SeqNo(next);
  if (body.size() == kLightSize) return ack;
  if (body.size() == kLightReportSize) {
    ack.report = read_report(in);
    if (!ack.report) return ErrorCode::malformed;
    return ack;
  }

  ack.kind = AckBody::Kind::partial;
  ack.rtt_us = in.u32();
  ack.rtt_var_us = in.u32();
  ack.window = in.u32();
  if (body.size() < kFullSize) return ack;

  ack.kind = AckBody::Kind::full;
  ack.arrival_rate = in.u32();
  ack.capacity = in.u32();
  if (body.size() < kFullReportSize) return ack;

  ack.report = read_report(in);
  if (!ack.report) return ack;  // whatever it is, it is not ours
  ack.report->duplicates = in.u32();
  ack.report->delay_us = in.u32();
  return ack;
}

void encode(const AckBody& ack, ByteWriter& out) {
  out.u32(ack.next.value());
  if (ack.kind == AckBody::Kind::light) {
    if (ack.report) write_report(*ack.report, out);
    return;
  }
  out.u32(ack.rtt_us);
  out.u32(ack.rtt_var_us);
  out.u32(ack.window);
  if (ack.kind == AckBody::Kind::partial) return;
  out.u32(ack.arrival_rate);
  out.u32(ack.capacity);
  if (!ack.report) return;
  write_report(*ack.report, out);
  out.u32(ack.report->duplicates);
  out.u32(ack.report->delay_us);
}

Result<MessageDropBody> decode_message_drop(ByteView body) {
  ByteReader in(body);
  const std::uint32_t first = in.u32();
  const std::uint32_t last = in.u32();
  if (!in.ok()) return ErrorCode::truncated;
  if (first > SeqNo::kMax || last > SeqNo::kMax) return ErrorCode::malformed;
  if (SeqNo::distance(SeqNo(first), SeqNo(last)) < 0) return ErrorCode::malformed;
  return MessageDropBody{SeqNo(first), SeqNo(last)};
}

void encode(const MessageDropBody& drop, ByteWriter& out) {
  out.u32(drop.first.value());
  out.u32(drop.last.value());
}

}  // namespace xfer::wire

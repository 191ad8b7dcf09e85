#include "cli/report.hpp"

#include <fmt/format.h>

#include "cli/text.hpp"
#include "net/address.hpp"

namespace xfer::cli {
namespace {

using transfer::Summary;

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", format_count(count), count == 1 ? one : many);
}

std::string what_was_moved(const Summary& s) {
  const bool sender = s.role == Summary::Role::sender;
  std::string text = s.error ? "NOT COMPLETE: " : "";
  text += sender ? "sent " : "received ";
  if (!s.raw) {
    text += counted(s.files, "file", "files");
    if (s.directories > 0) text += " and " + counted(s.directories, "directory", "directories");
    text += ", ";
  }
  text += format_bytes(s.bytes);
  if (s.bytes >= 1000) text += fmt::format(" ({} bytes)", format_count(s.bytes));
  text += fmt::format(", {} {} in {}", sender ? "to" : "from", net::to_string(s.peer),
                      format_duration(s.elapsed));
  if (s.bytes > 0)
    text += fmt::format(": {} ({}/s)", format_bit_rate(s.goodput * 8),
                        format_bytes(static_cast<std::uint64_t>(s.goodput)));
  return text;
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  if (part == 0 || whole == 0) return "";
  return fmt::format(" ({:.2g} %)", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string packets(const Summary& s) {
  const udt::ConnectionStats& c = s.connection;
  std::string text = "packets: ";
  if (s.role == Summary::Role::sender) {
    text += fmt::format("{} sent, {} retransmitted{}", format_count(c.packets_sent),
                        format_count(c.packets_retransmitted),
                        share(c.packets_retransmitted, c.packets_sent));
  } else {
    text += fmt::format("{} received, {} lost{}", format_count(c.packets_received),
                        format_count(c.packets_lost), share(c.packets_lost, c.packets_received));
    if (s.socket.kernel_drops > 0)
      text += fmt::format(", of these {} for want of socket buffer",
                          format_count(s.socket.kernel_drops));
  }
  return text + "; round-trip time " + format_duration(c.rtt);
}

std::string cpu(const Summary& s) {
  std::string text =
      fmt::format("CPU: {:.2f} s user, {:.2f} s system", s.user_seconds, s.system_seconds);
  const double elapsed = to_seconds(s.elapsed);
  if (elapsed > 0.1)
    text +=
        fmt::format(" ({:.0f} % of one core)", 100 * (s.user_seconds + s.system_seconds) / elapsed);
  return text;
}

std::string protocol(const Summary& s) {
  const udt::ConnectionStats& c = s.connection;
  return fmt::format(
      "protocol: {} ACKs and {} NAKs sent, {} and {} received; {} duplicates; round-trip time at "
      "least {}, varies by {}",
      format_count(c.acks_sent + c.light_acks_sent), format_count(c.naks_sent),
      format_count(c.acks_received + c.light_acks_received), format_count(c.naks_received),
      format_count(c.packets_duplicate), format_duration(c.min_rtt), format_duration(c.rtt_var));
}

std::string repair(const Summary& s) {
  const udt::ConnectionStats& c = s.connection;
  return fmt::format(
      "repair: {} losses reported again; {} packets sent again for equal ACKs, {} packets sent "
      "again in vain; {} probes, {} time-outs",
      format_count(c.nak_repeats), format_count(c.dupack_retransmits),
      format_count(c.spurious_retransmits), format_count(c.probes_sent), format_count(c.exp_fired));
}

std::string files(const Summary& s) {
  if (s.role == Summary::Role::sender)
    return fmt::format("files: {} reads", format_count(s.calls.reads));
  std::string text = "files: " + counted(s.calls.writes, "write", "writes");
  if (s.calls.writes > 0)
    text += fmt::format(" of {} on average", format_bytes(s.calls.bytes_written / s.calls.writes));
  return text +
         fmt::format("; {} packets copied on the way", format_count(s.connection.payload_copies));
}

std::string gso(const net::SocketStats& socket) {
  if (socket.gso_in_use()) return "GSO on";
  if (socket.trains_segmented == 0) return "GSO off";
  return fmt::format("GSO given up after {} trains", format_count(socket.trains_segmented));
}

std::string system(const net::SocketStats& socket) {
  return fmt::format("system: {}, GRO {}; {} send and {} receive calls; {} packets dropped",
                     gso(socket), socket.coalescing ? "on" : "off", format_count(socket.send_calls),
                     format_count(socket.receive_calls), format_count(socket.kernel_drops));
}

}  // namespace

std::vector<std::string> report_lines(const Summary& summary, bool verbose) {
  std::vector<std::string> lines{what_was_moved(summary)};
  if (summary.failed > 0) lines.push_back("failed: " + counted(summary.failed, "entry", "entries"));
  if (summary.skipped > 0)
    lines.push_back("skipped: " + counted(summary.skipped, "entry", "entries"));
  lines.push_back(packets(summary));
  lines.push_back(cpu(summary));
  if (verbose) {
    lines.push_back(protocol(summary));
    lines.push_back(repair(summary));
    lines.push_back(files(summary));
    lines.push_back(system(summary.socket));
  }
  lines.push_back(fmt::format("socket buffers: {} to receive, {} to send",
                              format_memory(summary.socket.receive_buffer),
                              format_memory(summary.socket.send_buffer)));
  return lines;
}

std::optional<std::string> socket_buffer_hint(const Summary& summary, std::size_t wanted) {
  const std::size_t granted = summary.socket.send_buffer;
  if (summary.role != Summary::Role::sender || granted == 0 || granted >= wanted)
    return std::nullopt;
  return fmt::format(
      "hint: this system limits the send buffer to less than the {} asked for; at high speed that "
      "costs time. To allow it: sysctl -w net.core.wmem_max={}",
      format_memory(wanted), wanted);
}

}  // namespace xfer::cli

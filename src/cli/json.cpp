#include "cli/json.hpp"

#include <nlohmann/json.hpp>

#include "file/printable.hpp"
#include "net/resolve.hpp"

namespace xfer::cli::json {
namespace {

using Object = nlohmann::ordered_json;

constexpr int kVersion = 1;

Object event(const char* name) { return {{"v", kVersion}, {"event", name}}; }

std::string dump(const Object& object) {
  return object.dump(-1, ' ', /*ensure_ascii=*/true, Object::error_handler_t::replace);
}

Object start_of(const char* command, bool raw) {
  Object object = event("start");
  object["program"] = "xfer " XFER_VERSION;
  object["command"] = command;
  object["mode"] = "plain";
  object["raw"] = raw;
  return object;
}

std::string host_port(const net::HostPort& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return (ipv6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

void put_error(Object& object, const Error& error) {
  object["error"] = error_name(error.code);
  object["exit"] = exit_code(error.code);
  object["errno"] = error.sys_errno;
}

void put_packets(Object& object, const udt::ConnectionStats& c) {
  object["packets_sent"] = c.packets_sent;
  object["packets_retransmitted"] = c.packets_retransmitted;
  object["packets_received"] = c.packets_received;
  object["packets_lost"] = c.packets_lost;
  object["rtt_us"] = to_us(c.rtt);
}

std::uint64_t bytes_per_write(const transfer::FileCalls& calls) {
  return calls.writes == 0 ? 0 : calls.bytes_written / calls.writes;
}

void put_socket(Object& object, const net::SocketStats& s) {
  object["socket_drops"] = s.kernel_drops;
  object["socket_receive_buffer"] = s.receive_buffer;
  object["socket_send_buffer"] = s.send_buffer;
  object["gso"] = s.gso_in_use();
  object["gro"] = s.coalescing;
  object["gso_trains"] = s.trains_segmented;
  object["send_calls"] = s.send_calls;
  object["receive_calls"] = s.receive_calls;
  object["send_blocked"] = s.send_blocked + s.send_no_buffers;
  object["send_too_big"] = s.send_too_big;
  object["send_failed"] = s.send_failed;
  object["fragmenting"] = s.fragmenting;
}

}  // namespace

std::string start(const SendCommand& command) {
  Object object = start_of("send", command.job.raw);
  object["sources"] = Object::array();
  for (const std::string& source : command.job.sources)
    object["sources"].push_back(file::printable(source));
  object["destination"] = file::printable(host_port(command.job.destination));
  return dump(object);
}

std::string start(const RecvCommand& command, const SocketAddress& local) {
  Object object = start_of("recv", command.job.raw);
  object["listen"] = net::to_string(local);
  object["port"] = local.port;
  object["target"] =
      file::printable(command.job.raw ? command.job.raw_target : command.job.directory);
  object["once"] = command.job.once;
  return dump(object);
}

std::string connected(transfer::SessionId session, const SocketAddress& peer) {
  Object object = event("connected");
  object["session"] = session;
  object["peer"] = net::to_string(peer);
  return dump(object);
}

std::string progress(const transfer::Progress& progress) {
  Object object = event("progress");
  object["session"] = progress.session;
  object["elapsed_s"] = to_seconds(progress.elapsed);
  object["files"] = progress.files_done;
  object["bytes"] = progress.bytes_done;
  object["bytes_total"] = progress.total_known ? Object(progress.bytes_total) : Object(nullptr);
  object["bytes_per_s"] = progress.rate;
  object["name"] = file::printable(progress.name);
  put_packets(object, progress.connection);
  return dump(object);
}

std::string file(const transfer::EntryResult& entry) {
  Object object = event("file");
  object["session"] = entry.session;
  object["kind"] = entry.kind == transfer::EntryResult::Kind::file ? "file" : "directory";
  object["name"] = file::printable(entry.name);
  object["bytes"] = entry.bytes;
  object["ok"] = entry.ok;
  if (!entry.ok) {
    put_error(object, entry.error);
    object["text"] = entry.text;
    object["by_peer"] = entry.by_peer;
  }
  return dump(object);
}

std::string warning(transfer::SessionId session, std::string_view text) {
  Object object = event("warning");
  object["session"] = session;
  object["text"] = text;
  return dump(object);
}

std::string error(const transfer::Failure& failure) {
  Object object = event("error");
  object["session"] = failure.session;
  put_error(object, failure.error);
  object["text"] = failure.line;
  return dump(object);
}

std::string summary(const transfer::Summary& summary) {
  Object object = event("summary");
  object["session"] = summary.session;
  object["role"] = summary.role == transfer::Summary::Role::sender ? "sender" : "receiver";
  object["peer"] = net::to_string(summary.peer);
  object["ok"] = !summary.error;
  if (summary.error) put_error(object, *summary.error);
  object["files"] = summary.files;
  object["directories"] = summary.directories;
  object["failed"] = summary.failed;
  object["skipped"] = summary.skipped;
  object["bytes"] = summary.bytes;
  object["elapsed_s"] = to_seconds(summary.elapsed);
  object["bytes_per_s"] = summary.goodput;
  object["cpu_user_s"] = summary.user_seconds;
  object["cpu_system_s"] = summary.system_seconds;
  put_packets(object, summary.connection);
  const udt::ConnectionStats& c = summary.connection;
  object["packets_duplicate"] = c.packets_duplicate;
  object["acks_sent"] = c.acks_sent + c.light_acks_sent;
  object["acks_received"] = c.acks_received + c.light_acks_received;
  object["naks_sent"] = c.naks_sent;
  object["naks_received"] = c.naks_received;
  object["nak_repeats"] = c.nak_repeats;
  object["dupack_retransmits"] = c.dupack_retransmits;
  object["spurious_retransmits"] = c.spurious_retransmits;
  object["probes_sent"] = c.probes_sent;
  object["exp_fired"] = c.exp_fired;
  object["timeouts"] = c.exp_fired;
  object["rtt_var_us"] = to_us(c.rtt_var);
  object["rtt_min_us"] = to_us(c.min_rtt);
  object["payload_copies"] = c.payload_copies;
  object["file_reads"] = summary.calls.reads;
  object["file_writes"] = summary.calls.writes;
  object["bytes_per_write"] = bytes_per_write(summary.calls);
  put_socket(object, summary.socket);
  return dump(object);
}

}  // namespace xfer::cli::json

#include "interop/pair.hpp"

namespace xfer::interop {
namespace {

/// Programs get a little less time than we wait, so that they can say that they ran out of it.
constexpr Duration kGrace = 2s;

std::vector<std::string> command(const Side& side, const Side& other, const char* role,
                                 bool close_last, std::uint64_t seed, const PairOptions& options) {
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout).count();
  std::vector<std::string> arguments{
      side.implementation == Implementation::ours ? XFER_OUR_PEER : XFER_STOCK_PEER,
      role,
      "--bind=" + options.host,
      "--peer-host=" + options.host,
      "--send=" + std::to_string(side.sends),
      "--receive=" + std::to_string(other.sends),
      "--send-seed=" + std::to_string(seed),
      "--receive-seed=" + std::to_string(3 - seed),
      "--timeout-ms=" + std::to_string(limit)};
  if (close_last) arguments.push_back("--close-last");
  arguments.insert(arguments.end(), side.arguments.begin(), side.arguments.end());
  return arguments;
}

std::string report(const char* role, const Child::Exit& exit) {
  return std::string(role) + ": " +
         (exit.timed_out ? "killed at the time limit" : "status " + std::to_string(exit.status)) +
         "\n" + exit.output;
}

}  // namespace

const char* name(Implementation implementation) {
  return implementation == Implementation::ours ? "ours" : "stock";
}

std::string PairResult::report() const {
  return interop::report("caller", caller) + interop::report("listener", listener) +
         to_string(impairment) + "\nelapsed: " + std::to_string(to_seconds(elapsed)) + " s";
}

PairResult run_pair(const PairOptions& options) {
  // A one-way sender closes first; with data both ways the caller does, once it has sent and
  // received everything.
  const bool listener_first = options.listener.sends > 0 && options.caller.sends == 0;
  const bool wait_for_end = !options.both_close_early;
  const char* const caller_role = options.rendezvous ? "rendezvous" : "connect";
  const char* const listener_role = options.rendezvous ? "rendezvous" : "listen";
  auto caller_command = command(options.caller, options.listener, caller_role,
                                wait_for_end && listener_first, 1, options);
  const auto listener_command = command(options.listener, options.caller, listener_role,
                                        wait_for_end && !listener_first, 2, options);
  PairResult result;
  const auto start = std::chrono::steady_clock::now();
  const auto finish = [&](Child& caller, Child& listener) {
    result.caller = caller.wait(options.timeout + kGrace);
    result.listener = listener.wait(options.timeout + kGrace);
    result.elapsed = std::chrono::steady_clock::now() - start;
  };

  Child listener(listener_command);
  const auto listener_port = listener.read_after("port ", options.timeout);
  if (!listener_port) {
    result.listener = listener.wait(kGrace);
    return result;
  }
  std::optional<ImpairProxy> proxy;
  auto port = static_cast<std::uint16_t>(std::stoul(*listener_port));
  if (options.impairment) {
    proxy.emplace(port, *options.impairment);
    port = proxy->port();
  }
  if (options.rendezvous) {
    Child caller(caller_command);
    const auto caller_port = caller.read_after("port ", options.timeout);
    caller.write_line(std::to_string(port));
    listener.write_line(proxy ? std::to_string(proxy->back_port()) : caller_port.value_or("0"));
    finish(caller, listener);
    if (proxy) result.impairment = proxy->stop();
    return result;
  }
  caller_command.push_back("--peer-port=" + std::to_string(port));
  Child caller(caller_command);
  finish(caller, listener);
  if (proxy) result.impairment = proxy->stop();
  return result;
}

}  // namespace xfer::interop

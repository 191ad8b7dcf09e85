#include "cli/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/reporter.hpp"
#include "cli/signals.hpp"
#include "file/printable.hpp"
#include "net/resolve.hpp"

namespace xfer::cli {
namespace {

/// `$XDG_CONFIG_HOME/xfer/config.toml`, or the same under `~/.config`; empty if there is no home.
std::string default_config_path() {
  const char* const base = std::getenv("XDG_CONFIG_HOME");
  if (base != nullptr && base[0] == '/') return std::string(base) + "/xfer/config.toml";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.config/xfer/config.toml";
  return {};
}

std::unique_ptr<Reporter> make_reporter(Outputs outputs, const OutputOptions& options,
                                        const net::DriverOptions& driver,
                                        JsonReporter::StartLine start) {
  if (options.json) return std::make_unique<JsonReporter>(outputs, options, std::move(start));
  return std::make_unique<TextReporter>(outputs, options, driver.socket_buffer);
}

int finish(Reporter& reporter, const Result<transfer::Summary>& result) {
  if (result) return EXIT_SUCCESS;
  reporter.finish(result.error());
  return exit_code(result.error().code);
}

/// The address of --bind; what it is for makes the family of the whole job.
Result<void> resolve_bind(const net::HostPort& bind, net::DriverOptions& driver) {
  const auto addresses = net::resolve(bind.host, bind.port);
  if (!addresses) return addresses.error();
  const auto fits = [&](const SocketAddress& address) {
    return driver.family_hint == SocketAddress::Family::none ||
           address.family == SocketAddress::Family::none || address.family == driver.family_hint;
  };
  const auto found = std::ranges::find_if(*addresses, fits);
  if (found == addresses->end())
    return Error{ErrorCode::resolve_failed, 0, "no address of the wanted family"};
  driver.bind = *found;
  if (found->family != SocketAddress::Family::none) driver.family_hint = found->family;
  return {};
}

constexpr const char* kPlainWarning =
    "plain mode: the transfer is neither private nor authenticated";

int cannot_start(const Error& error, Console& err) {
  err.line("xfer: " + to_string(error));
  return exit_code(error.code);
}

int run_command(SendCommand command, Console& out, Console& err) {
  const auto signals = SignalWatcher::start();
  if (!signals) return cannot_start(signals.error(), err);
  const auto reporter = make_reporter({&out, &err}, command.output, command.job.driver, {});
  if (command.output.json && !command.output.quiet) out.line(json::start(command));
  reporter->insist(kPlainWarning);
  if (command.bind) {
    const Result<void> bound = resolve_bind(*command.bind, command.job.driver);
    if (!bound) {
      const std::string line = fmt::format("--bind {}: {}", file::printable(command.bind->host),
                                           to_string(bound.error()));
      reporter->on_failure({0, bound.error(), line});
      return exit_code(bound.error().code);
    }
  }
  return finish(*reporter, transfer::run_send(command.job, *reporter, (*signals)->token()));
}

int run_command(const RecvCommand& command, Console& out, Console& err) {
  const auto signals = SignalWatcher::start();
  if (!signals) return cannot_start(signals.error(), err);
  // Standard output may be for the data.
  Console& text = command.job.raw && command.job.raw_target == "-" ? err : out;
  const auto reporter =
      make_reporter({&text, &err}, command.output, command.job.driver,
                    [&](const SocketAddress& local) { return json::start(command, local); });
  reporter->insist(kPlainWarning);
  return finish(*reporter, transfer::run_recv(command.job, *reporter, (*signals)->token()));
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  occupy_standard_descriptors();
  Console out(1);
  Console err(2);
  Invocation invocation = parse(arguments, default_config_path());
  if (const auto* const text = std::get_if<ShowText>(&invocation)) {
    out.write(text->text);
    return EXIT_SUCCESS;
  }
  if (const auto* const error = std::get_if<UsageError>(&invocation)) {
    err.line("xfer: " + error->line);
    return exit_code(ErrorCode::usage);
  }
  if (auto* const send = std::get_if<SendCommand>(&invocation))
    return run_command(std::move(*send), out, err);
  return run_command(std::get<RecvCommand>(invocation), out, err);
}

}  // namespace xfer::cli

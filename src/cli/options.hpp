#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "net/address.hpp"
#include "transfer/job.hpp"

/// The command line: text in, plain structs out. The only place that knows CLI11.
namespace xfer::cli {

/// What is printed, and how.
struct OutputOptions {
  bool quiet = false;    ///< errors only
  bool verbose = false;  ///< a line for each entry and more figures at the end
  bool json = false;     ///< docs/json.md on standard output instead of text
};

struct SendCommand {
  transfer::SendOptions job;
  std::optional<net::HostPort> bind;  ///< to be resolved into job.driver
  OutputOptions output;
};
struct RecvCommand {
  transfer::RecvOptions job;
  OutputOptions output;
};
/// Help or version: goes to standard output, status 0.
struct ShowText {
  std::string text;
};
/// One printable line without a newline, status 2.
struct UsageError {
  std::string line;
};
using Invocation = std::variant<SendCommand, RecvCommand, ShowText, UsageError>;

/// Reads a command line (without the program's name), and the configuration file if one is named or
/// `default_config` (empty: none) exists. The order of options does not matter; the last of a
/// repeated one counts; the command line wins over the file.
Invocation parse(const std::vector<std::string>& arguments, const std::string& default_config = {});

/// Names of all options of `command` ("send" or "recv") as typed, `--mss`, `-q`: what documentation
/// must cover.
std::vector<std::string> option_names(std::string_view command);

}  // namespace xfer::cli

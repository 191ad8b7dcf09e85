#pragma once

#include <string>

#include "cli/options.hpp"
#include "transfer/report.hpp"

/// The lines of `--json` (docs/json.md): each function gives one object without its newline. All of
/// it is ASCII; names are in the printable form of file::printable().
namespace xfer::cli::json {

std::string start(const SendCommand& command);
std::string start(const RecvCommand& command, const SocketAddress& local);
std::string connected(transfer::SessionId session, const SocketAddress& peer);
std::string progress(const transfer::Progress& progress);
std::string file(const transfer::EntryResult& entry);
std::string warning(transfer::SessionId session, std::string_view text);
std::string error(const transfer::Failure& failure);
std::string summary(const transfer::Summary& summary);

}  // namespace xfer::cli::json

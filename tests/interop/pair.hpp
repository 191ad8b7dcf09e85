#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interop/child.hpp"
#include "interop/impair_proxy.hpp"

namespace xfer::interop {

enum class Implementation { ours, stock };
const char* name(Implementation implementation);

/// One end of a test transfer.
struct Side {
  Implementation implementation = Implementation::ours;
  std::uint64_t sends = 0;               ///< bytes
  std::vector<std::string> arguments{};  ///< further options of the peer program, see PeerOptions
};

/// Two peer programs and how they meet.
struct PairOptions {
  Side caller;    ///< rendezvous: the side that starts first
  Side listener;  ///< rendezvous: the side that starts second
  bool rendezvous = false;
  std::string host = "127.0.0.1";
  /// Both sides close as soon as they have everything, as file receivers do: the sender may see the
  /// end of the connection before its last acknowledgement. Otherwise the receiver waits for the
  /// sender's end.
  bool both_close_early = false;
  std::optional<Impairment> impairment;
  Duration timeout = 60s;
};

struct PairResult {
  Child::Exit caller;
  Child::Exit listener;
  ImpairStats impairment;
  Duration elapsed{};  ///< from the caller's start to the later end
  [[nodiscard]] bool good() const { return caller.good() && listener.good(); }
  /// Output and exit status of both, for a failure message.
  [[nodiscard]] std::string report() const;
};

/// Runs both programs to their end, or kills them at the time limit.
PairResult run_pair(const PairOptions& options);

}  // namespace xfer::interop

#include "transfer/report.hpp"

#include "file/printable.hpp"

namespace xfer::transfer {

std::string EntryResult::line() const {
  std::string out = file::printable(name) + ": " + text;
  if (by_peer) out += " (at the peer)";
  return out;
}

}  // namespace xfer::transfer

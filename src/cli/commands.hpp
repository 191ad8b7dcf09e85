#pragma once

#include <string>
#include <vector>

namespace xfer::cli {

/// The whole program but for its entry point: reads the arguments, runs the command, returns the
/// exit status.
int run(const std::vector<std::string>& arguments);

}  // namespace xfer::cli

#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace xfer::detail {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "xfer: internal error: %s does not hold (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace xfer::detail

#include "../support/units_walk.hpp"
#include "fuzz_input.hpp"

// Room lent and used, used in part or not at all, payloads from elsewhere, releases in any order:
// what is held stays as it was, nothing that is held is lent, and nothing leaks.
XFER_FUZZ_TARGET(xfer::ByteView input) {
  xfer::fuzz::Choices choices(input);
  xfer::test::UnitsWalk<xfer::fuzz::Choices> walk(choices);
  while (!choices.empty()) walk.step();
  walk.finish();
}

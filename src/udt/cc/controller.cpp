#include "udt/cc/controller.hpp"

#include "udt/cc/bbr.hpp"
#include "udt/cc/fixed_rate.hpp"
#include "udt/cc/udt_native.hpp"

namespace xfer::udt {

std::unique_ptr<Controller> make_controller(ControllerKind kind, const ControllerSetup& setup,
                                            RandomSource& random) {
  switch (kind) {
    case ControllerKind::fixed_rate:
      return std::make_unique<FixedRate>(setup);
    case ControllerKind::bbr:
      return std::make_unique<Bbr>(setup, random);
    case ControllerKind::automatic:
    case ControllerKind::udt_native:
      break;
  }
  return std::make_unique<UdtNative>(setup, random);
}

}  // namespace xfer::udt

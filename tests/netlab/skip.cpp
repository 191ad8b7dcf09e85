// Needs more of Catch2 than the shared precompiled header has.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <iostream>

#include "tun.hpp"

namespace xfer::netlab {
namespace {

/// Of ctest: the test could not be made.
constexpr int kSkipped = 77;

bool namespaces_allowed() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 ? 0 : 1);
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

const char* reason_to_skip() {
  if (::geteuid() != 0) return "it needs root";
  if (!FileDescriptor(::open("/dev/net/tun", O_RDWR | O_CLOEXEC)).valid())
    return "/dev/net/tun cannot be opened";
  if (!namespaces_allowed()) return "no network namespaces may be made here";
  return nullptr;
}

/// Ends the program before the first test where none of them can work.
struct SkipListener : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  void testRunStarting(const Catch::TestRunInfo& info) override {
    TestEventListenerBase::testRunStarting(info);
    const char* reason = reason_to_skip();
    if (reason == nullptr) return;
    std::cout << "skipped: " << reason << std::endl;
    ::_exit(kSkipped);
  }
};
CATCH_REGISTER_LISTENER(SkipListener)

}  // namespace
}  // namespace xfer::netlab

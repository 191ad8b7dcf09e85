#pragma once

#include <cstddef>
#include <cstdint>

namespace xfer::sim {

/// What the code under test took from the heap. The programs of this folder replace `operator new`;
/// what is allocated on a thread while a CoreScope is open there is booked on its account.
struct CoreMemory {
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::uint64_t allocations = 0;
};

/// Open while the core runs.
class CoreScope {
 public:
  explicit CoreScope(CoreMemory& account);
  ~CoreScope();
  CoreScope(const CoreScope&) = delete;
  CoreScope& operator=(const CoreScope&) = delete;

 private:
  CoreMemory* outer_;
};

/// Open while test code runs inside the core, as in a trace sink.
class OutsideScope {
 public:
  OutsideScope();
  ~OutsideScope();
  OutsideScope(const OutsideScope&) = delete;
  OutsideScope& operator=(const OutsideScope&) = delete;

 private:
  CoreMemory* outer_;
};

}  // namespace xfer::sim

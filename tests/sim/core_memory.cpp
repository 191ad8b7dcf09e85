#include "core_memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace xfer::sim {
namespace {

thread_local CoreMemory* current_account = nullptr;

void book_allocation(void* memory) {
  CoreMemory* account = current_account;
  if (account == nullptr) return;
  ++account->allocations;
  account->live_bytes += static_cast<std::int64_t>(malloc_usable_size(memory));
  account->peak_bytes = std::max(account->peak_bytes, account->live_bytes);
}

void book_release(void* memory) {
  CoreMemory* account = current_account;
  if (account != nullptr && memory != nullptr)
    account->live_bytes -= static_cast<std::int64_t>(malloc_usable_size(memory));
}

void* allocate(std::size_t size, std::size_t alignment) {
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = alignment <= alignof(std::max_align_t)
                     ? std::malloc(size == 0 ? 1 : size)
                     : std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) std::abort();
  book_allocation(memory);
  return memory;
}

void release(void* memory) {
  book_release(memory);
  std::free(memory);
}

}  // namespace

CoreScope::CoreScope(CoreMemory& account) : outer_(current_account) { current_account = &account; }
CoreScope::~CoreScope() { current_account = outer_; }
OutsideScope::OutsideScope() : outer_(current_account) { current_account = nullptr; }
OutsideScope::~OutsideScope() { current_account = outer_; }

}  // namespace xfer::sim

// Every form, for a sanitizer's runtime has its own of those that are left out.
void* operator new(std::size_t size) {
  return xfer::sim::allocate(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return operator new(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return xfer::sim::allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return operator new(size, alignment);
}
void operator delete(void* memory) noexcept { xfer::sim::release(memory); }
void operator delete[](void* memory) noexcept { xfer::sim::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { xfer::sim::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { xfer::sim::release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { xfer::sim::release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { xfer::sim::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { xfer::sim::release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { xfer::sim::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  xfer::sim::release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  xfer::sim::release(memory);
}

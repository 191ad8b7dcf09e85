#pragma once

#include <string>

#include "tun.hpp"

namespace xfer::netlab {

/// The calling thread, and no other, is in a network namespace as long as the object lives.
class InNamespace {
 public:
  /// @throws std::system_error if there is none of that name.
  explicit InNamespace(const std::string& name);
  ~InNamespace();
  InNamespace(const InNamespace&) = delete;
  InNamespace& operator=(const InNamespace&) = delete;

 private:
  FileDescriptor before_;
};

/// Makes a network namespace where `ip netns` finds it, with loopback up and no IPv6.
/// @throws std::system_error
void make_namespace(const std::string& name);

/// Moves the calling thread into it for good.
/// @throws std::system_error if there is none of that name.
void enter_namespace(const std::string& name);

/// Ends all processes in it, but not the caller, and removes it; what else holds it keeps it alive
/// without a name. False if there was none.
bool remove_namespace(const std::string& name);

/// Writes a kernel setting below /proc/sys/net of the caller's namespace.
/// @throws std::system_error
void set_kernel(const std::string& setting, const std::string& value);

}  // namespace xfer::netlab

#pragma once

#include <array>
#include <memory>
#include <string>

#include "emulator.hpp"

namespace xfer::netlab {

/// IPv4 addresses of the two ends; every lab has the same.
inline constexpr const char* kAddresses[2] = {"10.77.0.1", "10.77.0.2"};

/// Where things of the lab of that name are.
struct LabNames {
  explicit LabNames(const std::string& lab);
  std::array<std::string, 2> namespaces;
  std::string folder;
  std::string lock;     ///< held by whoever runs the lab; holds its process ID
  std::string control;  ///< socket for requests
  std::string log;
};

/// Whether some process runs the lab; 0 or its ID.
pid_t running(const LabNames& names);

/// Removes what a lab that does not run any more has left; false if there was nothing.
bool clear(const LabNames& names);

/// A lab that is up: locked, with two namespaces and a device in each. Removed with the object.
class Lab {
 public:
  /// @throws std::system_error, or UsageError if a lab of that name runs.
  Lab(const std::string& name, const Settings& settings);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  [[nodiscard]] const LabNames& names() const { return names_; }
  [[nodiscard]] Tun& tun(std::size_t end) { return *tuns_[end]; }
  /// Says where `down` looks for it that this process runs the lab; at first it is the caller.
  void record_process(pid_t pid);

 private:
  void make_end(std::size_t end, const Settings& settings);

  LabNames names_;
  FileDescriptor lock_;
  std::array<std::unique_ptr<Tun>, 2> tuns_;
};

}  // namespace xfer::netlab

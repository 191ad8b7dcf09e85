#pragma once

#include <netinet/in.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/time.hpp"
#include "tun.hpp"

namespace xfer::netlab {

/// Runs the netlab program to its end.
struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};
Outcome netlab(const std::vector<std::string>& arguments);

/// A lab made by the netlab program, removed at the end. The test fails if that cannot be done.
class LabUnderTest {
 public:
  explicit LabUnderTest(const std::vector<std::string>& options);
  ~LabUnderTest();
  LabUnderTest(const LabUnderTest&) = delete;
  LabUnderTest& operator=(const LabUnderTest&) = delete;

  void set(const std::vector<std::string>& options) const;
  [[nodiscard]] nlohmann::json stats() const;
  /// Counters of one direction ("a_to_b"), once `count` packets have been read and none is on its
  /// way any more; after 10 s as they are.
  nlohmann::json settled(const std::string& direction, std::uint64_t count) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// A UDP datagram that arrived. Its first bytes are a number and when it was sent.
struct Arrival {
  std::uint64_t number = 0;
  Duration sent{};     ///< wall clock
  Duration arrived{};  ///< wall clock, stamped by the kernel
  std::size_t length = 0;
  bool intact = false;  ///< the rest of it is what was sent
  [[nodiscard]] Duration took() const { return arrived - sent; }
};

/// A UDP socket in one end of a lab, connected to the one in the other end.
class ProbeSocket {
 public:
  /// `end` is 0 for a, 1 for b.
  ProbeSocket(const LabUnderTest& lab, std::size_t end);

  /// Sends `count` datagrams of `length` bytes in one system call, numbered from `first`, with the
  /// same time in all.
  void send(std::uint64_t first, std::size_t count, std::size_t length) const;
  /// The same for any bytes. False if the kernel refuses with EMSGSIZE.
  [[nodiscard]] bool send(ByteView datagram) const;
  /// What has arrived, at most one; waits for it until the limit.
  [[nodiscard]] std::optional<Arrival> receive(Duration limit) const;
  [[nodiscard]] std::vector<Arrival> receive_all() const;
  /// What the kernel takes for the path MTU.
  [[nodiscard]] int path_mtu() const;

 private:
  FileDescriptor socket_;
};

/// A TCP connection from end a to end b of a lab.
struct TcpPair {
  explicit TcpPair(const LabUnderTest& lab);
  FileDescriptor a;
  FileDescriptor b;
};

Duration wall_clock();

}  // namespace xfer::netlab

#pragma once

#include <string>
#include <vector>

#include "packet.hpp"

namespace xfer::netlab {

/// A file descriptor that is closed at the end.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool valid() const { return number_ >= 0; }

 private:
  int number_;
};

struct TunOptions {
  std::string address;       ///< IPv4, dotted; the network is its first 24 bits
  std::size_t mtu = 1500;    ///< bytes
  std::size_t queue = 1000;  ///< packets that wait to be read; what does not fit is dropped
  bool offload = true;       ///< super-packets and packets without checksum, if the kernel can
};

/// A TUN device in the network namespace that the calling thread was in: what the namespace sends
/// is read here, what is written here arrives there. Gone with the object.
class Tun {
 public:
  /// @throws std::system_error
  explicit Tun(const TunOptions& options);

  [[nodiscard]] int descriptor() const { return device_.number(); }
  /// Which super-packets the kernel hands over and takes.
  [[nodiscard]] bool cuts_tcp() const { return cuts_tcp_; }
  [[nodiscard]] bool cuts_udp() const { return cuts_udp_; }

  /// A packet read from the device, or nothing if none waits. Valid until the next call.
  struct Read {
    OffloadHeader header;
    ByteView packet;
  };
  std::optional<Read> read();
  /// False if the kernel refused it.
  bool write(const std::vector<iovec>& pieces);

  /// Packets that the kernel dropped because its queue to us was full.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  void ask_for_offloads();

  FileDescriptor device_;
  FileDescriptor counters_;
  bool cuts_tcp_ = false;
  bool cuts_udp_ = false;
  std::vector<std::byte> buffer_;
};

}  // namespace xfer::netlab

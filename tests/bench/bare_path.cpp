// The bare ceiling: what a file transfer costs on this machine without any protocol. The sender
// maps the file and sends trains that the kernel cuts (UDP GSO), a 16-byte header before each
// payload; the receiver has the kernel join them (GRO) and scatter headers and payloads so that
// payloads lie adjacent, and writes each train with one call. Nothing is sent again, so nothing may
// be lost: a counter in a shared file tells the sender how much the receiver has taken, and it
// never has more than a window under way.
//
//   bare_path receive ADDRESS FILE SIZE CREDIT-FILE      prints its port
//   bare_path send FILE ADDRESS PORT CREDIT-FILE WINDOW
//
// Packets are 1500 bytes with IP and UDP headers, as those of UDT.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/udp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace xfer::bench {
namespace {

constexpr std::size_t kHeader = 16;
constexpr std::size_t kPayload = 1456;
constexpr std::size_t kTrain = 44;  ///< packets: the most that fit into 64 KiB
constexpr int kSocketBuffer = 64 << 20;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// Of every packet: where its payload belongs in the file.
struct Header {
  std::uint64_t offset = 0;
  std::uint64_t unused = 0;
};
static_assert(sizeof(Header) == kHeader);

/// How many bytes the receiver has taken, in a file that both processes map.
class Credit {
 public:
  explicit Credit(const std::string& name) {
    const int file = open(name.c_str(), O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof *taken_) != 0) fail(name.c_str());
    void* memory = mmap(nullptr, sizeof *taken_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) fail("mmap");
    taken_ = static_cast<std::atomic<std::uint64_t>*>(memory);
    close(file);
  }
  void set(std::uint64_t bytes) { taken_->store(bytes, std::memory_order_release); }
  [[nodiscard]] std::uint64_t get() const { return taken_->load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint64_t>* taken_ = nullptr;
};

sockaddr_in address_of(const char* host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) fail(host);
  return address;
}

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

int udp_socket() {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0) fail("socket");
  for (const auto& [forced, plain] :
       {std::pair{SO_RCVBUFFORCE, SO_RCVBUF}, std::pair{SO_SNDBUFFORCE, SO_SNDBUF}})
    if (setsockopt(fd, SOL_SOCKET, forced, &kSocketBuffer, sizeof kSocketBuffer) != 0)
      setsockopt(fd, SOL_SOCKET, plain, &kSocketBuffer, sizeof kSocketBuffer);
  return fd;
}

int receive(const char* host, const char* file_name, std::uint64_t size, const char* credit_name) {
  Credit credit(credit_name);
  credit.set(0);
  const int fd = udp_socket();
  const int on = 1;
  if (setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on) != 0) fail("UDP_GRO");
  sockaddr_in address = address_of(host, 0);
  socklen_t length = sizeof address;
  if (bind(fd, generic(address), length) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    fail("bind");
  const int file = open(file_name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) fail(file_name);
  std::printf("port %u\n", static_cast<unsigned>(ntohs(address.sin_port)));
  std::fflush(stdout);

  std::array<Header, kTrain> headers{};
  std::vector<std::byte> payloads(kTrain * kPayload);
  std::array<iovec, 2 * kTrain> pieces{};
  for (std::size_t i = 0; i < kTrain; ++i) {
    pieces[2 * i] = {&headers[i], kHeader};
    pieces[2 * i + 1] = {&payloads[i * kPayload], kPayload};
  }
  for (std::uint64_t taken = 0; taken < size;) {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    const ssize_t count = recvmsg(fd, &message, 0);
    if (count < static_cast<ssize_t>(kHeader)) fail("recvmsg");
    const auto bytes = static_cast<std::size_t>(count);
    const std::size_t packets = (bytes + kHeader + kPayload - 1) / (kHeader + kPayload);
    const std::size_t payload = bytes - packets * kHeader;
    for (std::size_t i = 0; i < packets; ++i)
      if (headers[i].offset != taken + i * kPayload) {
        std::fprintf(stderr, "lost: %llu instead of %llu\n",
                     static_cast<unsigned long long>(headers[i].offset),
                     static_cast<unsigned long long>(taken + i * kPayload));
        return 1;
      }
    if (write(file, payloads.data(), payload) != static_cast<ssize_t>(payload)) fail("write");
    taken += payload;
    credit.set(taken);
  }
  return 0;
}

/// One train from `offset` of the mapped file.
void send_train(int fd, std::byte* data, std::uint64_t offset, std::uint64_t end) {
  std::array<Header, kTrain> headers{};
  std::array<iovec, 2 * kTrain> pieces{};
  std::size_t used = 0;
  for (std::size_t i = 0; i < kTrain && offset < end; ++i) {
    headers[i].offset = offset;
    const std::size_t payload = std::min<std::uint64_t>(kPayload, end - offset);
    pieces[used++] = {&headers[i], kHeader};
    pieces[used++] = {data + offset, payload};
    offset += payload;
  }
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> control{};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = used;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const cut = CMSG_FIRSTHDR(&message);
  cut->cmsg_level = SOL_UDP;
  cut->cmsg_type = UDP_SEGMENT;
  cut->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const std::uint16_t segment = kHeader + kPayload;
  std::memcpy(CMSG_DATA(cut), &segment, sizeof segment);
  if (sendmsg(fd, &message, 0) < 0) fail("sendmsg");
}

int send(const char* file_name, const char* host, std::uint16_t port, const char* credit_name,
         std::uint64_t window) {
  const Credit credit(credit_name);
  const int file = open(file_name, O_RDONLY);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) fail(file_name);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) fail("mmap");
  const int fd = udp_socket();
  const sockaddr_in address = address_of(host, port);
  if (connect(fd, generic(address), sizeof address) != 0) fail("connect");
  for (std::uint64_t offset = 0; offset < size;) {
    const std::uint64_t end = std::min(size, credit.get() + window);
    if (end < std::min(size, offset + kTrain * kPayload)) {
      usleep(20);
      continue;
    }
    const std::uint64_t next = std::min(size, offset + kTrain * kPayload);
    send_train(fd, static_cast<std::byte*>(memory), offset, next);
    offset = next;
  }
  while (credit.get() < size) usleep(100);
  return 0;
}

}  // namespace
}  // namespace xfer::bench

int main(int argc, char** argv) {
  using namespace xfer::bench;
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "receive" && argc == 6)
    return receive(argv[2], argv[3], std::strtoull(argv[4], nullptr, 10), argv[5]);
  if (command == "send" && argc == 7)
    return send(argv[2], argv[3], static_cast<std::uint16_t>(std::strtoul(argv[4], nullptr, 10)),
                argv[5], std::strtoull(argv[6], nullptr, 10));
  std::fprintf(stderr,
               "usage: bare_path receive ADDRESS FILE SIZE CREDIT-FILE\n"
               "       bare_path send FILE ADDRESS PORT CREDIT-FILE WINDOW\n");
  return 2;
}

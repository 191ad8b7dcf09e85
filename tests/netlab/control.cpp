#include "control.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <system_error>

namespace xfer::netlab {
namespace {

constexpr std::size_t kMaxMessage = 64 * 1024;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    fail(path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

FileDescriptor datagram_socket() {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.number() < 0) fail("control socket");
  return socket;
}

/// Removes a file at the end.
struct Unlink {
  std::string path;
  ~Unlink() { ::unlink(path.c_str()); }
};

/// Each argument ends with a zero byte.
std::string encode(const Arguments& arguments) {
  std::string text;
  for (const auto& argument : arguments) text += argument + '\0';
  return text;
}

Arguments decode(const std::string& text) {
  Arguments arguments;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    arguments.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return arguments;
}

}  // namespace

ControlServer::ControlServer(const std::string& path) : socket_(datagram_socket()) {
  const sockaddr_un address = address_of(path);
  if (::bind(socket_.number(), generic(address), sizeof address) != 0) fail(path);
}

void ControlServer::answer(const std::function<Reply(const Arguments&)>& answer) {
  std::string text(kMaxMessage, '\0');
  sockaddr_un from{};
  socklen_t length = sizeof from;
  const ssize_t size = ::recvfrom(socket_.number(), text.data(), text.size(), MSG_DONTWAIT,
                                  reinterpret_cast<sockaddr*>(&from), &length);
  if (size <= 0) return;
  text.resize(static_cast<std::size_t>(size));
  const Reply reply = answer(decode(text));
  const std::string message = (reply.ok ? "0" : "1") + reply.text;
  // A client that has gone away misses nothing.
  ::sendto(socket_.number(), message.data(), message.size(), MSG_DONTWAIT, generic(from), length);
}

Reply ask(const std::string& path, const Arguments& request) {
  const FileDescriptor socket = datagram_socket();
  // An address of its own to be answered at. Unlike the nameless ones that the system chooses, a
  // path is the same in all network namespaces.
  const std::string own_path = path + "-" + std::to_string(::getpid());
  ::unlink(own_path.c_str());
  const sockaddr_un own = address_of(own_path);
  if (::bind(socket.number(), generic(own), sizeof own) != 0) fail(own_path);
  const Unlink remove_own{own_path};
  const timeval limit{5, 0};
  ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const sockaddr_un address = address_of(path);
  const std::string message = encode(request);
  if (::sendto(socket.number(), message.data(), message.size(), 0, generic(address),
               sizeof address) < 0)
    fail(path);
  std::string text(kMaxMessage, '\0');
  const ssize_t size = ::recv(socket.number(), text.data(), text.size(), 0);
  if (size <= 0) fail(path);
  text.resize(static_cast<std::size_t>(size));
  return {text[0] == '0', text.substr(1)};
}

}  // namespace xfer::netlab

// The file transfer protocol of UDT's sample programs on stock UDT4, written from its description:
// the `sendfile` server hands out files by name, the `recvfile` client fetches one. All numbers are
// native (little endian).
//
//   client: 4 bytes, length of the name; the name
//   server: 8 bytes, size of the file, -1 if it cannot be opened; the content
//   client closes after the last byte, the server when it has handed everything to UDT.

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "interop/stock.hpp"

namespace xfer::interop {
namespace {

constexpr std::int32_t kMaxName = 1023;

struct Options {
  std::string bind = "127.0.0.1";  ///< local address
  std::string host;
  std::uint16_t port = 0;
  std::string remote_name;
  std::string local_name;
  stock::SocketOptions socket;
};

int fail(const char* where) {
  std::printf("error %s\n", stock::last_error(where).c_str());
  return 1;
}

template <typename T>
bool send_number(stock::Handle socket, T number) {
  return stock::send_all(socket, reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename T>
bool receive_number(stock::Handle socket, T& number) {
  return stock::receive_all(socket, reinterpret_cast<char*>(&number), sizeof number);
}

std::int64_t file_size(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : -1;
}

/// Serves one file, then ends.
int serve(const Options& options) {
  const auto listener = stock::open_bound(options.bind, options.port, options.socket);
  if (listener == stock::kNone || !stock::listen(listener)) return fail("listen");
  std::printf("port %u\n", static_cast<unsigned>(stock::local_port(listener).value_or(0)));
  std::fflush(stdout);
  const auto socket = stock::accept(listener);
  if (socket == stock::kNone) return fail("accept");

  std::int32_t length = 0;
  if (!receive_number(socket, length) || length < 0 || length > kMaxName)
    return fail("name length");
  std::string name(static_cast<std::size_t>(length), '\0');
  if (!stock::receive_all(socket, name.data(), name.size())) return fail("name");
  const std::int64_t size = file_size(name);
  if (!send_number(socket, size)) return fail("size");
  if (size >= 0 && !stock::send_file(socket, name, size)) return fail("sendfile");
  stock::close(socket);
  std::printf("done bytes=%lld\n", static_cast<long long>(size));
  return size < 0 ? 4 : 0;
}

int fetch(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto socket = stock::open_bound(options.bind, 0, options.socket);
  if (socket == stock::kNone) return fail("bind");
  if (!stock::connect(socket, options.host, options.port)) return fail("connect");
  const auto length = static_cast<std::int32_t>(options.remote_name.size());
  if (!send_number(socket, length)) return fail("name length");
  if (!stock::send_all(socket, options.remote_name.data(), options.remote_name.size()))
    return fail("name");
  std::int64_t size = 0;
  if (!receive_number(socket, size)) return fail("size");
  if (size < 0) {
    stock::close(socket);
    std::printf("error the server has no such file\n");
    return 4;
  }
  if (!stock::receive_file(socket, options.local_name, size)) return fail("recvfile");
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("done bytes=%lld seconds=%.6f %s\n", static_cast<long long>(size), elapsed.count(),
              stock::facts(socket).c_str());
  stock::close(socket);
  return 0;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("UDT's sample file transfer on stock UDT4");
  app.require_subcommand(1);
  auto* const sendfile = app.add_subcommand("sendfile", "serve one file");
  sendfile->add_option("port", options.port, "0: a free one, which is printed");
  auto* const recvfile = app.add_subcommand("recvfile", "fetch a file");
  recvfile->add_option("host", options.host)->required();
  recvfile->add_option("port", options.port)->required();
  recvfile->add_option("remote_name", options.remote_name)->required();
  recvfile->add_option("local_name", options.local_name)->required();
  for (auto* const command : {sendfile, recvfile}) {
    command->add_option("--bind", options.bind, "local address");
    command->add_option("--window", options.socket.window, "UDT_FC, packets");
    command->add_option("--udt-buffer", options.socket.udt_buffer, "bytes");
    command->add_option("--udp-buffer", options.socket.udp_buffer, "bytes");
  }
  CLI11_PARSE(app, argc, argv);
  return sendfile->parsed() ? serve(options) : fetch(options);
}

}  // namespace
}  // namespace xfer::interop

int main(int argc, char** argv) {
  const int status = xfer::interop::run(argc, argv);
  // Without the library's own clean-up, which takes seconds: every connection is closed.
  std::fflush(stdout);
  _exit(status);
}

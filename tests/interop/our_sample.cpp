// The file transfer protocol of UDT's sample programs (see stock_sample.cpp) on our implementation,
// as any program could use a raw stream: both roles, the file in memory.

#include <CLI/CLI.hpp>
#include <bit>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "interop/ours.hpp"

namespace xfer::interop {
namespace {

constexpr std::int32_t kMaxName = 1023;
constexpr Duration kLimit = 60s;
static_assert(std::endian::native == std::endian::little,
              "the protocol has no byte order of its own");

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::string remote_name;
  std::string local_name;
};

int fail(const std::string& text) {
  std::printf("error %s\n", text.c_str());
  return 1;
}
int fail(const char* where, const Error& error) { return fail(ours::describe(where, error)); }

template <typename T>
ByteView bytes_of(const T& number) {
  return std::as_bytes(std::span(&number, 1));
}
template <typename T>
MutByteView room_for(T& number) {
  return std::as_writable_bytes(std::span(&number, 1));
}

int serve(const Options& options) {
  std::string error;
  const auto driver = ours::open_driver(options.host, 0, error);
  if (!driver) return fail(error);
  if (const auto listening = driver->listen({}); !listening)
    return fail("listen", listening.error());
  std::printf("port %u\n", static_cast<unsigned>(driver->local_address().port));
  std::fflush(stdout);
  const auto stream = driver->accept(kLimit);
  if (!stream) return fail("accept", stream.error());

  ours::Reader reader(**stream);
  std::int32_t length = 0;
  if (const auto read = reader.read(room_for(length)); !read)
    return fail("name length", read.error());
  if (length < 0 || length > kMaxName) return fail("name length out of range");
  std::string name(static_cast<std::size_t>(length), '\0');
  if (const auto read = reader.read(std::as_writable_bytes(std::span(name))); !read)
    return fail("name", read.error());

  std::ifstream file(name, std::ios::binary);
  const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
  const std::int64_t size = file ? static_cast<std::int64_t>(content.size()) : -1;
  if (const auto sent = (*stream)->write(bytes_of(size), true); !sent)
    return fail("size", sent.error());
  if (const auto sent = (*stream)->write(std::as_bytes(std::span(content)), true); !sent)
    return fail("content", sent.error());
  if (const auto finished = ours::finish_and_wait(**stream, kLimit); !finished)
    return fail("finish", finished.error());
  std::printf("done bytes=%lld\n", static_cast<long long>(size));
  return size < 0 ? 4 : 0;
}

int fetch(const Options& options) {
  std::string error;
  const auto driver = ours::open_driver(options.host, 0, error);
  if (!driver) return fail(error);
  const auto stream = driver->connect(ours::numeric_address(options.host, options.port), {});
  if (!stream) return fail("connect", stream.error());
  const auto length = static_cast<std::int32_t>(options.remote_name.size());
  if (const auto sent = (*stream)->write(bytes_of(length), true); !sent)
    return fail("name length", sent.error());
  if (const auto sent = (*stream)->write(as_byte_view(options.remote_name), true); !sent)
    return fail("name", sent.error());

  ours::Reader reader(**stream);
  std::int64_t size = 0;
  if (const auto read = reader.read(room_for(size)); !read) return fail("size", read.error());
  if (size < 0) {
    const auto finished = ours::finish_and_wait(**stream, kLimit);
    std::printf("error the server has no such file\n");
    return finished ? 4 : 1;
  }
  std::vector<char> content(static_cast<std::size_t>(size));
  if (const auto read = reader.read(std::as_writable_bytes(std::span(content))); !read)
    return fail("content", read.error());
  std::ofstream file(options.local_name, std::ios::binary);
  file.write(content.data(), size);
  if (!file.flush()) return fail("the file cannot be written");
  if (const auto finished = ours::finish_and_wait(**stream, kLimit); !finished)
    return fail("finish", finished.error());
  std::printf("done bytes=%lld\n", static_cast<long long>(size));
  return 0;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("UDT's sample file transfer on our implementation");
  app.require_subcommand(1);
  auto* const sendfile =
      app.add_subcommand("sendfile", "serve one file on a free port, which is printed");
  auto* const recvfile = app.add_subcommand("recvfile", "fetch a file");
  recvfile->add_option("host", options.host)->required();
  recvfile->add_option("port", options.port)->required();
  recvfile->add_option("remote_name", options.remote_name)->required();
  recvfile->add_option("local_name", options.local_name)->required();
  CLI11_PARSE(app, argc, argv);
  return sendfile->parsed() ? serve(options) : fetch(options);
}

}  // namespace
}  // namespace xfer::interop

int main(int argc, char** argv) { return xfer::interop::run(argc, argv); }

#include <unistd.h>

#include <catch2/catch.hpp>

#include "jobs.hpp"
#include "net/clock.hpp"
#include "support/faulty_file_system.hpp"
#include "support/temp_dir.hpp"

namespace xfer::transfer {
namespace {

using test::code_of;
using test::Receiver;
using test::Recorder;
using test::send_options;
using test::TempDir;
using test::tree_of;
using test::write_file;
using Tree = std::map<std::string, std::string>;

std::function<void(RecvOptions&)> raw_into(const std::string& target) {
  return [target](RecvOptions& options) {
    options.raw = true;
    options.raw_target = target;
  };
}

TEST_CASE("a bare stream goes from file to file") {
  // Pins raw mode on both sides, sizes around a packet included.
  TempDir dir;
  for (const unsigned size : {0U, 1U, 1456U, 1457U, 5'000'000U}) {
    CAPTURE(size);
    const std::string content(size, 'r');
    write_file(dir / "from", content);
    Receiver receiver("", raw_into(dir / "to"));
    auto options = send_options(receiver.port(), {dir / "from"});
    options.raw = true;
    Recorder seen;
    const auto sent = run_send(options, seen, {});
    const auto received = receiver.result();
    INFO(seen.line() << " / " << receiver.seen().line());
    REQUIRE(sent.has_value());
    REQUIRE(received.has_value());
    CHECK(sent->bytes == size);
    CHECK(received->bytes == size);
    CHECK(received->files == 1);
    CHECK(test::read_file(dir / "to") == content);
  }
  CHECK(tree_of(dir.path()).size() == 2);
}

TEST_CASE("a bare stream goes from pipe to pipe") {
  // Pins "-" on both sides.
  int in[2];
  int out[2];
  REQUIRE(::pipe(in) == 0);
  REQUIRE(::pipe(out) == 0);
  Receiver receiver("", [&](RecvOptions& options) {
    raw_into("-")(options);
    options.stdout_fd = out[1];
  });
  auto options = send_options(receiver.port(), {"-"});
  options.raw = true;
  options.stdin_fd = in[0];
  REQUIRE(::write(in[1], "through", 7) == 7);
  ::close(in[1]);
  Recorder seen;
  CHECK(run_send(options, seen, {}).has_value());
  CHECK(receiver.result().has_value());
  ::close(out[1]);
  char buffer[16] = {};
  CHECK(::read(out[0], buffer, sizeof(buffer)) == 7);
  CHECK(std::string(buffer) == "through");
  ::close(out[0]);
  ::close(in[0]);
}

TEST_CASE("a reader that does not read cannot keep a receiver from being interrupted") {
  // Pins the end of `xfer recv --raw ... - | stalled` by the first interruption; and before, that
  // everything arrives when the reader goes on, whatever the pipe takes at a time.
  TempDir dir;
  std::string content(3'000'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<char>(i * 131 + i / 251);
  write_file(dir / "from", content);
  const bool reads_on = GENERATE(true, false);
  int out[2];
  REQUIRE(::pipe(out) == 0);
  Receiver receiver("", [&](RecvOptions& options) {
    raw_into("-")(options);
    options.stdout_fd = out[1];
  });
  auto options = send_options(receiver.port(), {dir / "from"});
  options.raw = true;
  Recorder seen;
  auto sent = std::async(std::launch::async, [&] { return run_send(options, seen, {}); });
  // Everything fits the buffers of the transport, so the sender ends while the pipe is full.
  CHECK(sent.get().has_value());
  if (reads_on) {
    std::string got(content.size(), '\0');
    std::size_t size = 0;
    while (size < got.size()) {
      const ssize_t count = ::read(out[0], got.data() + size, got.size() - size);
      REQUIRE(count > 0);
      size += static_cast<std::size_t>(count);
    }
    CHECK(receiver.result().has_value());
    CHECK(got == content);
  } else {
    const TimePoint begin = net::now();
    receiver.cancel();
    CHECK(code_of(receiver.result()) == ErrorCode::interrupted);
    CHECK(net::now() - begin < 5s);
  }
  ::close(out[0]);
  ::close(out[1]);
}

TEST_CASE("a pipe that nobody reads any more is an error, not a signal") {
  // Pins `xfer recv --raw ... - | head`.
  TempDir dir;
  write_file(dir / "from", std::string(1'000'000, 'x'));
  int out[2];
  REQUIRE(::pipe(out) == 0);
  ::close(out[0]);
  Receiver receiver("", [&](RecvOptions& options) {
    raw_into("-")(options);
    options.stdout_fd = out[1];
  });
  auto options = send_options(receiver.port(), {dir / "from"});
  options.raw = true;
  Recorder seen;
  static_cast<void>(run_send(options, seen, {}).has_value());
  CHECK(code_of(receiver.result()) == ErrorCode::destination_error);
  CHECK(receiver.seen().line().find("Broken pipe") != std::string::npos);
  ::close(out[1]);
}

TEST_CASE("a raw sender that gives up does not look like one that is done") {
  // Pins that the end of the connection, which means success here, does not come: the receiver
  // finds its peer lost.
  TempDir dir;
  int in[2];
  REQUIRE(::pipe(in) == 0);
  Receiver receiver("", [&](RecvOptions& options) {
    raw_into(dir / "to")(options);
    options.timeout = 2s;
  });
  auto options = send_options(receiver.port(), {"-"});
  options.raw = true;
  options.stdin_fd = in[0];
  REQUIRE(::write(in[1], "partial", 7) == 7);
  std::stop_source stop;
  Recorder seen;
  seen.when_progress = [&](const Progress& progress) {
    if (progress.bytes_done == 7) stop.request_stop();
  };
  CHECK(code_of(run_send(options, seen, stop.get_token())) == ErrorCode::interrupted);
  // Silence and lack of progress have the same limit here: either may be noticed first.
  const auto code = code_of(receiver.result());
  CHECK((code == ErrorCode::peer_lost || code == ErrorCode::stalled));
  CHECK(tree_of(dir.path()).empty());
  ::close(in[0]);
  ::close(in[1]);
}

TEST_CASE("raw failures have their code, and leave no file") {
  // Pins a missing source, a directory, a full disk, and a target that cannot be created. The
  // source is larger than all buffers: a sender cannot tell what becomes of acknowledged bytes.
  TempDir dir;
  write_file(dir / "from", "");
  REQUIRE(::truncate((dir / "from").c_str(), 200'000'000) == 0);
  const auto send = [&](const Receiver& receiver, const std::string& source) {
    auto options = send_options(receiver.port(), {source});
    options.raw = true;
    Recorder seen;
    return code_of(run_send(options, seen, {}));
  };
  {
    RecvOptions options;
    options.listen = {"127.0.0.1", 0};
    options.once = true;
    raw_into(dir / "no/such/directory")(options);
    Recorder seen;
    CHECK(code_of(run_recv(options, seen, {})) == ErrorCode::destination_error);
    CHECK(seen.line().find("no/such/directory: ") != std::string::npos);
  }
  {
    test::FaultyFileSystem fs;
    fs.set_room(500'000);
    Receiver receiver("", [&](RecvOptions& options) {
      raw_into(dir / "to")(options);
      options.file_system = &fs;
    });
    CHECK(send(receiver, dir / "from").has_value());
    CHECK(code_of(receiver.result()) == ErrorCode::no_space);
  }
  CHECK(tree_of(dir.path()).size() == 1);
  {
    Receiver receiver("", raw_into(dir / "to"));
    CHECK(send(receiver, dir / "missing") == ErrorCode::source_error);
  }
  {
    Receiver receiver("", raw_into(dir / "to"));
    CHECK(send(receiver, dir.path()) == ErrorCode::source_error);
  }
}

}  // namespace
}  // namespace xfer::transfer

#include <catch2/catch.hpp>

#include "jobs.hpp"
#include "support/temp_dir.hpp"

namespace xfer::transfer {
namespace {

using test::code_of;
using test::Receiver;
using test::Recorder;
using test::send_options;
using test::TempDir;

TEST_CASE("contradictory options are refused before anything happens") {
  // Pins each rule of validation by options that break it.
  const auto send = [](const std::function<void(SendOptions&)>& change) {
    auto options = send_options(9, {"f"});
    change(options);
    Recorder seen;
    const auto code = code_of(run_send(options, seen, {}));
    CHECK(seen.failures.size() == 1);
    CHECK(seen.summaries.empty());
    return code;
  };
  CHECK(send([](SendOptions& o) { o.sources.clear(); }) == ErrorCode::usage);
  CHECK(send([](SendOptions& o) { o.sources = {""}; }) == ErrorCode::usage);
  CHECK(send([](SendOptions& o) { o.timeout = 0s; }) == ErrorCode::usage);
  CHECK(send([](SendOptions& o) { o.sources = {"a/f", "b/f"}; }) == ErrorCode::usage);
  CHECK(send([](SendOptions& o) { o.sources = {"-", "-"}; }) == ErrorCode::usage);
  CHECK(send([](SendOptions& o) {
          o.sources = {"-"};
          o.stdin_name = "../x";
        }) == ErrorCode::usage);
  CHECK(send([](SendOptions& o) {
          o.raw = true;
          o.sources = {"a", "b"};
        }) == ErrorCode::usage);
  const auto receive = [](const std::function<void(RecvOptions&)>& change) {
    RecvOptions options;
    options.listen = {"127.0.0.1", 0};
    change(options);
    Recorder seen;
    return code_of(run_recv(options, seen, {}));
  };
  CHECK(receive([](RecvOptions& o) { o.timeout = 1ms; }) == ErrorCode::usage);
  CHECK(receive([](RecvOptions& o) { o.max_sessions = 0; }) == ErrorCode::usage);
  CHECK(receive([](RecvOptions& o) { o.raw = true; }) == ErrorCode::usage);
  CHECK(receive([](RecvOptions& o) {
          o.raw = true;
          o.once = true;
        }) == ErrorCode::usage);
}

TEST_CASE("a destination directory that is missing or a file is told before listening") {
  // Pins the receiver's check at its start.
  TempDir dir;
  test::write_file(dir / "file", "x");
  for (const char* name : {"missing", "file"}) {
    RecvOptions options;
    options.listen = {"127.0.0.1", 0};
    options.directory = dir / name;
    Recorder seen;
    CHECK(code_of(run_recv(options, seen, {})) == ErrorCode::destination_error);
    CHECK(seen.line().find(name) != std::string::npos);
  }
}

TEST_CASE("a port in use, a refused port and an unknown host have a line each") {
  // Pins code and line of what fails before there is a connection.
  TempDir dir;
  Receiver receiver(dir.path());
  {
    RecvOptions options;
    options.listen = {"127.0.0.1", receiver.port()};
    options.directory = dir.path();
    Recorder seen;
    CHECK(code_of(run_recv(options, seen, {})) == ErrorCode::bind_failed);
    CHECK(seen.line() == "127.0.0.1:" + std::to_string(receiver.port()) +
                             ": the local address cannot be used: Address already in use");
  }
  receiver.cancel();
  CHECK(code_of(receiver.result()) == ErrorCode::interrupted);
  {
    // Nobody listens there any more.
    auto options = send_options(receiver.port(), {dir.path()});
    options.connection.connect_timeout = 1s;
    Recorder seen;
    CHECK(code_of(run_send(options, seen, {})) == ErrorCode::connect_refused);
    CHECK(seen.line().find("connection refused") != std::string::npos);
  }
  {
    auto options = send_options(9, {dir.path()});
    options.destination.host = "does-not-exist.invalid";
    Recorder seen;
    CHECK(code_of(run_send(options, seen, {})) == ErrorCode::resolve_failed);
    CHECK(seen.line().find("does-not-exist.invalid:9: host name does not resolve") == 0);
  }
}

}  // namespace
}  // namespace xfer::transfer

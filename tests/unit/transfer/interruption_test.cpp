#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "jobs.hpp"
#include "net/clock.hpp"
#include "support/temp_dir.hpp"

namespace xfer::transfer {
namespace {

using test::code_of;
using test::Receiver;
using test::Recorder;
using test::send_options;
using test::TempDir;
using test::tree_of;

/// A source that never ends: a pipe that is kept full.
class EndlessPipe {
 public:
  EndlessPipe() {
    REQUIRE(::pipe(ends_) == 0);
    writer_ = std::thread([fd = ends_[1]] {
      ::signal(SIGPIPE, SIG_IGN);
      const std::string block(65'536, 'x');
      while (::write(fd, block.data(), block.size()) > 0) {
      }
      ::close(fd);
    });
  }
  ~EndlessPipe() {
    ::close(ends_[0]);
    writer_.join();
  }
  [[nodiscard]] int fd() const { return ends_[0]; }

 private:
  int ends_[2] = {-1, -1};
  std::thread writer_;
};

TEST_CASE("an interrupted sender tells the receiver, which removes what it has") {
  // Pins the end from the sending side: codes, lines, time, no file.
  TempDir to;
  EndlessPipe source;
  Receiver receiver(to.path());
  auto options = send_options(receiver.port(), {"-"});
  options.stdin_fd = source.fd();
  std::stop_source stop;
  Recorder seen;
  seen.when_progress = [&](const Progress& progress) {
    if (progress.bytes_done > 100'000) stop.request_stop();
  };
  const auto sent = run_send(options, seen, stop.get_token());
  const TimePoint sender_over = net::now();
  CHECK(code_of(sent) == ErrorCode::interrupted);
  CHECK(code_of(receiver.result()) == ErrorCode::peer_closed);
  CHECK(net::now() - sender_over < 2s);
  CHECK(tree_of(to.path()).empty());
}

TEST_CASE("an interrupted receiver tells the sender, and removes what it has") {
  // Pins the end from the receiving side.
  TempDir to;
  EndlessPipe source;
  Receiver receiver(to.path());
  auto options = send_options(receiver.port(), {"-"});
  options.stdin_fd = source.fd();
  Recorder seen;
  seen.when_progress = [&](const Progress& progress) {
    if (progress.bytes_done > 100'000) receiver.cancel();
  };
  const auto sent = run_send(options, seen, {});
  CHECK(code_of(sent) == ErrorCode::peer_closed);
  CHECK(seen.line().find("it was interrupted") != std::string::npos);
  CHECK(code_of(receiver.result()) == ErrorCode::interrupted);
  CHECK(tree_of(to.path()).empty());
}

TEST_CASE("a sender that waits for its pipe can be interrupted and is no stall") {
  // Pins the sign of life beyond the receiver's time limit, and the interruption of idle waiting.
  TempDir to;
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  Receiver receiver(to.path(), [](RecvOptions& options) { options.timeout = 1s; });
  auto options = send_options(receiver.port(), {"-"});
  options.stdin_fd = pipe[0];
  options.timeout = 1s;
  std::stop_source stop;
  Recorder seen;
  const TimePoint begin = net::now();
  seen.when_progress = [&](const Progress&) {
    if (net::now() - begin > 1800ms) stop.request_stop();
  };
  CHECK(code_of(run_send(options, seen, stop.get_token())) == ErrorCode::interrupted);
  CHECK(net::now() - begin > 1500ms);
  CHECK(code_of(receiver.result()) == ErrorCode::peer_closed);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_CASE("an interruption before there is a connection ends the job") {
  // Pins cancelling while connecting and while waiting for a sender.
  TempDir to;
  {
    Receiver receiver(to.path());
    receiver.cancel();
    CHECK(code_of(receiver.result()) == ErrorCode::interrupted);
  }
  std::stop_source stop;
  stop.request_stop();
  Recorder seen;
  CHECK(code_of(run_send(send_options(9, {to.path()}), seen, stop.get_token())) ==
        ErrorCode::interrupted);
}

TEST_CASE("a receiver that takes nothing is stalled") {
  // Pins the sender's time limit: the peer greets, acknowledges, and never reads.
  auto driver = net::Driver::open({});
  REQUIRE(driver.has_value());
  REQUIRE((*driver)->listen({}).has_value());
  auto peer = std::async(std::launch::async, [&] {
    auto stream = (*driver)->accept(20s);
    REQUIRE(stream.has_value());
    std::vector<std::byte> frame(64);
    ByteWriter out(frame);
    session::encode(out, session::Hello{1, session::Role::receiver});
    REQUIRE((*stream)->write(out.written(), true).has_value());
    (*stream)->wait(0, 20s);
  });
  EndlessPipe source;
  auto options = send_options((*driver)->local_address().port, {"-"});
  options.stdin_fd = source.fd();
  options.timeout = 1s;
  Recorder seen;
  CHECK(code_of(run_send(options, seen, {})) == ErrorCode::stalled);
  CHECK(seen.line().find("took nothing for 1 s") != std::string::npos);
  peer.wait();
}

}  // namespace
}  // namespace xfer::transfer

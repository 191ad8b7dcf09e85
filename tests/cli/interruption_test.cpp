#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "cli/fixture.hpp"

namespace xfer::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// A transfer that takes many seconds, in full swing: the receiver has reported progress within the
/// file.
struct Running {
  explicit Running(const Words& receiver_options = {}, const Words& sender_options = {}) {
    write_file(dir / "big", "");
    fs::resize_file(dir / "big", 1ULL << 30U);
    Words receive{"--once", "--json", "--dir", dir.make("in")};
    receive.insert(receive.end(), receiver_options.begin(), receiver_options.end());
    receiver = std::make_unique<Receiver>(receive);
    Words send{"send", "--plain", "--json", "--max-rate", "80M", dir / "big", receiver->address()};
    send.insert(send.end(), sender_options.begin(), sender_options.end());
    sender = std::make_unique<Process>(xfer(send));
    receiver->process().wait_for_output("\"name\":\"big\"");
    sender->wait_for_output("\"progress\"");
    CHECK(tree(dir / "in").size() == 1);  // the temporary file
    CHECK_FALSE(fs::exists(dir / "in/big"));
  }
  Process& receiving() { return receiver->process(); }

  TempDir dir;
  std::unique_ptr<Receiver> receiver;
  std::unique_ptr<Process> sender;
};

std::size_t error_lines(const std::string& err) {
  const Words lines = lines_of(err);
  return static_cast<std::size_t>(std::ranges::count_if(
      lines, [](const std::string& line) { return !line.starts_with("xfer: warning: "); }));
}

// Pins the end by signal, on either side and for each signal: at once, status 130, one line, the
// other side knows, and nothing is left at the destination.
TEST_CASE("a signal ends the transfer on both sides") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    for (const bool at_sender : {true, false}) {
      CAPTURE(number, at_sender);
      Running job;
      Process& hit = at_sender ? *job.sender : job.receiving();
      Process& other = at_sender ? job.receiving() : *job.sender;
      hit.signal(number);
      CHECK(hit.wait(std::chrono::seconds(10)) == 130);
      CAPTURE(hit.err(), other.err());
      CHECK(error_lines(hit.err()) == 1);
      CHECK(other.wait(std::chrono::seconds(10)) == 6);
      CHECK(error_lines(other.err()) == 1);
      CHECK(tree(job.dir / "in").empty());
      CHECK(json_count(hit.out(), "error") == 1);
    }
  }
}

// Pins that waiting for a sender, or for an answer, can be interrupted as well.
TEST_CASE("a signal ends waiting") {
  const TempDir dir;
  for (const bool once : {true, false}) {
    Words options{"--dir", dir.path()};
    if (once) options.push_back("--once");
    Receiver receiver(options);
    receiver.process().signal(SIGINT);
    CHECK(receiver.process().wait(std::chrono::seconds(5)) == 130);
    CHECK(error_lines(receiver.process().err()) == 1);
  }
  write_file(dir / "x", "x");
  // Nothing ever answers at a documentation address; where it is unreachable at once, that comes
  // first.
  Process sender(xfer({"send", "--plain", "--connect-timeout", "1h", dir / "x", "192.0.2.1:9"}));
  sender.wait_for_error("plain mode");
  sender.signal(SIGINT);
  const int status = sender.wait(std::chrono::seconds(5));
  CHECK((status == 130 || status == 4));
}

// Pins a signal while standard input is silent: the read does not hold up the end.
TEST_CASE("a signal ends reading standard input") {
  const TempDir dir;
  Receiver receiver({"--once", "--json", "--dir", dir.make("in")});
  ProcessOptions options;
  options.keep_input_open = true;
  Process sender(xfer({"send", "--plain", "-", receiver.address()}), options);
  sender.feed("some");
  receiver.process().wait_for_output("\"progress\"");
  sender.signal(SIGTERM);
  CHECK(sender.wait(std::chrono::seconds(5)) == 130);
  CHECK(receiver.process().wait(std::chrono::seconds(10)) == 6);
  CHECK(tree(dir / "in").empty());
}

// Pins raw mode under a signal: an interrupted receiver leaves no file. (An interrupted sender
// looks to any UDT4 program like one that has sent everything; only its own status tells.)
TEST_CASE("a signal ends a raw transfer") {
  const TempDir dir;
  write_file(dir / "big", "");
  fs::resize_file(dir / "big", 1ULL << 30U);
  for (const bool at_sender : {false, true}) {
    CAPTURE(at_sender);
    Receiver receiver({"--once", "--json", "--raw", dir / "copy"});
    Process sender(
        xfer({"send", "--plain", "--raw", "--max-rate", "80M", dir / "big", receiver.address()}));
    receiver.process().wait_for_output("\"progress\"");
    (at_sender ? sender : receiver.process()).signal(SIGINT);
    CHECK((at_sender ? sender : receiver.process()).wait(std::chrono::seconds(10)) == 130);
    const int other = (at_sender ? receiver.process() : sender).wait(std::chrono::seconds(10));
    if (at_sender) continue;
    CHECK(other == 6);
    CHECK(tree(dir.path()) == Words{"big"});
  }
}

// Pins that an ignored signal stays ignored, as under nohup.
TEST_CASE("nohup is respected") {
  const TempDir dir;
  Words command{"/usr/bin/nohup"};
  for (const std::string& word :
       xfer({"recv", "--plain", "--listen", "127.0.0.1:0", "--dir", dir.path(), "--once"}))
    command.push_back(word);
  Process receiver(command);
  receiver.wait_for_output("listening on ");
  receiver.signal(SIGHUP);
  receiver.signal(SIGTERM);
  CHECK(receiver.wait(std::chrono::seconds(5)) == 130);
  // Both signals end it alike; what tells them apart is a hang-up that is followed by nothing.
  Process survivor(command);
  const std::string line = survivor.wait_for_output("listening on ");
  survivor.signal(SIGHUP);
  write_file(dir / "x", "x");
  CHECK(run({"send", "--plain", dir / "x", line.substr(line.rfind(' ') + 1)}).status == 0);
  CHECK(survivor.wait() == 0);
}

// Pins the loss of the peer without a word: status 6 within the time limit, no file, no leftover
// where we still live.
TEST_CASE("the peer is killed") {
  SECTION("the receiver") {
    Running job({}, {"--timeout", "2"});
    job.receiving().signal(SIGKILL);
    CHECK(job.sender->wait(std::chrono::seconds(8)) == 6);
    CAPTURE(job.sender->err());
    CHECK(error_lines(job.sender->err()) == 1);
    CHECK_FALSE(fs::exists(job.dir / "in/big"));
  }
  SECTION("the sender") {
    Running job({"--timeout", "2"}, {});
    job.sender->signal(SIGKILL);
    CHECK(job.receiving().wait(std::chrono::seconds(8)) == 6);
    CAPTURE(job.receiving().err());
    CHECK(error_lines(job.receiving().err()) == 1);
    CHECK(tree(job.dir / "in").empty());
  }
}

// Pins a peer that freezes for longer than the limit: given up with status 6 or 7; when it wakes
// up, it notices too.
TEST_CASE("the peer freezes for too long") {
  SECTION("the receiver") {
    Running job({"--timeout", "2"}, {"--timeout", "2"});
    job.receiving().signal(SIGSTOP);
    const int status = job.sender->wait(std::chrono::seconds(10));
    CHECK((status == 6 || status == 7));
    job.receiving().signal(SIGCONT);
    CHECK(job.receiving().wait(std::chrono::seconds(10)) != 0);
    CHECK(tree(job.dir / "in").empty());
  }
  SECTION("the sender") {
    Running job({"--timeout", "2"}, {"--timeout", "2"});
    job.sender->signal(SIGSTOP);
    const int status = job.receiving().wait(std::chrono::seconds(10));
    CHECK((status == 6 || status == 7));
    job.sender->signal(SIGCONT);
    CHECK(job.sender->wait(std::chrono::seconds(10)) != 0);
    CHECK(tree(job.dir / "in").empty());
  }
}

// Pins a peer that freezes for less than the limit: the transfer goes on and the copy is good.
TEST_CASE("the peer freezes for a while") {
  const TempDir dir;
  write_file(dir / "x", sample_bytes(30'000'000));
  for (const bool sender_freezes : {false, true}) {
    CAPTURE(sender_freezes);
    Receiver receiver({"--once", "--json", "--dir", dir.make("in")});
    Process sender(
        xfer({"send", "--plain", "--json", "--max-rate", "200M", dir / "x", receiver.address()}));
    receiver.process().wait_for_output("\"name\":\"x\"");
    Process& frozen = sender_freezes ? sender : receiver.process();
    Process& awake = sender_freezes ? receiver.process() : sender;
    frozen.signal(SIGSTOP);
    // Until the other side, which reports once a second, has done so twice more.
    const std::size_t lines = lines_of(awake.out()).size();
    awake.wait_for_output("\"progress\"", lines);
    awake.wait_for_output("\"progress\"", lines + 1);
    frozen.signal(SIGCONT);
    CHECK(sender.wait() == 0);
    CHECK(receiver.process().wait() == 0);
    CHECK(read_file(dir / "in/x") == read_file(dir / "x"));
    fs::remove(dir / "in/x");
  }
}

// Pins that repeating until success gives a right copy, whatever was killed before, and that an old
// copy stays whole until then.
TEST_CASE("killed again and again, then finished") {
  const TempDir dir;
  write_file(dir / "x", sample_bytes(20'000'000));
  write_file(dir / "in/x", "old");
  for (int round = 0; round < 6; ++round) {
    Receiver receiver({"--once", "--json", "--dir", dir / "in"});
    Process sender(xfer({"send", "--plain", "--max-rate", "100M", dir / "x", receiver.address()}));
    receiver.process().wait_for_output("\"name\":\"x\"");
    if (round % 3 != 1) sender.signal(SIGKILL);
    if (round % 3 != 0) receiver.process().signal(SIGKILL);
    if (round % 3 == 0) receiver.process().signal(SIGTERM);
    if (round % 3 == 1) sender.signal(SIGTERM);
    CHECK(sender.wait() != 0);
    CHECK(receiver.process().wait() != 0);
    CHECK(read_file(dir / "in/x") == "old");
  }
  Receiver receiver({"--once", "--dir", dir / "in"});
  CHECK(run({"send", "--plain", dir / "x", receiver.address()}).status == 0);
  CHECK(receiver.process().wait() == 0);
  CHECK(read_file(dir / "in/x") == read_file(dir / "x"));
}

}  // namespace
}  // namespace xfer::test

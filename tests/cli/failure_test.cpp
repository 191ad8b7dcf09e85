#include <arpa/inet.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <stdexcept>

#include "cli/fixture.hpp"

namespace xfer::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// The error lines, without the warnings.
Words errors(const std::string& err) {
  Words lines = lines_of(err);
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("xfer: warning: "); });
  return lines;
}

/// That there is exactly one line, with these parts in it.
void check_one_line(const std::string& err, const Words& parts) {
  const Words lines = errors(err);
  CAPTURE(err, parts);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("xfer: "));
  for (const std::string& part : parts) CHECK(lines[0].find(part) != std::string::npos);
}

/// A UDP socket of the test on 127.0.0.1 that answers nothing.
class SilentPeer {
 public:
  SilentPeer() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);  // NOLINT: the interface of bind()
    if (::bind(fd_, generic, length) != 0 || ::getsockname(fd_, generic, &length) != 0)
      throw std::runtime_error("bind");
    port_ = ntohs(address.sin_port);
  }
  ~SilentPeer() { ::close(fd_); }
  SilentPeer(const SilentPeer&) = delete;
  SilentPeer& operator=(const SilentPeer&) = delete;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void send_to(int port, const std::string& datagram) const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    // NOLINTNEXTLINE: the interface of sendto()
    ::sendto(fd_, datagram.data(), datagram.size(), MSG_DONTWAIT,
             reinterpret_cast<sockaddr*>(&address), sizeof address);
  }

 private:
  int fd_;
  int port_ = 0;
};

/// A port on 127.0.0.1 where nothing listens (any more).
std::string free_address() { return SilentPeer().address(); }

// Pins each way not to get a connection: its status, one line with the peer in it, and that nobody
// waits for long.
TEST_CASE("no connection") {
  const TempDir dir;
  write_file(dir / "x", "x");
  SECTION("nothing listens") {
    const std::string address = free_address();
    const Finished sent = run({"send", "--plain", dir / "x", address});
    CHECK(sent.status == 4);
    check_one_line(sent.err, {address, "refused"});
    CHECK(sent.seconds < 3);
  }
  SECTION("nobody answers") {
    const SilentPeer peer;
    const Finished sent =
        run({"send", "--plain", "--connect-timeout", "500ms", dir / "x", peer.address()});
    CHECK(sent.status == 4);
    check_one_line(sent.err, {peer.address(), "no answer"});
    CHECK(sent.seconds < 3);
  }
  SECTION("the address is unreachable") {
    // A documentation address: no route, no answer, or refused by a firewall, but never a
    // connection.
    const Finished sent =
        run({"send", "--plain", "--connect-timeout", "500ms", dir / "x", "192.0.2.1:9"});
    CHECK(sent.status == 4);
    check_one_line(sent.err, {"192.0.2.1:9"});
    CHECK(sent.seconds < 5);
  }
  SECTION("the name does not resolve") {
    const Finished sent = run({"send", "--plain", dir / "x", "no-such-host.invalid:9000"});
    CHECK(sent.status == 3);
    check_one_line(sent.err, {"no-such-host.invalid:9000", "resolve"});
  }
  SECTION("the name has no address of the family") {
    const Finished sent = run({"send", "--plain", "-6", dir / "x", "127.0.0.1:9000"});
    CHECK(sent.status == 3);
    check_one_line(sent.err, {"127.0.0.1:9000", "no IPv6 address"});
  }
}

// Pins that a local address which cannot be had is told apart from a peer that cannot.
TEST_CASE("no local address") {
  const TempDir dir;
  write_file(dir / "x", "x");
  SECTION("the port is in use") {
    Receiver first({"--dir", dir.path()});
    const Finished second =
        run({"recv", "--plain", "--listen", first.address(), "--dir", dir.path()});
    CHECK(second.status == 14);
    check_one_line(second.err, {first.address(), "in use"});
  }
  SECTION("the address is not ours") {
    const Finished received =
        run({"recv", "--plain", "--listen", "192.0.2.1:0", "--dir", dir.path()});
    CHECK(received.status == 14);
    check_one_line(received.err, {"192.0.2.1"});
    const Finished sent =
        run({"send", "--plain", "--bind", "192.0.2.1:77", dir / "x", free_address()});
    CHECK(sent.status == 14);
    check_one_line(sent.err, {"192.0.2.1:77: the local address cannot be used"});
  }
  SECTION("the address to listen at does not resolve") {
    const Finished received =
        run({"recv", "--plain", "--listen", "no-such-host.invalid:1", "--dir", dir.path()});
    CHECK(received.status == 3);
    check_one_line(received.err, {"no-such-host.invalid"});
  }
}

// Pins that a destination which is no directory is refused before anybody connects.
TEST_CASE("no directory to receive into") {
  const TempDir dir;
  write_file(dir / "file", "x");
  for (const std::string& bad : {dir / "missing", dir / "file"}) {
    const Finished received = run({"recv", "--plain", "--listen", "127.0.0.1:0", "--dir", bad});
    CHECK(received.status == 9);
    check_one_line(received.err, {bad});
    CHECK(received.out.empty());
  }
}

// Pins that one bad source does not stop the others, that each is named once, and which status
// comes out.
TEST_CASE("missing sources") {
  const TempDir dir;
  write_file(dir / "good", "good");
  SECTION("some") {
    Receiver receiver({"--once", "--dir", dir.make("in")});
    const Finished sent =
        run({"send", "--plain", dir / "bad1", dir / "good", dir / "bad2\x1b", receiver.address()});
    CHECK(sent.status == 13);
    CHECK(receiver.process().wait() == 13);
    CHECK(tree(dir / "in") == Words{"good"});
    const Words lines = errors(sent.err);
    CAPTURE(sent.err);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0].find("bad1: ") != std::string::npos);
    CHECK(lines[1].find("bad2\\x1b: ") != std::string::npos);
    CHECK(lines[2].find("2 of 3 entries failed") != std::string::npos);
  }
  SECTION("all") {
    Receiver receiver({"--once", "--dir", dir.make("in")});
    const Finished sent = run({"send", "--plain", dir / "bad", receiver.address()});
    CHECK(sent.status == 10);
    check_one_line(sent.err, {"bad", "No such file"});
    CHECK(receiver.process().wait() == 10);
  }
  SECTION("raw") {
    Receiver receiver({"--raw", "--once", dir / "copy"});
    const Finished sent = run({"send", "--plain", "--raw", dir / "bad", receiver.address()});
    CHECK(sent.status == 10);
    check_one_line(sent.err, {"bad", "No such file"});
    receiver.process().wait();  // to it, the sender has sent nothing and closed
  }
}

// Pins the same for a file that may not be read, among a hundred others.
TEST_CASE("an unreadable source among many") {
  if (!can_be_another_user("an unreadable source among many")) return;
  const TempDir dir;
  for (int i = 0; i < 100; ++i) write_file(dir / ("src/f" + std::to_string(i)), std::to_string(i));
  fs::permissions(dir / "src/f50", fs::perms::none);
  fs::permissions(dir.path(), fs::perms(0755));
  Receiver receiver({"--once", "--dir", dir.make("in")});
  ProcessOptions nobody;
  nobody.unprivileged = true;
  const Finished sent = run({"send", "--plain", dir / "src/", receiver.address()}, nobody);
  CHECK(sent.status == 13);
  CHECK(receiver.process().wait() == 13);
  CHECK(tree(dir / "in").size() == 99);
  CHECK_FALSE(fs::exists(dir / "in/f50"));
  CHECK(sent.err.find("f50: ") != std::string::npos);
  CHECK(sent.err.find("ermission denied") != std::string::npos);
}

// Pins what cannot be written: a directory in the way, and a directory without permission.
TEST_CASE("the destination cannot be written") {
  const TempDir dir;
  write_file(dir / "x", "x");
  SECTION("the target is a directory") {
    dir.make("in/x/y");
    Receiver receiver({"--once", "--dir", dir / "in"});
    const Finished sent = run({"send", "--plain", dir / "x", receiver.address()});
    CHECK(sent.status == 9);
    check_one_line(sent.err, {"x: ", "directory"});
    CHECK(receiver.process().wait() == 9);
    check_one_line(receiver.process().err(), {"x: ", "directory"});
    CHECK(tree(dir / "in") == Words{"x/", "x/y/"});
  }
  SECTION("raw: the target is a directory") {
    dir.make("in");
    // Told before anybody is asked to send.
    const Finished received =
        run({"recv", "--plain", "--listen", "127.0.0.1:0", "--raw", "--once", dir / "in"});
    CHECK(received.status == 9);
    CHECK(received.out.find("listening") == std::string::npos);
    check_one_line(received.err, {dir / "in", "directory"});
  }
  SECTION("the directory is read-only") {
    if (!can_be_another_user("a read-only directory")) return;
    fs::permissions(dir.path(), fs::perms(0755));
    fs::permissions(dir.make("in"), fs::perms(0555));
    ProcessOptions nobody;
    nobody.unprivileged = true;
    Receiver receiver({"--once", "--dir", dir / "in"}, nobody);
    const Finished sent = run({"send", "--plain", dir / "x", receiver.address()});
    CHECK(sent.status == 9);
    check_one_line(sent.err, {"x: ", "ermission denied"});
    CHECK(receiver.process().wait() == 9);
    CHECK(tree(dir / "in").empty());
  }
}

// Pins a full disk: told at once with its own status on both sides, not at the end of the file, and
// nothing is left.
TEST_CASE("the disk is full") {
  // The mount is seen by this thread and its children only, and goes with them.
  if (!can_mount("a full disk")) return;
  const TempDir dir;
  const std::string in = dir.make("in");
  REQUIRE(::mount("none", in.c_str(), "tmpfs", 0, "size=16m") == 0);
  write_file(dir / "big", "");
  fs::resize_file(dir / "big", 1ULL << 30U);
  write_file(dir / "small", "small");
  Receiver receiver({"--once", "--dir", in});
  const Finished sent = run({"send", "--plain", dir / "big", dir / "small", receiver.address()});
  CAPTURE(sent.err, receiver.process().err());
  CHECK(sent.status == 8);
  CHECK(sent.seconds < 3);
  CHECK(receiver.process().wait() == 8);
  check_one_line(sent.err, {"big: ", "o space left", "at the peer"});
  check_one_line(receiver.process().err(), {"big: ", "o space left"});
  CHECK_FALSE(fs::exists(in + "/big"));
  CHECK(std::ranges::none_of(
      tree(in), [](const std::string& name) { return name.starts_with(".xfer-part-"); }));
  CHECK(::umount2(in.c_str(), MNT_DETACH) == 0);
}

// Pins what two ends with different ideas tell each other: no hang, no success, no file.
TEST_CASE("raw and framed ends do not fit") {
  const TempDir dir;
  write_file(dir / "x", sample_bytes(100'000));
  // Found out long before the time limit, and the cause is named, on the side that can know it.
  SECTION("a framed sender at a raw receiver") {
    Receiver receiver({"--raw", "--once", dir / "copy"});
    const Finished sent = run({"send", "--plain", dir / "x", receiver.address()});
    CHECK(sent.status == 5);
    CHECK(sent.seconds < 10);
    check_one_line(sent.err, {"--raw"});
    CHECK(receiver.process().wait() == 5);
    check_one_line(receiver.process().err(), {"--raw"});
    CHECK_FALSE(fs::exists(dir / "copy"));
  }
  SECTION("a raw sender at a framed receiver") {
    // Of few bytes, the receiver cannot tell that they are no frame.
    write_file(dir / "short", "ab");
    for (const char* const name : {"x", "short"}) {
      CAPTURE(std::string(name));
      Receiver receiver({"--once", "--dir", dir.make("in")});
      const Finished sent = run({"send", "--plain", "--raw", dir / name, receiver.address()});
      CHECK(sent.seconds < 10);
      CHECK(errors(sent.err).size() <= 1);
      const int status = receiver.process().wait();
      CHECK((status == 5 || status == 6));
      CHECK((sent.err.find("--raw") != std::string::npos ||
             receiver.process().err().find("--raw") != std::string::npos));
      CHECK(errors(receiver.process().err()).size() == 1);
      CHECK(tree(dir / "in").empty());
    }
  }
  SECTION("a raw stream may look like a greeting") {
    // The greeting of a sender as it is on the wire (docs/transfer-protocol.md): alone, and in
    // front of more.
    const std::string greeting("\x01\x00\x00\x08XFER\x00\x01\x01\x00", 12);
    for (const std::string& content : {greeting, greeting + sample_bytes(5000)}) {
      write_file(dir / "like", content);
      Receiver receiver({"--raw", "--once", dir / "copy"});
      CHECK(run({"send", "--plain", "--raw", dir / "like", receiver.address()}).status == 0);
      CHECK(receiver.process().wait() == 0);
      CHECK(read_file(dir / "copy") == content);
    }
  }
}

#ifndef __SANITIZE_ADDRESS__  // whose runtime needs descriptors of its own
// Pins that a process with too few descriptors says so, whatever it wanted the next one for.
TEST_CASE("too few descriptors") {
  const TempDir dir;
  write_file(dir / "x", "x");
  for (const int limit : {4, 5, 6, 7}) {
    CAPTURE(limit);
    const std::string nofile = "--nofile=" + std::to_string(limit);
    for (const Words& arguments :
         {Words{"recv", "--plain", "--once", "--listen", "127.0.0.1:0", "--dir", dir.path()},
          Words{"send", "--plain", dir / "x", free_address()}}) {
      Words command{"/usr/bin/prlimit", nofile};
      const Words words = xfer(arguments);
      command.insert(command.end(), words.begin(), words.end());
      Process process(command);
      const int status = process.wait(std::chrono::seconds(20));
      CAPTURE(arguments, process.err());
      CHECK(status != 0);
      CHECK(status < 128);
      check_one_line(process.err(), {"oo many open files"});
    }
  }
}
#endif

// Pins that anybody may throw anything at both ports during a transfer: random bytes, and bytes
// that look like packets.
TEST_CASE("garbage at the port does not disturb a transfer") {
  const TempDir dir;
  write_file(dir / "x", sample_bytes(10'000'000));
  Receiver receiver({"--once", "--json", "--dir", dir.make("in")});
  Process sender(xfer({"send", "--plain", "--max-rate", "100M", dir / "x", receiver.address()}));
  const std::string peer = receiver.process().wait_for_output("\"connected\"");
  const int sender_port = std::stoi(json_field(peer + "\n", "connected", "peer").substr(10));
  const SilentPeer source;
  for (unsigned i = 0; i < 5000 && sender.running(); ++i) {
    std::string datagram = sample_bytes(i % 1500, i);
    // Every other one: a control packet of each type with socket ID 0, or a data packet.
    if (i % 2 == 0 && datagram.size() >= 16) {
      datagram[0] = static_cast<char>(i % 4 == 0 ? 0x80 : 0x00);
      datagram[1] = static_cast<char>(i / 4 % 8);
      if (i % 3 == 0) std::fill_n(datagram.begin() + 12, 4, '\0');
    }
    source.send_to(receiver.port(), datagram);
    source.send_to(sender_port, datagram);
  }
  CHECK(sender.wait() == 0);
  CHECK(receiver.process().wait() == 0);
  CHECK(read_file(dir / "in/x") == read_file(dir / "x"));
}

// Pins that a source which changes under the sender's hands is never taken for a good copy.
TEST_CASE("the source changes while it is sent") {
  const TempDir dir;
  write_file(dir / "x", "");
  fs::resize_file(dir / "x", 100'000'000);
  Receiver receiver({"--once", "--dir", dir.make("in")});
  Process sender(
      xfer({"send", "--plain", "--json", "--max-rate", "400M", dir / "x", receiver.address()}));
  sender.wait_for_output("\"progress\"");
  SECTION("it shrinks") { fs::resize_file(dir / "x", 1000); }
  SECTION("it grows") { std::ofstream(dir / "x", std::ios::app) << "more"; }
  CHECK(sender.wait() == 11);
  check_one_line(sender.err(), {"x: "});
  CHECK(receiver.process().wait() == 11);
  CHECK(tree(dir / "in").empty());
}

}  // namespace
}  // namespace xfer::test

#include <catch2/catch.hpp>

#include "crypto/hash.hpp"
#include "jobs.hpp"
#include "net/clock.hpp"
#include "support/temp_dir.hpp"

namespace xfer::transfer {
namespace {

using session::Done;
using session::End;
using session::Entry;
using session::Hello;
using test::code_of;
using test::HandSender;
using test::Receiver;
using test::Recorder;
using test::send_options;
using test::TempDir;
using test::tree_of;
using Tree = std::map<std::string, std::string>;

Entry file_entry(std::uint32_t id, std::string_view path, std::uint64_t size) {
  Entry entry;
  entry.id = id;
  entry.mode = 0644;
  entry.path = path;
  entry.size = size;
  return entry;
}

End end_of(std::uint32_t id, std::string_view content) {
  End end;
  end.id = id;
  end.size = content.size();
  end.hash = crypto::xxh128(as_byte_view(content));
  return end;
}

TEST_CASE("forged names lead nowhere") {
  // Pins that a sender cannot place anything outside of the destination, and is cut off with a
  // clear line.
  TempDir outer;
  const std::string inner = outer / "in";
  REQUIRE(::mkdir(inner.c_str(), 0755) == 0);
  const std::string_view names[] = {"../x", "/etc/x", "a//b", ".", "..", "a/..", "a/", {"a\0b", 3}};
  const std::string long_name(256, 'n');
  std::vector<std::string_view> all(std::begin(names), std::end(names));
  all.push_back(long_name);
  for (const auto name : all) {
    for (const bool directory : {false, true}) {
      CAPTURE(std::string(name), directory);
      Receiver receiver(inner);
      HandSender sender(receiver.port());
      sender.send(Hello{});
      Entry entry = file_entry(1, name, 1);
      if (directory) {
        entry.kind = session::EntryKind::directory;
        entry.size.reset();
      }
      sender.send(entry);
      CHECK(sender.answers() == "abort:peer_error");
      CHECK(code_of(receiver.result()) == ErrorCode::peer_error);
      CHECK(receiver.seen().line().find("unsafe name") != std::string::npos);
    }
  }
  CHECK(tree_of(outer.path()) == Tree{{"in", "dir"}});
}

TEST_CASE("damaged content is found and does not get a name") {
  // Pins the whole-file hash, and that the next entry is not affected.
  TempDir to;
  Receiver receiver(to.path());
  HandSender sender(receiver.port());
  sender.send(Hello{});
  sender.send(file_entry(1, "bad", 4));
  sender.send_data(1, 0, "daXa");
  sender.send(end_of(1, "data"));
  sender.send(file_entry(2, "good", 4));
  sender.send_data(2, 0, "da");
  sender.send_data(2, 2, "ta");
  sender.send(end_of(2, "data"));
  sender.send(Done{2, 0, 8});
  CHECK(sender.answers() == "v:integrity v:ok final:integrity");
  CHECK(code_of(receiver.result()) == ErrorCode::partial);
  CHECK(receiver.seen().line().find("bad") != std::string::npos);
  CHECK(tree_of(to.path()) == Tree{{"good", "file:data"}});
}

TEST_CASE("frames out of order end the session") {
  // Pins that the state machine guards the files: what was in progress is removed.
  TempDir to;
  Receiver receiver(to.path());
  HandSender sender(receiver.port());
  sender.send(Hello{});
  sender.send(file_entry(1, "f", 10));
  sender.send_data(1, 0, "01234");
  sender.send_data(1, 4, "4");
  CHECK(sender.answers() == "abort:peer_error");
  CHECK(code_of(receiver.result()) == ErrorCode::peer_error);
  CHECK(tree_of(to.path()).empty());
}

TEST_CASE("a stranger is told apart") {
  // Pins the line for a raw sender, or any other program, at a receiver's port.
  TempDir to;
  Receiver receiver(to.path());
  HandSender sender(receiver.port());
  sender.write(as_byte_view("GET / HTTP/1.0\r\n\r\n"));
  sender.answers();
  CHECK(code_of(receiver.result()) == ErrorCode::version_mismatch);
  CHECK(receiver.seen().line().find("another protocol") != std::string::npos);
}

TEST_CASE("a sender that goes silent is stalled, one that shows life is not") {
  // Pins the time limit of the receiver and the sign of life that keeps an idle pipe going.
  TempDir to;
  const auto one_second = [](RecvOptions& options) { options.timeout = 1s; };
  {
    Receiver receiver(to.path(), one_second);
    HandSender sender(receiver.port());
    sender.send(Hello{});
    sender.send(file_entry(1, "f", 10));
    sender.send_data(1, 0, "01234");
    const TimePoint begin = net::now();
    for (int i = 0; i < 3; ++i) {
      CHECK(sender.stream().wait(net::Stream::kEnded, 500ms) == 0);
      sender.send(session::Alive{});
    }
    CHECK(sender.answers() == "abort:stalled");
    CHECK(net::now() - begin > 2s);
    CHECK(net::now() - begin < 5s);
    CHECK(code_of(receiver.result()) == ErrorCode::stalled);
  }
  CHECK(tree_of(to.path()).empty());
}

TEST_CASE("a sender that disappears leaves no file") {
  // Pins an early end of the connection.
  TempDir to;
  Receiver receiver(to.path());
  {
    HandSender sender(receiver.port());
    sender.send(Hello{});
    sender.send(file_entry(1, "f", 10));
    sender.send_data(1, 0, "01234");
    receiver.seen().wait_until([&] { return !receiver.seen().connected.empty(); });
  }
  CHECK(code_of(receiver.result()) == ErrorCode::peer_closed);
  CHECK(tree_of(to.path()).empty());
}

TEST_CASE("a sender that could not announce everything makes the receiver fail, too") {
  // Pins that both sides exit non-zero when either failed.
  TempDir to;
  Receiver receiver(to.path());
  HandSender sender(receiver.port());
  sender.send(Hello{});
  sender.send(file_entry(1, "f", 0));
  sender.send(end_of(1, ""));
  sender.send(Done{1, 2, 0});
  CHECK(sender.answers() == "v:ok final:ok");
  CHECK(code_of(receiver.result()) == ErrorCode::partial);
  CHECK(receiver.seen().summaries.back().failed == 2);
  CHECK(tree_of(to.path()) == Tree{{"f", "file:"}});
}

TEST_CASE("two senders of the transfer protocol do not mistake each other for receivers") {
  // Pins the role in the hello: here a listener that plays the sender.
  auto driver = net::Driver::open({});
  REQUIRE(driver.has_value());
  REQUIRE((*driver)->listen({}).has_value());
  const std::uint16_t port = (*driver)->local_address().port;
  auto peer = std::async(std::launch::async, [&] {
    auto stream = (*driver)->accept(20s);
    REQUIRE(stream.has_value());
    std::vector<std::byte> frame(64);
    ByteWriter out(frame);
    session::encode(out, Hello{});
    static_cast<void>((*stream)->write(out.written(), true).has_value());
    (*stream)->finish();
    static_cast<void>((*stream)->wait_closed(5s).has_value());
  });
  TempDir from;
  test::write_file(from / "f", "x");
  Recorder seen;
  CHECK(code_of(run_send(send_options(port, {from / "f"}), seen, {})) ==
        ErrorCode::version_mismatch);
  peer.wait();
}

}  // namespace
}  // namespace xfer::transfer

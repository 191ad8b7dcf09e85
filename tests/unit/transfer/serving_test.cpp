#include <catch2/catch.hpp>

#include "jobs.hpp"
#include "support/temp_dir.hpp"

namespace xfer::transfer {
namespace {

using test::code_of;
using test::HandSender;
using test::Receiver;
using test::Recorder;
using test::send_options;
using test::TempDir;
using test::tree_of;
using test::write_file;
using Tree = std::map<std::string, std::string>;

void serve(RecvOptions& options) { options.once = false; }

TEST_CASE("a serving receiver takes several senders at once, and one that fails disturbs nobody") {
  // Pins independence of sessions and that only cancelling ends the job.
  TempDir from;
  TempDir to;
  Receiver receiver(to.path(), serve);
  HandSender broken(receiver.port());
  HandSender silent(receiver.port());
  broken.write(as_byte_view("garbage garbage"));
  std::vector<std::future<std::optional<ErrorCode>>> senders;
  for (const char* name : {"a", "b", "c"}) {
    write_file(from / name, std::string(3'000'000, name[0]));
    senders.push_back(std::async(std::launch::async, [&, name] {
      Recorder seen;
      return code_of(run_send(send_options(receiver.port(), {from / name}), seen, {}));
    }));
  }
  for (auto& sender : senders) CHECK_FALSE(sender.get().has_value());
  broken.answers();
  receiver.seen().wait_until([&] { return receiver.seen().summaries.size() >= 4; });
  CHECK(tree_of(to.path()) == tree_of(from.path()));
  receiver.cancel();
  CHECK(code_of(receiver.result()) == ErrorCode::interrupted);
  CHECK(receiver.seen().connected.size() == 5);
  CHECK(receiver.seen().summaries.size() == 5);
}

TEST_CASE("two senders of one name end with one of the two contents") {
  // Pins that concurrent writers of a target never mix.
  TempDir from;
  TempDir to;
  for (const char* name : {"1", "2"}) REQUIRE(::mkdir((from / name).c_str(), 0755) == 0);
  const std::string contents[] = {std::string(5'000'000, '1'), std::string(5'000'000, '2')};
  write_file(from / "1/f", contents[0]);
  write_file(from / "2/f", contents[1]);
  Receiver receiver(to.path(), serve);
  std::vector<std::future<std::optional<ErrorCode>>> senders;
  for (const char* name : {"1/f", "2/f"})
    senders.push_back(std::async(std::launch::async, [&, name] {
      Recorder seen;
      return code_of(run_send(send_options(receiver.port(), {from / name}), seen, {}));
    }));
  for (auto& sender : senders) CHECK_FALSE(sender.get().has_value());
  const Tree tree = tree_of(to.path());
  REQUIRE(tree.size() == 1);
  CHECK((tree.at("f") == "file:" + contents[0] || tree.at("f") == "file:" + contents[1]));
}

TEST_CASE("a receiver for one sender rejects a second") {
  // Pins that --once means one.
  TempDir from;
  TempDir to;
  write_file(from / "f", "x");
  Receiver receiver(to.path());
  HandSender first(receiver.port());
  receiver.seen().wait_until([&] { return !receiver.seen().connected.empty(); });
  auto options = send_options(receiver.port(), {from / "f"});
  options.connection.connect_timeout = 1s;
  Recorder seen;
  CHECK(code_of(run_send(options, seen, {})) == ErrorCode::connect_rejected);
}

}  // namespace
}  // namespace xfer::transfer

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "cli/fixture.hpp"

namespace xfer::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::string numbered(std::string prefix, int number) { return prefix += std::to_string(number); }

/// Sends with a receiver of its own; both must succeed.
void send_ok(const Words& sources, const std::string& directory, const Words& options = {},
             const std::string& host = "127.0.0.1") {
  Receiver receiver({"--once", "--dir", directory}, {}, host);
  Words arguments{"send", "--plain"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), sources.begin(), sources.end());
  arguments.push_back(receiver.address());
  const Finished sent = run(arguments);
  CAPTURE(arguments, sent.out, sent.err);
  CHECK(sent.status == 0);
  CHECK(receiver.process().wait() == 0);
}

// Pins the main job: files of all interesting sizes arrive whole, with their times and modes, and
// nothing else arrives.
TEST_CASE("files arrive whole") {
  const TempDir dir;
  const std::string in = dir.make("in");
  Words sources;
  Words names;
  for (const std::size_t size : {0U, 1U, 1455U, 1456U, 1457U, 65'536U, 364'000U, 10'000'000U}) {
    names.push_back(std::to_string(size));
    sources.push_back(dir / names.back());
    write_file(sources.back(), sample_bytes(size));
  }
  fs::permissions(sources[2], fs::perms(0640));
  fs::last_write_time(sources[3], fs::file_time_type::clock::now() - std::chrono::hours(1000));
  send_ok(sources, in);
  std::ranges::sort(names);
  CHECK(tree(in) == names);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string target = in + "/" + fs::path(sources[i]).filename().string();
    CAPTURE(target);
    CHECK(read_file(target) == read_file(sources[i]));
    CHECK(fs::last_write_time(target) == fs::last_write_time(sources[i]));
  }
  CHECK(fs::status(in + "/1455").permissions() == fs::perms(0640));
}

// Pins what contiguous blocks are for: at least FP packets a write, in the counters of the
// receiver.
TEST_CASE("a write takes many packets") {
  const TempDir dir;
  write_file(dir / "x", sample_bytes(15'000'000));
  for (const char* const fp : {"1", "8", "64"}) {
    CAPTURE(std::string(fp));
    Receiver receiver({"--once", "--json", "--fp", fp, "--dir", dir.make("in")});
    CHECK(run({"send", "--plain", dir / "x", receiver.address()}).status == 0);
    CHECK(receiver.process().wait() == 0);
    const std::string out = receiver.process().out();
    const int writes = std::stoi(json_field(out, "summary", "file_writes"));
    const int bytes = std::stoi(json_field(out, "summary", "bytes_per_write"));
    CHECK(writes > 0);
    CHECK(writes < 15'000'000 / 1456 / 8);
    CHECK(bytes == 15'000'000 / writes);
    CHECK(read_file(dir / "in/x") == read_file(dir / "x"));
  }
}

// Pins --direct and --preallocate from the command line, alone and together, raw mode included.
TEST_CASE("files arrive whole past the page cache and in reserved space") {
  const TempDir dir;
  write_file(dir / "x", sample_bytes(5'000'001));
  for (const Words& options :
       {Words{"--direct"}, Words{"--preallocate"}, Words{"--direct", "--preallocate"}}) {
    CAPTURE(options);
    Words arguments{"--once", "--dir", dir.make("in")};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Receiver receiver(arguments);
    CHECK(run({"send", "--plain", dir / "x", receiver.address()}).status == 0);
    CHECK(receiver.process().wait() == 0);
    CHECK(read_file(dir / "in/x") == read_file(dir / "x"));
    fs::remove(dir / "in/x");
  }
  Receiver receiver({"--once", "--raw", "--direct", dir / "raw"});
  CHECK(run({"send", "--plain", "--raw", dir / "x", receiver.address()}).status == 0);
  CHECK(receiver.process().wait() == 0);
  CHECK(read_file(dir / "raw") == read_file(dir / "x"));
}

// Pins that empty files do no harm wherever they stand.
TEST_CASE("empty files first, in the middle and last") {
  const TempDir dir;
  Words sources;
  for (int position = 0; position < 5; ++position) {
    sources.push_back(dir / numbered("f", position));
    write_file(sources.back(), position % 2 == 0 ? "" : sample_bytes(5000));
  }
  send_ok(sources, dir.make("in"));
  CHECK(tree(dir / "in") == Words{"f0", "f1", "f2", "f3", "f4"});
  CHECK(fs::file_size(dir / "in/f0") == 0);
  CHECK(fs::file_size(dir / "in/f3") == 5000);
  CHECK(fs::file_size(dir / "in/f4") == 0);
  send_ok({sources[0]}, dir.make("alone"));
  CHECK(tree(dir / "alone") == Words{"f0"});
}

// Pins where a source's content goes: with and without trailing slash, to an empty and to a filled
// destination.
TEST_CASE("source paths decide names at the destination") {
  const TempDir dir;
  write_file(dir / "src/a", "a");
  write_file(dir / "src/sub/b", "b");
  dir.make("src/empty");
  send_ok({dir / "src"}, dir.make("1"));
  CHECK(tree(dir / "1") == Words{"src/", "src/a", "src/empty/", "src/sub/", "src/sub/b"});
  send_ok({dir / "src/"}, dir.make("2"));
  CHECK(tree(dir / "2") == Words{"a", "empty/", "sub/", "sub/b"});
  send_ok({dir / "src/."}, dir.make("3"));
  CHECK(tree(dir / "3") == tree(dir / "2"));
  send_ok({dir / "src/a", dir / "src/sub"}, dir.make("4"));
  CHECK(tree(dir / "4") == Words{"a", "sub/", "sub/b"});
  // Again over what is there: replaced, not nested.
  write_file(dir / "src/a", "new");
  send_ok({dir / "src"}, dir / "1");
  CHECK(tree(dir / "1") == Words{"src/", "src/a", "src/empty/", "src/sub/", "src/sub/b"});
  CHECK(read_file(dir / "1/src/a") == "new");
}

// Pins that links are not followed and not sent, but named.
TEST_CASE("links in a tree are skipped with a warning") {
  const TempDir dir;
  write_file(dir / "src/file", "x");
  fs::create_symlink("file", dir / "src/link");
  fs::create_symlink("/nonexistent", dir / "src/dangling");
  fs::create_symlink("..", dir / "src/loop");
  Receiver receiver({"--once", "--dir", dir.make("in")});
  const Finished sent = run({"send", "--plain", dir / "src/", receiver.address()});
  CHECK(sent.status == 0);
  CHECK(receiver.process().wait() == 0);
  CHECK(tree(dir / "in") == Words{"file"});
  for (const char* const name : {"link", "dangling", "loop"})
    CHECK(sent.err.find(std::string("src/") + name + ": symbolic link") != std::string::npos);
}

// Pins deep trees and names at the limit of a component.
TEST_CASE("deep trees and long names") {
  const TempDir dir;
  std::string path = dir / "src";
  for (int depth = 0; depth < 40; ++depth) {
    path += "/d";
    write_file(path + "/f", std::to_string(depth));
  }
  write_file(dir / std::string("src/").append(255, 'n'), "long");
  send_ok({dir / "src/"}, dir.make("in"));
  CHECK(tree(dir / "in") == tree(dir / "src"));
}

// Pins that hostile names travel unchanged and are printed escaped.
TEST_CASE("names of any bytes") {
  const TempDir dir;
  const Words names{"with space",  "new\nline", "esc\x1b[31m", "not\xffutf8", "back\\slash",
                    "caf\xc3\xa9", "[x]",       "-n",          "cr\rtab\t"};
  for (const std::string& name : names) write_file(dir / ("src/" + name), name);
  Receiver receiver({"--once", "-v", "--dir", dir.make("in")});
  const Finished sent = run({"send", "--plain", "-v", dir / "src/", receiver.address()});
  CHECK(sent.status == 0);
  CHECK(receiver.process().wait() == 0);
  CHECK(tree(dir / "in") == tree(dir / "src"));
  for (const std::string& text :
       {sent.out, sent.err, receiver.process().out(), receiver.process().err()})
    for (const char c : {'\x1b', '\r', '\t', '\xff'}) CHECK(text.find(c) == std::string::npos);
  for (const char* const printed :
       {"new\\x0aline", "esc\\x1b[31m", "not\\xffutf8", "back\\\\slash", "caf\xc3\xa9"}) {
    CAPTURE(printed);
    CHECK(sent.out.find(printed) != std::string::npos);
    CHECK(receiver.process().out().find(printed) != std::string::npos);
  }
}

// Pins standard input as a source, alone, under a chosen name and between files.
TEST_CASE("standard input is a source") {
  const TempDir dir;
  write_file(dir / "data", sample_bytes(3'000'000));
  write_file(dir / "other", "other");
  Receiver receiver({"--once", "--dir", dir.make("in")});
  ProcessOptions options;
  options.standard_input = dir / "data";
  CHECK(run({"send", "--plain", "--stdin-name", "sub/name", dir / "other", "-", receiver.address()},
            options)
            .status == 0);
  CHECK(receiver.process().wait() == 0);
  CHECK(tree(dir / "in") == Words{"other", "sub/", "sub/name"});
  CHECK(read_file(dir / "in/sub/name") == read_file(dir / "data"));
}

// Pins that a pipe which is slow to give data is waited for, and that its end is the end of the
// file.
TEST_CASE("standard input may be a slow pipe") {
  const TempDir dir;
  Receiver receiver({"--once", "--json", "--dir", dir.make("in")});
  ProcessOptions options;
  options.keep_input_open = true;
  Process sender(xfer({"send", "--plain", "-", receiver.address()}), options);
  sender.feed("first ");
  // Idle until the receiver has reported progress once more: no time-out, no spinning to an end.
  receiver.process().wait_for_output("\"progress\"");
  sender.feed("second");
  sender.close_input();
  CHECK(sender.wait() == 0);
  CHECK(receiver.process().wait() == 0);
  CHECK(read_file(dir / "in/stdin") == "first second");
}

// Pins raw mode from file to file, and from standard input to standard output, with nothing but the
// data there.
TEST_CASE("raw mode moves bare bytes") {
  const TempDir dir;
  for (const std::size_t size : {0U, 1U, 1456U, 5'000'000U}) {
    CAPTURE(size);
    write_file(dir / "data", sample_bytes(size));
    {
      Receiver receiver({"--raw", "--once", dir / "copy"});
      CHECK(run({"send", "--plain", "--raw", dir / "data", receiver.address()}).status == 0);
      CHECK(receiver.process().wait() == 0);
      CHECK(read_file(dir / "copy") == read_file(dir / "data"));
    }
    ProcessOptions output;
    output.standard_output = dir / "out";
    Receiver receiver({"--raw", "--once", "-"}, output);
    ProcessOptions input;
    input.standard_input = dir / "data";
    CHECK(run({"send", "--plain", "--raw", "-", receiver.address()}, input).status == 0);
    CHECK(receiver.process().wait() == 0);
    CHECK(read_file(dir / "out") == read_file(dir / "data"));
    CHECK(receiver.process().err().find("received") != std::string::npos);
  }
}

// Pins IPv6.
TEST_CASE("IPv6") {
  if (!has_address("IPv6", "::1")) return;
  const TempDir dir;
  write_file(dir / "x", "x");
  send_ok({dir / "x"}, dir.make("in"), {"-6"}, "[::1]");
  CHECK(tree(dir / "in") == Words{"x"});
}

// Pins host names, against a receiver that listens at all addresses.
TEST_CASE("host names") {
  if (!has_address("host names", "localhost")) return;
  const TempDir dir;
  write_file(dir / "x", "x");
  Receiver receiver({"--once", "--dir", dir.make("in")}, {}, "");
  std::string address = "localhost:";
  address += std::to_string(receiver.port());
  const Finished sent = run({"send", "--plain", dir / "x", address});
  CAPTURE(sent.err);
  CHECK(sent.status == 0);
  CHECK(receiver.process().wait() == 0);
  CHECK(tree(dir / "in") == Words{"x"});
}

// Pins --bind: the receiver sees the address and port asked for.
TEST_CASE("the sender's address can be chosen") {
  const TempDir dir;
  write_file(dir / "x", "x");
  Receiver receiver({"--once", "--json", "--dir", dir.make("in")});
  CHECK(run({"send", "--plain", "--bind", "127.0.0.7", dir / "x", receiver.address()}).status == 0);
  CHECK(receiver.process().wait() == 0);
  CHECK(json_field(receiver.process().out(), "connected", "peer").starts_with("127.0.0.7:"));
}

// Pins a serving receiver: one sender after the other, and several at the same time, until it is
// told to stop.
TEST_CASE("a receiver serves until it is stopped") {
  const TempDir dir;
  Receiver receiver({"--dir", dir.make("in")});
  for (int turn = 0; turn < 3; ++turn) {
    Words paths;
    for (int i = 0; i < 3; ++i) {
      paths.push_back(dir / numbered("f", 10 * turn + i));
      write_file(paths.back(), sample_bytes(200'000, static_cast<unsigned>(i)));
    }
    Process a(xfer({"send", "--plain", paths[0], receiver.address()}));
    Process b(xfer({"send", "--plain", paths[1], receiver.address()}));
    Process c(xfer({"send", "--plain", paths[2], receiver.address()}));
    CHECK(a.wait() == 0);
    CHECK(b.wait() == 0);
    CHECK(c.wait() == 0);
  }
  CHECK(tree(dir / "in").size() == 9);
  receiver.process().signal(SIGTERM);
  CHECK(receiver.process().wait() == 130);
}

// Pins --max-sessions: one sender too many is turned away, and is welcome when the first is gone.
TEST_CASE("a receiver limits the number of its senders") {
  const TempDir dir;
  write_file(dir / "x", "x");
  Receiver receiver({"--max-sessions", "1", "--json", "--dir", dir.make("in")});
  ProcessOptions options;
  options.keep_input_open = true;
  Process first(xfer({"send", "--plain", "-", receiver.address()}), options);
  receiver.process().wait_for_output("\"connected\"");
  const Finished second = run({"send", "--plain", dir / "x", receiver.address()});
  CHECK(second.status == 4);
  CHECK(second.err.find("rejected") != std::string::npos);
  first.close_input();
  CHECK(first.wait() == 0);
  receiver.process().wait_for_output("\"summary\"");
}

// Pins that --max-rate limits what is sent, with either congestion control: 2 MB at 16 Mbit/s take
// a second.
TEST_CASE("the rate has a ceiling") {
  const TempDir dir;
  write_file(dir / "x", sample_bytes(2'000'000));
  for (const char* const cc : {"udt", "fixed"}) {
    CAPTURE(cc);
    Receiver receiver({"--once", "--dir", dir.make("in")});
    const Finished sent = run({"send", "--plain", "--json", "--cc", cc, "--max-rate", "16M",
                               dir / "x", receiver.address()});
    CHECK(sent.status == 0);
    CHECK(receiver.process().wait() == 0);
    CHECK(std::stod(json_field(sent.out, "summary", "elapsed_s")) > 0.9);
  }
}

// Pins that nobody lingers once a file is there: a megabyte takes no longer than starting and a few
// round trips. The best of three, because the machine may be busy.
TEST_CASE("a small transfer ends at once") {
  const TempDir dir;
  write_file(dir / "x", sample_bytes(1'000'000));
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    Receiver receiver({"--once", "--fsync", "never", "--dir", dir.make("in")});
    const Finished sent = run({"send", "--plain", dir / "x", receiver.address()});
    CHECK(sent.status == 0);
    CHECK(receiver.process().wait() == 0);
    best = std::min(best, sent.seconds);
  }
  CHECK(best < 0.5);
}

// Pins that identical runs behave alike: all succeed, none crawls, and loopback does not lose one
// packet in a hundred.
TEST_CASE("ten identical runs") {
  const TempDir dir;
  write_file(dir / "x", sample_bytes(20'000'000));
  std::vector<double> seconds;
  double packets = 0;
  double retransmitted = 0;
  for (int i = 0; i < 10; ++i) {
    Receiver receiver({"--once", "--fsync", "never", "--dir", dir.make("in")});
    const Finished sent = run({"send", "--plain", "--json", dir / "x", receiver.address()});
    REQUIRE(sent.status == 0);
    REQUIRE(receiver.process().wait() == 0);
    seconds.push_back(sent.seconds);
    packets += std::stod(json_field(sent.out, "summary", "packets_sent"));
    retransmitted += std::stod(json_field(sent.out, "summary", "packets_retransmitted"));
  }
  std::ranges::sort(seconds);
  CAPTURE(seconds, packets, retransmitted);
  CHECK(seconds.back() < 5 * seconds[4] + 1);
  CHECK(retransmitted < 0.01 * packets);
}

// Pins that an old, longer file is replaced as a whole, and that a leftover of a killed run does no
// harm.
TEST_CASE("an existing file is replaced") {
  const TempDir dir;
  write_file(dir / "in/x", sample_bytes(100'000, 7));
  write_file(dir / "in/.xfer-part-leftover", "old");
  write_file(dir / "x", "short");
  send_ok({dir / "x"}, dir / "in");
  CHECK(read_file(dir / "in/x") == "short");
  CHECK(read_file(dir / "in/.xfer-part-leftover") == "old");
}

}  // namespace
}  // namespace xfer::test

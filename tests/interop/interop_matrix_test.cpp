// Our implementation against stock UDT4, each end a process of its own, real sockets on the
// loopback interface. Every case checks every byte at the receiver and the exit status of both
// programs. Prints how many cases ran.

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "interop/pair.hpp"
#include "interop/peer.hpp"

namespace xfer::interop {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kMedium = 364'000;  // 250 full packets, the stock file sender's block
constexpr std::uint32_t kNearWrap = 0x7FFF'FF00;

/// Counts the cases of the whole program; prints the sum when it ends.
class Tally {
 public:
  ~Tally() { std::printf("interop cases: %u run, %u passed\n", run_, passed_); }
  void count(bool passed) {
    ++run_;
    if (passed) ++passed_;
  }

 private:
  unsigned run_ = 0;
  unsigned passed_ = 0;
} g_tally;

/// A case passes if `passed` holds; `report` explains one that does not.
void judge(const std::string& name, bool passed, const std::string& report) {
  g_tally.count(passed);
  INFO(name << "\n" << report);
  CHECK(passed);
}

PairResult run_case(const std::string& name, const PairOptions& options) {
  auto result = run_pair(options);
  judge(name, result.good(), result.report());
  return result;
}

/// Value of the last `key=number` in a program's output; -1: none.
long fact(const Child::Exit& exit, const std::string& key) {
  const std::size_t at = exit.output.rfind(" " + key + "=");
  return at == std::string::npos ? -1 : std::stol(exit.output.substr(at + key.size() + 2));
}

enum class Direction { up, down, both };

struct Setting {
  Implementation caller;
  Implementation listener;
};
constexpr Setting kRoles[] = {{Implementation::ours, Implementation::stock},
                              {Implementation::stock, Implementation::ours}};

std::string title(const char* group, Setting setting, Direction direction, std::uint64_t bytes) {
  constexpr const char* kArrows[] = {" -> ", " <- ", " <-> "};
  return std::string(group) + ": " + name(setting.caller) + kArrows[static_cast<int>(direction)] +
         name(setting.listener) + ", " + std::to_string(bytes) + " bytes";
}

PairOptions pair_of(Setting setting, Direction direction, std::uint64_t bytes) {
  PairOptions options;
  options.caller.implementation = setting.caller;
  options.listener.implementation = setting.listener;
  if (direction != Direction::down) options.caller.sends = bytes;
  if (direction != Direction::up) options.listener.sends = bytes;
  return options;
}

/// Our side of a pair with one stock side.
Side& our_side(PairOptions& options) {
  return options.caller.implementation == Implementation::ours ? options.caller : options.listener;
}
Side& stock_side(PairOptions& options) {
  return options.caller.implementation == Implementation::ours ? options.listener : options.caller;
}
const Child::Exit& our_exit(const PairOptions& options, const PairResult& result) {
  return options.caller.implementation == Implementation::ours ? result.caller : result.listener;
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "interop-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const char* leaf) const { return (path_ / leaf).string(); }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the harness itself works with stock on both ends") {
  // Without this, a failure of ours could be the harness's.
  for (const auto direction : {Direction::up, Direction::down, Direction::both}) {
    const Setting stock{Implementation::stock, Implementation::stock};
    auto options = pair_of(stock, direction, kMedium);
    run_case(title("harness", stock, direction, kMedium), options);
  }
}

TEST_CASE("every size goes either way and both ways at once") {
  // Empty streams, one byte, one byte around a full packet, one block, many windows.
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1455}, std::uint64_t{1456},
        std::uint64_t{1457}, kMedium, 100 * kMiB}) {
    for (const auto setting : kRoles)
      for (const auto direction : {Direction::up, Direction::down, Direction::both})
        run_case(title("size", setting, direction, bytes), pair_of(setting, direction, bytes));
  }
}

TEST_CASE("both ends use the smaller of the packet sizes they announce") {
  // On the wire no datagram is longer than the smaller MSS allows, and full ones are exactly that
  // long (rule I-20).
  for (const int mss : {576, 1400, 1500, 9000}) {
    for (const auto setting : kRoles) {
      for (const bool ours : {true, false}) {
        auto options = pair_of(setting, Direction::both, kMedium);
        options.impairment.emplace();
        (ours ? our_side(options) : stock_side(options)).arguments = {"--mss=" +
                                                                      std::to_string(mss)};
        const std::string what = "MSS " + std::to_string(mss) + (ours ? " of ours" : " of stock");
        const auto result =
            run_case(title(what.c_str(), setting, Direction::both, kMedium), options);
        const auto agreed = std::min(mss, 1500);
        CHECK(result.impairment.forward.largest_datagram ==
              static_cast<std::uint64_t>(agreed - 28));
        CHECK(result.impairment.back.largest_datagram == static_cast<std::uint64_t>(agreed - 28));
        CHECK(fact(our_exit(options, result), "payload") == agreed - 44);
      }
    }
  }
}

TEST_CASE("jumbo packets when both ends allow them") {
  for (const auto setting : kRoles) {
    auto options = pair_of(setting, Direction::both, 20 * kMiB);
    options.caller.arguments = options.listener.arguments = {"--mss=9000"};
    const auto result =
        run_case(title("MSS 9000 of both", setting, Direction::both, 20 * kMiB), options);
    CHECK(fact(our_exit(options, result), "payload") == 9000 - 44);
  }
}

TEST_CASE("sequence numbers wrap in the middle of a transfer") {
  // Fault E5. Both directions of a connection start at the caller's number.
  for (const auto setting : kRoles) {
    for (const auto direction : {Direction::up, Direction::down, Direction::both}) {
      auto options = pair_of(setting, direction, 4 * kMiB);
      options.impairment.emplace();
      our_side(options).arguments = {"--isn=" + std::to_string(kNearWrap)};
      stock_side(options).arguments = {"--wrap"};
      const auto result = run_case(title("wrap", setting, direction, 4 * kMiB), options);
      CHECK(result.impairment.isn.value_or(0) >= kNearWrap);
    }
  }
  for (const std::uint32_t isn : {0U, 0x7FFF'FFFFU, 0x7FFF'FFF0U}) {
    auto options = pair_of(kRoles[0], Direction::both, kMedium);
    options.caller.arguments = {"--isn=" + std::to_string(isn)};
    run_case(title("wrap at once", kRoles[0], Direction::both, kMedium), options);
  }
}

TEST_CASE("rendezvous, either side first") {
  // Each direction has its own first sequence number here, one of them wraps.
  for (const auto setting : kRoles) {
    for (const auto direction : {Direction::up, Direction::down, Direction::both}) {
      for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{1457}, 20 * kMiB}) {
        auto options = pair_of(setting, direction, bytes);
        options.rendezvous = true;
        our_side(options).arguments = {"--isn=" + std::to_string(kNearWrap)};
        run_case(title("rendezvous", setting, direction, bytes), options);
      }
    }
  }
}

TEST_CASE("rendezvous with different packet sizes") {
  // Stock adopts the peer's announced size without taking the minimum; ours keeps both ends at it
  // (rule I-23).
  for (const auto setting : kRoles) {
    for (const bool ours : {true, false}) {
      auto options = pair_of(setting, Direction::both, kMedium);
      options.rendezvous = true;
      (ours ? our_side(options) : stock_side(options)).arguments = {"--mss=1000"};
      run_case(title(ours ? "rendezvous, our MSS 1000" : "rendezvous, stock MSS 1000", setting,
                     Direction::both, kMedium),
               options);
    }
  }
}

TEST_CASE("IPv6") {
  // Stock counts 28 bytes of headers where there are 48; ours announces 20 bytes less (rule I-24).
  for (const auto setting : kRoles) {
    for (const std::uint64_t bytes : {std::uint64_t{1437}, 20 * kMiB}) {
      auto options = pair_of(setting, Direction::both, bytes);
      options.host = "::1";
      const auto result = run_case(title("IPv6", setting, Direction::both, bytes), options);
      CHECK(fact(our_exit(options, result), "payload") == 1480 - 44);
    }
  }
}

TEST_CASE("through a path with 2 % loss, 2 % reordering and 1 % duplication") {
  std::uint64_t seed = 1;
  for (const auto setting : kRoles) {
    for (const auto direction : {Direction::up, Direction::down, Direction::both}) {
      for (const Duration delay : {0ms, 5ms}) {
        auto options = pair_of(setting, direction, 2 * kMiB);
        options.impairment = Impairment{
            .loss = 0.02, .reorder = 0.02, .duplicate = 0.01, .delay = delay, .seed = seed++};
        options.timeout = 60s;
        // Stock's one shutdown packet may be lost: nobody waits long for it.
        options.caller.arguments = options.listener.arguments = {"--end-wait-ms=1000"};
        const auto result = run_case(title("impaired", setting, direction, 2 * kMiB), options);
        CHECK(result.impairment.forward.dropped + result.impairment.back.dropped > 0);
      }
    }
  }
}

TEST_CASE("many packets in a row lost together with their retransmissions") {
  // As when a burst overflows a receiver's socket. A stock receiver reports nothing twice (fault
  // A1), so our sender has to find out by itself, and not at one packet per time-out.
  for (const auto setting : kRoles) {
    auto options = pair_of(setting, Direction::up, 8 * kMiB);
    options.impairment.emplace().drop = {.packet = 2000, .times = 2, .count = 1000};
    const auto result =
        run_case(title("burst lost twice", setting, Direction::up, 8 * kMiB), options);
    CHECK(result.impairment.scripted_drops == 2000);
    CHECK(result.elapsed < 8s);
  }
}

TEST_CASE("a rendezvous through a path with 2 % loss, 2 % reordering and 1 % duplication") {
  std::uint64_t seed = 100;
  for (const auto setting : kRoles) {
    auto options = pair_of(setting, Direction::both, kMedium);
    options.rendezvous = true;
    options.impairment =
        Impairment{.loss = 0.02, .reorder = 0.02, .duplicate = 0.01, .delay = 2ms, .seed = seed++};
    options.timeout = 60s;
    options.caller.arguments = options.listener.arguments = {"--end-wait-ms=1000"};
    run_case(title("impaired rendezvous", setting, Direction::both, kMedium), options);
  }
}

TEST_CASE("a receiver that closes with its last byte") {
  // Fault F6: stock's shutdown may come before its last ACK, and ours must not call the transfer
  // failed.
  for (const auto setting : kRoles) {
    for (const auto direction : {Direction::up, Direction::down}) {
      for (const std::uint64_t bytes : {std::uint64_t{1456}, 4 * kMiB}) {
        auto options = pair_of(setting, direction, bytes);
        options.both_close_early = true;
        run_case(title("early close", setting, direction, bytes), options);
      }
    }
  }
}

TEST_CASE("a slow reader fills the window and the transfer goes on") {
  // Fault A5. Windows of 1024 packets are full long before the reader starts; stock hears of the
  // room only from the packets it may always send (rule I-15).
  for (const auto setting : kRoles) {
    for (const auto direction : {Direction::up, Direction::down}) {
      auto options = pair_of(setting, direction, 8 * kMiB);
      options.caller.arguments =
          options.listener.arguments = {"--window=1024", "--read-pause-ms=1500"};
      const auto result = run_case(title("slow reader", setting, direction, 8 * kMiB), options);
      CHECK(result.elapsed < 6s);
    }
  }
}

TEST_CASE("a message-oriented caller is rejected and the listener lives on") {
  // Request type 1002 (wire facts, 4.2); stock reports it as error 1002.
  Child listener({XFER_OUR_PEER, "listen", "--receive=1457", "--close-last"});
  const auto port = listener.read_after("port ", 10s);
  REQUIRE(port);
  Child wrong(
      {XFER_STOCK_PEER, "connect", "--datagram", "--peer-host=127.0.0.1", "--peer-port=" + *port});
  const auto rejected = wrong.wait(10s);
  judge("datagram caller", rejected.output.find("connect: 1002 ") != std::string::npos,
        rejected.output);

  Child right(
      {XFER_STOCK_PEER, "connect", "--send=1457", "--peer-host=127.0.0.1", "--peer-port=" + *port});
  const auto accepted = right.wait(10s);
  const auto served = listener.wait(10s);
  judge("stream caller after a rejected one", accepted.good() && served.good(),
        accepted.output + served.output);
}

TEST_CASE("a message-oriented stock listener rejects our caller") {
  // Fault C6: a rejection is not a connection.
  Child listener({XFER_STOCK_PEER, "listen", "--datagram"});
  const auto port = listener.read_after("port ", 10s);
  REQUIRE(port);
  Child caller({XFER_OUR_PEER, "connect", "--peer-host=127.0.0.1", "--peer-port=" + *port});
  const auto exit = caller.wait(10s);
  judge("datagram listener", exit.output.find("connect_rejected") != std::string::npos,
        exit.output);
}

TEST_CASE("the stock file sample in both roles") {
  // Wire facts, section 14: the server sends name-addressed files, the client closes after the last
  // byte (fault F6).
  const TemporaryDirectory directory;
  const std::string source = directory.file("source");
  const std::string target = directory.file("target");
  struct Roles {
    const char* title;
    const char* server;
    const char* client;
  };
  for (const auto& roles :
       {Roles{"stock sendfile, our recvfile", XFER_STOCK_SAMPLE, XFER_OUR_SAMPLE},
        Roles{"our sendfile, stock recvfile", XFER_OUR_SAMPLE, XFER_STOCK_SAMPLE}}) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{1456}, std::size_t{10'000'000}}) {
      std::string content(size, '\0');
      Pattern(size + 1).fill(0, std::as_writable_bytes(std::span(content)));
      std::ofstream(source, std::ios::binary) << content;
      std::filesystem::remove(target);
      Child server({roles.server, "sendfile"});
      const auto port = server.read_after("port ", 10s);
      REQUIRE(port);
      Child client({roles.client, "recvfile", "127.0.0.1", *port, source, target});
      const auto fetched = client.wait(60s);
      const auto served = server.wait(60s);
      judge(std::string(roles.title) + ", " + std::to_string(size) + " bytes",
            fetched.good() && served.good() && read_file(target) == content,
            fetched.output + served.output);
    }
    Child server({roles.server, "sendfile"});
    const auto port = server.read_after("port ", 10s);
    REQUIRE(port);
    Child client({roles.client, "recvfile", "127.0.0.1", *port, directory.file("missing"), target});
    const auto fetched = client.wait(60s);
    const auto served = server.wait(60s);
    judge(std::string(roles.title) + ", no such file", fetched.status == 4 && served.status == 4,
          fetched.output + served.output);
  }
}

}  // namespace xfer::interop

#include "cli/console.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

using xfer::cli::Console;

TEST_CASE("a reader that does not read is waited for once, then output is dropped until it reads") {
  // Pins that a stopped terminal or a hanging reader cannot stop a transfer, and that what is
  // written after the gap begins on a line of its own.
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  REQUIRE(::fcntl(pipe[1], F_SETPIPE_SZ, 4096) > 0);
  Console console(pipe[1]);
  const std::string line(99, 'x');

  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10'000; ++i) console.line(line);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));

  std::array<char, 8192> room{};
  const ssize_t kept = ::read(pipe[0], room.data(), room.size());
  REQUIRE(kept > 0);
  CHECK(kept % 100 == 0);  // whole lines
  console.line("again");
  const ssize_t after = ::read(pipe[0], room.data(), room.size());
  REQUIRE(after > 0);
  CHECK(std::string(room.data(), static_cast<std::size_t>(after)) == "again\n");
  ::close(pipe[0]);
  ::close(pipe[1]);
}

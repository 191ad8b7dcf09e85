#include "transfer/greeting_watch.hpp"

#include <catch2/catch.hpp>

#include "base/byte_writer.hpp"

namespace xfer::transfer {
namespace {

std::vector<std::byte> greeting(session::Role role) {
  std::vector<std::byte> bytes(64);
  ByteWriter out(bytes);
  session::encode(out, session::Hello{session::kVersion, role});
  bytes.resize(out.size());
  return bytes;
}

// Pins that a greeting is found however it is cut, of the right role only, and only while nothing
// follows it.
TEST_CASE("a lone greeting is told from a stream") {
  const auto bytes = greeting(session::Role::sender);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    CAPTURE(cut);
    GreetingWatch watch;
    watch.see(ByteView(bytes).first(cut));
    CHECK(watch.only_greeted(session::Role::sender) == (cut == bytes.size()));
    watch.see(ByteView(bytes).subspan(cut));
    CHECK(watch.only_greeted(session::Role::sender));
    CHECK_FALSE(watch.only_greeted(session::Role::receiver));
    watch.see(ByteView(bytes).first(1));
    CHECK_FALSE(watch.only_greeted(session::Role::sender));
  }
}

// Pins that other streams are none, of any length.
TEST_CASE("other bytes are no greeting") {
  GreetingWatch watch;
  CHECK_FALSE(watch.only_greeted(session::Role::sender));
  const std::vector<std::byte> zeros(100'000);
  watch.see(ByteView(zeros).first(12));
  CHECK_FALSE(watch.only_greeted(session::Role::sender));
  watch.see(zeros);
  watch.see(greeting(session::Role::sender));
  CHECK_FALSE(watch.only_greeted(session::Role::sender));
}

}  // namespace
}  // namespace xfer::transfer

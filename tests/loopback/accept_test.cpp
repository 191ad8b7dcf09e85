#include <catch2/catch.hpp>
#include <thread>

#include "pair.hpp"

using namespace xfer;
using namespace xfer::test;

TEST_CASE("Connections that wait to be accepted are taken in the order they came") {
  auto listener = make_listener();
  std::vector<std::unique_ptr<net::Driver>> drivers;
  std::vector<std::shared_ptr<net::Stream>> streams;
  for (int i = 0; i < 5; ++i) {
    drivers.push_back(make_driver());
    auto stream = drivers.back()->connect(listener->local_address(), {});
    REQUIRE(stream.has_value());
    REQUIRE((*stream)->write(as_byte_view(std::to_string(i)), true).has_value());
    streams.push_back(std::move(*stream));
  }
  for (int i = 0; i < 5; ++i) {
    auto stream = listener->accept(kPatience);
    REQUIRE(stream.has_value());
    const auto text = read_text(**stream, 1);
    REQUIRE(text.has_value());
    CHECK(*text == std::to_string(i));
  }
}

TEST_CASE("A caller that sent everything and left before it was accepted is not lost") {
  auto listener = make_listener();
  {
    auto driver = make_driver();
    auto stream = driver->connect(listener->local_address(), {});
    REQUIRE(stream.has_value());
    REQUIRE((*stream)->write(as_byte_view("here"), true).has_value());
    (*stream)->finish();
    REQUIRE((*stream)->wait_closed(kPatience).has_value());
  }
  auto stream = listener->accept(kPatience);
  REQUIRE(stream.has_value());
  const auto text = read_text(**stream, 4);
  REQUIRE(text.has_value());
  CHECK(*text == "here");
}

TEST_CASE("accept() gives up after its time-out") {
  auto listener = make_listener();
  const TimePoint begin = net::now();
  CHECK(listener->accept(50ms).error().code == ErrorCode::would_block);
  CHECK(net::now() - begin >= 50ms);
  CHECK(listener->accept(0s).error().code == ErrorCode::would_block);
}

TEST_CASE(
    "Beyond the most connections allowed, and after listening ended, callers are turned away") {
  auto listener = make_listener(loopback4(), {}, {.max_connections = 1});
  auto driver = make_driver();
  const udt::ConnectionConfig config{.connect_timeout = 500ms};
  auto first = driver->connect(listener->local_address(), config);
  REQUIRE(first.has_value());
  CHECK(driver->connect(listener->local_address(), config).error().code ==
        ErrorCode::connect_rejected);
  listener->stop_listening();
  CHECK(driver->connect(listener->local_address(), config).error().code ==
        ErrorCode::connect_timeout);
}

TEST_CASE("Several connections share one driver on each side") {
  auto listener = make_listener();
  auto caller = make_driver();
  std::vector<Pair> pairs(4);
  for (Pair& pair : pairs) {
    auto connected = caller->connect(listener->local_address(), {});
    REQUIRE(connected.has_value());
    pair.connected = std::move(*connected);
    auto accepted = listener->accept(kPatience);
    REQUIRE(accepted.has_value());
    pair.accepted = std::move(*accepted);
  }
  std::vector<std::string> results(pairs.size(), "not run");
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    threads.emplace_back([&, i] { results[i] = exchange(pairs[i], 1'000'000, 300'000); });
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) CHECK(result == "");
}

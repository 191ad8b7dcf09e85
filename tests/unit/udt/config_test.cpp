#include "udt/config.hpp"

#include <functional>
#include <string>

#include <catch2/catch.hpp>

namespace xfer::udt {
namespace {

struct Case {
  const char* field;
  std::function<void(ConnectionConfig&)> change;
  bool valid;
};

// Each field at both ends of its range and just outside; the error names the field.
TEST_CASE("Connection options have ranges", "[udt]") {
  const auto set = [](auto member, auto value) {
    return [=](ConnectionConfig& config) { config.*member = value; };
  };
  using C = ConnectionConfig;
  const std::vector<Case> cases = {
      {"connect_timeout", set(&C::connect_timeout, Duration(100ms)), true},
      {"connect_timeout", set(&C::connect_timeout, Duration(100ms - 1ns)), false},
      {"connect_timeout", set(&C::connect_timeout, Duration(1h)), true},
      {"connect_timeout", set(&C::connect_timeout, Duration(1h + 1ns)), false},
      {"idle_timeout", set(&C::idle_timeout, Duration(2s)), true},
      {"idle_timeout", set(&C::idle_timeout, Duration(2s - 1ns)), false},
      {"idle_timeout", set(&C::idle_timeout, Duration(24h)), true},
      {"idle_timeout", set(&C::idle_timeout, Duration(24h + 1ns)), false},
      {"linger", set(&C::linger, Duration(0s)), true},
      {"linger", set(&C::linger, Duration(-1ns)), false},
      {"linger", set(&C::linger, Duration(1h)), true},
      {"linger", set(&C::linger, Duration(1h + 1ns)), false},
      {"mss", set(&C::mss, 76U), true},
      {"mss", set(&C::mss, 75U), false},
      {"mss", set(&C::mss, 65'535U), true},
      {"mss", set(&C::mss, 65'536U), false},
      {"receive_window", set(&C::receive_window, 32U), true},
      {"receive_window", set(&C::receive_window, 31U), false},
      {"receive_window", set(&C::receive_window, kMaxFlightWindow), true},
      {"receive_window", set(&C::receive_window, kMaxFlightWindow + 1), false},
      {"send_window", set(&C::send_window, 32U), true},
      {"send_window", set(&C::send_window, 31U), false},
      {"send_window", set(&C::send_window, kMaxFlightWindow), true},
      {"send_window", set(&C::send_window, kMaxFlightWindow + 1), false},
      {"max_rate", set(&C::max_rate, std::optional<std::uint64_t>(1000)), true},
      {"max_rate", set(&C::max_rate, std::optional<std::uint64_t>(999)), false},
      {"max_rate", set(&C::controller, ControllerKind::fixed_rate), false},
  };
  for (const auto& [field, change, valid] : cases) {
    CAPTURE(field, valid);
    ConnectionConfig config;
    change(config);
    const auto result = config.validate();
    REQUIRE(result.has_value() == valid);
    if (!valid) {
      CHECK(result.error().code == ErrorCode::out_of_range);
      CHECK(std::string(result.error().what) == field);
    }
  }
  ConnectionConfig fixed;
  fixed.controller = ControllerKind::fixed_rate;
  fixed.max_rate = 1'000'000;
  CHECK(fixed.validate().has_value());
}

// A listener needs room for one connection, and its connections' options are checked too.
TEST_CASE("Listener options have ranges", "[udt]") {
  CHECK(ListenConfig{}.validate().has_value());
  ListenConfig none;
  none.max_connections = 0;
  CHECK_FALSE(none.validate().has_value());
  ListenConfig tiny;
  tiny.connection.mss = 1;
  CHECK_FALSE(tiny.validate().has_value());
}

// What a peer sees by default is what stock announces.
TEST_CASE("The defaults a peer sees are those of stock [I-27]", "[udt][I-27]") {
  CHECK(ConnectionConfig{}.mss == 1500);
  CHECK(ConnectionConfig{}.receive_window == 8192);
}

}  // namespace
}  // namespace xfer::udt

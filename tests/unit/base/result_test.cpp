#include "base/result.hpp"

#include <memory>
#include <string>

#include <catch2/catch.hpp>

namespace xfer {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{ErrorCode::out_of_range, 0, "odd"};
  return number / 2;
}

Result<void> check_even(int number) {
  XFER_TRY(half(number));
  return {};
}

Result<std::string> quarter(int number) {
  XFER_TRY(check_even(number));
  XFER_TRY(half(number / 2));
  return std::to_string(number / 4);
}

// A result is either a value or an error, and says which.
TEST_CASE("Result holds a value or an error", "[base]") {
  const Result<int> good = half(4);
  CHECK(good.has_value());
  CHECK(good);
  CHECK(*good == 2);
  CHECK(good.value() == 2);

  const Result<int> bad = half(3);
  CHECK_FALSE(bad.has_value());
  CHECK_FALSE(bad);
  CHECK(bad.error().code == ErrorCode::out_of_range);
  CHECK(bad.error().what == std::string("odd"));

  const Result<int> from_code = ErrorCode::truncated;
  CHECK(from_code.error() == Error{ErrorCode::truncated, 0, nullptr});
}

// The void form carries only the failure; a default-constructed one is success.
TEST_CASE("Result<void> is success by default", "[base]") {
  CHECK(Result<void>());
  CHECK(check_even(2));
  CHECK(check_even(1).error().code == ErrorCode::out_of_range);
  CHECK_FALSE(Result<void>(ErrorCode::system));
  CHECK(Result<void>(Error{ErrorCode::system, 5, nullptr}).error().sys_errno == 5);
}

// XFER_TRY leaves at the first failure, with that failure, across different value types.
TEST_CASE("XFER_TRY passes the first error up", "[base]") {
  CHECK(*quarter(8) == "2");
  CHECK(quarter(6).error().what == std::string("odd"));
  CHECK(quarter(7).error().code == ErrorCode::out_of_range);
}

// Values that can only be moved can be carried, reached into and taken out.
TEST_CASE("Result carries move-only values", "[base]") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  CHECK(**result == 5);
  CHECK(result->get() != nullptr);
  const std::unique_ptr<int> taken = *std::move(result);
  CHECK(*taken == 5);
}

}  // namespace
}  // namespace xfer

#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "base/error.hpp"

namespace xfer {

/// A value or an Error; the part of C++23's std::expected that we need, with its member names.
/// Never throws. Reading the value of a failed result is a bug and aborts.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, error) {}
  Result(ErrorCode code) : state_(std::in_place_index<1>, Error{code, 0, nullptr}) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  [[nodiscard]] T& value() & {
    XFER_ASSERT(has_value());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    XFER_ASSERT(has_value());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    XFER_ASSERT(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const {
    XFER_ASSERT(!has_value());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(error), failed_(true) {}
  Result(ErrorCode code) : error_{code, 0, nullptr}, failed_(true) {}

  [[nodiscard]] bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] const Error& error() const {
    XFER_ASSERT(failed_);
    return error_;
  }

 private:
  Error error_{};
  bool failed_ = false;
};

/// Leaves the function with the error of a failed Result.
#define XFER_TRY(expression)                              \
  do {                                                    \
    auto xfer_try_result = (expression);                  \
    if (!xfer_try_result) return xfer_try_result.error(); \
  } while (false)

}  // namespace xfer

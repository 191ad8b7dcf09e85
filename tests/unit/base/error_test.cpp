#include "base/error.hpp"

#include <cerrno>
#include <set>
#include <string>

#include <catch2/catch.hpp>

namespace xfer {
namespace {

struct Row {
  ErrorCode code;
  const char* name;
  int exit;
};

// Exit codes are a promise to scripts. This table repeats docs/cli.md: changing it breaks users,
// adding to it does not.
TEST_CASE("Exit codes are stable", "[base]") {
  const Row rows[] = {
      {ErrorCode::internal, "internal", 1},
      {ErrorCode::usage, "usage", 2},
      {ErrorCode::resolve_failed, "resolve_failed", 3},
      {ErrorCode::connect_refused, "connect_refused", 4},
      {ErrorCode::connect_timeout, "connect_timeout", 4},
      {ErrorCode::connect_rejected, "connect_rejected", 4},
      {ErrorCode::unreachable, "unreachable", 4},
      {ErrorCode::version_mismatch, "version_mismatch", 5},
      {ErrorCode::peer_error, "peer_error", 5},
      {ErrorCode::peer_lost, "peer_lost", 6},
      {ErrorCode::peer_closed, "peer_closed", 6},
      {ErrorCode::stalled, "stalled", 7},
      {ErrorCode::no_space, "no_space", 8},
      {ErrorCode::destination_error, "destination_error", 9},
      {ErrorCode::source_error, "source_error", 10},
      {ErrorCode::source_changed, "source_changed", 11},
      {ErrorCode::integrity, "integrity", 12},
      {ErrorCode::partial, "partial", 13},
      {ErrorCode::bind_failed, "bind_failed", 14},
      {ErrorCode::interrupted, "interrupted", 130},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(exit_code(row.code) == row.exit);
    CHECK(error_name(row.code) == std::string(row.name));
  }
}

// Every code has a name and a sentence of its own, an exit status that a shell can see, and no code
// exits 0.
TEST_CASE("Every error code is distinguishable and means failure", "[base]") {
  std::set<std::string> names;
  std::set<std::string> sentences;
  std::size_t count = 0;
#define XFER_CHECK_CODE(name, exit, sentence)        \
  ++count;                                           \
  names.insert(error_name(ErrorCode::name));         \
  sentences.insert(error_sentence(ErrorCode::name)); \
  CHECK(exit_code(ErrorCode::name) > 0);             \
  CHECK(exit_code(ErrorCode::name) < 256);
  XFER_ERROR_CODES(XFER_CHECK_CODE)
#undef XFER_CHECK_CODE
  CHECK(names.size() == count);
  CHECK(sentences.size() == count);
}

// The line for a user has the parts that are known, in the order what, sentence, system's reason.
TEST_CASE("An error reads as one line", "[base]") {
  CHECK(to_string(Error{ErrorCode::stalled, 0, nullptr}) == "no progress within the time limit");
  CHECK(to_string(Error{ErrorCode::stalled, 0, "sending"}) ==
        "sending: no progress within the time limit");
  CHECK(to_string(Error{ErrorCode::bind_failed, EADDRINUSE, "bind"}) ==
        "bind: the local address cannot be used: Address already in use");
}

// Two failures are the same failure if code and errno are; the wording does not count.
TEST_CASE("Errors compare by code and errno", "[base]") {
  CHECK(Error{ErrorCode::system, ENOENT, "a"} == Error{ErrorCode::system, ENOENT, "b"});
  CHECK_FALSE(Error{ErrorCode::system, ENOENT, "a"} == Error{ErrorCode::system, EPERM, "a"});
  CHECK_FALSE(Error{ErrorCode::system, 0, "a"} == Error{ErrorCode::internal, 0, "a"});
}

// A value that is no enumerator, as after a bad cast, still yields text and a failing exit status.
TEST_CASE("A number that names no error code is still a failure", "[base]") {
  const auto unknown = static_cast<ErrorCode>(9999);
  CHECK(error_name(unknown) == std::string("unknown"));
  CHECK(error_sentence(unknown) == std::string("unknown error"));
  CHECK(exit_code(unknown) == 1);
}

}  // namespace
}  // namespace xfer

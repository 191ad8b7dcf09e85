#include "cli/json.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "unit/cli/summaries.hpp"

namespace xfer::cli {
namespace {

nlohmann::json parsed(const std::string& line) {
  CHECK(std::ranges::all_of(line, [](char c) { return c >= 0x20 && c < 0x7F; }));
  nlohmann::json object = nlohmann::json::parse(line);
  CHECK(object.at("v") == 1);
  return object;
}

std::vector<std::string> all_events() {
  SendCommand send;
  send.job.sources = {"a", "b\xff"};
  send.job.destination = {"::1", 9000};
  RecvCommand recv;
  recv.job.directory = "d";
  transfer::EntryResult failed;
  failed.name = "x";
  failed.error = {ErrorCode::source_error, 13, nullptr};
  failed.text = "permission denied";
  transfer::Summary bad = sample_summary();
  bad.error = Error{ErrorCode::partial, 0, nullptr};
  return {json::start(send),
          json::start(recv, sample_summary().peer),
          json::connected(1, sample_summary().peer),
          json::progress({}),
          json::file({}),
          json::file(failed),
          json::warning(1, "text"),
          json::error({1, {ErrorCode::no_space, 28, nullptr}, "line"}),
          json::summary(sample_summary()),
          json::summary(bad)};
}

// Pins the promise of one valid, printable, versioned object a line.
TEST_CASE("every event is one line of valid JSON with a version and a name") {
  for (const std::string& line : all_events()) {
    CAPTURE(line);
    CHECK(parsed(line).at("event").is_string());
  }
}

// Pins the escape for names: valid JSON whatever the bytes, and reversible.
TEST_CASE("names of any bytes stay valid JSON") {
  transfer::EntryResult entry;
  entry.ok = true;
  entry.name = "a\x1b\n\\\"\xff\xc3\xa4";
  CHECK(parsed(json::file(entry)).at("name") == "a\\x1b\\x0a\\\\\"\\xff\xc3\xa4");
  for (int byte = 0; byte < 256; ++byte) {
    entry.name = std::string(1, static_cast<char>(byte));
    CAPTURE(byte);
    CHECK(parsed(json::file(entry)).at("name").is_string());
  }
  // Text that should have been printable and is not.
  CHECK(parsed(json::warning(1, "\xff")).at("text") == "\xef\xbf\xbd");
}

// Pins figures in their fields and units.
TEST_CASE("the summary has the figures") {
  const nlohmann::json object = parsed(json::summary(sample_summary()));
  CHECK(object.at("event") == "summary");
  CHECK(object.at("ok") == true);
  CHECK(object.at("role") == "sender");
  CHECK(object.at("peer") == "192.0.2.1:9000");
  CHECK(object.at("bytes") == 1'073'741'824);
  CHECK(object.at("elapsed_s") == 1.23);
  CHECK(object.at("packets_retransmitted") == 12);
  CHECK(object.at("packets_lost") == 7000);
  CHECK(object.at("rtt_us") == 310);
  CHECK(object.at("socket_receive_buffer") == 12U << 20U);
  CHECK_FALSE(object.contains("error"));
}

// Pins the figures that show what the transport and the writer did.
TEST_CASE("the summary has the counters") {
  const nlohmann::json object = parsed(json::summary(sample_summary()));
  CHECK(object.at("nak_repeats") == 21);
  CHECK(object.at("dupack_retransmits") == 22);
  CHECK(object.at("spurious_retransmits") == 23);
  CHECK(object.at("probes_sent") == 24);
  CHECK(object.at("exp_fired") == 25);
  CHECK(object.at("timeouts") == 25);
  CHECK(object.at("payload_copies") == 26);
  CHECK(object.at("rtt_min_us") == 290);
  CHECK(object.at("file_reads") == 31);
  CHECK(object.at("file_writes") == 32);
  CHECK(object.at("bytes_per_write") == 11'648);
  CHECK(object.at("gso") == true);
  CHECK(object.at("gro") == false);
  CHECK(object.at("gso_trains") == 41);
  CHECK(object.at("send_calls") == 42);
  CHECK(object.at("receive_calls") == 43);
  CHECK(object.at("send_blocked") == 45);
  CHECK(object.at("send_too_big") == 46);
  CHECK(object.at("send_failed") == 47);
  CHECK(parsed(json::summary({})).at("bytes_per_write") == 0);
}

// Pins what a script needs to know of a failure.
TEST_CASE("errors carry name, exit status and text") {
  const nlohmann::json error =
      parsed(json::error({2, {ErrorCode::no_space, 28, nullptr}, "x: disk full"}));
  CHECK(error.at("session") == 2);
  CHECK(error.at("error") == "no_space");
  CHECK(error.at("exit") == 8);
  CHECK(error.at("errno") == 28);
  CHECK(error.at("text") == "x: disk full");
}

// Pins that an unknown total is null, not 0, and that no number can break the line.
TEST_CASE("unknown numbers are null") {
  transfer::Progress progress;
  CHECK(parsed(json::progress(progress)).at("bytes_total").is_null());
  progress.total_known = true;
  CHECK(parsed(json::progress(progress)).at("bytes_total") == 0);
  progress.rate = std::numeric_limits<double>::infinity();
  CHECK(parsed(json::progress(progress)).at("bytes_per_s").is_null());
}

// Pins the documentation: each event and each field is described in docs/json.md.
TEST_CASE("docs/json.md describes every event and field") {
  std::ifstream file(XFER_SOURCE_DIR "/docs/json.md");
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  for (const std::string& line : all_events()) {
    const nlohmann::json object = nlohmann::json::parse(line);
    const std::string heading = "## " + object.at("event").get<std::string>() + "\n";
    CAPTURE(heading);
    const std::size_t begin = text.str().find(heading);
    REQUIRE(begin != std::string::npos);
    const std::string section = text.str().substr(begin, text.str().find("\n## ", begin) - begin);
    for (const auto& [key, value] : object.items()) {
      if (key == "v" || key == "event") continue;
      CAPTURE(key);
      CHECK(section.find("`" + key + "`") != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace xfer::cli

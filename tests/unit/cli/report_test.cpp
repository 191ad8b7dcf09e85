#include "cli/report.hpp"

#include <catch2/catch.hpp>

#include "unit/cli/summaries.hpp"

namespace xfer::cli {
namespace {

using Lines = std::vector<std::string>;

// Pins the report a sender's user reads.
TEST_CASE("the sender's report in plain words") {
  CHECK(report_lines(sample_summary(), false) ==
        Lines{"sent 3 files and 1 directory, 1.07 GB (1,073,741,824 bytes), to 192.0.2.1:9000 in "
              "1.23 s: 6.98 Gbit/s "
              "(873 MB/s)",
              "packets: 737,400 sent, 12 retransmitted (0.0016 %); round-trip time 310 us",
              "CPU: 0.40 s user, 0.83 s system (100 % of one core)",
              "socket buffers: 12 MiB to receive, 12 MiB to send"});
}

// Pins what --verbose adds.
TEST_CASE("the verbose report has the counters") {
  transfer::Summary s = sample_summary();
  const Lines lines = report_lines(s, true);
  REQUIRE(lines.size() == 8);
  CHECK(lines[3] ==
        "protocol: 0 ACKs and 0 NAKs sent, 0 and 0 received; 0 duplicates; round-trip time at "
        "least 290 us, varies by 0 us");
  CHECK(lines[4] ==
        "repair: 21 losses reported again; 22 packets sent again for equal ACKs, 23 packets sent "
        "again in vain; 24 probes, 25 time-outs");
  CHECK(lines[5] == "files: 31 reads");
  CHECK(lines[6] == "system: GSO on, GRO off; 42 send and 43 receive calls; 0 packets dropped");
  s.socket.segmenting = false;
  CHECK(report_lines(s, true)[6].starts_with("system: GSO given up after 41 trains, "));
  s.role = transfer::Summary::Role::receiver;
  CHECK(report_lines(s, true)[5] ==
        "files: 32 writes of 11.6 kB on average; 26 packets copied on the way");
}

// Pins the receiver's wording, and that drops of its own socket are told apart from losses of the
// network.
TEST_CASE("the receiver's report in plain words") {
  transfer::Summary s = sample_summary();
  s.role = transfer::Summary::Role::receiver;
  s.files = 1;
  s.directories = 0;
  s.bytes = 5;
  s.goodput = 5;
  s.socket.kernel_drops = 4;
  const Lines lines = report_lines(s, false);
  CHECK(lines[0] ==
        "received 1 file, 5 bytes, from 192.0.2.1:9000 in 1.23 s: 40 bit/s (5 bytes/s)");
  CHECK(lines[1] ==
        "packets: 700,000 received, 7,000 lost (1 %), of these 4 for want of socket buffer; "
        "round-trip time 310 us");
}

// Pins that a failed session cannot be read as a success.
TEST_CASE("an incomplete session says so first") {
  transfer::Summary s = sample_summary();
  s.error = Error{ErrorCode::partial, 0, nullptr};
  s.failed = 1;
  s.skipped = 2;
  const Lines lines = report_lines(s, false);
  CHECK(lines[0].starts_with("NOT COMPLETE: sent 3 files"));
  CHECK(lines[1] == "failed: 1 entry");
  CHECK(lines[2] == "skipped: 2 entries");
}

// Pins that figures which do not exist are not printed: a session of no time and no bytes.
TEST_CASE("an empty session has no rates") {
  transfer::Summary s;
  s.raw = true;
  const Lines lines = report_lines(s, false);
  CHECK(lines[0].find("bit/s") == std::string::npos);
  CHECK(lines[2] == "CPU: 0.00 s user, 0.00 s system");
}

// Pins when there is a hint, and that it names the setting and the value that would help.
TEST_CASE("the socket buffer hint names what to set") {
  transfer::Summary s = sample_summary();
  CHECK_FALSE(socket_buffer_hint(s, 12U << 20U));
  s.socket.send_buffer = 212'992;
  CHECK(socket_buffer_hint(s, 12U << 20U)->find("sysctl -w net.core.wmem_max=12582912") !=
        std::string::npos);
  s.role = transfer::Summary::Role::receiver;
  CHECK_FALSE(socket_buffer_hint(s, 12U << 20U));
  s.role = transfer::Summary::Role::sender;
  s.socket.send_buffer = 0;  // not known
  CHECK_FALSE(socket_buffer_hint(s, 12U << 20U));
}

}  // namespace
}  // namespace xfer::cli

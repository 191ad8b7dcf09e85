#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/process.hpp"

/// What the black-box tests of the command share. Nothing here includes the product's headers.
namespace xfer::test {

/// Path of the built command.
std::string xfer_binary();

/// `xfer` and its arguments.
std::vector<std::string> xfer(const std::vector<std::string>& arguments);

/// A directory that goes away with everything in it.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] std::string path() const { return path_; }
  /// A path in it.
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Makes a directory in it and returns its path.
  std::string make(const std::string& name) const;

 private:
  std::string path_;
};

/// `size` bytes that do not repeat and do not compress, the same for the same `seed`.
std::string sample_bytes(std::size_t size, unsigned seed = 1);
void write_file(const std::string& path, const std::string& content);
std::string read_file(const std::string& path);
/// Relative paths of everything below `directory`, sorted; directories end with a slash.
std::vector<std::string> tree(const std::string& directory);

/// How a finished command ended.
struct Finished {
  int status = -1;
  std::string out;
  std::string err;
  double seconds = 0;
};
/// Runs `xfer` to its end.
Finished run(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

/// A running `xfer recv --plain --listen HOST:0` with more arguments, which listens.
class Receiver {
 public:
  explicit Receiver(const std::vector<std::string>& arguments, const ProcessOptions& options = {},
                    const std::string& host = "127.0.0.1");
  /// HOST:PORT for the sender.
  [[nodiscard]] std::string address() const { return address_; }
  [[nodiscard]] int port() const;
  Process& process() { return *process_; }

 private:
  std::unique_ptr<Process> process_;
  std::string address_;
};

/// Whether the machine lets the test do what it needs; if not, a visible warning that `what` was
/// skipped.
bool can_mount(const char* what);  ///< in a mount namespace of its own, which this call enters
bool can_be_another_user(const char* what);  ///< run the command with ProcessOptions::unprivileged
bool has_address(const char* what,
                 const std::string& host);  ///< the name resolves, and to a local address

/// Value of a field in the newest JSON event of that name in `out`; throws if there is none.
std::string json_field(const std::string& out, const std::string& event, const std::string& field);
/// Number of events of that name; throws if a line is not JSON.
std::size_t json_count(const std::string& out, const std::string& event);

}  // namespace xfer::test

#include "cli/fixture.hpp"

#include <netdb.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace xfer::test {

namespace fs = std::filesystem;

std::string xfer_binary() { return XFER_BINARY; }

std::vector<std::string> xfer(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{xfer_binary()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

TempDir::TempDir() {
  std::string name = (fs::temp_directory_path() / "xfer-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp: " + name);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  for (auto it = fs::recursive_directory_iterator(path_, ignored);
       it != fs::recursive_directory_iterator(); it.increment(ignored))
    if (it->is_directory(ignored) && !it->is_symlink(ignored))
      fs::permissions(it->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
  fs::remove_all(path_, ignored);
}

std::string TempDir::make(const std::string& name) const {
  fs::create_directories(path_ + "/" + name);
  return path_ + "/" + name;
}

std::string sample_bytes(std::size_t size, unsigned seed) {
  std::string bytes(size, '\0');
  std::uint64_t state = 0x9E3779B97F4A7C15U * (seed + 1U);
  for (char& byte : bytes) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    byte = static_cast<char>(state >> 32U);
  }
  return bytes;
}

void write_file(const std::string& path, const std::string& content) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file << content;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> tree(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    std::string name = fs::relative(entry.path(), directory).string();
    if (entry.is_directory() && !entry.is_symlink()) name += "/";
    names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

Finished run(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  Process process(xfer(arguments), options);
  Finished finished;
  finished.status = process.wait();
  finished.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  finished.out = process.out();
  finished.err = process.err();
  return finished;
}

Receiver::Receiver(const std::vector<std::string>& arguments, const ProcessOptions& options,
                   const std::string& host) {
  std::vector<std::string> all{"recv", "--plain", "--listen", host + ":0"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  process_ = std::make_unique<Process>(xfer(all), options);
  const bool json = std::ranges::find(arguments, "--json") != arguments.end();
  if (json) {
    address_ = nlohmann::json::parse(process_->wait_for_output("\"start\""))
                   .at("listen")
                   .get<std::string>();
    return;
  }
  const bool data_on_output = std::ranges::find(arguments, "-") != arguments.end();
  const std::string line = data_on_output ? process_->wait_for_error("listening on ")
                                          : process_->wait_for_output("listening on ");
  address_ = line.substr(line.rfind(' ') + 1);
  if (!address_.empty() && address_.back() == '\r') address_.pop_back();  // from a terminal
}

int Receiver::port() const { return std::stoi(address_.substr(address_.rfind(':') + 1)); }

bool can_mount(const char* what) {
  if (::unshare(CLONE_NEWNS) == 0 &&
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0)
    return true;
  WARN("skipped, mounting is not permitted: " << what);
  return false;
}

bool can_be_another_user(const char* what) {
  ProcessOptions options;
  options.unprivileged = true;
  if (::geteuid() == 0 && run({"--version"}, options).status == 0) return true;
  WARN("skipped, needs root and a command that others may run: " << what);
  return false;
}

bool has_address(const char* what, const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  bool usable = false;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) == 0) {
    const int fd = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    usable = fd >= 0 && ::bind(fd, found->ai_addr, found->ai_addrlen) == 0;
    ::close(fd);
    ::freeaddrinfo(found);
  }
  if (!usable) WARN("skipped, " << host << " is no address of this machine: " << what);
  return usable;
}

namespace {

std::vector<nlohmann::json> events(const std::string& out, const std::string& event) {
  std::vector<nlohmann::json> found;
  for (const std::string& line : lines_of(out)) {
    nlohmann::json object = nlohmann::json::parse(line);
    if (object.at("v") != 1) throw std::runtime_error("another version: " + line);
    if (object.at("event") == event) found.push_back(std::move(object));
  }
  return found;
}

}  // namespace

std::string json_field(const std::string& out, const std::string& event, const std::string& field) {
  const auto found = events(out, event);
  if (found.empty()) throw std::runtime_error("no event " + event + " in:\n" + out);
  const nlohmann::json& value = found.back().at(field);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::size_t json_count(const std::string& out, const std::string& event) {
  return events(out, event).size();
}

}  // namespace xfer::test

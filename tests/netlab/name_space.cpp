#include "name_space.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <vector>

namespace xfer::netlab {
namespace {

constexpr char kFolder[] = "/run/netns";
constexpr char kCurrent[] = "/proc/thread-self/ns/net";

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::string path_of(const std::string& name) { return std::string(kFolder) + "/" + name; }

FileDescriptor open_namespace(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) fail(path);
  return file;
}

void enter(const FileDescriptor& name_space, const std::string& what) {
  if (::setns(name_space.number(), CLONE_NEWNET) != 0) fail(what);
}

/// As iproute2 expects it: a mount point that other mount namespaces see too.
void prepare_folder() {
  ::mkdir(kFolder, 0755);
  if (::mount("", kFolder, "none", MS_SHARED | MS_REC, nullptr) == 0) return;
  if (::mount(kFolder, kFolder, "none", MS_BIND | MS_REC, nullptr) != 0 ||
      ::mount("", kFolder, "none", MS_SHARED | MS_REC, nullptr) != 0)
    fail(kFolder);
}

void loopback_up() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq values{};
  std::memcpy(values.ifr_name, "lo", 3);
  values.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.number(), SIOCSIFFLAGS, &values) != 0) fail("loopback up");
}

/// Processes whose network namespace is `wanted`, without the caller.
std::vector<pid_t> processes_in(const struct stat& wanted) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size() || pid == ::getpid()) continue;
    struct stat its {};
    if (::stat((entry.path() / "ns/net").c_str(), &its) == 0 && its.st_ino == wanted.st_ino &&
        its.st_dev == wanted.st_dev)
      found.push_back(pid);
  }
  return found;
}

void end_processes_in(const std::string& path) {
  struct stat wanted {};
  if (::stat(path.c_str(), &wanted) != 0) return;
  // Not mounted: a plain file that no process can be in.
  for (int turn = 0; turn < 50; ++turn) {
    const auto left = processes_in(wanted);
    if (left.empty()) return;
    if (turn % 20 == 0)
      for (const pid_t pid : left) ::kill(pid, turn == 0 ? SIGTERM : SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

InNamespace::InNamespace(const std::string& name) : before_(open_namespace(kCurrent)) {
  enter_namespace(name);
}

InNamespace::~InNamespace() {
  // Going back to where one was needs nothing that could fail.
  if (::setns(before_.number(), CLONE_NEWNET) != 0) std::terminate();
}

void make_namespace(const std::string& name) {
  prepare_folder();
  const std::string path = path_of(name);
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  if (file.number() < 0) fail(path);
  const FileDescriptor before = open_namespace(kCurrent);
  if (::unshare(CLONE_NEWNET) != 0) fail("new network namespace");
  const int mounted = ::mount(kCurrent, path.c_str(), "none", MS_BIND, nullptr);
  const int error = errno;
  if (mounted == 0) {
    // Router solicitations and the like would take part in the seeded losses.
    set_kernel("ipv6/conf/all/disable_ipv6", "1");
    set_kernel("ipv6/conf/default/disable_ipv6", "1");
    loopback_up();
  }
  enter(before, "back to the first namespace");
  errno = error;
  if (mounted != 0) fail("mount " + path);
}

void enter_namespace(const std::string& name) { enter(open_namespace(path_of(name)), name); }

bool remove_namespace(const std::string& name) {
  const std::string path = path_of(name);
  if (::access(path.c_str(), F_OK) != 0) return false;
  end_processes_in(path);
  ::umount2(path.c_str(), MNT_DETACH);
  ::unlink(path.c_str());
  return true;
}

void set_kernel(const std::string& setting, const std::string& value) {
  const std::string path = "/proc/sys/net/" + setting;
  std::ofstream file(path);
  file << value;
  file.flush();
  if (!file) fail(path);
}

}  // namespace xfer::netlab

#include "lab.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <system_error>

#include "name_space.hpp"

namespace xfer::netlab {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

FileDescriptor open_lock(const LabNames& names) {
  std::filesystem::create_directories(names.folder);
  FileDescriptor file(::open(names.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (file.number() < 0) fail(names.lock);
  return file;
}

bool lock(const FileDescriptor& file) { return ::flock(file.number(), LOCK_EX | LOCK_NB) == 0; }

}  // namespace

LabNames::LabNames(const std::string& lab)
    : namespaces{lab + "-a", lab + "-b"},
      folder("/run/netlab/" + lab),
      lock(folder + "/lock"),
      control(folder + "/control"),
      log(folder + "/log") {}

pid_t running(const LabNames& names) {
  const FileDescriptor file(::open(names.lock.c_str(), O_RDWR | O_CLOEXEC));
  if (file.number() < 0 || lock(file)) return 0;
  char text[16] = {};
  const ssize_t length = ::pread(file.number(), text, sizeof text - 1, 0);
  pid_t pid = 0;
  if (length > 0) std::from_chars(text, text + length, pid);
  return pid;
}

bool clear(const LabNames& names) {
  bool found = false;
  for (const auto& name : names.namespaces) found = remove_namespace(name) || found;
  return std::filesystem::remove_all(names.folder) > 0 || found;
}

Lab::Lab(const std::string& name, const Settings& settings)
    : names_(name), lock_(open_lock(names_)) {
  if (!lock(lock_)) throw UsageError("the lab '" + name + "' is up already");
  for (const auto& left_over : names_.namespaces) remove_namespace(left_over);
  std::filesystem::remove(names_.control);
  record_process(::getpid());
  try {
    for (std::size_t end = 0; end < 2; ++end) make_end(end, settings);
  } catch (...) {
    clear(names_);
    throw;
  }
}

Lab::~Lab() {
  tuns_ = {};
  clear(names_);
}

void Lab::record_process(pid_t pid) {
  const std::string text = std::to_string(pid) + "\n";
  if (::ftruncate(lock_.number(), 0) != 0 ||
      ::pwrite(lock_.number(), text.data(), text.size(), 0) < 0)
    fail(names_.lock);
}

void Lab::make_end(std::size_t end, const Settings& settings) {
  make_namespace(names_.namespaces[end]);
  const InNamespace inside(names_.namespaces[end]);
  TunOptions options;
  options.address = kAddresses[end];
  options.mtu = settings.device_mtu;
  options.queue = settings.device_queue;
  options.offload = settings.offload;
  tuns_[end] = std::make_unique<Tun>(options);
  // Connections do not learn from earlier ones.
  set_kernel("ipv4/tcp_no_metrics_save", "1");
  if (settings.tcp_buffer > 0) {
    const std::string most = std::to_string(settings.tcp_buffer);
    set_kernel("ipv4/tcp_rmem", "4096 131072 " + most);
    set_kernel("ipv4/tcp_wmem", "4096 16384 " + most);
  }
}

}  // namespace xfer::netlab

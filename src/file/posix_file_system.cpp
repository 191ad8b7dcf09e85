#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "file/file_system.hpp"

namespace xfer::file {
namespace {

Error system_error(const char* what) { return {ErrorCode::system, errno, what}; }

std::int64_t to_ns(const timespec& t) {
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

FileInfo to_info(const struct stat& st) {
  FileInfo info;
  if (S_ISREG(st.st_mode)) {
    info.type = FileInfo::Type::regular;
  } else if (S_ISDIR(st.st_mode)) {
    info.type = FileInfo::Type::directory;
  } else if (S_ISLNK(st.st_mode)) {
    info.type = FileInfo::Type::symlink;
  }
  info.mode = st.st_mode & 07777U;
  info.size = static_cast<std::uint64_t>(st.st_size);
  info.mtime_ns = to_ns(st.st_mtim);
  info.ctime_ns = to_ns(st.st_ctim);
  info.device = st.st_dev;
  info.inode = st.st_ino;
  info.owner = st.st_uid;
  return info;
}

int retry_open(int directory, const char* path, int flags, mode_t mode = 0) {
  int fd = -1;
  do {
    fd = ::openat(directory, path, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

/// Opens one component without following it; a link is ELOOP also where a directory is asked for.
int open_component(int directory, const std::string& name, int flags) {
  const int fd = retry_open(directory, name.c_str(), flags | O_NOFOLLOW);
  if (fd >= 0 || errno != ENOTDIR) return fd;
  struct stat st {};
  const bool link =
      ::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
  errno = link ? ELOOP : ENOTDIR;
  return -1;
}

/// Opens beneath a directory component by component; for kernels before 5.6 or sandboxes without
/// openat2.
int walk_beneath(int directory, std::string_view path, int flags) {
  Fd current;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string name(path.substr(0, slash));
    if (name == "..") {
      errno = EXDEV;
      return -1;
    }
    const int base = current.valid() ? current.get() : directory;
    if (slash == std::string_view::npos) return open_component(base, name, flags);
    Fd next(open_component(base, name, O_PATH | O_DIRECTORY));
    if (!next.valid()) return -1;
    current = std::move(next);
    path.remove_prefix(slash + 1);
  }
}

/// -1 with ENOSYS or EPERM where the kernel or a sandbox does not know the call.
int openat2_beneath(int directory, const char* path, int flags) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  while (true) {
    const long fd = ::syscall(SYS_openat2, directory, path, &how, sizeof(how));
    // EAGAIN: a rename elsewhere made the kernel's check inconclusive.
    if (fd >= 0 || (errno != EINTR && errno != EAGAIN)) return static_cast<int>(fd);
  }
}

struct CloseDir {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

class PosixFileSystem final : public FileSystem {
 public:
  explicit PosixFileSystem(bool use_openat2) : openat2_missing_(!use_openat2) {}

  Result<Fd> open_read(int directory, const char* path, Links links) override {
    // Non-blocking: opening a FIFO would wait for a writer. Regular files do not care.
    Fd fd(open(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, links));
    if (!fd.valid()) return system_error("open");
    return fd;
  }

  Result<Fd> open_directory(int directory, const char* path, Links links) override {
    Fd fd(open(directory, path, O_RDONLY | O_DIRECTORY, links));
    if (!fd.valid()) return system_error("open directory");
    return fd;
  }

  Result<FileInfo> info(int fd) override {
    struct stat st {};
    if (::fstat(fd, &st) != 0) return system_error("stat");
    return to_info(st);
  }

  Result<FileInfo> info_of_name(int directory, const char* name) override {
    struct stat st {};
    if (::fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return system_error("stat");
    return to_info(st);
  }

  Result<std::vector<std::string>> list(int directory) override {
    // A descriptor of its own: reading moves the position of the directory.
    Fd fd(retry_open(directory, ".", O_RDONLY | O_DIRECTORY));
    if (!fd.valid()) return system_error("open directory");
    const std::unique_ptr<DIR, CloseDir> stream(::fdopendir(fd.get()));
    if (!stream) return system_error("read directory");
    static_cast<void>(fd.release());
    std::vector<std::string> names;
    while (true) {
      errno = 0;
      const dirent* found = ::readdir(stream.get());
      if (found == nullptr) break;
      const std::string_view name = found->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) return system_error("read directory");
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<std::size_t> read(int fd, MutByteView into) override {
    while (true) {
      const ssize_t count = ::read(fd, into.data(), into.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) return system_error("read");
    }
  }

  void expect_sequential(int fd) override {
    static_cast<void>(::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
  }

  Result<Fd> create_new(int directory, const char* name, std::uint32_t mode) override {
    Fd fd(retry_open(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
    if (!fd.valid()) return system_error("create file");
    return fd;
  }

  Result<Fd> open_write(const char* path) override {
    Fd fd(retry_open(AT_FDCWD, path, O_WRONLY | O_NOCTTY));
    if (!fd.valid()) return system_error("open for writing");
    // Only now: opening a pipe without waiting fails until it has a reader.
    static_cast<void>(::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK));
    return fd;
  }

  Result<Fd> reopen_write(int fd) override {
    struct stat st {};
    if (::fstat(fd, &st) != 0) return system_error("stat");
    if (S_ISFIFO(st.st_mode)) {
      std::array<char, 32> path{};
      std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", fd);
      Fd own(retry_open(AT_FDCWD, path.data(), O_WRONLY | O_NONBLOCK));
      if (own.valid()) return own;
    }
    Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (!copy.valid()) return system_error("open for writing");
    return copy;
  }

  Result<void> make_directory(int directory, const char* name, std::uint32_t mode) override {
    if (::mkdirat(directory, name, mode) != 0) return system_error("create directory");
    return {};
  }

  Result<void> write(int fd, std::span<const ByteView> pieces, std::int64_t offset) override {
    XFER_ASSERT(pieces.size() <= kMaxPieces);
    std::array<iovec, kMaxPieces> vectors;
    std::size_t count = 0;
    for (const ByteView piece : pieces) {
      if (piece.empty()) continue;
      // writev() does not write through iov_base.
      vectors[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    }
    iovec* next = vectors.data();
    while (count > 0) {
      const ssize_t written = offset >= 0 ? ::pwritev(fd, next, static_cast<int>(count), offset)
                                          : ::writev(fd, next, static_cast<int>(count));
      if (written < 0) {
        if (errno == EINTR) continue;
        return system_error("write");
      }
      if (offset >= 0) offset += written;
      auto left = static_cast<std::size_t>(written);
      while (count > 0 && left >= next->iov_len) {
        left -= next->iov_len;
        ++next;
        --count;
      }
      if (count > 0) {
        next->iov_base = static_cast<std::byte*>(next->iov_base) + left;
        next->iov_len -= left;
      }
    }
    return {};
  }

  Result<std::size_t> write_some(int fd, ByteView bytes) override {
    // Where the descriptor itself waits (standard output is shared with other programs, so it must
    // not be changed), a pipe that is writable still takes this much at once (pipe(7), PIPE_BUF).
    if ((::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0) {
      const auto ready = wait_writable(fd, 0);
      if (!ready) return ready.error();
      if (!*ready) return std::size_t{0};
      bytes = bytes.first(std::min<std::size_t>(bytes.size(), PIPE_BUF));
    }
    while (true) {
      const ssize_t written = ::write(fd, bytes.data(), bytes.size());
      if (written >= 0) return static_cast<std::size_t>(written);
      if (errno == EAGAIN) return std::size_t{0};
      if (errno != EINTR) return system_error("write");
    }
  }

  Result<bool> wait_writable(int fd, int timeout_ms) override {
    pollfd output{fd, POLLOUT, 0};
    const int ready = ::poll(&output, 1, timeout_ms);
    // Also on errors of the descriptor: writing will tell.
    if (ready >= 0) return ready > 0;
    if (errno == EINTR) return false;
    return system_error("wait for output");
  }

  Result<void> reserve(int fd, std::uint64_t size) override {
    if (size == 0) return {};
    // Some file systems allocate until they are full before they say so.
    struct statvfs fs {};
    if (::fstatvfs(fd, &fs) == 0 && fs.f_blocks > 0 && fs.f_bavail < size / fs.f_frsize) {
      errno = ENOSPC;
      return system_error("reserve space");
    }
    while (::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size)) != 0) {
      if (errno != EINTR) return system_error("reserve space");
    }
    return {};
  }

  Result<void> set_direct(int fd, bool direct) override {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0) return system_error("direct writing");
    if (::fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) != 0)
      return system_error("direct writing");
    return {};
  }

  Result<void> set_mode(int fd, std::uint32_t mode) override {
    if (::fchmod(fd, mode) != 0) return system_error("set mode");
    return {};
  }

  Result<void> set_mtime(int fd, std::int64_t mtime_ns) override {
    std::int64_t seconds = mtime_ns / 1'000'000'000;
    std::int64_t rest = mtime_ns % 1'000'000'000;
    if (rest < 0) {
      rest += 1'000'000'000;
      --seconds;
    }
    const std::array<timespec, 2> times = {timespec{0, UTIME_OMIT}, timespec{seconds, rest}};
    if (::futimens(fd, times.data()) != 0) return system_error("set time");
    return {};
  }

  Result<void> sync(int fd) override {
    while (::fsync(fd) != 0) {
      // EINVAL: a pipe, or a file system that cannot.
      if (errno == EINVAL) return {};
      if (errno != EINTR) return system_error("sync");
    }
    return {};
  }

  void start_sync(int fd) override {
    static_cast<void>(::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
  }

  Result<void> close(Fd fd) override {
    // Linux always lets go of the descriptor, EINTR included.
    if (::close(fd.release()) != 0 && errno != EINTR) return system_error("close");
    return {};
  }

  Result<void> rename(int directory, const char* from, const char* to) override {
    if (::renameat(directory, from, directory, to) != 0) return system_error("rename");
    return {};
  }

  Result<void> remove(int directory, const char* name) override {
    if (::unlinkat(directory, name, 0) != 0) return system_error("remove");
    return {};
  }

  Result<void> set_mode_of_directory(int directory, const char* name, std::uint32_t mode) override {
    const Fd fd(retry_open(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW));
    if (!fd.valid()) return system_error("open directory");
    // fchmod() refuses O_PATH descriptors; the link in /proc leads to exactly this directory.
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", fd.get());
    if (::chmod(path.data(), mode) != 0) return system_error("set mode");
    return {};
  }

 private:
  int open(int directory, const char* path, int flags, Links links) {
    switch (links) {
      case Links::follow:
        return retry_open(directory, path, flags);
      case Links::not_last:
        return retry_open(directory, path, flags | O_NOFOLLOW);
      case Links::beneath:
        break;
    }
    if (!openat2_missing_.load(std::memory_order_relaxed)) {
      const int fd = openat2_beneath(directory, path, flags);
      if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return fd;
      if (errno == ENOSYS) openat2_missing_.store(true, std::memory_order_relaxed);
    }
    return walk_beneath(directory, path, flags);
  }

  std::atomic<bool> openat2_missing_;
};

}  // namespace

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

FileSystem& posix_file_system() {
  static PosixFileSystem instance(true);
  return instance;
}

FileSystem& posix_file_system_without_openat2() {
  static PosixFileSystem instance(false);
  return instance;
}

}  // namespace xfer::file

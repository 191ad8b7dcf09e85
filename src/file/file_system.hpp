#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace xfer::file {

/// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  /// Closes without looking at the result: for files that were only read, or are given up.
  void reset();

 private:
  int fd_ = -1;
};

/// The facts of a file that the transfer needs.
struct FileInfo {
  enum class Type : std::uint8_t { regular, directory, symlink, other };

  Type type = Type::other;
  std::uint32_t mode = 0;  ///< st_mode & 07777
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;  ///< since 1970
  std::int64_t ctime_ns = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t owner = 0;
};

enum class Links : std::uint8_t {
  follow,    ///< a symbolic link anywhere in the path is followed: paths the user typed
  not_last,  ///< not in the last component (O_NOFOLLOW): names found in a directory
  beneath,   ///< nowhere, and nothing outside of the directory: names from a peer (openat2)
};

/// The file operations of a transfer, one virtual function for each, so that a test can make the
/// n-th one fail. Errors are ErrorCode::system with the errno; the caller knows what it was doing
/// and turns them into what the user has to hear. Names are NUL-terminated. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Finding and reading.

  /// Opens for reading without blocking on special files. `directory`: a path relative to it,
  /// AT_FDCWD: the working directory.
  virtual Result<Fd> open_read(int directory, const char* path, Links links) = 0;
  /// Opens a directory, to name things beneath it.
  virtual Result<Fd> open_directory(int directory, const char* path, Links links) = 0;
  virtual Result<FileInfo> info(int fd) = 0;
  /// Of a name itself, not what it may link to.
  virtual Result<FileInfo> info_of_name(int directory, const char* name) = 0;
  /// Names in a directory but `.` and `..`, in byte order.
  virtual Result<std::vector<std::string>> list(int directory) = 0;
  /// Bytes read; 0: end of file.
  virtual Result<std::size_t> read(int fd, MutByteView into) = 0;
  /// The file will be read from front to back: the system may read far ahead. A hint: it cannot
  /// fail.
  virtual void expect_sequential(int fd) = 0;

  // Writing.

  /// A new file that did not exist, open for writing whatever its mode, which is `mode` less the
  /// umask.
  virtual Result<Fd> create_new(int directory, const char* name, std::uint32_t mode) = 0;
  /// Opens what is there already, for writing; for devices and pipes that the user named.
  /// write_some() on it never waits.
  virtual Result<Fd> open_write(const char* path) = 0;
  /// A descriptor of the same output, which others may have open too. write_some() on it never
  /// waits; where the output is a pipe it takes more at a time than on `fd`.
  virtual Result<Fd> reopen_write(int fd) = 0;
  /// Mode less the umask.
  virtual Result<void> make_directory(int directory, const char* name, std::uint32_t mode) = 0;
  /// Writes all of `pieces` (at most kMaxPieces) one after the other at `offset`; or to the current
  /// position of a pipe or terminal, if `offset` is negative.
  virtual Result<void> write(int fd, std::span<const ByteView> pieces, std::int64_t offset) = 0;
  /// Writes what finds room right now to a pipe, terminal or device: never more than it takes
  /// without waiting.
  /// @return bytes written; 0: no room.
  virtual Result<std::size_t> write_some(int fd, ByteView bytes) = 0;
  /// Waits until write_some() may find room, at most `timeout_ms`. @return whether it may.
  virtual Result<bool> wait_writable(int fd, int timeout_ms) = 0;
  /// Reserves disk space for a file of `size` bytes, without changing its size. ENOSPC also where
  /// the file system could tell only after filling itself up.
  ///   EOPNOTSUPP, ENOSYS  the file system cannot.
  virtual Result<void> reserve(int fd, std::uint64_t size) = 0;
  /// Whether writes bypass the page cache (O_DIRECT); they must then have addresses, sizes and
  /// offsets that are multiples of kDirectAlignment.
  ///   EINVAL  the file system cannot.
  virtual Result<void> set_direct(int fd, bool direct) = 0;
  virtual Result<void> set_mode(int fd, std::uint32_t mode) = 0;
  virtual Result<void> set_mtime(int fd, std::int64_t mtime_ns) = 0;
  virtual Result<void> sync(int fd) = 0;
  /// Starts writing back what is in memory, so that a later sync() has less to wait for. A hint: it
  /// cannot fail.
  virtual void start_sync(int fd) = 0;
  /// Closes and reports what a delayed write ran into (NFS).
  virtual Result<void> close(Fd fd) = 0;
  /// Replaces `to` if it exists.
  virtual Result<void> rename(int directory, const char* from, const char* to) = 0;
  virtual Result<void> remove(int directory, const char* name) = 0;
  /// Sets the mode of a directory that cannot be opened as it is; `name` is not followed.
  virtual Result<void> set_mode_of_directory(int directory, const char* name,
                                             std::uint32_t mode) = 0;
};

inline constexpr std::size_t kMaxPieces = 256;
/// Enough for every file system and disk in use: sectors are 512 or 4096 bytes.
inline constexpr std::size_t kDirectAlignment = 4096;

/// The operating system's.
FileSystem& posix_file_system();
/// The same as on a kernel before 5.6.
FileSystem& posix_file_system_without_openat2();

}  // namespace xfer::file

#pragma once

#include <atomic>
#include <cerrno>
#include <functional>
#include <string_view>

#include "file/file_system.hpp"

namespace xfer::test {

/// The real file system, but for the n-th operation, which fails; and with a hook before each
/// operation. Removing is never made to fail: it is what cleaning up is made of.
class FaultyFileSystem final : public file::FileSystem {
 public:
  /// 1: the first operation; 0: none.
  void fail_at(int n, int with_errno) {
    fail_at_ = n;
    errno_ = with_errno;
    count_ = 0;
    fired_ = false;
  }
  /// The next operation of that name fails.
  void fail_next(const char* operation, int with_errno) {
    errno_ = with_errno;
    fail_next_ = operation;
  }
  [[nodiscard]] bool fired() const { return fired_; }
  /// Fails each write (and reservation) beyond so many bytes in all, like a full disk.
  void set_room(std::uint64_t bytes) { room_ = bytes; }
  std::function<void(const char* operation)> before;

  Result<file::Fd> open_read(int directory, const char* path, file::Links links) override {
    if (failing("open_read")) return error();
    return real_.open_read(directory, path, links);
  }
  Result<file::Fd> open_directory(int directory, const char* path, file::Links links) override {
    if (failing("open_directory")) return error();
    return real_.open_directory(directory, path, links);
  }
  Result<file::FileInfo> info(int fd) override {
    if (failing("info")) return error();
    return real_.info(fd);
  }
  Result<file::FileInfo> info_of_name(int directory, const char* name) override {
    if (failing("info_of_name")) return error();
    return real_.info_of_name(directory, name);
  }
  Result<std::vector<std::string>> list(int directory) override {
    if (failing("list")) return error();
    return real_.list(directory);
  }
  Result<std::size_t> read(int fd, MutByteView into) override {
    if (failing("read")) return error();
    return real_.read(fd, into);
  }
  void expect_sequential(int fd) override { real_.expect_sequential(fd); }
  Result<file::Fd> create_new(int directory, const char* name, std::uint32_t mode) override {
    if (failing("create_new")) return error();
    return real_.create_new(directory, name, mode);
  }
  Result<file::Fd> open_write(const char* path) override {
    if (failing("open_write")) return error();
    return real_.open_write(path);
  }
  Result<file::Fd> reopen_write(int fd) override {
    if (failing("reopen_write")) return error();
    return real_.reopen_write(fd);
  }
  Result<void> make_directory(int directory, const char* name, std::uint32_t mode) override {
    if (failing("make_directory")) return error();
    return real_.make_directory(directory, name, mode);
  }
  Result<void> write(int fd, std::span<const ByteView> pieces, std::int64_t offset) override {
    if (failing("write")) return error();
    std::uint64_t size = 0;
    for (const ByteView piece : pieces) size += piece.size();
    if (size > room_) return Error{ErrorCode::system, ENOSPC, "write"};
    room_ -= size;
    return real_.write(fd, pieces, offset);
  }
  Result<std::size_t> write_some(int fd, ByteView bytes) override {
    if (failing("write_some")) return error();
    return real_.write_some(fd, bytes);
  }
  Result<bool> wait_writable(int fd, int timeout_ms) override {
    return real_.wait_writable(fd, timeout_ms);
  }
  Result<void> reserve(int fd, std::uint64_t size) override {
    if (failing("reserve")) return error();
    if (size > room_) return Error{ErrorCode::system, ENOSPC, "reserve"};
    return real_.reserve(fd, size);
  }
  Result<void> set_direct(int fd, bool direct) override {
    if (failing(direct ? "set_direct" : "unset_direct")) return error();
    return real_.set_direct(fd, direct);
  }
  Result<void> set_mode(int fd, std::uint32_t mode) override {
    if (failing("set_mode")) return error();
    return real_.set_mode(fd, mode);
  }
  Result<void> set_mtime(int fd, std::int64_t mtime_ns) override {
    if (failing("set_mtime")) return error();
    return real_.set_mtime(fd, mtime_ns);
  }
  Result<void> sync(int fd) override {
    if (failing("sync")) return error();
    return real_.sync(fd);
  }
  void start_sync(int fd) override { real_.start_sync(fd); }
  Result<void> close(file::Fd fd) override {
    if (failing("close")) return error();
    return real_.close(std::move(fd));
  }
  Result<void> rename(int directory, const char* from, const char* to) override {
    if (failing("rename")) return error();
    return real_.rename(directory, from, to);
  }
  Result<void> remove(int directory, const char* name) override {
    if (before) before("remove");
    return real_.remove(directory, name);
  }
  Result<void> set_mode_of_directory(int directory, const char* name, std::uint32_t mode) override {
    if (failing("set_mode_of_directory")) return error();
    return real_.set_mode_of_directory(directory, name, mode);
  }

 private:
  bool failing(const char* operation) {
    if (before) before(operation);
    const char* const next = fail_next_;
    if (next != nullptr && std::string_view(next) == operation) {
      fail_next_ = nullptr;
    } else if (++count_ != fail_at_) {
      return false;
    }
    fired_ = true;
    return true;
  }
  [[nodiscard]] Error error() const { return {ErrorCode::system, errno_, "injected"}; }

  file::FileSystem& real_ = file::posix_file_system();
  std::atomic<int> count_{0};
  std::atomic<int> fail_at_{0};
  std::atomic<int> errno_{EIO};
  std::atomic<const char*> fail_next_{nullptr};
  std::atomic<bool> fired_{false};
  std::uint64_t room_ = ~std::uint64_t{0};
};

}  // namespace xfer::test

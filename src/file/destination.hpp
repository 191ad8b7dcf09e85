#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "file/direct_buffer.hpp"
#include "file/file_system.hpp"
#include "file/path_guard.hpp"

namespace xfer::file {

/// Temporary files begin with this, so that leftovers of a killed process can be told. The rest is
/// random, so the name is as long for every target.
inline constexpr std::string_view kTemporaryPrefix = ".xfer-part-";

/// Permission bits that a received file or directory can get: never set-user-ID, set-group-ID or
/// sticky. The umask of the process is taken off as well.
inline constexpr std::uint32_t kKeptModeBits = 0777;

/// A file being received: written under a temporary name beside its target, which it replaces in
/// one step. Until publish() has succeeded nothing shows under the final name; a file that is
/// dropped before leaves nothing behind.
///
/// Errors are no_space (disk or quota full) or destination_error, both with the errno.
class OutputFile {
 public:
  /// Something that is open already (standard output): written in place, where it stands. `fd` is
  /// not closed.
  static Result<OutputFile> onto(FileSystem& fs, int fd);
  OutputFile(OutputFile&& other) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile() { discard(); }

  // Before the first write.

  /// Whether this is a pipe, terminal or device, whose reader may let us wait: use write_some().
  [[nodiscard]] bool may_wait() const { return may_wait_; }
  /// Writes bypass the page cache from now on; at the price of one copy of the content.
  /// @return false: the file system cannot, writes are as without.
  bool set_direct();
  /// Reserves disk space for `size` bytes.
  /// @return false: the file system cannot.
  Result<bool> reserve(std::uint64_t size);

  // Content.

  /// Appends the pieces, at most kMaxPieces.
  Result<void> write(std::span<const ByteView> pieces);
  /// Appends what finds room right now. @return how many bytes; 0: no room, wait_writable().
  Result<std::size_t> write_some(ByteView bytes);
  /// Waits for room, at most `timeout`. @return whether there may be some.
  Result<bool> wait_writable(Duration timeout);
  /// All content is appended: writes what is held back for aligned writing. Required before what
  /// follows.
  Result<void> complete();
  /// Sets the time of last change. False: the file system cannot keep it.
  Result<bool> set_mtime(std::int64_t mtime_ns);
  /// Starts to write the content to the disk, so that sync() has less to wait for.
  void start_sync() { fs_->start_sync(file_.get()); }
  /// Forces the content to the disk. May be called from another thread while this one waits for it.
  Result<void> sync();
  /// Closes the file and gives it its name; `sync_directory`: also forces the name to the disk.
  Result<void> publish(bool sync_directory);
  /// Removes the temporary file. Does nothing after publish().
  void discard();

  /// Bytes appended.
  [[nodiscard]] std::uint64_t size() const {
    return put_ + (direct_ ? direct_->bytes().size() : 0);
  }
  /// Calls that wrote.
  [[nodiscard]] std::uint64_t writes() const { return writes_; }
  /// The file system took set_direct() but not a write after it; writes are plain since then.
  [[nodiscard]] bool direct_refused() const { return direct_refused_; }

 private:
  friend class Destination;
  friend Result<OutputFile> create_at(FileSystem& fs, const std::string& path);
  OutputFile(FileSystem& fs, Fd directory, Fd file, std::string temporary, std::string name)
      : fs_(&fs),
        directory_(std::move(directory)),
        file_(std::move(file)),
        temporary_(std::move(temporary)),
        name_(std::move(name)) {}

  Result<void> put(std::span<const ByteView> pieces);
  Result<void> put_aligned(ByteView piece);
  Result<void> put_direct();
  Result<void> end_direct();

  FileSystem* fs_;
  Fd directory_;
  Fd file_;
  std::string temporary_;  ///< empty: written in place
  std::string name_;
  std::uint64_t put_ = 0;  ///< bytes written
  std::uint64_t writes_ = 0;
  bool may_wait_ = false;
  bool direct_refused_ = false;
  std::optional<DirectBuffer> direct_;  ///< with bytes to be written behind `put_`
};

/// The directory that everything of a session goes into, and nothing outside of it: names are
/// opened beneath it without following symbolic links (openat2; where that is missing, component by
/// component). For one thread.
///
/// Errors as of OutputFile, `what` names the obstacle where the errno does not.
class Destination {
 public:
  /// What became of a directory, for leave().
  struct Directory {
    std::optional<std::uint32_t> final_mode;  ///< to be set when it is complete
  };

  /// The user's own path: links in it are followed. It must exist.
  static Result<Destination> open(FileSystem& fs, const std::string& directory);

  /// A file for this target; missing parents are created. An existing file or symbolic link is
  /// replaced by publish(), an existing directory or special file is an error at once.
  Result<OutputFile> create(const RelativePath& path, std::uint32_t mode);
  /// Publishes and remembers the directory for sync().
  Result<void> publish(OutputFile& file, const RelativePath& path);
  /// A directory, new or existing, that files can be created in until leave(). A new one gets
  /// `mode`, an existing one keeps its own.
  Result<Directory> enter(const RelativePath& path, std::uint32_t mode);
  /// The directory is complete: sets final mode and time. False: the file system cannot keep them.
  Result<bool> leave(const RelativePath& path, const Directory& directory,
                     std::optional<std::int64_t> mtime_ns);
  /// Forces directory changes to the disk that are not there yet; kMaxChanged directories at most.
  /// May be called from another thread while this one waits for it.
  Result<void> sync();
  /// Whether changed directories are synced while going on (the default) or never.
  void set_durable(bool durable) { durable_ = durable; }

 private:
  Destination(FileSystem& fs, Fd root) : fs_(&fs), root_(std::move(root)) {}
  Result<Fd> open_parent(const RelativePath& path);
  Result<void> changed(std::string_view directory);

  FileSystem* fs_;
  Fd root_;
  bool durable_ = true;
  std::vector<std::string> changed_;  ///< directories with changes not forced to the disk yet
};

/// A changed directory beyond so many makes those before it be synced first.
inline constexpr std::size_t kMaxChanged = 64;

/// A file at a path that the user typed; links are followed. A device or pipe that exists is
/// written in place.
Result<OutputFile> create_at(FileSystem& fs, const std::string& path);

/// The cause of a failure in words for a user, without the sentence of its code: "No space left on
/// device".
std::string cause(const Error& error);

}  // namespace xfer::file

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "file/file_system.hpp"

namespace xfer::file {

/// A regular file being sent: exactly the bytes it had when it was opened, or an error. It is read,
/// never mapped, so a truncation is an error and not a signal.
class SourceFile {
 public:
  SourceFile(FileSystem& fs, Fd fd, const FileInfo& info)
      : fs_(&fs), fd_(std::move(fd)), info_(info) {}

  [[nodiscard]] const FileInfo& info() const { return info_; }
  /// Bytes read so far; at most info().size.
  [[nodiscard]] std::uint64_t position() const { return position_; }

  /// Fills the front of `into`. 0: all bytes are read (or `into` is empty).
  ///   ErrorCode::source_error    with the errno.
  ///   ErrorCode::source_changed  it ended early: truncated.
  Result<std::size_t> read(MutByteView into);
  /// After the last read: whether the file is still as it was when it was opened.
  ///   ErrorCode::source_changed  grown, truncated or written to meanwhile.
  Result<void> check_unchanged();

 private:
  FileSystem* fs_;
  Fd fd_;
  FileInfo info_;
  std::uint64_t position_ = 0;
};

/// What a Scanner found.
struct Found {
  enum class What : std::uint8_t {
    file,       ///< `file` is open
    directory,  ///< what is in it follows, then `leave`
    leave,      ///< the innermost directory is complete
    skipped,    ///< not sent, `reason` says why; not a failure
    failed,     ///< cannot be sent, `error` says why
  };

  What what = What::failed;
  std::string path;   ///< at the destination; relative. Empty if the source has no usable name
  std::string local;  ///< as the user would name it here
  FileInfo info;
  std::optional<SourceFile> file;
  Error error{};
  const char* reason = nullptr;
};

/// Walks the sources of a transfer: in their order, directories in byte order of the names, one
/// directory's names in memory at a time for each level. A file or directory is sent under its last
/// component; a directory written with a trailing slash (or ending in `.` or `..`) stands for its
/// contents. Symbolic links are followed when they are named by the user, and skipped within
/// directories. Special files are skipped within directories and fail otherwise.
///
/// What vanishes between listing and opening is skipped. For one thread.
class Scanner {
 public:
  /// `open_files`: false: only look, Found::file stays empty.
  Scanner(FileSystem& fs, std::vector<std::string> sources, bool open_files = true);

  /// The next find; nullopt: all done.
  std::optional<Found> next();

 private:
  struct Level {
    Fd directory;
    std::vector<std::string> names;
    std::size_t next = 0;
    std::string path;  ///< at the destination, empty for contents
    std::string local;
    bool announced = false;
    FileInfo info;
  };

  Found named(const std::string& source);
  std::optional<Found> inside();
  Found open_file(int directory, const char* name, Links links, Found found);
  Found enter(int directory, const char* name, Links links, Found found);

  FileSystem* fs_;
  std::vector<std::string> sources_;
  bool open_files_;
  std::size_t next_source_ = 0;
  std::vector<Level> levels_;
};

/// The name a source gets at the destination; empty: it stands for its contents (`DIR/`, `.`, `/`).
std::string destination_name(const std::string& source);

}  // namespace xfer::file

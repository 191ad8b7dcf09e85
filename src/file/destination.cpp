#include "file/destination.hpp"

#include <fcntl.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace xfer::file {
namespace {

/// What the user has to hear about a failed operation at the destination.
Error at_destination(const Error& error, const char* what = nullptr) {
  const bool full = error.sys_errno == ENOSPC || error.sys_errno == EDQUOT;
  return {full ? ErrorCode::no_space : ErrorCode::destination_error, error.sys_errno,
          what != nullptr ? what : error.what};
}

Error obstacle(const char* what) { return {ErrorCode::destination_error, 0, what}; }

/// Failures to set mode or time that say "not on this file system" rather than "broken".
bool not_supported(const Error& error) {
  return error.sys_errno == EPERM || error.sys_errno == EOPNOTSUPP || error.sys_errno == ENOSYS ||
         error.sys_errno == EINVAL;
}

std::string temporary_name() {
  std::array<unsigned char, 8> random{};
  // Without randomness (not possible on a running system) O_EXCL still finds every collision.
  static_cast<void>(::getrandom(random.data(), random.size(), 0));
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string name(kTemporaryPrefix);
  for (const unsigned char byte : random) {
    name += kDigits[byte >> 4U];
    name += kDigits[byte & 15U];
  }
  return name;
}

struct Temporary {
  Fd file;
  std::string name;
};

Result<Temporary> create_temporary(FileSystem& fs, int directory, std::uint32_t mode) {
  for (int attempt = 0;; ++attempt) {
    std::string name = temporary_name();
    auto file = fs.create_new(directory, name.c_str(), mode & kKeptModeBits);
    if (file) return Temporary{std::move(*file), std::move(name)};
    if (file.error().sys_errno != EEXIST || attempt == 8) return at_destination(file.error());
  }
}

}  // namespace

// OutputFile

Result<OutputFile> OutputFile::onto(FileSystem& fs, int fd) {
  const auto info = fs.info(fd);
  if (!info) return at_destination(info.error());
  auto own = fs.reopen_write(fd);
  if (!own) return at_destination(own.error());
  OutputFile file(fs, Fd(), std::move(*own), {}, {});
  file.may_wait_ = info->type == FileInfo::Type::other;
  return file;
}

bool OutputFile::set_direct() {
  if (temporary_.empty() || !fs_->set_direct(file_.get(), true)) return false;
  direct_.emplace();
  return true;
}

Result<bool> OutputFile::reserve(std::uint64_t size) {
  if (temporary_.empty()) return false;
  const auto done = fs_->reserve(file_.get(), size);
  if (done) return true;
  const int reason = done.error().sys_errno;
  if (reason == EOPNOTSUPP || reason == ENOSYS) return false;
  return at_destination(done.error());
}

Result<void> OutputFile::write(std::span<const ByteView> pieces) {
  if (!direct_) return put(pieces);
  for (const ByteView piece : pieces) XFER_TRY(put_aligned(piece));
  return {};
}

/// Writes `pieces` behind what is written already.
Result<void> OutputFile::put(std::span<const ByteView> pieces) {
  const bool in_place = temporary_.empty();
  const auto offset = in_place ? std::int64_t{-1} : static_cast<std::int64_t>(put_);
  ++writes_;
  if (const auto done = fs_->write(file_.get(), pieces, offset); !done)
    return at_destination(done.error());
  for (const ByteView piece : pieces) put_ += piece.size();
  return {};
}

Result<void> OutputFile::put_aligned(ByteView piece) {
  while (direct_ && !piece.empty()) {
    piece = piece.subspan(direct_->append(piece));
    if (direct_->full()) XFER_TRY(put_direct());
  }
  return piece.empty() ? Result<void>() : put({&piece, 1});
}

/// Writes what is aligned. A file system that takes the flag but not the writes gets plain ones
/// from here on.
Result<void> OutputFile::put_direct() {
  const ByteView bytes = direct_->aligned();
  if (bytes.empty()) return {};
  const auto done = put({&bytes, 1});
  if (done) {
    direct_->drop_aligned();
    return {};
  }
  if (done.error().sys_errno != EINVAL) return done;
  direct_refused_ = true;
  return end_direct();
}

/// Writes what is held through the page cache, as everything after it.
Result<void> OutputFile::end_direct() {
  if (const auto done = fs_->set_direct(file_.get(), false); !done)
    return at_destination(done.error());
  const DirectBuffer held = std::move(*direct_);
  direct_.reset();
  const ByteView bytes = held.bytes();
  return bytes.empty() ? Result<void>() : put({&bytes, 1});
}

Result<void> OutputFile::complete() {
  if (direct_) XFER_TRY(put_direct());
  return direct_ ? end_direct() : Result<void>();
}

Result<std::size_t> OutputFile::write_some(ByteView bytes) {
  const auto count = fs_->write_some(file_.get(), bytes);
  if (!count) return at_destination(count.error());
  if (*count > 0) ++writes_;
  put_ += *count;
  return *count;
}

Result<bool> OutputFile::wait_writable(Duration timeout) {
  const auto ready = fs_->wait_writable(file_.get(), static_cast<int>(timeout / 1ms));
  if (!ready) return at_destination(ready.error());
  return *ready;
}

Result<bool> OutputFile::set_mtime(std::int64_t mtime_ns) {
  if (const auto done = fs_->set_mtime(file_.get(), mtime_ns); !done) {
    if (not_supported(done.error())) return false;
    return at_destination(done.error());
  }
  return true;
}

Result<void> OutputFile::sync() {
  if (const auto done = fs_->sync(file_.get()); !done) return at_destination(done.error());
  return {};
}

Result<void> OutputFile::publish(bool sync_directory) {
  XFER_ASSERT(!direct_);
  if (const auto done = fs_->close(std::move(file_)); !done) return at_destination(done.error());
  if (temporary_.empty()) return {};
  if (const auto done = fs_->rename(directory_.get(), temporary_.c_str(), name_.c_str()); !done)
    return at_destination(done.error());
  temporary_.clear();
  const Fd directory = std::move(directory_);
  if (!sync_directory) return {};
  if (const auto done = fs_->sync(directory.get()); !done) return at_destination(done.error());
  return {};
}

void OutputFile::discard() {
  file_.reset();
  if (temporary_.empty() || !directory_.valid()) return;
  // Nothing to do about a failure: the name tells what it is.
  static_cast<void>(fs_->remove(directory_.get(), temporary_.c_str()).has_value());
  temporary_.clear();
  directory_.reset();
}

// Destination

Result<Destination> Destination::open(FileSystem& fs, const std::string& directory) {
  auto root = fs.open_directory(AT_FDCWD, directory.c_str(), Links::follow);
  if (!root) return at_destination(root.error());
  return Destination(fs, std::move(*root));
}

Result<Fd> Destination::open_parent(const RelativePath& path) {
  const std::string parent(path.parent());
  if (parent.empty()) {
    auto root = fs_->open_directory(root_.get(), ".", Links::not_last);
    if (!root) return at_destination(root.error());
    return root;
  }
  auto found = fs_->open_directory(root_.get(), parent.c_str(), Links::beneath);
  if (found) return found;
  if (found.error().sys_errno != ENOENT) return at_destination(found.error());
  // Create what is missing, from the top.
  const auto above = RelativePath::parse(parent);
  XFER_ASSERT(above.has_value());
  auto grandparent = open_parent(*above);
  if (!grandparent) return grandparent;
  const std::string name(above->name());
  if (const auto made = fs_->make_directory(grandparent->get(), name.c_str(), 0777);
      !made && made.error().sys_errno != EEXIST)
    return at_destination(made.error());
  XFER_TRY(changed(above->parent()));
  found = fs_->open_directory(root_.get(), parent.c_str(), Links::beneath);
  if (!found) return at_destination(found.error());
  return found;
}

Result<OutputFile> Destination::create(const RelativePath& path, std::uint32_t mode) {
  auto parent = open_parent(path);
  if (!parent) return parent.error();
  std::string name(path.name());
  const auto existing = fs_->info_of_name(parent->get(), name.c_str());
  if (existing) {
    if (existing->type == FileInfo::Type::directory)
      return Error{ErrorCode::destination_error, EISDIR, "a directory has that name"};
    if (existing->type == FileInfo::Type::other) return obstacle("a special file has that name");
  } else if (existing.error().sys_errno != ENOENT) {
    return at_destination(existing.error());
  }
  auto temporary = create_temporary(*fs_, parent->get(), mode);
  if (!temporary) return temporary.error();
  return OutputFile(*fs_, std::move(*parent), std::move(temporary->file),
                    std::move(temporary->name), std::move(name));
}

Result<void> Destination::publish(OutputFile& file, const RelativePath& path) {
  XFER_TRY(file.publish(false));
  return changed(path.parent());
}

Result<Destination::Directory> Destination::enter(const RelativePath& path, std::uint32_t mode) {
  auto parent = open_parent(path);
  if (!parent) return parent.error();
  const std::string name(path.name());
  mode &= kKeptModeBits;
  if (const auto made = fs_->make_directory(parent->get(), name.c_str(), mode | 0700U); made) {
    XFER_TRY(changed(path.parent()));
    if ((mode & 0700U) == 0700U) return Directory{};
    return Directory{mode};
  } else if (made.error().sys_errno != EEXIST) {
    return at_destination(made.error());
  }
  const auto existing = fs_->info_of_name(parent->get(), name.c_str());
  if (!existing) return at_destination(existing.error());
  if (existing->type == FileInfo::Type::symlink)
    return Error{ErrorCode::destination_error, ELOOP, "a symbolic link has that name"};
  if (existing->type != FileInfo::Type::directory)
    return Error{ErrorCode::destination_error, ENOTDIR, "a file has that name"};
  if ((existing->mode & 0700U) == 0700U) return Directory{};
  // Not ours to change: then creating files in it will say what is wrong.
  if (!fs_->set_mode_of_directory(parent->get(), name.c_str(), existing->mode | 0700U))
    return Directory{};
  return Directory{existing->mode};
}

Result<bool> Destination::leave(const RelativePath& path, const Directory& directory,
                                std::optional<std::int64_t> mtime_ns) {
  auto self = fs_->open_directory(root_.get(), path.c_str(), Links::beneath);
  if (!self) return at_destination(self.error());
  bool kept = true;
  if (mtime_ns) {
    if (const auto done = fs_->set_mtime(self->get(), *mtime_ns); !done) {
      if (!not_supported(done.error())) return at_destination(done.error());
      kept = false;
    }
  }
  if (directory.final_mode) {
    // Its owner may not be able to open it again later.
    if (durable_) {
      if (const auto done = fs_->sync(self->get()); !done) return at_destination(done.error());
    }
    const auto now = fs_->info(self->get());
    if (!now) return at_destination(now.error());
    // Group and others have what the umask left them; only the owner's bits were added.
    const std::uint32_t mode = (now->mode & ~0700U) | (*directory.final_mode & 0700U);
    if (const auto done = fs_->set_mode(self->get(), mode); !done) {
      if (!not_supported(done.error())) return at_destination(done.error());
      kept = false;
    }
  }
  XFER_TRY(changed(path.text()));
  return kept;
}

Result<void> Destination::changed(std::string_view directory) {
  if (!durable_ || std::find(changed_.begin(), changed_.end(), directory) != changed_.end())
    return {};
  if (changed_.size() == kMaxChanged) XFER_TRY(sync());
  changed_.emplace_back(directory);
  return {};
}

Result<void> Destination::sync() {
  // One after the other costs little: the first brings the journal of the file system up to date.
  for (const std::string& path : std::exchange(changed_, {})) {
    auto directory =
        fs_->open_directory(root_.get(), path.empty() ? "." : path.c_str(), Links::beneath);
    // A directory that was made unreadable, moved or removed meanwhile has nothing of ours left to
    // keep.
    if (!directory) continue;
    if (const auto done = fs_->sync(directory->get()); !done) return at_destination(done.error());
  }
  return {};
}

// Paths of the user

Result<OutputFile> create_at(FileSystem& fs, const std::string& path) {
  std::string real = path;
  std::uint32_t mode = 0666;
  if (const auto existing = fs.open_read(AT_FDCWD, path.c_str(), Links::follow); existing) {
    const auto info = fs.info(existing->get());
    if (!info) return at_destination(info.error());
    if (info->type == FileInfo::Type::directory)
      return Error{ErrorCode::destination_error, EISDIR, "open for writing"};
    if (info->type == FileInfo::Type::other) {
      auto device = fs.open_write(path.c_str());
      if (!device) return at_destination(device.error());
      OutputFile file(fs, Fd(), std::move(*device), {}, path);
      file.may_wait_ = true;
      return file;
    }
    mode = info->mode;
  }
  // The file that a link leads to is replaced, not the link.
  if (char* resolved = ::realpath(path.c_str(), nullptr); resolved != nullptr) {
    real = resolved;
    std::free(resolved);
  }
  const std::size_t slash = real.rfind('/');
  const std::string name = slash == std::string::npos ? real : real.substr(slash + 1);
  const std::string parent = slash == std::string::npos ? "." : real.substr(0, slash + 1);
  if (name.empty() || name == "." || name == "..")
    return Error{ErrorCode::destination_error, EISDIR, "open for writing"};
  auto directory = fs.open_directory(AT_FDCWD, parent.c_str(), Links::follow);
  if (!directory) return at_destination(directory.error());
  auto temporary = create_temporary(fs, directory->get(), mode);
  if (!temporary) return temporary.error();
  return OutputFile(fs, std::move(*directory), std::move(temporary->file),
                    std::move(temporary->name), name);
}

std::string cause(const Error& error) {
  if (error.sys_errno == ELOOP) return "a symbolic link is in the way";
  std::string text;
  if (error.what != nullptr) text = error.what;
  if (error.sys_errno != 0) {
    if (!text.empty()) text += ": ";
    text += std::strerror(error.sys_errno);
  }
  return text.empty() ? error_sentence(error.code) : text;
}

}  // namespace xfer::file

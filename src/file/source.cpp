#include "file/source.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "file/path_guard.hpp"

namespace xfer::file {
namespace {

Error at_source(const Error& error) {
  return {ErrorCode::source_error, error.sys_errno, error.what};
}

Found failed(Found found, const Error& error) {
  found.what = Found::What::failed;
  found.error = error;
  return found;
}

Found skipped(Found found, const char* reason) {
  found.what = Found::What::skipped;
  found.reason = reason;
  return found;
}

}  // namespace

// SourceFile

Result<std::size_t> SourceFile::read(MutByteView into) {
  const std::uint64_t left = info_.size - position_;
  into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left)));
  if (into.empty()) return std::size_t{0};
  const auto count = fs_->read(fd_.get(), into);
  if (!count) return at_source(count.error());
  if (*count == 0) return Error{ErrorCode::source_changed, 0, "truncated while it was read"};
  position_ += *count;
  return *count;
}

Result<void> SourceFile::check_unchanged() {
  const auto now = fs_->info(fd_.get());
  if (!now) return at_source(now.error());
  // Some file systems tell a size of 0, or an old one, and have more to read.
  std::array<std::byte, 1> more{};
  const auto beyond = fs_->read(fd_.get(), more);
  const bool has_more = position_ == info_.size && beyond && *beyond > 0;
  if (now->size > info_.size || has_more)
    return Error{ErrorCode::source_changed, 0, "grown while it was read"};
  if (now->size < info_.size)
    return Error{ErrorCode::source_changed, 0, "truncated while it was read"};
  if (now->mtime_ns != info_.mtime_ns || now->ctime_ns != info_.ctime_ns)
    return Error{ErrorCode::source_changed, 0, "changed while it was read"};
  return {};
}

// Scanner

std::string destination_name(const std::string& source) {
  if (source.empty() || source.back() == '/') return {};
  const std::size_t slash = source.rfind('/');
  std::string name = slash == std::string::npos ? source : source.substr(slash + 1);
  if (name == "." || name == "..") return {};
  return name;
}

Scanner::Scanner(FileSystem& fs, std::vector<std::string> sources, bool open_files)
    : fs_(&fs), sources_(std::move(sources)), open_files_(open_files) {}

std::optional<Found> Scanner::next() {
  while (true) {
    if (!levels_.empty()) {
      if (auto found = inside()) return found;
      continue;  // left a directory that stands for its contents
    }
    if (next_source_ == sources_.size()) return std::nullopt;
    Found found = named(sources_[next_source_++]);
    if (found.what == Found::What::directory && found.path.empty()) continue;
    return found;
  }
}

Found Scanner::named(const std::string& source) {
  Found found;
  found.path = destination_name(source);
  found.local = source;
  if (!found.path.empty()) {
    if (const auto path = RelativePath::parse(found.path); !path)
      return failed(std::move(found), at_source(path.error()));
  }
  // Opening is harmless: without blocking, for reading, and the user named it.
  const auto probe = fs_->open_read(AT_FDCWD, source.c_str(), Links::follow);
  if (!probe) return failed(std::move(found), at_source(probe.error()));
  const auto info = fs_->info(probe->get());
  if (!info) return failed(std::move(found), at_source(info.error()));
  found.info = *info;
  switch (info->type) {
    case FileInfo::Type::regular:
      return open_file(AT_FDCWD, source.c_str(), Links::follow, std::move(found));
    case FileInfo::Type::directory:
      return enter(AT_FDCWD, source.c_str(), Links::follow, std::move(found));
    default:
      return failed(std::move(found), {ErrorCode::source_error, 0,
                                       "neither a file nor a directory (use - and redirection)"});
  }
}

std::optional<Found> Scanner::inside() {
  Level& level = levels_.back();
  Found found;
  if (level.next == level.names.size()) {
    found.what = Found::What::leave;
    found.path = std::move(level.path);
    found.local = std::move(level.local);
    found.info = level.info;
    const bool announced = level.announced;
    levels_.pop_back();
    if (!announced) return std::nullopt;
    return found;
  }
  const std::string name = std::move(level.names[level.next++]);
  found.path = level.path.empty() ? name : level.path + '/' + name;
  found.local = level.local.back() == '/' ? level.local + name : level.local + '/' + name;
  if (const auto path = RelativePath::parse(found.path); !path)
    return failed(std::move(found), at_source(path.error()));
  // Looking comes before opening, which may have effects on a device.
  const auto info = fs_->info_of_name(level.directory.get(), name.c_str());
  if (!info) {
    if (info.error().sys_errno == ENOENT) return skipped(std::move(found), "vanished");
    return failed(std::move(found), at_source(info.error()));
  }
  found.info = *info;
  switch (info->type) {
    case FileInfo::Type::regular:
      return open_file(level.directory.get(), name.c_str(), Links::not_last, std::move(found));
    case FileInfo::Type::directory:
      return enter(level.directory.get(), name.c_str(), Links::not_last, std::move(found));
    case FileInfo::Type::symlink:
      return skipped(std::move(found), "symbolic link");
    case FileInfo::Type::other:
      break;
  }
  return skipped(std::move(found), "special file");
}

Found Scanner::open_file(int directory, const char* name, Links links, Found found) {
  found.what = Found::What::file;
  if (!open_files_) return found;
  auto fd = fs_->open_read(directory, name, links);
  if (!fd) {
    if (links == Links::not_last && fd.error().sys_errno == ENOENT)
      return skipped(std::move(found), "vanished");
    if (links == Links::not_last && fd.error().sys_errno == ELOOP)
      return skipped(std::move(found), "symbolic link");
    return failed(std::move(found), at_source(fd.error()));
  }
  const auto info = fs_->info(fd->get());
  if (!info) return failed(std::move(found), at_source(info.error()));
  if (info->type != FileInfo::Type::regular)
    return failed(std::move(found), {ErrorCode::source_changed, 0, "replaced while it was opened"});
  found.info = *info;
  fs_->expect_sequential(fd->get());
  found.file.emplace(*fs_, std::move(*fd), *info);
  return found;
}

Found Scanner::enter(int directory, const char* name, Links links, Found found) {
  found.what = Found::What::directory;
  auto fd = fs_->open_directory(directory, name, links);
  if (!fd) {
    if (links == Links::not_last && fd.error().sys_errno == ENOENT)
      return skipped(std::move(found), "vanished");
    return failed(std::move(found), at_source(fd.error()));
  }
  auto names = fs_->list(fd->get());
  if (!names) return failed(std::move(found), at_source(names.error()));
  Level level;
  level.directory = std::move(*fd);
  level.names = std::move(*names);
  level.path = found.path;
  level.local = found.local;
  level.announced = !found.path.empty();
  level.info = found.info;
  levels_.push_back(std::move(level));
  return found;
}

}  // namespace xfer::file

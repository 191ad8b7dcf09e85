#include "file/path_guard.hpp"

namespace xfer::file {
namespace {

Result<void> check_component(std::string_view name) {
  if (name.empty()) return Error{ErrorCode::malformed, 0, "empty component in a path"};
  if (name == "." || name == "..") return Error{ErrorCode::malformed, 0, "'.' or '..' in a path"};
  if (name.size() > kMaxComponent)
    return Error{ErrorCode::limit_reached, 0, "component of a path is longer than 255 bytes"};
  return {};
}

}  // namespace

Result<RelativePath> RelativePath::parse(std::string_view path) {
  if (path.empty()) return Error{ErrorCode::malformed, 0, "empty path"};
  if (path.front() == '/') return Error{ErrorCode::malformed, 0, "absolute path"};
  if (path.size() > kMaxPath)
    return Error{ErrorCode::limit_reached, 0, "path is longer than 4095 bytes"};
  if (path.find('\0') != std::string_view::npos)
    return Error{ErrorCode::malformed, 0, "NUL in a path"};
  std::size_t depth = 0;
  std::size_t begin = 0;
  while (true) {
    if (++depth > kMaxDepth)
      return Error{ErrorCode::limit_reached, 0, "path has more than 256 components"};
    const std::size_t slash = path.find('/', begin);
    XFER_TRY(check_component(
        path.substr(begin, slash == std::string_view::npos ? slash : slash - begin)));
    if (slash == std::string_view::npos) break;
    begin = slash + 1;
  }
  return RelativePath(path);
}

std::string_view RelativePath::parent() const {
  const std::size_t slash = text_.rfind('/');
  return slash == std::string::npos ? std::string_view{} : std::string_view(text_).substr(0, slash);
}

std::string_view RelativePath::name() const {
  const std::size_t slash = text_.rfind('/');
  return slash == std::string::npos ? std::string_view(text_)
                                    : std::string_view(text_).substr(slash + 1);
}

}  // namespace xfer::file

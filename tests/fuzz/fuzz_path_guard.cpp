#include <string_view>

#include "base/check.hpp"
#include "file/path_guard.hpp"
#include "fuzz_input.hpp"

namespace {

/// The rules of a name that stays beneath its root, written down a second time in another way.
bool is_safe(std::string_view path) {
  if (path.size() > xfer::file::kMaxPath || path.find('\0') != std::string_view::npos) return false;
  std::size_t components = 0;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view component = path.substr(0, slash);
    if (component.empty() || component == "." || component == "..") return false;
    if (component.size() > xfer::file::kMaxComponent || ++components > xfer::file::kMaxDepth)
      return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

// Any name: accepted exactly when the rules say so, then kept byte for byte, and its two halves
// make it up.
XFER_FUZZ_TARGET(xfer::ByteView input) {
  using namespace xfer;
  const std::string_view name = as_text(input);
  const auto path = file::RelativePath::parse(name);
  XFER_ASSERT(path.has_value() == is_safe(name));
  if (!path) return;

  XFER_ASSERT(path->text() == name);
  XFER_ASSERT(path->name().find('/') == std::string_view::npos);
  const std::string parent(path->parent());
  XFER_ASSERT((parent.empty() ? std::string(path->name())
                              : parent + '/' + std::string(path->name())) == name);
  if (!parent.empty()) XFER_ASSERT(is_safe(parent));
}

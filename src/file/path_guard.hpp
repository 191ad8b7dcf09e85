#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace xfer::file {

/// Longest path, bytes: one less than Linux' PATH_MAX, so that it can be opened in one call.
inline constexpr std::size_t kMaxPath = 4095;
/// Longest component, bytes (Linux' NAME_MAX).
inline constexpr std::size_t kMaxComponent = 255;
/// Most components.
inline constexpr std::size_t kMaxDepth = 256;

/// A path that stays beneath the directory it is used in, as far as names can tell: relative, one
/// or more components separated by single slashes, none of them empty, `.` or `..`, none too long,
/// no NUL. All else is allowed: any other byte may be in a Unix file name. Symbolic links are the
/// opening side's business (destination.hpp).
class RelativePath {
 public:
  /// Checks a name from a peer or a user.
  ///   ErrorCode::malformed      `what` says which rule it breaks.
  ///   ErrorCode::limit_reached  too long or too deep.
  static Result<RelativePath> parse(std::string_view path);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const char* c_str() const { return text_.c_str(); }
  /// Everything before the last component, without the slash; empty: the root itself.
  [[nodiscard]] std::string_view parent() const;
  /// The last component.
  [[nodiscard]] std::string_view name() const;

 private:
  explicit RelativePath(std::string_view path) : text_(path) {}
  std::string text_;
};

}  // namespace xfer::file

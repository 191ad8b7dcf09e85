#include "base/error.hpp"

#include <cstring>

namespace xfer {

const char* error_name(ErrorCode code) {
  switch (code) {
#define XFER_ERROR_NAME(name, exit, sentence) \
  case ErrorCode::name:                       \
    return #name;
    XFER_ERROR_CODES(XFER_ERROR_NAME)
#undef XFER_ERROR_NAME
  }
  return "unknown";
}

const char* error_sentence(ErrorCode code) {
  switch (code) {
#define XFER_ERROR_SENTENCE(name, exit, sentence) \
  case ErrorCode::name:                           \
    return sentence;
    XFER_ERROR_CODES(XFER_ERROR_SENTENCE)
#undef XFER_ERROR_SENTENCE
  }
  return "unknown error";
}

int exit_code(ErrorCode code) {
  switch (code) {
#define XFER_ERROR_EXIT(name, exit, sentence) \
  case ErrorCode::name:                       \
    return exit;
    XFER_ERROR_CODES(XFER_ERROR_EXIT)
#undef XFER_ERROR_EXIT
  }
  return 1;
}

std::string to_string(const Error& error) {
  std::string text;
  if (error.what != nullptr) {
    text += error.what;
    text += ": ";
  }
  text += error_sentence(error.code);
  if (error.sys_errno != 0) {
    text += ": ";
    text += std::strerror(error.sys_errno);
  }
  return text;
}

}  // namespace xfer

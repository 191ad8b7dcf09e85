#include "interop/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace xfer::interop {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

Duration until(SteadyTime deadline) { return deadline - std::chrono::steady_clock::now(); }

}  // namespace

Child::Child(const std::vector<std::string>& arguments,
             const std::vector<std::string>& environment) {
  int to_child[2];
  int from_child[2];
  XFER_ASSERT(pipe2(to_child, O_CLOEXEC) == 0 && pipe2(from_child, O_CLOEXEC) == 0);
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (char** entry = environ; *entry != nullptr; ++entry) envp.push_back(*entry);
  for (const auto& entry : environment) envp.push_back(const_cast<char*>(entry.c_str()));
  envp.push_back(nullptr);

  pid_ = fork();
  XFER_ASSERT(pid_ >= 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(to_child[0], STDIN_FILENO);
    dup2(from_child[1], STDOUT_FILENO);
    dup2(from_child[1], STDERR_FILENO);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(to_child[0]);
  close(from_child[1]);
  input_ = to_child[1];
  output_ = from_child[0];
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      text_(std::move(other.text_)),
      read_position_(other.read_position_) {}

Child::~Child() {
  if (pid_ > 0) wait(Duration::zero());
  if (input_ >= 0) close(input_);
  if (output_ >= 0) close(output_);
}

bool Child::read_more(Duration limit) {
  pollfd ready{output_, POLLIN, 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  if (poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(milliseconds, 0))) <= 0) return false;
  char block[4096];
  const ssize_t count = read(output_, block, sizeof block);
  if (count <= 0) return false;
  text_.append(block, static_cast<std::size_t>(count));
  return true;
}

std::optional<std::string> Child::read_line(Duration limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const std::size_t end = text_.find('\n', read_position_);
    if (end != std::string::npos) {
      std::string line = text_.substr(read_position_, end - read_position_);
      read_position_ = end + 1;
      return line;
    }
    if (!read_more(until(deadline))) return std::nullopt;
  }
}

std::optional<std::string> Child::read_after(const std::string& prefix, Duration limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (auto line = read_line(until(deadline)))
    if (line->starts_with(prefix)) return line->substr(prefix.size());
  return std::nullopt;
}

void Child::write_line(const std::string& line) {
  const std::string text = line + "\n";
  const auto ignored = write(input_, text.data(), text.size());
  (void)ignored;
}

Child::Exit Child::wait(Duration limit) {
  Exit exit;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (read_more(until(deadline))) {
  }
  // The output has ended, so the process has (nearly); or the time is up.
  if (std::chrono::steady_clock::now() >= deadline) {
    kill(pid_, SIGKILL);
    exit.timed_out = true;
  }
  int status = 0;
  wait4(pid_, &status, 0, &exit.usage);
  pid_ = -1;
  exit.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  exit.output = text_;
  return exit;
}

}  // namespace xfer::interop

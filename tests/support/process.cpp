#include "support/process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace xfer::test {
namespace {

constexpr std::chrono::seconds kLineLimit{30};

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  checked(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
  return ends;
}

/// Both ends of a pseudo-terminal: [0] for the test, [1] for the program.
std::array<int, 2> make_terminal() {
  const int master = checked(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "posix_openpt");
  checked(::grantpt(master), "grantpt");
  checked(::unlockpt(master), "unlockpt");
  const int slave = checked(::open(::ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC), "open pty");
  winsize size{};
  size.ws_row = 24;
  size.ws_col = 80;
  checked(::ioctl(slave, TIOCSWINSZ, &size), "TIOCSWINSZ");
  return {master, slave};
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// In the child; only calls that are safe after fork().
[[noreturn]] void become(const ProcessOptions& options, std::array<int, 3> files, char* const* argv,
                         char* const* environment) {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) ::_exit(126);
  // Each file has a high number, so that none is overwritten before it is moved.
  for (int fd = 0; fd < 3; ++fd) {
    if (files[static_cast<std::size_t>(fd)] < 0) {
      ::close(fd);
    } else if (::dup2(files[static_cast<std::size_t>(fd)], fd) < 0) {
      ::_exit(126);
    }
  }
  if (options.unprivileged &&
      (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0))
    ::_exit(126);
  // What this test inherited is none of the program's business.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execve(argv[0], argv, environment);
  ::_exit(127);
}

int high(int fd) {
  const int result = checked(::fcntl(fd, F_DUPFD_CLOEXEC, 10), "fcntl");
  ::close(fd);
  return result;
}

int high_file(const std::string& path, int flags) {
  return high(checked(::open(path.c_str(), flags | O_CLOEXEC, 0666), path.c_str()));
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const ProcessOptions& options) {
  for (const std::string& word : command) name_ += (name_.empty() ? "" : " ") + word;
  std::array<int, 3> files{-1, -1, -1};
  int out = -1;
  if (options.keep_input_open) {
    const auto ends = make_pipe();
    files[0] = high(ends[0]);
    input_ = high(ends[1]);
  } else {
    files[0] =
        high_file(options.standard_input.empty() ? "/dev/null" : options.standard_input, O_RDONLY);
  }
  if (!options.standard_output.empty()) {
    files[1] = high_file(options.standard_output, O_WRONLY | O_CREAT | O_TRUNC);
  } else if (!options.output_closed) {
    const auto ends = options.output_is_terminal ? make_terminal() : make_pipe();
    out = high(ends[0]);
    files[1] = high(ends[1]);
  }
  const auto error_ends = make_pipe();
  const int err = high(error_ends[0]);
  files[2] = high(error_ends[1]);

  std::vector<std::string> words = command;
  std::vector<std::string> environment = options.environment;
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(environment);
  pid_ = checked(::fork(), "fork");
  if (pid_ == 0) become(options, files, argv.data(), envp.data());
  for (const int fd : files)
    if (fd >= 0) ::close(fd);
  reader_ = std::thread([this, out, err] { read_all(out, err); });
}

Process::~Process() {
  if (running()) ::kill(pid_, SIGKILL);
  reader_.join();
  close_input();
}

void Process::read_all(int out, int err) {
  std::array<pollfd, 2> waits{pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    for (pollfd& wait : waits) {
      if (wait.fd < 0 || wait.revents == 0) continue;
      std::array<char, 65536> part{};
      const ssize_t count = ::read(wait.fd, part.data(), part.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {  // a terminal ends with EIO
        ::close(wait.fd);
        wait.fd = -1;
        continue;
      }
      const std::lock_guard lock(mutex_);
      (&wait == &waits[0] ? out_ : err_).append(part.data(), static_cast<std::size_t>(count));
      changed_.notify_all();
    }
  }
  int status = 0;
  // Reaped under the lock: nobody signals a process number that may be somebody else's by now.
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  const std::lock_guard lock(mutex_);
  ::waitpid(pid_, &status, 0);
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ended_ = true;
  changed_.notify_all();
}

int Process::wait(std::chrono::seconds limit) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, limit, [&] { return ended_; }))
    throw std::runtime_error("still running: " + name_ + "\noutput: " + out_ + "\nerrors: " + err_);
  return status_;
}

bool Process::running() {
  const std::lock_guard lock(mutex_);
  return !ended_;
}

std::string Process::wait_for_output(const std::string& text, std::size_t from) {
  return wait_for(text, from, out_);
}

std::string Process::wait_for_error(const std::string& text) { return wait_for(text, 0, err_); }

std::string Process::wait_for(const std::string& text, std::size_t from,
                              const std::string& captured) {
  std::unique_lock lock(mutex_);
  std::string found;
  const auto look = [&] {
    const std::string whole = captured.substr(0, captured.rfind('\n') + 1);
    const std::vector<std::string> lines = lines_of(whole);
    for (std::size_t i = from; i < lines.size(); ++i)
      if (lines[i].find(text) != std::string::npos) {
        found = lines[i];
        return true;
      }
    return ended_;
  };
  if (!changed_.wait_for(lock, kLineLimit, look) || found.empty())
    throw std::runtime_error("no line with '" + text + "' from: " + name_ + "\noutput: " + out_ +
                             "\nerrors: " + err_);
  return found;
}

void Process::signal(int number) const { ::kill(pid_, number); }

void Process::feed(const std::string& text) const {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(input_, text.data() + done, text.size() - done);
    if (count < 0) throw std::system_error(errno, std::generic_category(), "feed");
    done += static_cast<std::size_t>(count);
  }
}

void Process::close_input() {
  if (input_ >= 0) ::close(input_);
  input_ = -1;
}

std::string Process::out() {
  const std::lock_guard lock(mutex_);
  return out_;
}

std::string Process::err() {
  const std::lock_guard lock(mutex_);
  return err_;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace xfer::test

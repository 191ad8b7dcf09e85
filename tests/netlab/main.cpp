// netlab: two network namespaces joined by an emulated link. See --help and docs/testing.md.

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>

#include "control.hpp"
#include "lab.hpp"
#include "name_space.hpp"

namespace xfer::netlab {
namespace {

constexpr int kUsage = 2;
constexpr int kFailed = 1;

constexpr char kManual[] =
    R"(netlab: two network namespaces, joined by an emulated link that carries IPv4 packets.
Needs root and /dev/net/tun.

  netlab [--name NAME] up [OPTION...]                 make a lab; prints where it is, for eval
  netlab [--name NAME] set OPTION...                  change the link while it runs
  netlab [--name NAME] stats                          counters, as JSON
  netlab [--name NAME] exec a|b -- COMMAND...         run a command in one namespace
  netlab [--name NAME] down                           counters, then remove everything
  netlab run [--stats FILE] [OPTION...] -- COMMAND... make a lab, run a command, remove the lab;
                                                      exits as the command did

The command of 'run' is run outside the lab, with these variables set: NETLAB_NAME, NETLAB_A and
NETLAB_B (names of the namespaces, NAME-a and NAME-b), NETLAB_ADDR_A and NETLAB_ADDR_B (IPv4
addresses), NETLAB (this program). It may use 'netlab exec', 'set' and 'stats' without --name.
--stats FILE gets the counters at the end ('-': standard error).

NAME is $NETLAB_NAME, or 'netlab', unless given; 'run' makes up a name of its own. 'down' ends the
processes that are in the namespaces. What a crash left behind, 'down' or the next 'up' removes.

A packet is dropped if it is longer than the MTU, if it enters during an outage, if the queue is full,
or by loss; those have used up the rate. Then it is delayed. Super-packets (TSO, UDP GSO) pass the
devices whole, and each of their packets is treated by itself. The same --seed drops the same packets,
counted for each direction by their order, as long as the queue does not overflow.

)";

struct Command {
  std::string name;
  std::string verb;
  std::optional<std::string> stats_file;
  Arguments options;  ///< of the lab
  Arguments program;  ///< behind --
};

bool valid_name(const std::string& name) {
  const auto valid = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
  return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), valid);
}

Command parse(const Arguments& arguments) {
  Command command;
  const char* inherited = std::getenv("NETLAB_NAME");
  std::optional<std::string> name;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      command.program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                             arguments.end());
      break;
    }
    if (argument == "--name" || argument == "--stats") {
      if (++i == arguments.size()) throw UsageError(argument + " needs a value");
      (argument == "--name" ? name : command.stats_file) = arguments[i];
    } else if (command.verb.empty()) {
      command.verb = argument;
    } else {
      command.options.push_back(argument);
    }
  }
  if (name)
    command.name = *name;
  else if (command.verb == "run")
    command.name = "netlab-" + std::to_string(::getpid());
  else
    command.name = inherited != nullptr ? inherited : "netlab";
  if (!valid_name(command.name))
    throw UsageError("a name has 1 to 32 letters, digits, '-' and '_'");
  if (command.stats_file && command.verb != "run") throw UsageError("--stats is for 'run'");
  const bool wants_program = command.verb == "run" || command.verb == "exec";
  if (wants_program == command.program.empty())
    throw UsageError(wants_program ? "the command is missing: -- COMMAND..."
                                   : "only 'run' and 'exec' take a command");
  return command;
}

using Variable = std::pair<std::string, std::string>;

std::vector<Variable> variables_of(const std::string& lab) {
  const LabNames names(lab);
  return {{"NETLAB_NAME", lab},
          {"NETLAB_A", names.namespaces[0]},
          {"NETLAB_B", names.namespaces[1]},
          {"NETLAB_ADDR_A", kAddresses[0]},
          {"NETLAB_ADDR_B", kAddresses[1]}};
}

/// Never returns; exits as a shell does when there is no such program.
[[noreturn]] void become(const Arguments& program) {
  std::vector<char*> pointers;
  // execvp() does not change what they point to.
  for (const auto& argument : program) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  std::fprintf(stderr, "netlab: %s: %s\n", program[0].c_str(), std::strerror(errno));
  ::_exit(127);
}

/// Blocks the signals that ask for an end; they can be read from the result.
FileDescriptor end_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, number);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  return FileDescriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

void default_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Number of a signal that came, or 0.
int taken_signal(const FileDescriptor& signals) {
  signalfd_siginfo info{};
  const bool got = ::read(signals.number(), &info, sizeof info) == sizeof info;
  return got ? static_cast<int>(info.ssi_signo) : 0;
}

Reply handle(Emulator& emulator, const Arguments& request) {
  try {
    if (request.empty()) return {false, "empty request"};
    if (request[0] == "set") {
      emulator.change(std::span(request).subspan(1));
      return {};
    }
    if (request[0] == "down") emulator.stop();
    if (request[0] == "stats" || request[0] == "down") return {true, emulator.stats().dump(2)};
    return {false, "unknown request '" + request[0] + "'"};
  } catch (const UsageError& error) {
    return {false, error.what()};
  }
}

Settings settings_of(const Command& command) {
  Settings settings;
  apply_options(settings, command.options, true);
  return settings;
}

void detach(const LabNames& names) {
  ::setsid();
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int log = ::open(names.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  ::dup2(null, 0);
  ::dup2(log, 1);
  ::dup2(log, 2);
}

int up(const Command& command) {
  const Settings settings = settings_of(command);
  Lab lab(command.name, settings);
  ControlServer control(lab.names().control);
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child > 0) {
    lab.record_process(child);
    for (const auto& [name, value] : variables_of(command.name))
      std::cout << "export " << name << "=" << value << "\n";
    std::cout.flush();
    ::_exit(0);  // the lab is the child's now
  }
  detach(lab.names());
  const FileDescriptor signals = end_signals();
  Emulator emulator(lab.tun(0), lab.tun(1), settings);
  emulator.watch(control.descriptor(), [&] {
    control.answer([&](const Arguments& request) { return handle(emulator, request); });
  });
  emulator.watch(signals.number(), [&] {
    if (taken_signal(signals) != 0) emulator.stop();
  });
  become_real_time();
  emulator.run();
  return 0;
}

void write_stats(const std::optional<std::string>& file, const nlohmann::json& stats) {
  if (!file) return;
  if (*file == "-") {
    std::cerr << stats.dump(2) << "\n";
    return;
  }
  std::ofstream out(*file);
  out << stats.dump(2) << "\n";
  out.flush();
  if (!out) throw std::system_error(errno, std::generic_category(), *file);
}

pid_t start_program(const Command& command) {
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child > 0) return child;
  default_signals();
  for (const auto& [name, value] : variables_of(command.name))
    ::setenv(name.c_str(), value.c_str(), 1);
  char self[4096] = {};
  if (::readlink("/proc/self/exe", self, sizeof self - 1) > 0) ::setenv("NETLAB", self, 1);
  become(command.program);
}

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int run(const Command& command) {
  const Settings settings = settings_of(command);
  Lab lab(command.name, settings);
  ControlServer control(lab.names().control);
  const FileDescriptor signals = end_signals();
  Emulator emulator(lab.tun(0), lab.tun(1), settings);
  const pid_t child = start_program(command);
  const FileDescriptor ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (ended.number() < 0) throw std::system_error(errno, std::generic_category(), "pidfd_open");
  emulator.watch(control.descriptor(), [&] {
    control.answer([&](const Arguments& request) { return handle(emulator, request); });
  });
  // A terminal sends SIGINT to the program as well.
  emulator.watch(signals.number(), [&] {
    const int number = taken_signal(signals);
    if (number != 0 && number != SIGINT) ::kill(child, number);
  });
  emulator.watch(ended.number(), [&] { emulator.stop(); });
  become_real_time();
  emulator.run();
  int status = 0;
  // After `down` the program may still run.
  if (::waitpid(child, &status, WNOHANG) == 0) {
    ::kill(child, SIGTERM);
    ::waitpid(child, &status, 0);
  }
  write_stats(command.stats_file, emulator.stats());
  return exit_code(status);
}

int request(const Command& command, const Arguments& arguments) {
  const LabNames names(command.name);
  if (running(names) == 0) throw UsageError("no lab '" + command.name + "' is up");
  const Reply reply = ask(names.control, arguments);
  if (!reply.ok) throw UsageError(reply.text);
  if (!reply.text.empty()) std::cout << reply.text << "\n";
  return 0;
}

int down(const Command& command) {
  const LabNames names(command.name);
  const pid_t pid = running(names);
  if (pid != 0) {
    try {
      std::cout << ask(names.control, {"down"}).text << "\n";
    } catch (const std::system_error&) {
      ::kill(pid, SIGKILL);  // it does not answer
    }
    for (int i = 0; i < 500 && running(names) != 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (running(names) == pid) ::kill(pid, SIGKILL);
  }
  if (!clear(names) && pid == 0) throw UsageError("there is no lab '" + command.name + "'");
  return 0;
}

int exec(const Command& command) {
  if (command.options.size() != 1 || (command.options[0] != "a" && command.options[0] != "b"))
    throw UsageError("exec a -- COMMAND, or exec b -- COMMAND");
  enter_namespace(LabNames(command.name).namespaces[command.options[0] == "a" ? 0 : 1]);
  for (const auto& [name, value] : variables_of(command.name))
    ::setenv(name.c_str(), value.c_str(), 1);
  become(command.program);
}

int dispatch(const Arguments& arguments) {
  const auto options_end = std::find(arguments.begin(), arguments.end(), "--");
  if (arguments.empty() || std::find(arguments.begin(), options_end, "--help") != options_end) {
    std::cout << kManual << options_help();
    return arguments.empty() ? kUsage : 0;
  }
  const Command command = parse(arguments);
  const bool no_options = command.verb == "stats" || command.verb == "down";
  if (no_options && !command.options.empty())
    throw UsageError("'" + command.verb + "' takes no options");
  if (command.verb == "up") return up(command);
  if (command.verb == "run") return run(command);
  if (command.verb == "exec") return exec(command);
  if (command.verb == "down") return down(command);
  if (command.verb == "stats") return request(command, {"stats"});
  if (command.verb == "set") {
    Settings scratch;  // what is wrong is found before anything is asked
    apply_options(scratch, command.options, false);
    Arguments arguments_of_set{"set"};
    arguments_of_set.insert(arguments_of_set.end(), command.options.begin(), command.options.end());
    return request(command, arguments_of_set);
  }
  throw UsageError("unknown command '" + command.verb + "'");
}

}  // namespace
}  // namespace xfer::netlab

int main(int argc, char** argv) {
  using namespace xfer::netlab;
  try {
    return dispatch(Arguments(argv + 1, argv + argc));
  } catch (const UsageError& error) {
    std::cerr << "netlab: " << error.what() << "\n";
    return kUsage;
  } catch (const std::exception& error) {
    std::cerr << "netlab: " << error.what() << "\n";
    return kFailed;
  }
}

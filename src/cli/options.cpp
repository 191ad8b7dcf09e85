#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>

#include "cli/units.hpp"
#include "file/printable.hpp"
#include "net/resolve.hpp"
#include "udt/limits.hpp"
#include "wire/packet.hpp"

namespace xfer::cli {
namespace {

constexpr std::uint64_t kMinRate = 10'000;
constexpr std::uint64_t kMaxRate = 1'000'000'000'000;
constexpr std::uint64_t kMinSocketBuffer = 4096;
constexpr std::uint64_t kMaxSocketBuffer = 1ULL << 30U;
constexpr Duration kMinConnectTimeout = 100ms;
constexpr Duration kMaxConnectTimeout = std::chrono::hours(1);
constexpr Duration kMinTimeout = 2s;
constexpr Duration kMaxTimeout = std::chrono::hours(24);
constexpr std::uint64_t kMaxSessions = 1000;
constexpr std::uint64_t kMaxThreshold = 1000;
constexpr std::uint64_t kMaxMemory = 1ULL << 40U;

constexpr const char* kVersion = "xfer " XFER_VERSION "\n";
constexpr const char* kGeneralHelp =
    "xfer moves files between machines over UDP, with the UDT4 protocol.\n"
    "\n"
    "Usage:\n"
    "  xfer send [OPTIONS] SRC... HOST:PORT\n"
    "  xfer recv [OPTIONS] --listen [ADDR]:PORT --dir DIR\n"
    "  xfer help [send|recv]\n"
    "  xfer --version\n"
    "\n"
    "Example:\n"
    "  receiver$ xfer recv --plain --once --listen :9000 --dir /data/in\n"
    "  sender$   xfer send --plain results/ run.log receiver.example.org:9000\n"
    "\n"
    "'xfer help send' and 'xfer help recv' list the options; see also xfer(1).\n";

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw CLI::ValidationError(what, why);
}

[[noreturn]] void refuse_value(const char* option, const std::string& value,
                               const std::string& valid) {
  refuse(option, fmt::format("'{}' is not valid; valid: {}", value, valid));
}

/// CLI11 takes a positional `[x]` for a list in brackets. Such words travel through it behind a
/// mark, so that a file may have that name.
constexpr char kMark = '\x01';

std::string marked(const std::string& word) {
  const bool list = word.size() > 1 && word.front() == '[' && word.back() == ']';
  return list || word.starts_with(kMark) ? kMark + word : word;
}

std::string unmarked(const std::string& word) {
  return word.starts_with(kMark) ? word.substr(1) : word;
}

/// `ADDR`, `ADDR:PORT`, `[ADDR]`, `[ADDR]:PORT`, `:PORT`; a bare IPv6 address needs no brackets.
std::optional<net::HostPort> parse_bind(const std::string& text) {
  const bool bare_ipv6 = text.find('[') == std::string::npos && std::ranges::count(text, ':') > 1;
  for (const std::string& form :
       bare_ipv6 ? std::vector{"[" + text + "]:0"} : std::vector{text, text + ":0"})
    if (const auto parsed = net::parse_host_port(form, net::PortZero::allowed)) return *parsed;
  return std::nullopt;
}

/// Where the keys of a configuration file stand, for messages: `key` or `section.key`, as written,
/// to the number of its (last) line.
using KeyLines = std::map<std::string, int>;

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

KeyLines key_lines(const std::string& text) {
  KeyLines found;
  std::istringstream input(text);
  std::string section;
  std::string line;
  for (int number = 1; std::getline(input, line); ++number) {
    line = trimmed(line);
    if (line.starts_with('[')) {
      section = trimmed(std::string_view(line).substr(1, line.find(']') - 1)) + '.';
      if (section == "default.") section.clear();
    } else if (!line.empty() && line[0] != '#' && line[0] != ';') {
      found[section + trimmed(std::string_view(line).substr(0, line.find('=')))] = number;
    }
  }
  return found;
}

/// INI/TOML reader in which keys before any section count for both commands, and those of [send]
/// and [recv] for one.
class SectionedConfig final : public CLI::ConfigTOML {
 public:
  SectionedConfig(std::string command, KeyLines& lines)
      : command_(std::move(command)), lines_(&lines) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::istringstream text(std::string(std::istreambuf_iterator<char>(input), {}));
    *lines_ = key_lines(text.str());
    std::vector<CLI::ConfigItem> kept;
    for (CLI::ConfigItem& item : CLI::ConfigTOML::from_config(text)) {
      if (item.name == "++" || item.name == "--") continue;  // begin and end of a section
      if (item.parents.size() == 1 && item.parents[0] == "default") item.parents.clear();
      if (item.parents == std::vector<std::string>{command_}) item.parents.clear();
      const bool other_command = item.parents.size() == 1 && command_ != item.parents[0] &&
                                 (item.parents[0] == "send" || item.parents[0] == "recv");
      if (!other_command) kept.push_back(std::move(item));
    }
    return kept;
  }

 private:
  std::string command_;
  KeyLines* lines_;
};

class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) { column_width(32); }

  std::string make_usage(const CLI::App*, std::string) const override { return usage_ + "\n"; }
  std::string make_positionals(const CLI::App*) const override { return ""; }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_size() == 0 ? "" : " " + option->get_type_name();
  }

 private:
  std::string usage_;
};

/// One command's parser. It fills the options struct directly, after checking each value on its
/// own; finish() checks what depends on several.
class Parser {
 public:
  Parser(const std::string& command, const std::string& description, const std::string& usage,
         const std::string& default_config)
      : app_(description, command) {
    app_.formatter(std::make_shared<HelpFormatter>(usage));
    app_.config_formatter(std::make_shared<SectionedConfig>(command, key_lines_));
    app_.allow_config_extras(false);
    app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app_.set_help_flag("-h,--help", "Show this help and exit");
    app_.set_config("--config", default_config,
                    "Read options from FILE (INI or TOML): keys are the long names")
        ->type_name("FILE");
  }

  CLI::App& app() { return app_; }

  /// Reads the arguments; throws CLI::ParseError.
  void read(std::vector<std::string> arguments) {
    std::ranges::transform(arguments, arguments.begin(), marked);
    std::ranges::reverse(arguments);
    app_.parse(std::move(arguments));
    if (!plain_)
      refuse("--plain",
             "must be given: this version of xfer can only send unprotected, so that a "
             "transfer is neither private nor authenticated");
    if (output_.quiet && output_.verbose) refuse("--quiet", "contradicts --verbose");
    if (want_ipv4_ && want_ipv6_) refuse("--ipv4", "contradicts --ipv6");
  }

  /// What went wrong, in words for the user, with its place if that is the configuration file.
  [[nodiscard]] std::string explain(const CLI::ParseError& error,
                                    const std::vector<std::string>& arguments) const {
    constexpr std::string_view kUnknown = "INI was not able to parse ";
    const std::string message = error.what();
    if (message.starts_with(kUnknown)) {
      const std::string key = message.substr(kUnknown.size());
      return place(line_of(key)) + fmt::format("unknown key '{}'", key);
    }
    const bool about_file = dynamic_cast<const CLI::ConfigError*>(&error) != nullptr;
    for (const auto& [key, line] : key_lines_) {
      const std::string name = key.substr(key.rfind('.') + 1);
      const bool typed = std::ranges::any_of(arguments, [&](const std::string& word) {
        return word == "--" + name || word.starts_with("--" + name + '=');
      });
      if (blames(message, name) && (about_file || !typed) && line_of(name) > 0)
        return place(line_of(name)) + message;
    }
    return about_file ? place(0) + message : message;
  }

  [[nodiscard]] const OutputOptions& output() const { return output_; }

  [[nodiscard]] std::vector<std::string> positionals() const {
    std::vector<std::string> words = positionals_->results();
    std::ranges::transform(words, words.begin(), unmarked);
    return words;
  }

 protected:
  using Setter = std::function<void(const std::string&)>;

  /// Whether a message of CLI11 or of ours is about the option of that name.
  static bool blames(const std::string& message, const std::string& name) {
    return message.starts_with("--" + name + ":") || message.starts_with(name + ":") ||
           message.find("--" + name + " = ") != std::string::npos;
  }

  /// Line of the configuration file with the key that counts for this command; 0: none.
  [[nodiscard]] int line_of(const std::string& key) const {
    int last = 0;
    for (const std::string& written : {key, app_.get_name() + '.' + key})
      if (const auto at = key_lines_.find(written); at != key_lines_.end())
        last = std::max(last, at->second);
    return last;
  }

  [[nodiscard]] std::string place(int line) const {
    return fmt::format("configuration file {}{}: ", app_.get_config_ptr()->as<std::string>(),
                       line == 0 ? "" : fmt::format(", line {}", line));
  }

  CLI::Option* value(const char* names, const char* type, const char* help, Setter set) {
    const auto take = [set = std::move(set)](const std::string& word) { set(unmarked(word)); };
    return app_.add_option_function<std::string>(names, take, help)->type_name(type);
  }

  /// A whole number from `least` to `most`.
  void number(const char* name, const char* help, std::uint32_t& target, std::uint64_t least,
              std::uint64_t most) {
    value(name, "N", help, [name, &target, least, most](const std::string& text) {
      const bool digits = !text.empty() && text.size() < 10 &&
                          text.find_first_not_of("0123456789") == std::string::npos;
      const std::uint64_t count = digits ? std::stoul(text) : 0;
      if (!digits || count < least || count > most)
        refuse_value(name, text, fmt::format("{} to {}", least, most));
      target = static_cast<std::uint32_t>(count);
    });
  }

  /// A flag that switches something off.
  void flag_off(const char* name, bool& target, const char* help) {
    app_.add_flag_callback(
        name, [&target] { target = false; }, help);
  }

  void add_common(udt::ConnectionConfig& connection, net::DriverOptions& driver,
                  Duration& timeout) {
    app_.add_flag("--plain", plain_,
                  "Unprotected mode (required): neither private nor authenticated")
        ->configurable(false);
    value("--mss", "BYTES", "Largest IP packet; the smaller of both sides' counts (default 1500)",
          [&](const std::string& text) {
            const auto bytes = parse_size(text);
            if (!bytes || *bytes < udt::kMinMss || *bytes > udt::kMaxMss)
              refuse_value("--mss", text,
                           fmt::format("{} to {} bytes", udt::kMinMss, udt::kMaxMss));
            connection.mss = static_cast<std::uint32_t>(*bytes);
          });
    value("--mtu", "BYTES|auto",
          "Largest IP packet to probe the path for; auto (default): what the interface carries",
          [&](const std::string& text) {
            const auto bytes = parse_size(text);
            const bool valid = bytes && *bytes >= udt::kMinMss && *bytes <= udt::kMaxMss;
            if (text != "auto" && !valid)
              refuse_value("--mtu", text,
                           fmt::format("{} to {} bytes, or auto", udt::kMinMss, udt::kMaxMss));
            connection.max_mtu.reset();
            if (valid) connection.max_mtu = static_cast<std::uint32_t>(*bytes);
          });
    value("--max-memory", "SIZE",
          "Ceiling on each connection's buffers, which windows grow to (default 256M)",
          [&](const std::string& text) {
            const auto bytes = parse_size(text);
            if (!bytes || *bytes < udt::kMinMemory || *bytes > kMaxMemory)
              refuse_value("--max-memory", text,
                           fmt::format("{} to {} bytes", spell_size(udt::kMinMemory),
                                       spell_size(kMaxMemory)));
            connection.max_memory = *bytes;
            memory_given_ = true;
          });
    value("--audt-recovery", "on|off",
          "Repair lost retransmissions before a time-out, as A-UDT does (default on)",
          [&](const std::string& text) {
            if (text != "on" && text != "off") refuse_value("--audt-recovery", text, "on, off");
            connection.audt_recovery = text == "on";
          });
    flag_off("--no-gso", driver.gso, "Do not let the system cut trains into datagrams (GSO)");
    flag_off("--no-gro", driver.gro, "Do not let the system join received datagrams (GRO)");
    flag_off("--no-batch", driver.batched, "One system call for each datagram; implies both");
    value("--socket-buffer", "SIZE", "UDP socket buffers to ask the system for (default 12M)",
          [&](const std::string& text) {
            const auto bytes = parse_size(text);
            if (!bytes || *bytes < kMinSocketBuffer || *bytes > kMaxSocketBuffer)
              refuse_value("--socket-buffer", text,
                           fmt::format("{} to {} bytes", spell_size(kMinSocketBuffer),
                                       spell_size(kMaxSocketBuffer)));
            driver.socket_buffer = static_cast<std::size_t>(*bytes);
          });
    value("--timeout", "TIME", "Give up when the peer is silent or stuck this long (default 30s)",
          [&](const std::string& text) {
            const auto time = parse_duration(text);
            if (!time || *time < kMinTimeout || *time > kMaxTimeout)
              refuse_value("--timeout", text,
                           fmt::format("{} to {}", spell_duration(kMinTimeout),
                                       spell_duration(kMaxTimeout)));
            timeout = *time;
            connection.idle_timeout = *time;
          });
    app_.add_flag("-4,--ipv4", want_ipv4_, "Use IPv4 only");
    app_.add_flag("-6,--ipv6", want_ipv6_, "Use IPv6 only");
    app_.add_flag("-q,--quiet", output_.quiet, "Print errors only (and the warning of --plain)");
    app_.add_flag("-v,--verbose", output_.verbose, "Print a line for each file, and more figures");
    app_.add_flag("--json", output_.json, "Print one JSON object a line instead of text");
  }

  /// `text` as packets of the connection's size, for a window.
  static std::uint32_t window_packets(std::uint64_t bytes, const std::string& text,
                                      std::uint32_t mss) {
    const std::uint64_t payload = mss - wire::kPayloadOverhead;
    const std::uint64_t least = udt::kMinFlightWindow * payload;
    const std::uint64_t most = udt::kMaxFlightWindow * payload;
    if (bytes < least || bytes > most)
      refuse_value("--window", text, fmt::format("{} to {} bytes at --mss {}", least, most, mss));
    return static_cast<std::uint32_t>((bytes + payload - 1) / payload);
  }

  /// What depends on several options, --window apart.
  void settle(udt::ConnectionConfig& connection, net::DriverOptions& driver) const {
    // The smaller of two limits on the same thing counts.
    if (connection.max_mtu) connection.mss = std::min(connection.mss, *connection.max_mtu);
    if (memory_given_ && window_ && *window_ > connection.max_memory)
      refuse("--window", fmt::format("'{}' is more than --max-memory", window_text_));
    const std::uint64_t packets =
        std::max<std::uint64_t>(connection.max_memory / connection.mss, udt::kMinFlightWindow);
    const auto within = [packets](std::uint32_t window) {
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(window, packets));
    };
    connection.receive_window = within(connection.receive_window);
    connection.send_window = within(connection.send_window);
    driver.send_ring =
        static_cast<std::size_t>(std::min<std::uint64_t>(driver.send_ring, connection.max_memory));
  }

  /// The window that was asked for, and memory for it. REQUIRES: window_.
  void set_window(udt::ConnectionConfig& connection, std::uint32_t& window) const {
    window = window_packets(*window_, window_text_, connection.mss);
    if (!memory_given_)
      connection.max_memory =
          std::max(connection.max_memory, std::uint64_t{window} * connection.mss);
  }

  void add_window(const char* help) {
    value("--window", "SIZE", help, [this](const std::string& text) {
      window_ = parse_size(text);
      window_text_ = text;
      if (!window_) refuse_value("--window", text, "a number of bytes, as 64M");
    });
  }

  [[nodiscard]] SocketAddress::Family family() const {
    using Family = SocketAddress::Family;
    return want_ipv4_ ? Family::ipv4 : want_ipv6_ ? Family::ipv6 : Family::none;
  }

  KeyLines key_lines_;  ///< filled while reading
  CLI::App app_;
  CLI::Option* positionals_ = nullptr;
  bool plain_ = false;
  bool want_ipv4_ = false;
  bool want_ipv6_ = false;
  OutputOptions output_;
  std::optional<std::uint64_t> window_;
  std::string window_text_;
  bool memory_given_ = false;
};

class SendParser final : public Parser {
 public:
  explicit SendParser(const std::string& default_config)
      : Parser("send", "Sends files, directories or standard input to a receiver.",
               "Usage: xfer send [OPTIONS] SRC... HOST:PORT", default_config) {
    positionals_ =
        app_.add_option("SRC", "Files, directories, or - for standard input; then HOST:PORT");
    positionals_->expected(1, CLI::detail::expected_max_vector_size)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args()
        ->configurable(false);
    add_common(job_.connection, job_.driver, job_.timeout);
    app_.add_flag("--raw", job_.raw, "Send the bare bytes of one source, to any UDT4 program");
    value("--stdin-name", "NAME", "Name that standard input gets at the receiver (default stdin)",
          [this](const std::string& text) {
            if (text.empty()) refuse_value("--stdin-name", text, "a relative path");
            job_.stdin_name = text;
          });
    value("--connect-timeout", "TIME", "How long connecting may take (default 5s)",
          [this](const std::string& text) {
            const auto time = parse_duration(text);
            if (!time || *time < kMinConnectTimeout || *time > kMaxConnectTimeout)
              refuse_value("--connect-timeout", text,
                           fmt::format("{} to {}", spell_duration(kMinConnectTimeout),
                                       spell_duration(kMaxConnectTimeout)));
            job_.connection.connect_timeout = *time;
          });
    value("--bind", "ADDR[:PORT]", "Local address to send from", [this](const std::string& text) {
      bind_ = parse_bind(text);
      if (!bind_)
        refuse_value("--bind", text,
                     "an address of this host, as 192.0.2.1, 192.0.2.1:9001 or [2001:db8::1]:9001");
    });
    add_window("Most data in flight (default 16M)");
    value("--max-rate", "RATE", "Ceiling on the sending rate in bit/s, as 500M or 10G",
          [this](const std::string& text) {
            const auto rate = parse_rate(text);
            if (!rate || *rate < kMinRate || *rate > kMaxRate)
              refuse_value(
                  "--max-rate", text,
                  fmt::format("{} to {} bit/s", spell_rate(kMinRate), spell_rate(kMaxRate)));
            job_.connection.max_rate = *rate / 8;
          });
    value("--cc", "NAME",
          "Congestion control: auto (default), udt, bbr, or fixed, which sends at --max-rate",
          [this](const std::string& text) {
            if (text == "auto") {
              job_.connection.controller = udt::ControllerKind::automatic;
            } else if (text == "udt") {
              job_.connection.controller = udt::ControllerKind::udt_native;
            } else if (text == "bbr") {
              job_.connection.controller = udt::ControllerKind::bbr;
            } else if (text == "fixed") {
              job_.connection.controller = udt::ControllerKind::fixed_rate;
            } else {
              refuse_value("--cc", text, "auto, udt, bbr, fixed");
            }
          });
    number("--dupack-threshold",
           "Equal acknowledgements after which the oldest packet is sent again (default 2)",
           job_.connection.duplicate_ack_threshold, 1, kMaxThreshold);
  }

  SendCommand finish(std::vector<std::string> arguments) {
    read(std::move(arguments));
    std::vector<std::string> words = positionals();
    if (words.size() < 2)
      refuse("send", words.empty()
                         ? "SRC and HOST:PORT are missing"
                         : fmt::format("only '{}' is given; need SRC... HOST:PORT", words[0]));
    const auto destination = net::parse_host_port(words.back());
    if (!destination || destination->host.empty() || destination->port == 0)
      refuse_value("destination", words.back(),
                   "HOST:PORT with port 1 to 65535, as host.example.org:9000, [2001:db8::1]:9000");
    job_.destination = *destination;
    words.pop_back();
    if (const auto empty = std::ranges::find(words, ""); empty != words.end())
      refuse("send", "a source is an empty string");
    if (std::ranges::count(words, "-") > 1) refuse("send", "standard input (-) is given twice");
    if (job_.raw && words.size() != 1) refuse("--raw", "takes exactly one source");
    job_.sources = std::move(words);
    settle(job_.connection, job_.driver);
    if (window_) {
      set_window(job_.connection, job_.connection.send_window);
      job_.driver.send_ring =
          static_cast<std::size_t>(std::max<std::uint64_t>(*window_, 1U << 20U));
    }
    if (job_.connection.controller == udt::ControllerKind::fixed_rate && !job_.connection.max_rate)
      refuse("--cc", "fixed needs --max-rate");
    job_.driver.family_hint = family();
    return {job_, bind_, output()};
  }

 private:
  std::optional<net::HostPort> bind_;
  transfer::SendOptions job_;
};

class RecvParser final : public Parser {
 public:
  explicit RecvParser(const std::string& default_config)
      : Parser("recv", "Receives what xfer send sends, under a directory.",
               "Usage: xfer recv [OPTIONS] --listen [ADDR]:PORT --dir DIR\n"
               "       xfer recv [OPTIONS] --raw --once --listen [ADDR]:PORT FILE|-",
               default_config) {
    positionals_ = app_.add_option("TARGET", "With --raw: file to write, or - for standard output");
    positionals_->expected(0, CLI::detail::expected_max_vector_size)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args()
        ->configurable(false);
    value("--listen", "[ADDR]:PORT",
          "Address and UDP port to listen at (required); port 0: any free one",
          [this](const std::string& text) {
            const auto address = net::parse_host_port(text, net::PortZero::allowed);
            if (!address)
              refuse_value(
                  "--listen", text,
                  "[ADDR]:PORT with port 0 to 65535, as :9000, 192.0.2.1:9000, [::1]:9000");
            job_.listen = *address;
            listen_given_ = true;
          });
    value("--dir", "DIR", "Directory that everything received goes under (required, but for --raw)",
          [this](const std::string& text) {
            if (text.empty()) refuse_value("--dir", text, "an existing directory");
            job_.directory = text;
            directory_given_ = true;
          });
    app_.add_flag("--once", job_.once, "Exit after the first sender, with its result");
    app_.add_flag("--raw", job_.raw,
                  "Receive one bare byte stream, from any UDT4 program, into TARGET");
    value("--fsync", "POLICY",
          "always (default): on disk before the sender hears of success; or never",
          [this](const std::string& text) {
            if (text == "always") {
              job_.durability = transfer::Durability::synced;
            } else if (text == "never") {
              job_.durability = transfer::Durability::cached;
            } else {
              refuse_value("--fsync", text, "always, never");
            }
          });
    value("--max-sessions", "N", "Senders served at the same time (default 16)",
          [this](const std::string& text) {
            const auto count = parse_size(text);
            if (!count || *count < 1 || *count > kMaxSessions)
              refuse_value("--max-sessions", text, fmt::format("1 to {}", kMaxSessions));
            job_.max_sessions = static_cast<std::size_t>(*count);
          });
    number("--fp", "Packets that a block of receive memory holds in a row (default 32)",
           job_.connection.block_packets, 1, udt::kMaxTrainSegments);
    app_.add_flag("--direct", job_.direct, "Write files past the page cache (O_DIRECT)");
    app_.add_flag("--preallocate", job_.preallocate,
                  "Reserve the space of a file before its content comes");
    number("--nak-repeat-threshold",
           "Acknowledgements without progress after which a loss is reported again (default 2)",
           job_.connection.nak_repeat_threshold, 1, kMaxThreshold);
    add_common(job_.connection, job_.driver, job_.timeout);
    add_window("Receive buffer that is announced to the sender (default 12M)");
  }

  RecvCommand finish(std::vector<std::string> arguments) {
    read(std::move(arguments));
    const std::vector<std::string> words = positionals();
    if (!listen_given_) refuse("recv", "--listen [ADDR]:PORT is missing");
    if (job_.raw) {
      if (!job_.once) refuse("--raw", "needs --once: it receives one stream into one file");
      if (directory_given_) refuse("--raw", "contradicts --dir: give the file to write, or -");
      if (words.size() != 1 || words[0].empty())
        refuse("--raw", "needs exactly one file to write, or - for standard output");
      job_.raw_target = words[0];
      if (job_.raw_target == "-" && output().json)
        refuse("--json", "contradicts -: standard output carries the data");
    } else {
      if (!words.empty())
        refuse("recv", fmt::format("'{}' is not expected: only --raw takes a file", words[0]));
      if (!directory_given_) refuse("recv", "--dir DIR is missing");
    }
    settle(job_.connection, job_.driver);
    if (window_) set_window(job_.connection, job_.connection.receive_window);
    job_.driver.family_hint = family();
    return {job_, output()};
  }

 private:
  bool listen_given_ = false;
  bool directory_given_ = false;
  transfer::RecvOptions job_;
};

UsageError usage_error(const char* command, const std::string& message) {
  return {file::printable(fmt::format("{} (see 'xfer help {}')", message, command))};
}

template <typename CommandParser>
Invocation parse_command(const char* command, const std::vector<std::string>& arguments,
                         const std::string& default_config) {
  CommandParser parser(default_config);
  try {
    return parser.finish(arguments);
  } catch (const CLI::CallForHelp&) {
    return ShowText{parser.app().help()};
  } catch (const CLI::ExtrasError&) {
    // Words that are no options are positionals, so that what is left over is options.
    return usage_error(command,
                       fmt::format("unknown option '{}'", parser.app().remaining().front()));
  } catch (const CLI::ParseError& error) {
    return usage_error(command, parser.explain(error, arguments));
  }
}

}  // namespace

Invocation parse(const std::vector<std::string>& arguments, const std::string& default_config) {
  if (arguments.empty()) return UsageError{"no command given: send or recv (see 'xfer help')"};
  const std::string& command = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (command == "send") return parse_command<SendParser>("send", rest, default_config);
  if (command == "recv") return parse_command<RecvParser>("recv", rest, default_config);
  if (command == "--version" || command == "-V") return ShowText{kVersion};
  if (command == "help" || command == "--help" || command == "-h") {
    if (rest.empty()) return ShowText{kGeneralHelp};
    if (rest[0] == "send") return ShowText{SendParser("").app().help()};
    if (rest[0] == "recv") return ShowText{RecvParser("").app().help()};
    return UsageError{
        fmt::format("'{}' is no command: send, recv or help", file::printable(rest[0]))};
  }
  return UsageError{
      fmt::format("'{}' is no command: send, recv or help", file::printable(command))};
}

std::vector<std::string> option_names(std::string_view command) {
  std::vector<std::string> names;
  const auto collect = [&](Parser&& parser) {
    for (const CLI::Option* option : parser.app().get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    }
  };
  if (command == "send") collect(SendParser(""));
  if (command == "recv") collect(RecvParser(""));
  return names;
}

}  // namespace xfer::cli

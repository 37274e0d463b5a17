// The options of one subcommand: declares, parses, prints --help. Only command.cc includes CLI11,
// whose header is slow to compile.
#ifndef TARSIA_TOOLS_COMMAND_H_
#define TARSIA_TOOLS_COMMAND_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tarsia::tools {

// Exit codes.
inline constexpr int kDone = 0;
inline constexpr int kRejected = 1;     // the input is wrong
inline constexpr int kUsage = 2;        // the command line is wrong
inline constexpr int kEnvironment = 3;  // the machine lacks something: a GPU, disk space, memory

using Args = std::vector<std::string>;

class Command {
 public:
  // `examples`: valid command lines for --help; a test runs them.
  Command(const std::string& name, std::string summary, const std::vector<std::string>& examples);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  // Each sets its variable when Parse succeeds, and does not change it if the option is not given.
  void Positional(const char* name, std::string* out, const char* help);  // required
  void MaybePositional(const char* name, std::string* out, const char* help);
  void Positionals(const char* name, std::vector<std::string>* out,
                   const char* help);  // one or more
  void Flag(const char* names, bool* out, const char* help);
  void Value(const char* names, const char* what, std::string* out, const char* help);
  void Value(const char* names, const char* what, std::optional<std::string>* out,
             const char* help);
  void Number(const char* names, const char* what, uint32_t* out, const char* help);
  void Count(const char* names, const char* what, uint32_t* out, const char* help);  // at least 1
  void Integer(const char* names, const char* what, std::optional<int64_t>* out, const char* help);
  // One of the words; `form:NAME` is a word for every text that begins with `form:`.
  void Choice(const char* names, std::string* out, std::vector<std::string> words,
              const char* help);
  // May be repeated, with one value each.
  void Values(const char* names, const char* what, std::vector<std::string>* out, const char* help);
  // `--name` alone sets "", `--name=value` sets the value.
  void ValueOrFlag(const char* name, const char* what, std::optional<std::string>* out,
                   const char* help);

  // The exit code if there is nothing left to do: after --help, and after a usage error, which is
  // printed on standard error.
  std::optional<int> Parse(const Args& args);

  // Reports a usage error that the subcommand detects; returns kUsage.
  int Misuse(const std::string& message, const std::string& help = "") const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_COMMAND_H_

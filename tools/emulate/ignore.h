// What `tarsia emulate` is told to pass over: findings of a kind, or of a kind at a line.
#ifndef TARSIA_TOOLS_EMULATE_IGNORE_H_
#define TARSIA_TOOLS_EMULATE_IGNORE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/machine/emulator.h"
#include "tools/command.h"

namespace tarsia::tools {

// KIND, or KIND@FILE:LINE. A finding is at a line if that is its line of the PTX, its line of the
// source, or one of those where that was inlined.
struct Suppression {
  std::string text;  // as given, and where: "--ignore race"
  std::string kind;
  std::string file;  // "": any place; else a path or the end of one
  uint32_t line = 0;
  uint64_t used = 0;  // how often a finding was dropped
};

class Suppressions {
 public:
  // Each returns an exit code; what is wrong is printed.
  int Add(const std::vector<std::string>& ignored, const Command& command);
  // A file with one a line; what begins with # is a comment.
  int AddFile(const std::string& path);

  // Drops what is suppressed from the findings of a launch.
  void Apply(const ptx::Module& module, ptx::LaunchReport* report);
  // Prints which were of no use.
  void NoteUnused() const;
  [[nodiscard]] bool empty() const { return list_.empty(); }
  // How many findings were dropped.
  [[nodiscard]] uint64_t dropped() const;

 private:
  std::vector<Suppression> list_;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_EMULATE_IGNORE_H_

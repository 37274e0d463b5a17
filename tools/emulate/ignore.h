// Findings that `tarsia emulate` ignores: those of a kind, or of a kind at a line.
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
  std::string text;  // as given, with its option: "--ignore race"
  std::string kind;
  std::string file;  // "": any place; else a path or the end of one
  uint32_t line = 0;
  uint64_t used = 0;  // the number of findings it removed
};

class Suppressions {
 public:
  // Each returns an exit code; errors are printed.
  int Add(const std::vector<std::string>& ignored, const Command& command);
  // Reads a file with one suppression per line; a line that begins with # is a comment.
  int AddFile(const std::string& path);

  // Removes the suppressed findings of a launch.
  void Apply(const ptx::Module& module, ptx::LaunchReport* report);
  // Prints the suppressions that were not used.
  void NoteUnused() const;
  [[nodiscard]] bool empty() const { return list_.empty(); }
  // The number of findings that were removed.
  [[nodiscard]] uint64_t dropped() const;

 private:
  std::vector<Suppression> list_;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_EMULATE_IGNORE_H_

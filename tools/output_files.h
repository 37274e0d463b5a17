// Outputs of a command that would overwrite what it reads, or each other.
#ifndef TARSIA_TOOLS_OUTPUT_FILES_H_
#define TARSIA_TOOLS_OUTPUT_FILES_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia::tools {

// Of a path, what all its names have in common; the file need not exist.
std::string TrueName(const std::string& path);
// Whether two paths are those of one file, which need not exist.
bool IsSameFile(const std::string& a, const std::string& b);
// Devices and pipes, which take bytes from several outputs.
bool IsSpecialFile(const std::string& path);

struct OutputOption {
  std::string_view option;  // "-o"
  std::string path;         // empty: it is not given
};
// Refuses an output that is the file of an input or of another output. Inputs are as OpenInput
// takes them. Returns an exit code; errors are printed.
int CheckOutputFiles(const std::vector<std::string>& inputs,
                     std::initializer_list<OutputOption> outputs);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_OUTPUT_FILES_H_

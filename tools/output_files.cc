#include "tools/output_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "tools/command.h"
#include "tools/output.h"
#include "tools/tensor_io.h"

namespace tarsia::tools {

std::string TrueName(const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error);
  const auto name = std::filesystem::weakly_canonical(whole, error);
  return error ? path : name.string();
}

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code error;  // one of them need not exist
  return TrueName(a) == TrueName(b) || std::filesystem::equivalent(a, b, error);
}

bool IsSpecialFile(const std::string& path) {
  std::error_code error;
  return path != "-" && std::filesystem::exists(path, error) &&
         !std::filesystem::is_regular_file(path, error);
}

int CheckOutputFiles(const std::vector<std::string>& inputs,
                     std::initializer_list<OutputOption> outputs) {
  for (const OutputOption* output = outputs.begin(); output != outputs.end(); ++output) {
    const std::string& path = output->path;
    if (path.empty() || IsSpecialFile(path)) continue;
    const auto* const other =
        std::find_if(outputs.begin(), output, [&path](const OutputOption& before) {
          return !before.path.empty() && IsSameFile(before.path, path);
        });
    if (other != output) {
      PrintError(fmt::format("{} {}: this is the file of {}", output->option, path, other->option),
                 "each output needs a file of its own");
      return kUsage;
    }
    for (const std::string& input : inputs) {
      if (path == "-" || input.empty() || input == "-") continue;
      if (!IsSameFile(FileOfInput(input), path)) continue;
      PrintError(fmt::format("{} {}: this is the file of an input", output->option, path),
                 "give another one");
      return kUsage;
    }
  }
  return kDone;
}

}  // namespace tarsia::tools

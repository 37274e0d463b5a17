// The programs of the CUDA toolkit that are run as processes: where they are, and files for them.
#ifndef TARSIA_COMPILER_PTX_TOOLS_H_
#define TARSIA_COMPILER_PTX_TOOLS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "support/result.h"

namespace tarsia::compiler {

enum class Tool : uint8_t { kPtxas, kNvdisasm };

// The path of a tool: the environment variable TARSIA_PTXAS or TARSIA_NVDISASM, else the pinned
// one, a Python wheel in the build's .venv, else the first on PATH. The error says what was looked
// at and what to install.
Result<std::string> FindTool(Tool tool);

// A file of its own in the folder for temporary files, removed with the object.
class ScratchFile {
 public:
  // The file holds `content`; its name ends in `suffix`.
  static Result<ScratchFile> Make(std::string_view suffix, std::string_view content);
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;
  ~ScratchFile();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Result<std::string> Read() const;

 private:
  explicit ScratchFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PTX_TOOLS_H_

// The programs of the CUDA toolkit that are run as processes: their paths, and files for them.
#ifndef TARSIA_COMPILER_ASSEMBLE_TOOLS_H_
#define TARSIA_COMPILER_ASSEMBLE_TOOLS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "support/result.h"
#include "support/temporary_file.h"

namespace tarsia::compiler {

enum class Tool : uint8_t { kPtxas, kNvdisasm };

// The path of a tool: the environment variable TARSIA_PTXAS or TARSIA_NVDISASM, else the pinned
// one, a Python wheel in the build's .venv, else the first on PATH. The error says where it was
// searched and what to install.
Result<std::string> FindTool(Tool tool);

// A separate file in the folder for temporary files, removed with the object.
class ScratchFile {
 public:
  // The file holds `content`; its name ends in `suffix`.
  static Result<ScratchFile> Make(std::string_view suffix, std::string_view content);
  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] Result<std::string> Read() const;

 private:
  explicit ScratchFile(TemporaryFile file) : file_(std::move(file)) {}
  TemporaryFile file_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_ASSEMBLE_TOOLS_H_

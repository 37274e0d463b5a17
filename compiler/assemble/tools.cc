#include "compiler/assemble/tools.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "compiler/diagnostics.h"
#include "support/environment.h"

namespace tarsia::compiler {
namespace {

struct ToolRow {
  Tool tool;
  const char* name;
  const char* variable;
  const char* wheel;
};
constexpr ToolRow kTools[] = {
    {Tool::kPtxas, "ptxas", "TARSIA_PTXAS", "nvidia-cuda-nvcc"},
    {Tool::kNvdisasm, "nvdisasm", "TARSIA_NVDISASM", "nvidia-cuda-nvdisasm"},
};

bool IsProgram(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

// The first of the folders, separated by `separator`, that has the program; or "".
std::string FindIn(std::string_view folders, char separator, const char* name) {
  while (!folders.empty()) {
    const size_t end = folders.find(separator);
    const std::string path = std::string(folders.substr(0, end)) + "/" + name;
    if (path.size() > std::strlen(name) + 1 && IsProgram(path)) return path;
    folders = end == std::string_view::npos ? std::string_view() : folders.substr(end + 1);
  }
  return {};
}

}  // namespace

Result<std::string> FindTool(Tool tool) {
  const ToolRow& row = kTools[static_cast<size_t>(tool)];
  if (const std::string path(Environment(row.variable)); !path.empty()) {
    if (IsProgram(path)) return path;
    return MakeDiagnostic(diag::kToolMissing, Location(), row.name,
                          std::string(row.variable) + "=" + path, row.wheel, row.variable);
  }
  std::string path = FindIn(TARSIA_PTX_TOOLS, ';', row.name);
  if (path.empty()) path = FindIn(Environment("PATH"), ':', row.name);
  if (!path.empty()) return path;
  const std::string pinned = TARSIA_PTX_TOOLS;
  return MakeDiagnostic(diag::kToolMissing, Location(), row.name,
                        pinned.empty() ? "PATH" : pinned + ", PATH", row.wheel, row.variable);
}

Result<ScratchFile> ScratchFile::Make(std::string_view suffix, std::string_view content) {
  const std::string_view folder = Environment("TMPDIR");
  std::string path =
      std::string(!folder.empty() ? folder : "/tmp") + "/tarsia-XXXXXX" + std::string(suffix);
  const int file = mkostemps(path.data(), static_cast<int>(suffix.size()), O_CLOEXEC);
  if (file < 0) {
    return MakeDiagnostic(diag::kScratchFile, Location(), "make", path,
                          std::generic_category().message(errno));
  }
  ScratchFile scratch((TemporaryFile(path)));
  bool ok = true;
  while (ok && !content.empty()) {
    const ssize_t count = write(file, content.data(), content.size());
    ok = count >= 0 || errno == EINTR;
    if (count > 0) content.remove_prefix(static_cast<size_t>(count));
  }
  const int error = errno;
  if (close(file) == 0 && ok) return scratch;
  return MakeDiagnostic(diag::kScratchFile, Location(), "write", path,
                        std::generic_category().message(error));
}

Result<std::string> ScratchFile::Read() const {
  std::string text;
  FILE* file = std::fopen(path().c_str(), "rbe");
  bool ok = file != nullptr;
  std::array<char, 65536> buffer;
  while (ok && std::feof(file) == 0) {
    text.append(buffer.data(), std::fread(buffer.data(), 1, buffer.size(), file));
    ok = std::ferror(file) == 0;
  }
  const int error = errno;
  if (file != nullptr) std::fclose(file);
  if (ok) return text;
  return MakeDiagnostic(diag::kScratchFile, Location(), "read", path(),
                        std::generic_category().message(error));
}

}  // namespace tarsia::compiler

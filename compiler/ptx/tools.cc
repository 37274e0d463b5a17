#include "compiler/ptx/tools.h"

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "compiler/diagnostics.h"

extern char** environ;

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

// The first of the folders, which `separator` keeps apart, that holds the program; or "".
std::string FindIn(std::string_view folders, char separator, const char* name) {
  while (!folders.empty()) {
    const size_t end = folders.find(separator);
    const std::string path = std::string(folders.substr(0, end)) + "/" + name;
    if (path.size() > std::strlen(name) + 1 && IsProgram(path)) return path;
    folders = end == std::string_view::npos ? std::string_view() : folders.substr(end + 1);
  }
  return {};
}

// Both ends of a pipe, closed with the object.
struct Pipe {
  Pipe() { ok = pipe(ends.data()) == 0; }
  ~Pipe() {
    CloseEnd(0);
    CloseEnd(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void CloseEnd(size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  std::array<int, 2> ends = {-1, -1};
  bool ok = false;
};

// Reads what is there; false at the end of the stream.
bool ReadSome(int file, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t count = read(file, buffer.data(), buffer.size());
  if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

// Both streams at once: a process that fills one pipe while we wait on the other would hang.
void ReadBoth(Pipe& out, Pipe& err, ProcessOutput& output) {
  std::array<pollfd, 2> files = {{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    if (poll(files.data(), files.size(), -1) < 0 && errno != EINTR) return;
    for (size_t i = 0; i < files.size(); ++i) {
      const bool ready = files[i].fd >= 0 && files[i].revents != 0;
      if (ready && !ReadSome(files[i].fd, i == 0 ? output.out : output.err)) files[i].fd = -1;
    }
  }
}

int WaitFor(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int Spawn(const std::string& path, const std::vector<std::string>& arguments, const Pipe& out,
          const Pipe& err, pid_t& process) {
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  for (const Pipe* pipe : {&out, &err}) {
    for (const int end : pipe->ends) posix_spawn_file_actions_addclose(&actions, end);
  }
  const int error = posix_spawn(&process, path.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<std::string> FindTool(Tool tool) {
  const ToolRow& row = kTools[static_cast<size_t>(tool)];
  if (const char* path = std::getenv(row.variable); path != nullptr && *path != '\0') {
    if (IsProgram(path)) return std::string(path);
    return MakeDiagnostic(diag::kToolMissing, Location(), row.name,
                          std::string(row.variable) + "=" + path, row.wheel, row.variable);
  }
  const char* folders = std::getenv("PATH");
  std::string path = FindIn(folders != nullptr ? folders : "", ':', row.name);
  if (path.empty()) path = FindIn(TARSIA_PTX_TOOLS, ';', row.name);
  if (!path.empty()) return path;
  return MakeDiagnostic(diag::kToolMissing, Location(), row.name,
                        std::string("PATH, ") + TARSIA_PTX_TOOLS, row.wheel, row.variable);
}

Result<ProcessOutput> RunProcess(const std::string& path,
                                 const std::vector<std::string>& arguments) {
  Pipe out;
  Pipe err;
  pid_t process = 0;
  const int error = out.ok && err.ok ? Spawn(path, arguments, out, err, process) : errno;
  if (error != 0) {
    return MakeDiagnostic(diag::kToolFailed, Location(), path, std::strerror(error));
  }
  out.CloseEnd(1);
  err.CloseEnd(1);
  ProcessOutput output;
  ReadBoth(out, err, output);
  output.exit_code = WaitFor(process);
  return output;
}

Result<ScratchFile> ScratchFile::Make(std::string_view suffix, std::string_view content) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") +
                     "/tarsia-XXXXXX" + std::string(suffix);
  const int file = mkstemps(path.data(), static_cast<int>(suffix.size()));
  if (file < 0) {
    return MakeDiagnostic(diag::kScratchFile, Location(), "make", path, std::strerror(errno));
  }
  ScratchFile scratch(path);
  bool ok = true;
  while (ok && !content.empty()) {
    const ssize_t count = write(file, content.data(), content.size());
    ok = count >= 0 || errno == EINTR;
    if (count > 0) content.remove_prefix(static_cast<size_t>(count));
  }
  const int error = errno;
  if (close(file) == 0 && ok) return scratch;
  return MakeDiagnostic(diag::kScratchFile, Location(), "write", path, std::strerror(error));
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}

ScratchFile::~ScratchFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

Result<std::string> ScratchFile::Read() const {
  std::string text;
  FILE* file = std::fopen(path_.c_str(), "rb");
  bool ok = file != nullptr;
  std::array<char, 65536> buffer;
  for (size_t count = 1; ok && count > 0;) {
    count = std::fread(buffer.data(), 1, buffer.size(), file);
    text.append(buffer.data(), count);
    if (count == 0) ok = std::ferror(file) == 0;
  }
  const int error = errno;
  if (file != nullptr) std::fclose(file);
  if (ok) return text;
  return MakeDiagnostic(diag::kScratchFile, Location(), "read", path_, std::strerror(error));
}

}  // namespace tarsia::compiler

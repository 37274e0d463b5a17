#include "compiler/assemble/library.h"

#include "compiler/diagnostics.h"

#ifdef TARSIA_NVPTXCOMPILER
#include <nvPTXCompiler.h>

#include <memory>
#include <type_traits>
#endif

namespace tarsia::compiler {

#ifdef TARSIA_NVPTXCOMPILER
namespace {

using Handle = std::remove_pointer_t<nvPTXCompilerHandle>;
struct Destroy {
  void operator()(Handle* handle) const { nvPTXCompilerDestroy(&handle); }
};

// Reads either log in the same way. Without a log, "".
std::string Log(nvPTXCompilerHandle compiler, decltype(&nvPTXCompilerGetInfoLogSize) size_of,
                decltype(&nvPTXCompilerGetInfoLog) get) {
  size_t size = 0;
  if (size_of(compiler, &size) != NVPTXCOMPILE_SUCCESS || size == 0) return "";
  std::string text(size + 1, '\0');
  if (get(compiler, text.data()) != NVPTXCOMPILE_SUCCESS) return "";
  text.resize(text.find('\0'));
  return text;
}

Diagnostic Refused(nvPTXCompilerHandle compiler, nvPTXCompileResult code) {
  std::string text = compiler == nullptr
                         ? ""
                         : Log(compiler, nvPTXCompilerGetErrorLogSize, nvPTXCompilerGetErrorLog);
  if (text.empty()) text = "nvptxcompiler returned code " + std::to_string(code);
  while (text.ends_with('\n')) text.pop_back();
  return MakeDiagnostic(diag::kAssembleFailed, Location(), PtxLibraryVersion(), text);
}

}  // namespace

std::string PtxLibraryVersion() {
  unsigned major = 0, minor = 0;
  nvPTXCompilerGetVersion(&major, &minor);
  return "nvptxcompiler " + std::to_string(major) + "." + std::to_string(minor);
}

Result<PtxLibraryOutput> AssembleInProcess(std::string_view ptx, Target target) {
  nvPTXCompilerHandle made = nullptr;
  nvPTXCompileResult code = nvPTXCompilerCreate(&made, ptx.size(), ptx.data());
  const std::unique_ptr<Handle, Destroy> compiler(made);
  if (code != NVPTXCOMPILE_SUCCESS) return Refused(nullptr, code);
  const std::string architecture = "--gpu-name=" + std::string(Row(target).name);
  const char* const options[] = {architecture.c_str(), "--verbose"};
  code = nvPTXCompilerCompile(made, 2, options);
  if (code != NVPTXCOMPILE_SUCCESS) return Refused(made, code);
  PtxLibraryOutput out;
  size_t size = 0;
  code = nvPTXCompilerGetCompiledProgramSize(made, &size);
  out.cubin.resize(size);
  if (code == NVPTXCOMPILE_SUCCESS) code = nvPTXCompilerGetCompiledProgram(made, out.cubin.data());
  if (code != NVPTXCOMPILE_SUCCESS) return Refused(made, code);
  out.log = Log(made, nvPTXCompilerGetInfoLogSize, nvPTXCompilerGetInfoLog);
  return out;
}

#else

std::string PtxLibraryVersion() { return ""; }

Result<PtxLibraryOutput> AssembleInProcess(std::string_view /*ptx*/, Target /*target*/) {
  return MakeDiagnostic(diag::kAssembleFailed, Location(), "nvptxcompiler",
                        "it is not part of this build");
}

#endif

}  // namespace tarsia::compiler

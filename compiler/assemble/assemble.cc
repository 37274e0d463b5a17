#include "compiler/assemble/assemble.h"

#include <elf.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "compiler/assemble/library.h"
#include "compiler/assemble/process.h"
#include "compiler/assemble/tools.h"
#include "compiler/diagnostics.h"
#include "support/text.h"

namespace tarsia::compiler {
namespace {

// --- the log ---

bool Contains(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

// The number before `what`, as in "16 bytes stack frame"; or 0.
int64_t NumberBefore(std::string_view line, std::string_view what) {
  const size_t end = line.find(what);
  if (end == std::string_view::npos) return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int64_t number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

// The text between the first two single quotes, if any.
std::optional<std::string> Quoted(std::string_view line) {
  const size_t begin = line.find('\'');
  const size_t end = begin == std::string_view::npos ? begin : line.find('\'', begin + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(line.substr(begin + 1, end - begin - 1));
}

// Remarks on performance print as info, with a number: "(C7508) Potential Performance Loss: ..".
bool IsWarning(std::string_view line) {
  return line.starts_with("ptxas ") &&
         (line.starts_with("ptxas warning") || Contains(line, "(C7") || Contains(line, "(C6"));
}

// Path, size and time of the program identify its version: running it to ask would cost a process.
std::string IdentityOf(const std::string& program) {
  std::error_code error;
  const auto path = std::filesystem::canonical(program, error);
  const auto size = std::filesystem::file_size(path, error);
  const auto time = std::filesystem::last_write_time(path, error);
  return path.string() + " " + std::to_string(size) + " " +
         std::to_string(time.time_since_epoch().count());
}

// Whether it is an ELF file up to its table of sections, which comes last.
bool IsWholeElf(std::string_view bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof(header)) return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const uint64_t table = uint64_t{header.e_shentsize} * header.e_shnum;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && table <= bytes.size() &&
         header.e_shoff <= bytes.size() - table;
}

// The exit code of ptxas may be unknown: then its output decides.
Status Judge(const ProcessOutput& run, bool has_cubin) {
  const bool ended_well = run.exit_code ? *run.exit_code == 0 : has_cubin;
  if (ended_well && has_cubin) return OkStatus();
  if (ended_well) {
    return MakeDiagnostic(diag::kToolFailed, Location(), "ptxas", "it wrote no whole cubin");
  }
  const std::string_view text = Trimmed(run.err.empty() ? run.out : run.err);
  if (!text.empty()) return MakeDiagnostic(diag::kAssembleFailed, Location(), "ptxas", text);
  return MakeDiagnostic(diag::kToolFailed, Location(), "ptxas",
                        run.exit_code ? fmt::format("it ended with exit code {}", *run.exit_code)
                                      : "it wrote no cubin and said nothing");
}

// The path of ptxas; "" if there is only the library.
Result<std::string> FindAssembler() {
  Result<std::string> found = FindTool(Tool::kPtxas);
  if (found.ok() || PtxLibraryVersion().empty()) return found;
  return std::string();
}

// Uses the program, or the library if `ptxas` is "".
Status MakeCubin(const std::string& ptxas, std::string_view ptx, Target target,
                 std::chrono::milliseconds limit, StopCheck* stop, std::string& cubin,
                 std::string& log) {
  if (ptxas.empty()) {
    TARSIA_TRY(PtxLibraryOutput made, AssembleInProcess(ptx, target));
    cubin = std::move(made.cubin);
    log = std::move(made.log);
    return OkStatus();
  }
  TARSIA_TRY(const ScratchFile source, ScratchFile::Make(".ptx", ptx));
  TARSIA_TRY(const ScratchFile object, ScratchFile::Make(".cubin", ""));
  TARSIA_TRY(const ProcessOutput run, RunProcess(ptxas,
                                                 {"-v", "-arch=" + std::string(Row(target).name),
                                                  source.path(), "-o", object.path()},
                                                 limit, stop));
  log = run.out + run.err;
  TARSIA_TRY(cubin, object.Read());
  return Judge(run, IsWholeElf(cubin));
}

}  // namespace

const KernelResources* Assembled::Find(std::string_view name) const {
  for (const KernelResources& kernel : kernels) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

void ParsePtxasLog(std::string_view log, Assembled& out) {
  KernelResources* kernel = nullptr;  // the one that the next lines describe
  KernelResources ignored;            // for a function that is not a kernel
  while (!log.empty()) {
    const std::string_view line = TakeLine(log);
    if (IsWarning(line)) {
      out.warnings.emplace_back(line);
    } else if (Contains(line, "Compiling entry function")) {
      out.kernels.emplace_back();
      kernel = &out.kernels.back();
      kernel->name = Quoted(line).value_or("");
    } else if (Contains(line, "Function properties for ")) {
      const bool own = kernel != nullptr && line.ends_with(" " + kernel->name);
      if (!own) kernel = &ignored;
    } else if (kernel != nullptr && Contains(line, " bytes stack frame")) {
      kernel->stack_bytes = NumberBefore(line, " bytes stack frame");
      kernel->spill_store_bytes = NumberBefore(line, " bytes spill stores");
      kernel->spill_load_bytes = NumberBefore(line, " bytes spill loads");
      // The properties of functions that it calls may follow before its own last line.
      kernel = out.kernels.empty() ? nullptr : &out.kernels.back();
    } else if (kernel != nullptr && Contains(line, "Used ")) {
      kernel->registers = static_cast<int>(NumberBefore(line, " registers"));
      kernel->barriers = static_cast<int>(NumberBefore(line, " barriers"));
      kernel->shared_bytes = NumberBefore(line, " bytes smem");
    }
  }
}

Result<std::string> AssemblerIdentity() {
  TARSIA_TRY(const std::string ptxas, FindAssembler());
  return ptxas.empty() ? PtxLibraryVersion() : IdentityOf(ptxas);
}

Result<Assembled> Assemble(std::string_view ptx, Target target, std::chrono::milliseconds limit,
                           StopCheck* stop) {
  TARSIA_TRY(const std::string ptxas, FindAssembler());
  Assembled out;
  TARSIA_CHECK(MakeCubin(ptxas, ptx, target, limit, stop, out.cubin, out.log));
  ParsePtxasLog(out.log, out);
  return out;
}

std::string JoinPtx(const std::vector<std::string>& modules) {
  std::string joined;
  for (const std::string& module : modules) {
    // The header ends with the line of .address_size.
    const size_t header = module.find(".address_size");
    const size_t body = header == std::string::npos ? 0 : module.find('\n', header) + 1;
    joined += joined.empty() ? module : module.substr(body);
  }
  return joined;
}

}  // namespace tarsia::compiler

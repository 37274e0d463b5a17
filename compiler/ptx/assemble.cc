#include "compiler/ptx/assemble.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/ptx/library.h"
#include "compiler/ptx/process.h"
#include "compiler/ptx/tools.h"

namespace tarsia::compiler {
namespace {

// --- the log ---

std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return line;
}

bool Contains(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

// The number that stands before `what`, as in "16 bytes stack frame"; or 0.
int64_t NumberBefore(std::string_view line, std::string_view what) {
  const size_t end = line.find(what);
  if (end == std::string_view::npos) return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int64_t number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

// What stands between the first two single quotes; or nothing.
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

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

// --- the cache ---

class Cache {
 public:
  Cache(std::string_view ptx, Target target, const std::string& assembler) {
    const char* folder = std::getenv("TARSIA_CUBIN_CACHE");
    if (folder == nullptr || *folder == '\0') return;
    const std::string key = std::string(Row(target).name) + '\n' + assembler + '\n';
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, key.data(), key.size());
    XXH3_128bits_update(&state, ptx.data(), ptx.size());
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(&state));
    path_ = std::string(folder) + "/";
    for (const unsigned char byte : digest.digest) {
      constexpr char kDigits[] = "0123456789abcdef";
      path_ += kDigits[byte >> 4];
      path_ += kDigits[byte & 15];
    }
  }

  // The cubin and the log of a former run, if both are there.
  [[nodiscard]] bool Find(std::string& cubin, std::string& log) const {
    return !path_.empty() && Read(".cubin", cubin) && Read(".log", log);
  }

  // A failure to keep is none to assemble. The cubin comes last: what is there is whole.
  void Keep(const std::string& cubin, const std::string& log) const {
    if (path_.empty()) return;
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
    Write(".log", log);
    Write(".cubin", cubin);
  }

 private:
  bool Read(const char* suffix, std::string& text) const {
    std::ifstream file(path_ + suffix, std::ios::binary);
    if (!file) return false;
    text.assign(std::istreambuf_iterator<char>(file), {});
    return !file.bad();
  }

  // Under another name first, so that no reader sees half of it.
  void Write(const char* suffix, const std::string& text) const {
    const std::string scratch = path_ + suffix + "." + std::to_string(getpid());
    {
      std::ofstream file(scratch, std::ios::binary);
      file << text;
      file.close();
      if (!file) return;
    }
    std::error_code ignored;
    std::filesystem::rename(scratch, path_ + suffix, ignored);
  }

  std::string path_;  // without suffix; empty: no cache
};

// Path, size and time of the program stand for its version: asking it would cost a process.
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

// Nobody may know how ptxas ended: then what it made tells.
Status Judge(const ProcessOutput& run, bool has_cubin) {
  const bool ended_well = run.exit_code ? *run.exit_code == 0 : has_cubin;
  if (ended_well && has_cubin) return OkStatus();
  if (ended_well) {
    return MakeDiagnostic(diag::kToolFailed, Location(), "ptxas", "it wrote no whole cubin");
  }
  const std::string_view text = Trim(run.err.empty() ? run.out : run.err);
  if (!text.empty()) return MakeDiagnostic(diag::kAssembleFailed, Location(), "ptxas", text);
  return MakeDiagnostic(diag::kToolFailed, Location(), "ptxas",
                        run.exit_code ? fmt::format("it ended with exit code {}", *run.exit_code)
                                      : "it wrote no cubin and said nothing");
}

// With the program, or, where `ptxas` is "", with the library.
Status MakeCubin(const std::string& ptxas, std::string_view ptx, Target target,
                 std::chrono::milliseconds limit, std::string& cubin, std::string& log) {
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
                                                 limit));
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
  KernelResources* kernel = nullptr;  // the one that the next lines are of
  KernelResources ignored;            // of a function that is no kernel
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

Result<Assembled> Assemble(std::string_view ptx, Target target, std::chrono::milliseconds limit) {
  const std::string library = PtxLibraryVersion();
  Result<std::string> found = FindTool(Tool::kPtxas);
  if (!found.ok() && library.empty()) return found.TakeError();
  const std::string ptxas = found.ok() ? *std::move(found) : "";
  const Cache cache(ptx, target, ptxas.empty() ? library : IdentityOf(ptxas));
  Assembled out;
  std::string log;
  if (!cache.Find(out.cubin, log)) {
    TARSIA_CHECK(MakeCubin(ptxas, ptx, target, limit, out.cubin, log));
    cache.Keep(out.cubin, log);
  }
  ParsePtxasLog(log, out);
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

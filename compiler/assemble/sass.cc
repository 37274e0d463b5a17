#include "compiler/assemble/sass.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "compiler/assemble/process.h"
#include "compiler/assemble/tools.h"
#include "compiler/diagnostics.h"
#include "support/text.h"

namespace tarsia::compiler {
namespace {

constexpr std::string_view kClassNames[] = {
#define SASS_CLASS(constant, name) name,
#define SASS_OPCODE(opcode, constant)
#include "compiler/assemble/sass.def"
#undef SASS_OPCODE
#undef SASS_CLASS
};

struct OpcodeRow {
  std::string_view opcode;
  SassClass sass_class;
};
constexpr OpcodeRow kOpcodeRows[] = {
#define SASS_CLASS(constant, name)
#define SASS_OPCODE(opcode, constant) {opcode, SassClass::constant},
#include "compiler/assemble/sass.def"
#undef SASS_OPCODE
#undef SASS_CLASS
};

std::string_view TakeWord(std::string_view& text) {
  const size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : Trimmed(text.substr(end + 1));
  return word;
}

// Returns NAME of `.section .text.NAME,"ax"..`.
std::optional<std::string> KernelOf(std::string_view line) {
  constexpr std::string_view kSection = ".section\t.text.";
  const size_t begin = line.find(kSection);
  if (begin == std::string_view::npos) return std::nullopt;
  line.remove_prefix(begin + kSection.size());
  return std::string(line.substr(0, line.find(',')));
}

// Returns 12 for `//## File "x.tsa", line 12`.
std::optional<uint32_t> SourceLineOf(std::string_view line) {
  if (!line.starts_with("//## File")) return std::nullopt;
  const size_t place = line.find(", line ");
  uint32_t number = 0;
  if (place == std::string_view::npos) return std::nullopt;
  std::from_chars(line.data() + place + 7, line.data() + line.size(), number);
  return number;
}

// `/*00a0*/ @!P0 STG.E desc[UR4][R2.64], R5 ;`
std::optional<SassInstruction> InstructionOf(std::string_view line, uint32_t source_line) {
  const size_t end = line.find("*/");
  if (!line.starts_with("/*") || end == std::string_view::npos) return std::nullopt;
  SassInstruction out;
  const char* address_end = line.data() + end;
  if (std::from_chars(line.data() + 2, address_end, out.address, 16).ptr != address_end) {
    return std::nullopt;
  }
  std::string_view rest = Trimmed(line.substr(end + 2));
  rest = Trimmed(rest.substr(0, rest.rfind(';')));
  if (rest.starts_with("@")) out.guard = TakeWord(rest);
  out.opcode = TakeWord(rest);
  out.operands = rest;
  out.sass_class = ClassOf(out.opcode);
  out.line = source_line;
  if (out.opcode.empty()) return std::nullopt;
  return out;
}

// The end is followed by a jump to itself and NOPs, up to a whole number of cache lines.
void DropPadding(SassKernel& kernel) {
  auto& code = kernel.instructions;
  while (!code.empty() && code.back().opcode == "NOP") code.pop_back();
  const bool jumps = code.size() >= 2 && code.back().opcode == "BRA" && code.back().guard.empty();
  if (jumps && !kernel.labels.empty() && kernel.labels.back().instruction == code.size() - 1) {
    code.pop_back();
  }
  std::erase_if(kernel.labels,
                [&](const SassLabel& label) { return label.instruction >= code.size(); });
}

}  // namespace

std::string_view SassClassName(SassClass sass_class) {
  return kClassNames[static_cast<size_t>(sass_class)];
}

SassClass ClassOf(std::string_view opcode) {
  const std::string_view stem = opcode.substr(0, opcode.find('.'));
  const auto* row = std::find_if(std::begin(kOpcodeRows), std::end(kOpcodeRows),
                                 [&](const OpcodeRow& r) { return r.opcode == stem; });
  return row != std::end(kOpcodeRows) ? row->sass_class : SassClass::kOther;
}

namespace {

// From the target of each branch backwards to the branch. A branch to itself is padding.
std::vector<std::span<const SassInstruction>> Loops(const SassKernel& kernel) {
  std::vector<std::span<const SassInstruction>> loops;
  const std::span<const SassInstruction> all = kernel.instructions;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].opcode.starts_with("BRA")) continue;
    for (const SassLabel& label : kernel.labels) {
      const bool here = all[i].operands.find("(" + label.name + ")") != std::string::npos;
      if (here && label.instruction < i) {
        loops.push_back(all.subspan(label.instruction, i + 1 - label.instruction));
      }
    }
  }
  return loops;
}

}  // namespace

size_t SassKernel::Count(SassClass sass_class) const {
  return static_cast<size_t>(
      std::count_if(instructions.begin(), instructions.end(),
                    [&](const SassInstruction& i) { return i.sass_class == sass_class; }));
}

std::array<size_t, kSassClasses> CountClasses(std::span<const SassInstruction> instructions) {
  std::array<size_t, kSassClasses> counts{};
  for (const SassInstruction& i : instructions) ++counts[static_cast<size_t>(i.sass_class)];
  return counts;
}

std::array<size_t, kSassClasses> SassKernel::Counts() const { return CountClasses(instructions); }

std::span<const SassInstruction> SassKernel::MainLoop() const {
  using Span = std::span<const SassInstruction>;
  const std::vector<Span> loops = Loops(*this);
  const auto holds = [](Span outer, Span inner) {
    return outer.size() > inner.size() && outer.data() <= inner.data() &&
           inner.data() + inner.size() <= outer.data() + outer.size();
  };
  const auto rank = [](Span loop) {
    const auto tensor = CountClasses(loop)[static_cast<size_t>(SassClass::kTensor)];
    return std::pair(tensor, loop.size());
  };
  Span best;
  for (const Span loop : loops) {
    const bool innermost =
        std::none_of(loops.begin(), loops.end(), [&](Span other) { return holds(loop, other); });
    if (innermost && (best.empty() || rank(loop) > rank(best))) best = loop;
  }
  return best;
}

std::string MixText(const SassKernel& kernel) {
  const std::span<const SassInstruction> loop = kernel.MainLoop();
  const auto in_loop = CountClasses(loop);
  const auto in_all = kernel.Counts();
  std::string out = fmt::format("{:<16} {:>9} {:>9}\n", "class", "main loop", "all");
  for (size_t i = 0; i < kSassClasses; ++i) {
    if (in_all[i] == 0) continue;
    out += fmt::format("{:<16} {:>9} {:>9}\n", kClassNames[i], in_loop[i], in_all[i]);
  }
  return out + fmt::format("{:<16} {:>9} {:>9}\n", "sum", loop.size(), kernel.instructions.size());
}

size_t SassKernel::CountOpcode(std::string_view prefix) const {
  return static_cast<size_t>(
      std::count_if(instructions.begin(), instructions.end(),
                    [&](const SassInstruction& i) { return i.opcode.starts_with(prefix); }));
}

std::vector<SassKernel> ParseSass(std::string_view text) {
  std::vector<SassKernel> kernels;
  bool in_code = false;
  uint32_t source_line = 0;
  while (!text.empty()) {
    const std::string_view raw = TakeLine(text);
    const std::string_view line = Trimmed(raw);
    if (line.starts_with(".section\t")) {
      const auto name = KernelOf(raw);
      in_code = name.has_value();
      source_line = 0;
      if (in_code) kernels.emplace_back().name = *name;
    } else if (const auto number = SourceLineOf(line)) {
      source_line = *number;
    } else if (in_code && line.starts_with(".L_") && line.ends_with(":")) {
      SassKernel& kernel = kernels.back();
      kernel.labels.push_back(
          {std::string(line.substr(0, line.size() - 1)), kernel.instructions.size()});
    } else if (in_code) {
      if (auto found = InstructionOf(line, source_line)) {
        kernels.back().instructions.push_back(std::move(*found));
      }
    }
  }
  for (SassKernel& kernel : kernels) DropPadding(kernel);
  return kernels;
}

Result<std::string> DisassembleText(const std::string& cubin) {
  TARSIA_TRY(const std::string nvdisasm, FindTool(Tool::kNvdisasm));
  TARSIA_TRY(const ScratchFile file, ScratchFile::Make(".cubin", cubin));
  TARSIA_TRY(ProcessOutput run, RunProcess(nvdisasm, {"-c", "-g", file.path()}));
  // If the exit code is unknown, the output decides.
  const bool good =
      run.exit_code ? *run.exit_code == 0 : !run.out.empty() && Trimmed(run.err).empty();
  if (!good) return MakeDiagnostic(diag::kToolFailed, Location(), "nvdisasm", Trimmed(run.err));
  return std::move(run.out);
}

Result<std::vector<SassKernel>> Disassemble(const std::string& cubin) {
  TARSIA_TRY(const std::string text, DisassembleText(cubin));
  return ParseSass(text);
}

}  // namespace tarsia::compiler

// Machine code from the output of nvdisasm: the instructions of each kernel, and their number in
// each class.
#ifndef TARSIA_COMPILER_ASSEMBLE_SASS_H_
#define TARSIA_COMPILER_ASSEMBLE_SASS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tarsia::compiler {

// The classes of instructions: SASS_CLASS(constant, name) of sass.def.
enum class SassClass : uint8_t {
#define SASS_CLASS(constant, name) constant,
#define SASS_OPCODE(opcode, constant)
#include "compiler/assemble/sass.def"
#undef SASS_OPCODE
#undef SASS_CLASS
};
inline constexpr size_t kSassClasses = 0
#define SASS_CLASS(constant, name) +1
#define SASS_OPCODE(opcode, constant)
#include "compiler/assemble/sass.def"
#undef SASS_OPCODE
#undef SASS_CLASS
    ;
std::string_view SassClassName(SassClass sass_class);  // "tensor"
// The class of an opcode, which is cut at its first dot ("HMMA"); kOther for an unknown one.
SassClass ClassOf(std::string_view opcode);

struct SassInstruction {
  uint64_t address = 0;
  std::string guard;     // "@!P0", or ""
  std::string opcode;    // "HMMA.16816.F32"
  std::string operands;  // "R4, R8, R12, R4"
  SassClass sass_class{};
  uint32_t line = 0;  // of the source; 0 without line information
};

struct SassLabel {
  std::string name;
  size_t instruction = 0;  // the one after it
};

// A kernel without the padding after its last instruction.
struct SassKernel {
  std::string name;
  std::vector<SassInstruction> instructions;
  std::vector<SassLabel> labels;

  [[nodiscard]] size_t Count(SassClass sass_class) const;
  [[nodiscard]] std::array<size_t, kSassClasses> Counts() const;
  // The instructions of the main loop: of the innermost loops the one with the most tensor
  // instructions, and of those the longest. Empty if there is no loop.
  [[nodiscard]] std::span<const SassInstruction> MainLoop() const;
  // The number of opcodes that begin with the prefix, such as "LDG.E.128".
  [[nodiscard]] size_t CountOpcode(std::string_view prefix) const;
};

// The instruction mix as a table: one line for each class that occurs, then their sum; the numbers
// in the main loop and in the kernel.
std::string MixText(const SassKernel& kernel);

// The number of instructions of each class.
std::array<size_t, kSassClasses> CountClasses(std::span<const SassInstruction> instructions);

// Runs nvdisasm on a cubin. Errors: no nvdisasm (with the places searched), or it fails.
Result<std::vector<SassKernel>> Disassemble(const std::string& cubin);
// The same as text.
Result<std::string> DisassembleText(const std::string& cubin);
// Reads the text of `nvdisasm -c -g`.
std::vector<SassKernel> ParseSass(std::string_view text);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_ASSEMBLE_SASS_H_

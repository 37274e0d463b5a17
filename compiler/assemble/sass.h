// Machine code as nvdisasm prints it: instructions of each kernel, and how many of each class.
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

// What an instruction is for. SASS_CLASS(constant, name) of sass.def.
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
// By the opcode up to its first dot ("HMMA"); kOther for one that the table does not have.
SassClass ClassOf(std::string_view opcode);

struct SassInstruction {
  uint64_t address = 0;
  std::string guard;     // "@!P0", or ""
  std::string opcode;    // "HMMA.16816.F32"
  std::string operands;  // "R4, R8, R12, R4"
  SassClass sass_class{};
  uint32_t line = 0;  // of the source, 0 where there is no line information
};

struct SassLabel {
  std::string name;
  size_t instruction = 0;  // the one it stands before
};

// A kernel up to the padding behind its last instruction.
struct SassKernel {
  std::string name;
  std::vector<SassInstruction> instructions;
  std::vector<SassLabel> labels;

  [[nodiscard]] size_t Count(SassClass sass_class) const;
  [[nodiscard]] std::array<size_t, kSassClasses> Counts() const;
  // The main loop: of the loops that hold no other, the one with the most tensor instructions, and
  // of those the longest. All its instructions, or nothing if there is no loop.
  [[nodiscard]] std::span<const SassInstruction> MainLoop() const;
  // Opcodes that begin with the prefix, as "LDG.E.128".
  [[nodiscard]] size_t CountOpcode(std::string_view prefix) const;
};

// The instruction mix as a table: a line for each class that occurs, then their sum; how many stand
// in the main loop, and in all.
std::string MixText(const SassKernel& kernel);

// How many there are of each class.
std::array<size_t, kSassClasses> CountClasses(std::span<const SassInstruction> instructions);

// Runs nvdisasm on a cubin. Errors: no nvdisasm (says where it was looked for), or it fails.
Result<std::vector<SassKernel>> Disassemble(const std::string& cubin);
// The same as text.
Result<std::string> DisassembleText(const std::string& cubin);
// Reads such text (`nvdisasm -c -g`).
std::vector<SassKernel> ParseSass(std::string_view text);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_ASSEMBLE_SASS_H_

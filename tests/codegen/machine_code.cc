#include "tests/codegen/machine_code.h"

#include <algorithm>
#include <utility>

#include "compiler/compile.h"
#include "tests/harness/program.h"

namespace tarsia::harness {

size_t MachineCode::InLoop(compiler::SassClass sass_class) const {
  return compiler::CountClasses(sass.MainLoop())[static_cast<size_t>(sass_class)];
}

int64_t MachineCode::OpcodesInLoop(std::string_view prefix) const {
  const auto loop = sass.MainLoop();
  return std::count_if(loop.begin(), loop.end(), [&](const compiler::SassInstruction& i) {
    return i.opcode.starts_with(prefix);
  });
}

int64_t MachineCode::BlocksByRegisters(int64_t threads) const {
  constexpr int64_t kOfProcessor = 65536;
  constexpr int64_t kAtOnce = 8;  // of a thread
  return kOfProcessor / ((resources.registers + kAtOnce - 1) / kAtOnce * kAtOnce * threads);
}

int64_t MachineCode::BlocksOfProcessor(int64_t threads) const {
  constexpr int64_t kShared = 164 * 1024;
  constexpr int64_t kReserved = 1024;  // of each block
  return std::min(kShared / (static_cast<int64_t>(shared_bytes) + kReserved),
                  BlocksByRegisters(threads));
}

MachineCode MachineCodeOf(const compiler::Assembled& assembled, uint64_t shared_bytes) {
  auto sass = compiler::Disassemble(assembled.cubin);
  EXPECT_TRUE(sass.ok());
  if (!sass.ok()) return {};
  return {std::move(sass->front()), assembled.kernels[0], shared_bytes};
}

MachineCode MachineCodeOf(const SourceFile& source, const std::vector<Binding>& constants,
                          compiler::Target target) {
  const Made made = MakeProgram(source, "", constants);
  EXPECT_TRUE(made.program) << made.error;
  if (!made.program) return {};
  const auto kernel = compiler::Compile(*made.program, target);
  EXPECT_TRUE(kernel.ok());
  if (!kernel.ok()) return {};
  const auto assembled = compiler::Assemble(kernel->ptx, target);
  EXPECT_TRUE(assembled.ok());
  return assembled.ok() ? MachineCodeOf(*assembled, kernel->shared_bytes) : MachineCode();
}

size_t Occurrences(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace tarsia::harness

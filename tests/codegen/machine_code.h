// The machine code of kernels, for tests that count it. Needs the pinned ptxas and nvdisasm.
#ifndef TARSIA_TESTS_CODEGEN_MACHINE_CODE_H_
#define TARSIA_TESTS_CODEGEN_MACHINE_CODE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/assemble/assemble.h"
#include "compiler/assemble/sass.h"
#include "compiler/assemble/tools.h"
#include "compiler/compile.h"
#include "compiler/target.h"
#include "isa/specialise.h"
#include "support/diagnostic.h"

namespace tarsia::harness {

struct MachineCode {
  compiler::SassKernel sass;
  compiler::KernelResources resources;
  uint64_t shared_bytes = 0;  // dynamic

  [[nodiscard]] size_t InLoop(compiler::SassClass sass_class) const;
  [[nodiscard]] int64_t OpcodesInLoop(std::string_view prefix) const;
  // Blocks of so many threads that the registers of a processor have room for.
  [[nodiscard]] int64_t BlocksByRegisters(int64_t threads) const;
  // The same of its registers and its shared memory, for sm_80.
  [[nodiscard]] int64_t BlocksOfProcessor(int64_t threads) const;
};

// Of the only kernel of a source; empty, and the test fails, if there is none.
MachineCode MachineCodeOf(const SourceFile& source, const std::vector<Binding>& constants,
                          compiler::Target target);

// A program of one kernel.
struct KernelText {
  SourceFile source;
  std::vector<Binding> constants;
};

// Of many kernels, by one run of each tool: nvdisasm takes half a second to start. An element is
// empty, and the test fails, if there is no such kernel.
std::vector<MachineCode> MachineCodesOf(const std::vector<KernelText>& kernels,
                                        compiler::Target target);
std::vector<MachineCode> MachineCodesOf(const std::vector<compiler::CompiledKernel>& kernels,
                                        compiler::Target target);

// What ptxas says of kernels, without their code.
std::vector<compiler::KernelResources> ResourcesOf(const std::vector<KernelText>& kernels,
                                                   compiler::Target target);
std::vector<compiler::KernelResources> ResourcesOf(
    const std::vector<compiler::CompiledKernel>& kernels, compiler::Target target);

// How often `part` occurs in a text.
size_t Occurrences(std::string_view text, std::string_view part);

// A test that is skipped where a tool is missing.
template <typename Parameter>
class MachineCodeTest : public testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    for (const auto tool : {compiler::Tool::kPtxas, compiler::Tool::kNvdisasm}) {
      const auto found = compiler::FindTool(tool);
      if (!found.ok()) GTEST_SKIP() << found.error().message;
    }
  }
};

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_CODEGEN_MACHINE_CODE_H_

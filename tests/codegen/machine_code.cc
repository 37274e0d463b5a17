#include "tests/codegen/machine_code.h"

#include <algorithm>
#include <utility>

#include "compiler/compile.h"
#include "tests/harness/joined_kernels.h"
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

namespace {

// Empty for a program without a kernel.
std::vector<compiler::CompiledKernel> Compiled(const std::vector<KernelText>& kernels,
                                               compiler::Target target) {
  std::vector<compiler::CompiledKernel> out;
  for (const KernelText& kernel : kernels) {
    const Made made = MakeProgram(kernel.source, "", kernel.constants);
    EXPECT_TRUE(made.program) << made.error;
    if (!made.program) return {};
    auto compiled = compiler::Compile(*made.program, target);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message;
    if (!compiled.ok()) return {};
    out.push_back(*std::move(compiled));
  }
  return out;
}

// Of all of them; empty without a kernel, or if they are refused.
compiler::Assembled Assembled(const std::vector<compiler::CompiledKernel>& kernels,
                              compiler::Target target) {
  if (kernels.empty()) return {};
  std::vector<const compiler::CompiledKernel*> all;
  for (const compiler::CompiledKernel& kernel : kernels) all.push_back(&kernel);
  auto assembled = compiler::Assemble(JoinKernels(all), target);
  EXPECT_TRUE(assembled.ok()) << assembled.error().message;
  return assembled.ok() ? *std::move(assembled) : compiler::Assembled();
}

std::vector<compiler::KernelResources> ResourcesIn(
    const compiler::Assembled& assembled, const std::vector<compiler::CompiledKernel>& kernels) {
  std::vector<compiler::KernelResources> out(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto* const found = assembled.Find(JoinedName(kernels[i], i));
    EXPECT_NE(found, nullptr) << kernels[i].name;
    if (found != nullptr) out[i] = *found;
  }
  return out;
}

}  // namespace

std::vector<compiler::KernelResources> ResourcesOf(
    const std::vector<compiler::CompiledKernel>& kernels, compiler::Target target) {
  return ResourcesIn(Assembled(kernels, target), kernels);
}

std::vector<compiler::KernelResources> ResourcesOf(const std::vector<KernelText>& kernels,
                                                   compiler::Target target) {
  auto out = ResourcesOf(Compiled(kernels, target), target);
  out.resize(kernels.size());
  return out;
}

std::vector<MachineCode> MachineCodesOf(const std::vector<compiler::CompiledKernel>& kernels,
                                        compiler::Target target) {
  std::vector<MachineCode> out(kernels.size());
  const compiler::Assembled assembled = Assembled(kernels, target);
  if (assembled.cubin.empty()) return out;
  const auto resources = ResourcesIn(assembled, kernels);
  auto sass = compiler::Disassemble(assembled.cubin);
  EXPECT_TRUE(sass.ok()) << sass.error().message;
  if (!sass.ok()) return out;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto found =
        std::ranges::find(*sass, JoinedName(kernels[i], i), &compiler::SassKernel::name);
    EXPECT_NE(found, sass->end()) << kernels[i].name;
    if (found == sass->end()) continue;
    out[i] = {std::move(*found), resources[i], kernels[i].shared_bytes};
  }
  return out;
}

std::vector<MachineCode> MachineCodesOf(const std::vector<KernelText>& kernels,
                                        compiler::Target target) {
  auto out = MachineCodesOf(Compiled(kernels, target), target);
  out.resize(kernels.size());
  return out;
}

MachineCode MachineCodeOf(const SourceFile& source, const std::vector<Binding>& constants,
                          compiler::Target target) {
  return MachineCodesOf({KernelText{source, constants}}, target).front();
}

size_t Occurrences(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace tarsia::harness

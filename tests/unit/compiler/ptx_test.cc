// All operations on single elements as kernels: LLVM and ptxas accept them for every target, and
// nothing spills.
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/assemble/assemble.h"
#include "compiler/assemble/library.h"
#include "compiler/assemble/sass.h"
#include "compiler/assemble/tools.h"
#include "compiler/llvm/backend.h"
#include "tests/settings.h"
#include "tests/unit/compiler/cast_cases.h"
#include "tests/unit/compiler/operations.h"

namespace tarsia::compiler::ptx_test {
namespace {

std::string PtxOf(const std::vector<Operation>& operations, Target target) {
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  for (const Operation& operation : operations) AddKernel(module, operation, target);
  auto ptx = EmitPtx(module, target);
  if (ptx.ok()) return *ptx;
  ADD_FAILURE() << ptx.error().message;
  return "";
}

class EveryTarget : public testing::TestWithParam<TargetRow> {};

// ptxas is not everywhere.
#define SKIP_WITHOUT_PTXAS()                              \
  do {                                                    \
    const auto tool = FindTool(Tool::kPtxas);             \
    if (!tool.ok()) GTEST_SKIP() << tool.error().message; \
  } while (false)

void ExpectNoSpills(const Assembled& assembled, size_t kernels) {
  EXPECT_EQ(assembled.kernels.size(), kernels);
  for (const KernelResources& kernel : assembled.kernels) {
    EXPECT_EQ(kernel.spill_store_bytes, 0) << kernel.name;
    EXPECT_EQ(kernel.spill_load_bytes, 0) << kernel.name;
    EXPECT_GT(kernel.registers, 0) << kernel.name;
  }
  EXPECT_EQ(assembled.warnings, std::vector<std::string>());
}

// No instruction is inexact but those whose errors special_function.h takes into account, or
// flushes subnormal numbers but those that get and make none that matter.
void ExpectKnownErrors(const std::string& ptx) {
  constexpr std::string_view kKnown[] = {
      "ex2.approx.f32 ",       "ex2.approx.ftz.f32 ", "rcp.approx.ftz.f32 ",
      "rcp.approx.ftz.f64 ",   "rsqrt.approx.f32 ",   "rsqrt.approx.ftz.f32 ",
      "rsqrt.approx.ftz.f64 ", "sqrt.approx.f32 ",    "sqrt.approx.ftz.f32 ",
      "tanh.approx.f32 ",
  };
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(".approx") == std::string::npos && line.find(".ftz") == std::string::npos) {
      continue;
    }
    std::ranges::replace(line, '\t', ' ');
    EXPECT_TRUE(std::ranges::any_of(kKnown, [&](std::string_view known) {
      return line.find(known) != std::string::npos;
    })) << line;
  }
}

TEST_P(EveryTarget, AssemblesElementwiseOperations) {
  std::vector<Operation> operations;
  for (const DTypeRow& type : AllDTypes()) {
    for (const InstRow* row : ElementwiseRows(type.type)) {
      operations.push_back(ElementwiseOperation(*row, type.type));
    }
  }
  const std::string ptx = PtxOf(operations, GetParam().target);
  ExpectKnownErrors(ptx);
  SKIP_WITHOUT_PTXAS();
  const auto assembled = Assemble(ptx, GetParam().target);
  ASSERT_TRUE(assembled.ok()) << assembled.error().message;
  ExpectNoSpills(*assembled, operations.size());
}

TEST_P(EveryTarget, AssemblesCasts) {
  std::vector<Operation> operations;
  for (const DTypeRow& from : AllDTypes()) {
    for (const DTypeRow& to : AllDTypes()) {
      // One in 24 of them, so that each type is from and to often; all in the long form.
      const int place = DTypeIndex(from.type) * 7 + DTypeIndex(to.type) * 11;
      if (!IsLong() && place % 24 != static_cast<int>(GetParam().target)) continue;
      const Rounding rounding = static_cast<Rounding>(place / 24 % 3);
      const CastOptions options = {rounding, Overflow::kDefault};
      if (!CastAllowed(from.type, to.type, options)) continue;
      operations.push_back(CastOperation(from.type, to.type, options));
    }
  }
  const std::string ptx = PtxOf(operations, GetParam().target);
  SKIP_WITHOUT_PTXAS();
  const auto assembled = Assemble(ptx, GetParam().target);
  ASSERT_TRUE(assembled.ok()) << assembled.error().message;
  ExpectNoSpills(*assembled, operations.size());
}

TEST_P(EveryTarget, ReadsMachineCode) {
  SKIP_WITHOUT_PTXAS();
  const Operation operation = CastOperation(kF32, kF16, {});
  const auto assembled = Assemble(PtxOf({operation}, GetParam().target), GetParam().target);
  ASSERT_TRUE(assembled.ok()) << assembled.error().message;
  const auto kernels = Disassemble(assembled->cubin);
  if (!kernels.ok()) GTEST_SKIP() << kernels.error().message;
  ASSERT_EQ(kernels->size(), 1U);
  const SassKernel& kernel = kernels->front();
  EXPECT_EQ(kernel.name, operation.name);
  EXPECT_EQ(kernel.Count(SassClass::kLoadGlobal), 1U);
  EXPECT_EQ(kernel.Count(SassClass::kStoreGlobal), 1U);
  EXPECT_EQ(kernel.CountOpcode("F2F"), 1U);  // F2FP on all of them
  EXPECT_EQ(kernel.Count(SassClass::kOther), 0U);
}

// The library, if it is built in, makes the same as ptxas.
TEST_P(EveryTarget, AssemblesInProcess) {
  if (PtxLibraryVersion().empty()) {
    EXPECT_FALSE(AssembleInProcess("", GetParam().target).ok());
    GTEST_SKIP() << "built without TARSIA_NVPTXCOMPILER";
  }
  const Operation operation = CastOperation(kF32, kF16, {});
  const std::string ptx = PtxOf({operation}, GetParam().target);
  setenv("TARSIA_PTXAS", "/nowhere/ptxas", 1);
  const auto made = Assemble(ptx, GetParam().target);
  unsetenv("TARSIA_PTXAS");
  ASSERT_TRUE(made.ok()) << made.error().message;
  ExpectNoSpills(*made, 1);
  EXPECT_TRUE(made->cubin.starts_with("\177ELF"));
  SKIP_WITHOUT_PTXAS();
  const auto expected = Assemble(ptx, GetParam().target);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  EXPECT_EQ(made->kernels[0].registers, expected->kernels[0].registers);
  const auto refused = AssembleInProcess(
      ".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n", GetParam().target);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("nonsense"), std::string::npos) << refused.error().message;
}

INSTANTIATE_TEST_SUITE_P(Targets, EveryTarget,
                         testing::ValuesIn(AllTargets().begin(), AllTargets().end()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Assemble, SaysWhatPtxasRefuses) {
  SKIP_WITHOUT_PTXAS();
  const auto assembled =
      Assemble(".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n", Target::kSm80);
  ASSERT_FALSE(assembled.ok());
  EXPECT_NE(assembled.error().message.find("nonsense"), std::string::npos)
      << assembled.error().message;
}

}  // namespace
}  // namespace tarsia::compiler::ptx_test

#include "compiler/llvm/keep_constants.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "compiler/llvm/assembly_of.h"

namespace tarsia::compiler {
namespace {

constexpr size_t kMostConstantRegisters = 16;

using Constants = std::vector<llvm::ConstantInt*>;

// An operand of a product: arguments of the call that follow each other.
struct ProductOperand {
  llvm::CallInst* product;
  size_t first;
};

// The operands of one value.
struct Kept {
  Constants constants;
  std::vector<ProductOperand> operands;
};

const llvm::InlineAsm* Product(const llvm::Instruction& instruction) {
  const llvm::InlineAsm* const assembly = AssemblyOf(instruction);
  if (assembly == nullptr || !assembly->getAsmString().starts_with("mma.")) return nullptr;
  return assembly;
}

// The constants of an operand of `count` registers; nothing if another value is among them.
Constants ConstantsOf(const llvm::CallInst& product, size_t first, size_t count) {
  Constants out;
  for (size_t i = first; i < first + count; ++i) {
    auto* const constant =
        llvm::dyn_cast<llvm::ConstantInt>(product.getArgOperand(static_cast<unsigned>(i)));
    if (constant == nullptr || constant->getBitWidth() != 32) return {};
    out.push_back(constant);
  }
  return out;
}

class KeepConstants {
 public:
  explicit KeepConstants(llvm::Function& function) : function_(function) {}

  // Its operands in `mma`'s text: the result, a, b, and the sums, each in braces.
  void Add(llvm::CallInst& product, llvm::StringRef text) {
    size_t number = 0;
    for (size_t operand = 0; operand < 3; ++operand) {
      const auto [before, rest] = text.split('{');
      const auto [registers, behind] = rest.split('}');
      const size_t count = registers.count('$');
      text = behind;
      if (operand == 0) continue;  // arguments do not count results
      const Constants constants = ConstantsOf(product, number, count);
      if (count > 1 && constants.size() == count) AddOperand(constants, {&product, number});
      number += count;
    }
  }

  bool Run() {
    std::stable_sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) {
      return a.operands.size() > b.operands.size();
    });
    size_t registers = 0;
    for (const Kept& kept : kept_) {
      if (registers + kept.constants.size() > kMostConstantRegisters) break;
      Keep(kept, registers);
      registers += kept.constants.size();
    }
    return registers != 0;
  }

 private:
  void AddOperand(const Constants& constants, ProductOperand operand) {
    const auto [at, is_new] = number_.emplace(constants, kept_.size());
    if (is_new) kept_.push_back({constants, {}});
    kept_[at->second].operands.push_back(operand);
  }

  // Each register differs from all others as far as ptxas can know: otherwise it would keep one and
  // copy it.
  void Keep(const Kept& kept, size_t registers_before) {
    llvm::IRBuilder<> b(function_.getEntryBlock().getTerminator());
    llvm::Value* const zero = Zero(b);
    for (size_t i = 0; i < kept.constants.size(); ++i) {
      llvm::Value* const value =
          b.CreateXor(b.CreateAnd(zero, registers_before + i + 1), kept.constants[i]);
      for (const ProductOperand& operand : kept.operands) {
        operand.product->setArgOperand(static_cast<unsigned>(operand.first + i), value);
      }
    }
  }

  // A grid has at most 65,535 blocks along z (CUDA programming guide, "Compute Capabilities"); to
  // ptxas this is any number.
  llvm::Value* Zero(llvm::IRBuilder<>& b) {
    if (zero_ != nullptr) return zero_;
    auto* const type = llvm::FunctionType::get(b.getInt32Ty(), /*isVarArg=*/false);
    llvm::CallInst* const blocks = b.CreateCall(
        type, llvm::InlineAsm::get(type, "mov.u32 $0, %nctaid.z;", "=r", /*hasSideEffects=*/false));
    blocks->setDoesNotAccessMemory();
    blocks->setDoesNotThrow();
    zero_ = b.CreateAShr(blocks, uint64_t{31});
    return zero_;
  }

  llvm::Function& function_;
  std::map<Constants, size_t> number_;  // in kept_
  std::vector<Kept> kept_;
  llvm::Value* zero_ = nullptr;
};

}  // namespace

llvm::PreservedAnalyses KeepConstantsPass::run(llvm::Function& function,
                                               llvm::FunctionAnalysisManager& analyses) {
  const llvm::LoopInfo& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  KeepConstants keep(function);
  for (llvm::BasicBlock& block : function) {
    if (loops.getLoopFor(&block) == nullptr) continue;
    for (llvm::Instruction& instruction : block) {
      const llvm::InlineAsm* const product = Product(instruction);
      if (product != nullptr) {
        keep.Add(llvm::cast<llvm::CallInst>(instruction), product->getAsmString());
      }
    }
  }
  if (!keep.Run()) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace tarsia::compiler

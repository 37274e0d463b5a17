#include "compiler/llvm/reduce_addresses.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <algorithm>
#include <utility>

namespace tarsia::compiler {
namespace {

// Of an affine argument: its value in the first turn without the constant in it, and the step.
using Progression = std::pair<const llvm::SCEV*, const llvm::SCEV*>;

struct AffineUse {
  llvm::Use* use;
  llvm::APInt constant;
};

class ReduceAddresses {
 public:
  ReduceAddresses(llvm::Loop& loop, llvm::ScalarEvolution& scev, llvm::SCEVExpander& expander)
      : loop_(loop), scev_(scev), expander_(expander) {}

  bool Run() {
    if (!loop_.isLoopSimplifyForm()) return false;
    for (llvm::BasicBlock* block : loop_.blocks()) {
      for (llvm::Instruction& instruction : *block) {
        auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call == nullptr || !call->isInlineAsm()) continue;
        for (llvm::Use& argument : call->args()) Add(argument);
      }
    }
    for (auto& [progression, uses] : uses_) Reduce(progression, uses);
    llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(old_);
    return !uses_.empty();
  }

 private:
  void Add(llvm::Use& argument) {
    auto* const value = llvm::dyn_cast<llvm::Instruction>(argument.get());
    if (value == nullptr || llvm::isa<llvm::PHINode>(value) || !loop_.contains(value)) return;
    if (!value->getType()->isIntegerTy(32) && !value->getType()->isIntegerTy(64)) return;
    const auto* const affine = llvm::dyn_cast<llvm::SCEVAddRecExpr>(scev_.getSCEV(value));
    if (affine == nullptr || affine->getLoop() != &loop_ || !affine->isAffine()) return;
    const llvm::SCEV* start = affine->getStart();
    llvm::APInt constant(value->getType()->getIntegerBitWidth(), 0);
    if (const auto* sum = llvm::dyn_cast<llvm::SCEVAddExpr>(start)) {
      if (const auto* first = llvm::dyn_cast<llvm::SCEVConstant>(sum->getOperand(0))) {
        constant = first->getAPInt();
        start = scev_.getMinusSCEV(start, first);
      }
    } else if (const auto* number = llvm::dyn_cast<llvm::SCEVConstant>(start)) {
      constant = number->getAPInt();
      start = scev_.getZero(value->getType());
    }
    const llvm::SCEV* const step = affine->getStepRecurrence(scev_);
    if (!expander_.isSafeToExpand(start) || !expander_.isSafeToExpand(step)) return;
    uses_[{start, step}].push_back({&argument, constant});
  }

  void Reduce(const Progression& progression, llvm::SmallVectorImpl<AffineUse>& uses) {
    llvm::Type* const type = progression.first->getType();
    llvm::BasicBlock* const before = loop_.getLoopPreheader();
    const llvm::APInt base = BaseOf(uses);
    llvm::Value* const start =
        expander_.expandCodeFor(scev_.getAddExpr(progression.first, scev_.getConstant(base)), type,
                                before->getTerminator());
    llvm::Value* const step =
        expander_.expandCodeFor(progression.second, type, before->getTerminator());
    llvm::IRBuilder<> b(loop_.getHeader(), loop_.getHeader()->begin());
    llvm::PHINode* const now = b.CreatePHI(type, 2);
    b.SetInsertPoint(loop_.getLoopLatch()->getTerminator());
    now->addIncoming(start, before);
    now->addIncoming(b.CreateAdd(now, step), loop_.getLoopLatch());
    for (const AffineUse& use : uses) {
      auto* const user = llvm::cast<llvm::Instruction>(use.use->getUser());
      old_.emplace_back(use.use->get());
      b.SetInsertPoint(user);
      const llvm::APInt further = use.constant - base;
      use.use->set(further.isZero() ? now
                                    : b.CreateAdd(now, llvm::ConstantInt::get(type, further)));
    }
  }

  // The constant that the register holds, which the offsets of instructions reach the most from:
  // those of `cp.async` begin at -2048 and end below 2048.
  static llvm::APInt BaseOf(llvm::ArrayRef<AffineUse> uses) {
    constexpr uint64_t kReach = 2048;
    const auto by_constant = [](const AffineUse& a, const AffineUse& b) {
      return a.constant.slt(b.constant);
    };
    const auto [least, most] = std::minmax_element(uses.begin(), uses.end(), by_constant);
    const bool reaches = (most->constant - least->constant).ult(kReach);
    return reaches ? least->constant : least->constant + kReach;
  }

  llvm::Loop& loop_;
  llvm::ScalarEvolution& scev_;
  llvm::SCEVExpander& expander_;
  llvm::MapVector<Progression, llvm::SmallVector<AffineUse, 8>> uses_;
  llvm::SmallVector<llvm::WeakTrackingVH, 32> old_;
};

}  // namespace

llvm::PreservedAnalyses ReduceAddressesPass::run(llvm::Function& function,
                                                 llvm::FunctionAnalysisManager& analyses) {
  llvm::LoopInfo& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  llvm::ScalarEvolution& scev = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  llvm::SCEVExpander expander(scev, function.getDataLayout(), "address");
  bool changed = false;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    // Registers of the loops around it would be taken while it runs.
    if (!loop->isInnermost()) continue;
    changed = ReduceAddresses(*loop, scev, expander).Run() || changed;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace tarsia::compiler

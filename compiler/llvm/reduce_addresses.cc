#include "compiler/llvm/reduce_addresses.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLFunctionalExtras.h>
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

// An argument, and the constant in it.
struct AddressUse {
  llvm::Use* use;
  llvm::APInt constant;
};
using AddressUses = llvm::SmallVector<AddressUse, 8>;

bool HasLess(const AddressUse& a, const AddressUse& b) { return a.constant.slt(b.constant); }

// Calls `add` with each argument of assembly in a loop.
void ForEachArgument(const llvm::Loop& loop, llvm::function_ref<void(llvm::Use&)> add) {
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr || !call->isInlineAsm()) continue;
      for (llvm::Use& argument : call->args()) add(argument);
    }
  }
}

// A value without the constant in it, and that constant.
std::pair<const llvm::SCEV*, llvm::APInt> Split(const llvm::SCEV* value,
                                                llvm::ScalarEvolution& scev) {
  if (const auto* number = llvm::dyn_cast<llvm::SCEVConstant>(value)) {
    return {scev.getZero(value->getType()), number->getAPInt()};
  }
  if (const auto* sum = llvm::dyn_cast<llvm::SCEVAddExpr>(value)) {
    if (const auto* first = llvm::dyn_cast<llvm::SCEVConstant>(sum->getOperand(0))) {
      return {scev.getMinusSCEV(value, first), first->getAPInt()};
    }
  }
  return {value, llvm::APInt(value->getType()->getIntegerBitWidth(), 0)};
}

// Has the argument be `base`, of which the constant is `held`, plus what is left of its constant.
void Set(const AddressUse& use, llvm::Value* base, const llvm::APInt& held,
         llvm::SmallVectorImpl<llvm::WeakTrackingVH>& old) {
  old.emplace_back(use.use->get());
  llvm::IRBuilder<> b(llvm::cast<llvm::Instruction>(use.use->getUser()));
  const llvm::APInt further = use.constant - held;
  use.use->set(further.isZero()
                   ? base
                   : b.CreateAdd(base, llvm::ConstantInt::get(base->getType(), further)));
}

class ReduceAddresses {
 public:
  ReduceAddresses(llvm::Loop& loop, llvm::ScalarEvolution& scev, llvm::SCEVExpander& expander)
      : loop_(loop), scev_(scev), expander_(expander) {}

  bool Run() {
    if (!loop_.isLoopSimplifyForm()) return false;
    ForEachArgument(loop_, [this](llvm::Use& argument) { Add(argument); });
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
    const auto [start, constant] = Split(affine->getStart(), scev_);
    const llvm::SCEV* const step = affine->getStepRecurrence(scev_);
    if (!expander_.isSafeToExpand(start) || !expander_.isSafeToExpand(step)) return;
    uses_[{start, step}].push_back({&argument, constant});
  }

  void Reduce(const Progression& progression, const AddressUses& uses) {
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
    for (const AddressUse& use : uses) Set(use, now, base, old_);
  }

  // The constant that the register holds, which the offsets of instructions reach the most from:
  // those of `cp.async` begin at -2048 and end below 2048.
  static llvm::APInt BaseOf(llvm::ArrayRef<AddressUse> uses) {
    constexpr uint64_t kReach = 2048;
    const auto [least, most] = std::minmax_element(uses.begin(), uses.end(), HasLess);
    const bool reaches = (most->constant - least->constant).ult(kReach);
    return reaches ? least->constant : least->constant + kReach;
  }

  llvm::Loop& loop_;
  llvm::ScalarEvolution& scev_;
  llvm::SCEVExpander& expander_;
  llvm::MapVector<Progression, AddressUses> uses_;
  llvm::SmallVector<llvm::WeakTrackingVH, 32> old_;
};

// Arguments of 32 bits in a nest of loops that no loop of it changes.
class ShareAddresses {
 public:
  ShareAddresses(const llvm::Loop& nest, llvm::ScalarEvolution& scev, llvm::SCEVExpander& expander)
      : nest_(nest), scev_(scev), expander_(expander) {}

  bool Run() {
    if (nest_.getLoopPreheader() == nullptr) return false;
    ForEachArgument(nest_, [this](llvm::Use& argument) { Add(argument); });
    bool changed = false;
    for (const auto& [rest, uses] : uses_) {
      if (uses.size() < 2) continue;
      Share(*rest, uses);
      changed = true;
    }
    llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(old_);
    return changed;
  }

 private:
  [[nodiscard]] llvm::Instruction* Place() const {
    return nest_.getLoopPreheader()->getTerminator();
  }

  void Add(llvm::Use& argument) {
    auto* const value = llvm::dyn_cast<llvm::Instruction>(argument.get());
    if (value == nullptr || llvm::isa<llvm::PHINode>(value)) return;
    if (!value->getType()->isIntegerTy(32)) return;
    const llvm::SCEV* const whole = scev_.getSCEV(value);
    if (!scev_.isLoopInvariant(whole, &nest_)) return;
    const auto [rest, constant] = Split(whole, scev_);
    if (rest->isZero() || !expander_.isSafeToExpandAt(rest, Place())) return;
    uses_[rest].push_back({&argument, constant});
  }

  void Share(const llvm::SCEV& rest, const AddressUses& uses) {
    const llvm::APInt base = std::ranges::min_element(uses, HasLess)->constant;
    llvm::Value* const shared = expander_.expandCodeFor(
        scev_.getAddExpr(&rest, scev_.getConstant(base)), rest.getType(), Place());
    for (const AddressUse& use : uses) Set(use, shared, base, old_);
  }

  const llvm::Loop& nest_;
  llvm::ScalarEvolution& scev_;
  llvm::SCEVExpander& expander_;
  llvm::MapVector<const llvm::SCEV*, AddressUses> uses_;
  llvm::SmallVector<llvm::WeakTrackingVH, 32> old_;
};

}  // namespace

llvm::PreservedAnalyses ReduceAddressesPass::run(llvm::Function& function,
                                                 llvm::FunctionAnalysisManager& analyses) {
  llvm::LoopInfo& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  llvm::ScalarEvolution& scev = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  llvm::SCEVExpander expander(scev, function.getDataLayout(), "address");
  bool changed = false;
  for (const llvm::Loop* nest : loops) {
    changed = ShareAddresses(*nest, scev, expander).Run() || changed;
  }
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    // Registers of the loops around it would be taken while it runs.
    if (!loop->isInnermost()) continue;
    changed = ReduceAddresses(*loop, scev, expander).Run() || changed;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace tarsia::compiler

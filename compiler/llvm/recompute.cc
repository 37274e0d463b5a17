#include "compiler/llvm/recompute.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/llvm/assembly_of.h"
#include "compiler/llvm/minimal_cut.h"
#include "isa/limits.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// Machine instructions, at most, to compute a value again, by a rough count.
constexpr int kMostInstructions = 40;
constexpr int kDivision = 16;  // of 32 bits
// Instructions between places that share what is computed again: a value that waits for longer
// takes the register that it was to leave.
constexpr int kNear = 64;

// 32-bit registers of a value. Truth values have registers of their own.
int64_t WordsOf(const llvm::Value& value) {
  const llvm::Type* const type = value.getType();
  if (type->isPointerTy()) return 2;
  const auto bits = static_cast<int64_t>(type->getPrimitiveSizeInBits());
  return bits == 1 ? 0 : (bits + 31) / 32;
}

bool IsThread(const llvm::Instruction& instruction) {
  const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x;
}

bool IsCheap(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::BinaryOperator>(instruction)) {
    const llvm::Type* const type = instruction.getType();
    return instruction.isIntDivRem() ? type->isIntegerTy(32) : type->isIntOrIntVectorTy();
  }
  return llvm::isa<llvm::CastInst, llvm::ICmpInst, llvm::SelectInst, llvm::MinMaxIntrinsic>(
             instruction) ||
         IsThread(instruction);
}

bool HasProduct(const llvm::Loop& loop) {
  return std::ranges::any_of(loop.blocks(), [](const llvm::BasicBlock* block) {
    return std::ranges::any_of(*block, [](const llvm::Instruction& instruction) {
      const llvm::InlineAsm* const text = AssemblyOf(instruction);
      return text != nullptr && llvm::StringRef(text->getAsmString()).contains("mma.");
    });
  });
}

// Of one loop.
class Recompute {
 public:
  Recompute(llvm::Function& function, const llvm::Loop& loop, const llvm::LoopInfo& loops,
            const llvm::DominatorTree& dominators)
      : function_(function), loop_(loop), loops_(loops), dominators_(dominators) {}

  // Nothing, unless what is live at its head takes more words.
  bool Run(int64_t most) {
    FindLive();
    if (words_ <= most) return false;
    for (llvm::Instruction* value : through_) {
      if (WordsOf(*value) == 0) continue;
      if (const auto number = Number(*value)) cut_.AddWanted(*number);
    }
    for (const int number : cut_.Solve()) kept_.insert(numbered_[Size(number)]);
    for (llvm::Instruction* value : through_) {
      if (!kept_.contains(value) && WordsOf(*value) != 0) FindUses(*value);
    }
    for (auto& [block, needs] : needs_) Replace(needs);
    return !needs_.empty();
  }

 private:
  // A value that is computed before `place`, for uses of a block.
  struct Need {
    llvm::Instruction* value = nullptr;
    llvm::Instruction* place = nullptr;
    int order = 0;  // of the place in its block
    llvm::SmallVector<llvm::Use*> uses;
  };
  struct Made {
    llvm::Value* value = nullptr;
    int order = 0;
  };

  // Where an operand is read: a phi reads it at the end of the block that it comes from.
  static llvm::Instruction* PlaceOf(const llvm::Use& use) {
    auto* const user = llvm::cast<llvm::Instruction>(use.getUser());
    const auto* const phi = llvm::dyn_cast<llvm::PHINode>(user);
    return phi == nullptr ? user : phi->getIncomingBlock(use)->getTerminator();
  }

  // The blocks that are reached from the loop without `without`.
  const llvm::SmallPtrSet<llvm::BasicBlock*, 16>& ReachedWithout(llvm::BasicBlock* without) {
    const auto [at, is_new] = reached_.try_emplace(without);
    if (!is_new) return at->second;
    llvm::SmallVector<llvm::BasicBlock*> ahead = {loop_.getHeader()};
    at->second.insert(loop_.getHeader());
    while (!ahead.empty()) {
      for (llvm::BasicBlock* next : llvm::successors(ahead.pop_back_val())) {
        if (next != without && at->second.insert(next).second) ahead.push_back(next);
      }
    }
    return at->second;
  }

  void FindLive() {
    for (const llvm::PHINode& phi : loop_.getHeader()->phis()) words_ += WordsOf(phi);
    for (llvm::BasicBlock& block : function_) {
      if (loop_.contains(&block) || !dominators_.dominates(&block, loop_.getHeader())) continue;
      const auto& reached = ReachedWithout(&block);
      for (llvm::Instruction& value : block) {
        bool inside = false;
        bool after = false;
        for (const llvm::Use& use : value.uses()) {
          llvm::BasicBlock* const place = PlaceOf(use)->getParent();
          inside = inside || loop_.contains(place);
          after = after || reached.contains(place);
        }
        if (!after) continue;
        words_ += WordsOf(value);
        if (inside) {
          kept_.insert(&value);
        } else {
          through_.push_back(&value);
        }
      }
    }
  }

  // Of a value in the cut; none if there is nothing to keep for it.
  std::optional<int> Number(llvm::Instruction& value) {
    if (kept_.contains(&value) || IsThread(value)) return std::nullopt;
    if (const auto known = numbers_.find(&value); known != numbers_.end()) return known->second;
    const int number = cut_.AddValue(std::max<int64_t>(WordsOf(value), 1));
    numbers_[&value] = number;
    numbered_.push_back(&value);
    if (CountOf(value) == 0) {
      cut_.AddRoot(number);
      return number;
    }
    for (const llvm::Use& operand : value.operands()) {
      auto* const of = llvm::dyn_cast<llvm::Instruction>(operand.get());
      if (of == nullptr) continue;
      if (const auto other = Number(*of)) cut_.AddNeed(number, *other);
    }
    return number;
  }

  // Instructions to compute it again, of values that are not computed again; 0 if it is one.
  int CountOf(llvm::Instruction& value) {
    const auto [at, is_new] = counts_.try_emplace(&value, 0);
    if (!is_new) return at->second;
    llvm::SmallPtrSet<llvm::Instruction*, 16> counted;
    const int count = IsCheap(value) ? CountWith(value, counted) : 0;
    if (count > kMostInstructions) return 0;
    return counts_[&value] = count;
  }

  // Of a cheap value, with those that it needs and that have not been counted.
  int CountWith(llvm::Instruction& value, llvm::SmallPtrSetImpl<llvm::Instruction*>& counted) {
    if (!counted.insert(&value).second) return 0;
    int count = value.isIntDivRem() ? kDivision : 1;
    for (const llvm::Use& operand : value.operands()) {
      auto* const of = llvm::dyn_cast<llvm::Instruction>(operand.get());
      if (of == nullptr || kept_.contains(of) || CountOf(*of) == 0) continue;
      count += CountWith(*of, counted);
    }
    return count;
  }

  // Of uses that come after the loop, by the block in which the value is computed for them.
  void FindUses(llvm::Instruction& value) {
    llvm::MapVector<llvm::BasicBlock*, Need> needs;
    const auto& reached = ReachedWithout(value.getParent());
    for (llvm::Use& use : value.uses()) {
      llvm::Instruction* here = PlaceOf(use);
      if (!reached.contains(here->getParent())) continue;
      llvm::BasicBlock* const block = BeforeLoop(here->getParent(), value);
      if (block == nullptr || !reached.contains(block)) return;
      if (here->getParent() != block) here = block->getTerminator();
      Need& need = needs[block];
      need.value = &value;
      if (need.place == nullptr || here->comesBefore(need.place)) need.place = here;
      need.uses.push_back(&use);
    }
    for (auto& [block, need] : needs) needs_[block].push_back(std::move(need));
  }

  // Of one block.
  void Replace(std::vector<Need>& needs) {
    llvm::DenseMap<const llvm::Instruction*, int> order;
    for (const llvm::Instruction& instruction : *needs.front().place->getParent()) {
      order.insert({&instruction, static_cast<int>(order.size())});
    }
    for (Need& need : needs) need.order = order.lookup(need.place);
    std::ranges::stable_sort(needs, {}, &Need::order);
    llvm::DenseMap<llvm::Value*, Made> made;
    for (const Need& need : needs) {
      llvm::Value* const again = Again(*need.value, need, made);
      for (llvm::Use* use : need.uses) use->set(again);
    }
  }

  // The block itself, or the one before another innermost loop, which needs the value in each turn.
  [[nodiscard]] llvm::BasicBlock* BeforeLoop(llvm::BasicBlock* block,
                                             const llvm::Instruction& value) const {
    const llvm::Loop* const around = loops_.getLoopFor(block);
    if (around == nullptr || !around->isInnermost() || around->contains(&value)) return block;
    return around->getLoopPreheader();
  }

  // The value, computed before the place; or what has been computed a few instructions before it.
  llvm::Value* Again(llvm::Value& value, const Need& need,
                     llvm::DenseMap<llvm::Value*, Made>& made) {
    if (llvm::isa<llvm::Constant>(value)) return &value;
    if (const auto known = made.find(&value);
        known != made.end() && need.order - known->second.order <= kNear) {
      return known->second.value;
    }
    auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    llvm::Value* out = nullptr;
    if (instruction == nullptr || kept_.contains(instruction) || IsThread(*instruction) ||
        CountOf(*instruction) == 0) {
      out = Hidden(value, *need.place);
    } else {
      llvm::Instruction* const clone = instruction->clone();
      for (llvm::Use& operand : clone->operands()) {
        operand.set(Again(*operand.get(), need, made));
      }
      clone->insertBefore(need.place);
      out = clone;
    }
    made[&value] = {out, need.order};
    return out;
  }

  // A copy that no pass knows to be one: else those of code generation would find that what is
  // computed of it has been computed before.
  static llvm::Value* Hidden(llvm::Value& value, llvm::Instruction& place) {
    llvm::Type* const type = value.getType();
    if (!type->isIntegerTy(32) && !type->isIntegerTy(64)) return &value;
    llvm::IRBuilder<> b(&place);
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (instruction != nullptr && IsThread(*instruction)) {
      auto* const read = llvm::FunctionType::get(type, /*isVarArg=*/false);
      return b.CreateCall(read, llvm::InlineAsm::get(read, "mov.u32 $0, %tid.x;", "=r", true));
    }
    const bool wide = type->isIntegerTy(64);
    auto* const copy = llvm::FunctionType::get(type, {type}, /*isVarArg=*/false);
    return b.CreateCall(copy,
                        llvm::InlineAsm::get(copy, wide ? "mov.b64 $0, $1;" : "mov.b32 $0, $1;",
                                             wide ? "=l,l" : "=r,r", true),
                        {&value});
  }

  llvm::Function& function_;
  const llvm::Loop& loop_;
  const llvm::LoopInfo& loops_;
  const llvm::DominatorTree& dominators_;
  llvm::DenseMap<llvm::BasicBlock*, llvm::SmallPtrSet<llvm::BasicBlock*, 16>> reached_;
  // Live at its head: those that stay so, as it uses them or others are computed of them; and those
  // that it does not use, in the order of the function.
  llvm::SmallPtrSet<const llvm::Instruction*, 16> kept_;
  llvm::SmallVector<llvm::Instruction*> through_;
  llvm::DenseMap<llvm::Instruction*, int> counts_, numbers_;
  std::vector<llvm::Instruction*> numbered_;
  llvm::MapVector<llvm::BasicBlock*, std::vector<Need>> needs_;
  MinimalCut cut_;
  int64_t words_ = 0;
};

// Of a thread (docs/compiler.md, `registers`).
int64_t RegistersOf(const llvm::Function& function) {
  const llvm::NamedMDNode* const notes = function.getParent()->getNamedMetadata("nvvm.annotations");
  if (notes == nullptr) return kMostRegisterBound;
  for (const llvm::MDNode* note : notes->operands()) {
    const auto* const what = llvm::dyn_cast<llvm::MDString>(note->getOperand(1));
    if (what == nullptr || what->getString() != "maxnreg") continue;
    const auto* const of = llvm::mdconst::dyn_extract<llvm::Function>(note->getOperand(0));
    if (of != &function) continue;
    return llvm::mdconst::extract<llvm::ConstantInt>(note->getOperand(2))->getSExtValue();
  }
  return kMostRegisterBound;
}

}  // namespace

llvm::PreservedAnalyses RecomputePass::run(llvm::Function& function,
                                           llvm::FunctionAnalysisManager& analyses) {
  const auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  const auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  const int64_t most = RegistersOf(function) / 2;
  bool changed = false;
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() || loop->isOutermost() || !HasProduct(*loop)) continue;
    changed = Recompute(function, *loop, loops, dominators).Run(most) || changed;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace tarsia::compiler

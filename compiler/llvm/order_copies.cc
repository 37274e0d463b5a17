#include "compiler/llvm/order_copies.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/llvm/assembly_of.h"

namespace tarsia::compiler {
namespace {

// LLVM's number of shared memory (User Guide for NVPTX Back-end).
constexpr unsigned kSharedSpace = 3;
// Products between a load and its first use: about the latency of shared memory.
constexpr size_t kProductsAhead = 4;
// Copies that stand together, and products that they stand among, at least: ptxas puts three
// instructions between a load from shared memory and a copy behind it.
constexpr size_t kCopiesAtOnce = 8;
constexpr size_t kProductsAround = 64;
// Copies end after so much of the products of a turn, in quarters: the last ones need time to
// issue.
constexpr size_t kQuartersWithCopies = 3;

enum class Part { kOther, kCopy, kCommit, kLoad, kProduct, kBoundary };

Part PartOf(const llvm::Instruction& instruction) {
  if (const llvm::InlineAsm* assembly = AssemblyOf(instruction)) {
    const llvm::StringRef text = assembly->getAsmString();
    if (text.starts_with("cp.async.commit_group")) return Part::kCommit;
    if (text.starts_with("cp.async.wait_group")) return Part::kBoundary;
    if (text.contains("cp.async")) return Part::kCopy;
    if (text.starts_with("ldmatrix") || text.starts_with("ld.shared")) return Part::kLoad;
    if (text.starts_with("mma.sync")) return Part::kProduct;
    return assembly->hasSideEffects() ? Part::kBoundary : Part::kOther;
  }
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    return load->getPointerAddressSpace() == kSharedSpace ? Part::kLoad : Part::kOther;
  }
  return instruction.mayWriteToMemory() ? Part::kBoundary : Part::kOther;
}

// The instructions between two boundaries.
struct Turn {
  std::vector<llvm::Instruction*> copies;
  std::vector<llvm::Instruction*> commits;
  std::vector<llvm::Instruction*> loads;
  std::vector<llvm::Instruction*> products;
  llvm::DenseMap<const llvm::Instruction*, size_t> place;  // of each instruction

  // The copies are one group, in front of products.
  [[nodiscard]] bool Worthwhile() const {
    return !copies.empty() && commits.size() == 1 && products.size() > kProductsAhead &&
           place.at(copies.back()) < place.at(commits.front()) &&
           place.at(commits.front()) < place.at(products.front());
  }
};

// The place of the first instruction of the turn that needs the result, through those that only
// take it apart; nothing if none does.
std::optional<size_t> FirstUse(const Turn& turn, const llvm::Instruction& value) {
  std::optional<size_t> first;
  for (const llvm::User* user : value.users()) {
    const auto* const instruction = llvm::cast<llvm::Instruction>(user);
    const auto found = turn.place.find(instruction);
    if (found == turn.place.end()) continue;
    std::optional<size_t> at = found->second;
    if (llvm::isa<llvm::ExtractValueInst>(instruction)) at = FirstUse(turn, *instruction);
    if (at && (!first || *at < *first)) first = at;
  }
  return first;
}

// Whether the operands exist in front of an instruction of the same block.
bool ExistsBefore(const Turn& turn, const llvm::Instruction& load, size_t place) {
  return llvm::all_of(load.operands(), [&](const llvm::Use& use) {
    const auto* const operand = llvm::dyn_cast<llvm::Instruction>(use.get());
    const auto found = operand == nullptr ? turn.place.end() : turn.place.find(operand);
    return found == turn.place.end() || found->second < place;
  });
}

// Moves a load, with what takes its result apart, before another instruction.
void MoveLoad(llvm::Instruction& load, llvm::Instruction& before) {
  load.moveBefore(&before);
  for (llvm::User* user : load.users()) {
    auto* const part = llvm::dyn_cast<llvm::ExtractValueInst>(user);
    if (part != nullptr && part->getParent() == before.getParent()) part->moveBefore(&before);
  }
}

// Puts the loads of a turn in front of the products that stand kProductsAhead before their first
// use.
void PlaceLoads(const Turn& turn) {
  const auto place = [&](const llvm::Instruction* i) { return turn.place.at(i); };
  for (llvm::Instruction* load : turn.loads) {
    const std::optional<size_t> use = FirstUse(turn, *load);
    if (!use) continue;
    const auto user = std::ranges::lower_bound(turn.products, *use, {}, place);
    const auto ahead = static_cast<size_t>(user - turn.products.begin());
    if (ahead <= kProductsAhead) continue;
    llvm::Instruction* before = turn.products[ahead - kProductsAhead];
    if (place(before) < *use && ExistsBefore(turn, *load, place(before))) MoveLoad(*load, *before);
  }
}

void SpreadCopies(const Turn& turn) {
  const size_t last = turn.products.size() * kQuartersWithCopies / 4;
  const size_t copies = turn.copies.size();
  const size_t batches = std::clamp<size_t>(turn.products.size() / kProductsAround, 1,
                                            (copies + kCopiesAtOnce - 1) / kCopiesAtOnce);
  for (size_t i = 0; i < copies; ++i) {
    const size_t batch = i * batches / copies;
    turn.copies[i]->moveBefore(turn.products[(2 * batch + 1) * last / (2 * batches)]);
  }
  turn.commits.front()->moveAfter(turn.copies.back());
}

bool OrderTurn(const Turn& turn) {
  if (!turn.Worthwhile()) return false;
  PlaceLoads(turn);
  SpreadCopies(turn);
  return true;
}

// Splits a block at its boundaries.
bool OrderBlock(llvm::BasicBlock& block) {
  std::vector<Turn> turns(1);
  size_t place = 0;
  for (llvm::Instruction& instruction : block) {
    const Part part = PartOf(instruction);
    if (part == Part::kBoundary || instruction.isTerminator()) {
      turns.emplace_back();
      continue;
    }
    Turn& turn = turns.back();
    turn.place[&instruction] = place++;
    if (part == Part::kCopy) turn.copies.push_back(&instruction);
    if (part == Part::kCommit) turn.commits.push_back(&instruction);
    if (part == Part::kLoad) turn.loads.push_back(&instruction);
    if (part == Part::kProduct) turn.products.push_back(&instruction);
  }
  bool changed = false;
  for (const Turn& turn : turns) changed = OrderTurn(turn) || changed;
  return changed;
}

}  // namespace

llvm::PreservedAnalyses OrderCopiesPass::run(llvm::Function& function,
                                             llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::BasicBlock& block : function) changed = OrderBlock(block) || changed;
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace tarsia::compiler

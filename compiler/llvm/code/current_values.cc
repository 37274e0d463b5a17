#include "compiler/llvm/code/current_values.h"

#include <algorithm>
#include <cstddef>

#include "compiler/llvm/element/element.h"

namespace tarsia::compiler {

std::vector<uint32_t> CurrentValues::Changed(size_t begin, size_t end) const {
  std::vector<uint32_t> out;
  const std::vector<ResolvedInst>& code = program_.instructions();
  for (size_t i = begin; i < end; ++i) {
    for (const uint32_t value : code[i].results) {
      if (!held_[value].empty()) out.push_back(value);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool CurrentValues::LeavesAsWords(uint32_t value) const {
  const Slots& held = held_[value];
  return held.size() > 1 && held[0]->getType()->is16bitFPTy();
}

size_t CurrentValues::LeavingCount(uint32_t value) const {
  return LeavesAsWords(value) ? (held_[value].size() + 1) / 2 : held_[value].size();
}

CurrentValues::Edge CurrentValues::Leave(const std::vector<uint32_t>& values) {
  Edge out{f_.b().GetInsertBlock(), {}};
  for (const uint32_t value : values) {
    Slots held = held_[value];
    if (LeavesAsWords(value)) {
      for (llvm::Value*& half : held) half = ToCode(f_.b(), half, program_.type(value).dtype);
      held = RunOfCodes(f_.b(), held, 16, 32);
    }
    out.held.insert(out.held.end(), held.begin(), held.end());
  }
  return out;
}

template <typename Visit>
void CurrentValues::ForEach(const std::vector<uint32_t>& values, const Visit& visit) const {
  size_t i = 0;
  for (const uint32_t value : values) {
    for (size_t count = LeavingCount(value); count > 0; --count) visit(value, i++);
  }
}

void CurrentValues::Take(const std::vector<uint32_t>& values, const Slots& held) {
  size_t first = 0;
  for (const uint32_t value : values) {
    const size_t count = LeavingCount(value);
    const auto begin = held.begin() + static_cast<std::ptrdiff_t>(first);
    const Slots mine(begin, begin + static_cast<std::ptrdiff_t>(count));
    first += count;
    if (!LeavesAsWords(value)) {
      held_[value] = mine;
      continue;
    }
    for (size_t i = 0; i < held_[value].size(); ++i) {
      llvm::Value* const code = CodeInRun(f_.b(), mine, 32, static_cast<int>(16 * i), 16);
      held_[value][i] = FromCode(f_.b(), code, program_.type(value).dtype);
    }
  }
}

llvm::PHINode* CurrentValues::Phi(llvm::Type* type, uint32_t value) {
  return f_.b().CreatePHI(type, 2, llvm::StringRef(program_.kernel().ValueName(value)));
}

void CurrentValues::Enter(const std::vector<uint32_t>& values, const Edge& edge) {
  Take(values, edge.held);
}

void CurrentValues::Enter(const std::vector<uint32_t>& values, const Edge& one, const Edge& other) {
  Slots held = one.held;
  ForEach(values, [&](uint32_t value, size_t i) {
    if (one.held[i] == other.held[i]) return;
    llvm::PHINode* phi = Phi(held[i]->getType(), value);
    phi->addIncoming(one.held[i], one.from);
    phi->addIncoming(other.held[i], other.from);
    held[i] = phi;
  });
  Take(values, held);
}

std::vector<llvm::PHINode*> CurrentValues::OpenLoop(const std::vector<uint32_t>& values,
                                                    const Edge& before) {
  std::vector<llvm::PHINode*> phis;
  ForEach(values, [&](uint32_t value, size_t i) {
    phis.push_back(Phi(before.held[i]->getType(), value));
    phis.back()->addIncoming(before.held[i], before.from);
  });
  Take(values, Slots(phis.begin(), phis.end()));
  return phis;
}

void CurrentValues::CloseLoop(const std::vector<llvm::PHINode*>& phis, const Edge& back) {
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(back.held[i], back.from);
}

}  // namespace tarsia::compiler

#include "compiler/llvm/code/current_values.h"

#include <algorithm>

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

CurrentValues::Edge CurrentValues::Leave(const std::vector<uint32_t>& values) const {
  Edge out{f_.b().GetInsertBlock(), {}};
  for (const uint32_t value : values) {
    out.held.insert(out.held.end(), held_[value].begin(), held_[value].end());
  }
  return out;
}

template <typename Visit>
void CurrentValues::ForEach(const std::vector<uint32_t>& values, const Visit& visit) {
  size_t i = 0;
  for (const uint32_t value : values) {
    for (llvm::Value*& held : held_[value]) visit(value, held, i++);
  }
}

llvm::PHINode* CurrentValues::Phi(llvm::Type* type, uint32_t value) {
  return f_.b().CreatePHI(type, 2, llvm::StringRef(program_.kernel().ValueName(value)));
}

void CurrentValues::Enter(const std::vector<uint32_t>& values, const Edge& edge) {
  ForEach(values, [&](uint32_t, llvm::Value*& held, size_t i) { held = edge.held[i]; });
}

void CurrentValues::Enter(const std::vector<uint32_t>& values, const Edge& one, const Edge& other) {
  ForEach(values, [&](uint32_t value, llvm::Value*& held, size_t i) {
    held = one.held[i];
    if (one.held[i] == other.held[i]) return;
    llvm::PHINode* phi = Phi(held->getType(), value);
    phi->addIncoming(one.held[i], one.from);
    phi->addIncoming(other.held[i], other.from);
    held = phi;
  });
}

std::vector<llvm::PHINode*> CurrentValues::OpenLoop(const std::vector<uint32_t>& values,
                                                    const Edge& before) {
  std::vector<llvm::PHINode*> phis;
  ForEach(values, [&](uint32_t value, llvm::Value*& held, size_t i) {
    phis.push_back(Phi(held->getType(), value));
    phis.back()->addIncoming(before.held[i], before.from);
    held = phis.back();
  });
  return phis;
}

void CurrentValues::CloseLoop(const std::vector<llvm::PHINode*>& phis, const Edge& back) {
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(back.held[i], back.from);
}

}  // namespace tarsia::compiler

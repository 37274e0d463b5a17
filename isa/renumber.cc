#include "isa/renumber.h"

#include <map>
#include <vector>

namespace tarsia {
namespace {

class Renumberer {
 public:
  Renumberer(Module& module, Kernel& kernel)
      : module_(module),
        pool_(module.pool),
        kernel_(kernel),
        numbers_(kernel.value_names.size(), kNone) {}

  void Run() {
    for (uint32_t i = 0; i < kernel_.params.size(); ++i) Number(i);
    for (const Inst& inst : kernel_.code) {
      for (const ExprId result : kernel_.Results(inst)) Number(result.value());
    }
    kernel_.value_names = std::move(names_);
    kernel_.value_name_ids = std::move(name_ids_);
    for (ExprId& arg : kernel_.args) arg = Renumbered(arg);
    for (Inst& inst : kernel_.code) {
      TypeExpr type = module_.type(inst.type);
      type.shape = Renumbered(type.shape);
      inst.type = module_.Intern(type);
    }
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void Number(uint32_t value) {
    if (numbers_[value] != kNone) return;
    numbers_[value] = static_cast<uint32_t>(names_.size());
    names_.push_back(kernel_.value_names[value]);
    name_ids_.push_back(kernel_.value_name_ids[value]);
  }

  ExprId Renumbered(ExprId id) {
    if (id.is_value()) return ExprId::Value(numbers_[id.value()]);
    if (!id.is_node()) return id;
    const auto [known, is_new] = renumbered_.try_emplace(id, id);
    if (!is_new) return known->second;
    const ExprNode node = pool_.node(id);
    const auto children = pool_.children(id);
    std::vector<ExprId> renumbered(children.begin(), children.end());
    for (ExprId& child : renumbered) child = Renumbered(child);
    return renumbered_[id] = pool_.Intern(node.kind, node.code, node.payload, renumbered);
  }

  Module& module_;
  ExprPool& pool_;
  Kernel& kernel_;
  std::vector<uint32_t> numbers_;  // by value: its new number
  std::vector<std::string_view> names_;
  std::vector<StringId> name_ids_;
  std::map<ExprId, ExprId> renumbered_;
};

}  // namespace

void RenumberValues(Module& module, Kernel& kernel) { Renumberer(module, kernel).Run(); }

}  // namespace tarsia

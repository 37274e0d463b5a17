#include "compiler/simplify/transposed_loads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/tile/new_operations.h"
#include "layout/text/expr_parser.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

// Of rows and columns without swizzles.
std::optional<std::string_view> TransposedLayout(const MemLayoutFamily& family) {
  if (!family.swizzles.empty()) return std::nullopt;
  switch (family.kind) {
    case MemLayoutFamily::Kind::kRowMajor:
      return "column_major";
    case MemLayoutFamily::Kind::kColumnMajor:
      return "row_major";
    case MemLayoutFamily::Kind::kPacked:
    case MemLayoutFamily::Kind::kConcrete:
      return std::nullopt;
  }
  return std::nullopt;
}

// Transposed views of tiles in global memory, made where they are first wanted.
class TransposedViews {
 public:
  explicit TransposedViews(Form& form) : form_(form), definitions_(form.Definitions()) {}

  // Whether there is one: of a view of a pointer, or of a slice of such a view.
  [[nodiscard]] bool Has(ValueId memory) const {
    while (true) {
      const ConcreteType& type = form_.TypeOf(memory);
      if (type.space != Space::kGlobal || type.shape.size() != 2) return false;
      const OpId made = definitions_[memory].op;
      if (made == kNone) return false;
      const Operation& op = form_.ops[made];
      const ValueId source = op.operand[0].value;
      if (op.opcode == Opcode::kView) {
        return form_.TypeOf(source).kind == ValueKind::kPointer &&
               TransposedLayout(type.mem_layout);
      }
      if (op.opcode != Opcode::kSlice) return false;
      memory = source;
    }
  }

  ValueId Of(ValueId memory) {
    const auto known = views_.find(memory);
    if (known != views_.end()) return known->second;
    const OpId made = definitions_[memory].op;
    ConcreteType type = form_.TypeOf(memory);
    std::reverse(type.shape.begin(), type.shape.end());
    std::reverse(type.shape_exprs.begin(), type.shape_exprs.end());
    Operation view = form_.ops[made];
    view.annotation.shape = Reversed(view.annotation.shape);
    if (view.opcode == Opcode::kSlice) {
      view.operand[0] = Of(view.operand[0]);
    } else {
      const std::string_view layout = *TransposedLayout(type.mem_layout);
      const Result<ExprId> parsed = ParseExpression(layout, form_.pool);
      view.annotation.layout = parsed.ok() ? *parsed : ExprId();
    }
    const bool by_row = type.mem_layout.kind == MemLayoutFamily::Kind::kRowMajor;
    type.mem_layout.kind =
        by_row ? MemLayoutFamily::Kind::kColumnMajor : MemLayoutFamily::Kind::kRowMajor;
    const ValueId out = tile::NewValue(form_, std::move(type), memory);
    view.results = {out};
    after_[made].push_back(tile::NewOperation(form_, std::move(view)));
    views_[memory] = out;
    return out;
  }

  // The elements of an operand in the transposed memory.
  Operand Of(const Operand& memory) {
    Operand out = memory;
    out.value = Of(memory.value);
    out.indices = Reversed(memory.indices);
    return out;
  }

  ExprId Reversed(ExprId list) {
    const auto children = form_.pool.children(list);
    return form_.pool.List(std::vector<ExprId>(children.rbegin(), children.rend()));
  }

  // The views, behind what they are views of.
  void Insert() { tile::InsertBehind(form_, after_); }

 private:
  Form& form_;
  const std::vector<tile::Definition> definitions_;
  std::map<ValueId, ValueId> views_;
  std::map<OpId, std::vector<OpId>> after_;
};

class Transposer {
 public:
  explicit Transposer(Form& form) : form_(form), views_(form), uses_(form.values.size()) {
    for (const tile::Region& region : form.regions) {
      for (const OpId id : region.ops) {
        const Operation& op = form.ops[id];
        tile::ForEachUse(form, op, [&](ValueId value) { uses_[value].push_back(id); });
        for (const ValueId init : op.inits) uses_[init].push_back(kNone);
      }
      for (const ValueId yield : region.yields) uses_[yield].push_back(kNone);
    }
  }

  void Run() {
    std::vector<std::pair<OpId, OpId>> found;
    for (const tile::Region& region : form_.regions) {
      for (const OpId id : region.ops) {
        if (const OpId permute = PermuteOf(id); permute != kNone) found.emplace_back(id, permute);
      }
    }
    for (const auto& [load, permute] : found) Transpose(load, permute);
    views_.Insert();
  }

 private:
  // The transposition that alone uses the elements of a load, or kNone.
  [[nodiscard]] OpId PermuteOf(OpId load) const {
    const Operation& op = form_.ops[load];
    if (op.opcode != Opcode::kLoad || !views_.Has(op.operand[0].value)) return kNone;
    if (!IsOpen(op.results[0]) || uses_[op.results[0]].size() != 1) return kNone;
    const OpId use = uses_[op.results[0]][0];
    if (use == kNone || form_.ops[use].opcode != Opcode::kPermute) return kNone;
    return IsOpen(form_.ops[use].results[0]) && Swaps(form_.ops[use]) ? use : kNone;
  }

  // Whether the text leaves open how a tile lies in registers.
  [[nodiscard]] bool IsOpen(ValueId tile) const {
    const ConcreteType& type = form_.TypeOf(tile);
    return !type.reg_layout && !type.bit_layout;
  }

  [[nodiscard]] bool Swaps(const Operation& permute) const {
    const auto order = form_.pool.children(permute.attr[*permute.row().AttrIndex(Attr::kOrder)]);
    return order.size() == 2 && form_.pool.AsInt(order[0]) == 1 && form_.pool.AsInt(order[1]) == 0;
  }

  void Transpose(OpId load, OpId permute) {
    const Operand memory = views_.Of(form_.ops[load].operand[0]);
    Operation& op = form_.ops[load];
    op.operand[0] = memory;
    op.annotation.shape = views_.Reversed(op.annotation.shape);
    op.results = form_.ops[permute].results;
    for (tile::Region& region : form_.regions) std::erase(region.ops, permute);
  }

  Form& form_;
  TransposedViews views_;
  std::vector<std::vector<OpId>> uses_;  // by value
};

}  // namespace

void TransposeLoads(Form& form) { Transposer(form).Run(); }

}  // namespace tarsia::compiler

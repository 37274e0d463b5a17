#include "compiler/passes/via.h"

#include <iterator>
#include <utility>
#include <vector>

#include "compiler/tile/new_operations.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

class ThroughShared {
 public:
  explicit ThroughShared(Form& form) : form_(form) {}

  void Visit(RegionId region) {
    std::vector<OpId> ops;
    for (const OpId id : std::vector<OpId>(form_.regions[region].ops)) {
      const Operation& op = form_.ops[id];
      if (IsGlobalLoad(form_, op) && ViaOf(form_, op) == Via::kShared) Replace(id, ops);
      ops.push_back(id);
      const std::vector<RegionId> inner(std::begin(form_.ops[id].region),
                                        std::end(form_.ops[id].region));
      for (const RegionId r : inner) {
        if (r != kNone) Visit(r);
      }
    }
    form_.regions[region].ops = std::move(ops);
  }

 private:
  // The load becomes one of shared memory, after what `ops` gets.
  void Replace(OpId id, std::vector<OpId>& ops) {
    Operation first = form_.ops[id];
    const ValueId result = first.results[0];
    const Location location = first.location;
    ConcreteType type = form_.TypeOf(result);
    type.reg_layout.reset();
    type.bit_layout.reset();
    const ValueId registers = tile::NewValue(form_, type, result);
    type.space = Space::kShared;
    const ValueId tile = tile::NewValue(form_, type, result);
    const OpId allocation = tile::NewAllocation(form_, tile, location);
    form_.ops[allocation].annotation.layout = ExprId();
    first.results = {registers};
    first.annotation.layout = ExprId();
    first.annotation.bits = ExprId();
    first.attr[*first.row().AttrIndex(Attr::kVia)] =
        form_.pool.Int(static_cast<int64_t>(Via::kRegisters));
    Operand value;
    value.kind = Operand::Kind::kTile;
    value.type = type.dtype;
    value.value = registers;
    Operation store =
        tile::StoreOf(tile::WholeOperand(form_, tile, Role::kWritten), value, location);
    ops.push_back(allocation);
    ops.push_back(tile::NewOperation(form_, std::move(first)));
    ops.push_back(tile::NewOperation(form_, std::move(store)));
    ops.push_back(tile::NewSync(form_, location));
    const TypeExpr annotation = form_.ops[id].annotation;
    form_.ops[id] =
        tile::LoadOf(form_, tile::WholeOperand(form_, tile, Role::kRead), result, location);
    form_.ops[id].annotation = annotation;
  }

  Form& form_;
};

}  // namespace

bool IsGlobalLoad(const Form& form, const Operation& op) {
  return op.opcode == Opcode::kLoad && form.TypeOf(op.operand[0].value).space == Space::kGlobal;
}

std::optional<Via> ViaOf(const Form& form, const Operation& load) {
  const auto index = load.row().AttrIndex(Attr::kVia);
  const auto word = index ? form.pool.AsInt(load.attr[*index]) : std::nullopt;
  return word ? std::optional(static_cast<Via>(*word)) : std::nullopt;
}

void LoadThroughShared(Form& form) { ThroughShared(form).Visit(tile::kBody); }

}  // namespace tarsia::compiler

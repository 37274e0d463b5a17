#include "compiler/passes/widen.h"

#include <optional>
#include <utility>
#include <vector>

#include "compiler/select/mma.h"
#include "dtypes/convert.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::Operation;
using tile::OpId;
using tile::ValueId;

// Whether every number of a float type is one of another.
bool Holds(DType wide, DType narrow) {
  const auto most = [](DType type) { return DecodeToDouble(type, MaxFiniteCode(type)); };
  const auto least = [](DType type) { return DecodeToDouble(type, 1); };
  return wide.mantissa >= narrow.mantissa && most(wide) >= most(narrow) &&
         least(wide) <= least(narrow);
}

// The type to which the operands of a `dot` are cast, if they are.
std::optional<DType> TypeFor(const DotTypes& types, Target target) {
  const auto narrow = [](DType type) { return type.IsFloat() && type.bits <= 8; };
  if (!narrow(types.a) || !narrow(types.b)) return std::nullopt;
  if (!MmaFormsOf(types, target).empty()) return std::nullopt;
  for (const DType wide : {kF16, kBF16}) {
    const bool holds = Holds(wide, types.a) && Holds(wide, types.b);
    if (holds && !MmaFormsOf({wide, wide, types.c}, target).empty()) return wide;
  }
  return std::nullopt;
}

class Widening {
 public:
  Widening(Form& form, Target target) : form_(form), target_(target) {}

  void Run() {
    for (tile::RegionId region = 0; region < form_.regions.size(); ++region) {
      std::vector<OpId> out;
      for (const OpId id : std::vector<OpId>(form_.regions[region].ops)) {
        if (form_.ops[id].opcode == Opcode::kDot) CastOperands(id, out);
        out.push_back(id);
      }
      form_.regions[region].ops = std::move(out);
    }
  }

 private:
  void CastOperands(OpId id, std::vector<OpId>& out) {
    const auto& operand = form_.ops[id].operand;
    const auto wide = TypeFor({operand[0].type, operand[1].type, operand[2].type}, target_);
    if (!wide) return;
    for (size_t i = 0; i < 2; ++i) {
      const OpId cast = NewCast(form_.ops[id].operand[i].value, *wide, form_.ops[id].location);
      out.push_back(cast);
      form_.ops[id].operand[i].value = form_.ops[cast].results[0];
      form_.ops[id].operand[i].type = *wide;
    }
  }

  OpId NewCast(ValueId from, DType to, Location location) {
    Operation op;
    op.opcode = Opcode::kCast;
    op.operand[0].kind = Operand::Kind::kTile;
    op.operand[0].value = from;
    op.operand[0].type = form_.TypeOf(from).dtype;
    op.type = to;
    op.annotation.dtype = form_.pool.Type(to);
    op.results = {NewValue(from, to)};
    op.location = location;
    form_.ops.push_back(std::move(op));
    return static_cast<OpId>(form_.ops.size() - 1);
  }

  ValueId NewValue(ValueId like, DType dtype) {
    tile::Value value = form_.values[like];
    ConcreteType type = form_.TypeOf(like);
    type.dtype = dtype;
    type.reg_layout.reset();
    type.bit_layout.reset();
    form_.types.push_back(std::move(type));
    value.type = static_cast<uint32_t>(form_.types.size() - 1);
    value.variable = tile::kNone;
    form_.values.push_back(value);
    return static_cast<ValueId>(form_.values.size() - 1);
  }

  Form& form_;
  const Target target_;
};

}  // namespace

void Widen(Form& form, Target target) { Widening(form, target).Run(); }

}  // namespace tarsia::compiler

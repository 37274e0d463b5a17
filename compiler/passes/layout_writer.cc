#include "compiler/passes/layout_writer.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "compiler/tile/annotation.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

class Writer {
 public:
  Writer(const LayoutGraph& graph, const LayoutChoice& choice, Target target, Form& form)
      : graph_(graph),
        choice_(choice),
        form_(form),
        definitions_(form.Definitions()),
        memories_(form, target) {
    // The rules of the graph point into the types, which are replaced one by one below.
    types_ = form.types;
    inserted_.resize(form.regions.size());
  }

  void Run() {
    // Where instructions need another layout than the tile's, while types are as they were.
    Visit(tile::kBody);
    SetTypes();
    form_.types = std::move(types_);
    for (RegionId region = 0; region < inserted_.size(); ++region) Insert(region);
    Annotate();
  }

 private:
  // A layout conversion before (or, for results, after) an operation of a region.
  struct Insertion {
    OpId place = kNone;  // kNone: at the end of the region
    bool after = false;
    OpId op = kNone;
  };

  [[nodiscard]] const TileLayout& LayoutOfTile(ValueId value) const {
    return choice_.LayoutOf(graph_.of_value[value]);
  }

  // ---- conversions -------------------------------------------------------------------------

  void Visit(RegionId region) {
    for (const OpId id : std::vector<OpId>(form_.regions[region].ops)) {
      if (!form_.ops[id].HasRegions()) {
        ConvertAround(id, region);
        continue;
      }
      for (size_t i = 0; i < form_.ops[id].inits.size(); ++i) {
        const ValueId to = form_.ops[id].results[i];
        form_.ops[id].inits[i] = Carried(form_.ops[id].inits[i], to, region, id);
      }
      for (const RegionId inner : std::vector<RegionId>(std::begin(form_.ops[id].region),
                                                        std::end(form_.ops[id].region))) {
        if (inner == kNone) continue;
        Visit(inner);
        for (size_t i = 0; i < form_.regions[inner].yields.size(); ++i) {
          const ValueId to = form_.ops[id].results[i];
          form_.regions[inner].yields[i] =
              Carried(form_.regions[inner].yields[i], to, inner, kNone);
        }
      }
    }
  }

  ValueId Carried(ValueId value, ValueId to, RegionId region, OpId place) {
    if (graph_.of_value[to] == kNone) return value;
    return InLayout(value, LayoutOfTile(to), region, place);
  }

  void ConvertAround(OpId id, RegionId region) {
    if (graph_.of_op[id] == kNone) return;
    const LayoutOp& op = graph_.ops[graph_.of_op[id]];
    // It converts by itself.
    const bool converts = op.rule.opcode == Opcode::kConvertLayout;
    for (size_t i = 0; i < kMaxOperands && !converts; ++i) {
      if (op.rule.operand[i] == nullptr) continue;
      const auto needed = LayoutNeeded(graph_, choice_, op, Port::Operand(i));
      if (!needed) continue;
      const ValueId value = InLayout(form_.ops[id].operand[i].value, *needed, region, id);
      form_.ops[id].operand[i].value = value;
    }
    for (size_t r = 0; r < form_.ops[id].results.size(); ++r) {
      if (op.rule.result[r] == nullptr) continue;
      const auto given = LayoutNeeded(graph_, choice_, op, Port::Result(r));
      const ValueId wanted = form_.ops[id].results[r];
      if (!given || *given == LayoutOfTile(wanted)) continue;
      const ValueId made = NewValue(wanted, *given);
      form_.ops[id].results[r] = made;
      form_.ops[id].annotation.layout = form_.ops[id].annotation.bits = ExprId();
      const OpId conversion = NewConversion(made, wanted, form_.ops[id].location);
      inserted_[region].push_back({id, true, conversion});
    }
  }

  // The value in a layout: converted where it is first wanted, in the region that defines it.
  ValueId InLayout(ValueId value, const TileLayout& layout, RegionId region, OpId place) {
    if (LayoutOfTile(value) == layout) return value;
    std::vector<std::pair<TileLayout, ValueId>>& known = converted_[value];
    for (const auto& [has, as] : known) {
      if (has == layout) return as;
    }
    // Of the instruction that wants it, even if it is done before a loop around that.
    const Location location =
        place == kNone ? form_.values[value].location : form_.ops[place].location;
    const RegionId home = definitions_[value].region;
    while (region != home) {
      place = form_.regions[region].owner;
      region = form_.regions[region].parent;
    }
    const ValueId out = NewValue(value, layout);
    inserted_[region].push_back({place, false, NewConversion(value, out, location)});
    known.emplace_back(layout, out);
    return out;
  }

  ValueId NewValue(ValueId like, const TileLayout& layout) {
    tile::Value value = form_.values[like];
    ConcreteType type = types_[value.type];
    type.reg_layout = layout.reg();
    type.bit_layout.reset();
    types_.push_back(std::move(type));
    value.type = static_cast<uint32_t>(types_.size() - 1);
    value.variable = kNone;
    form_.values.push_back(value);
    return static_cast<ValueId>(form_.values.size() - 1);
  }

  OpId NewConversion(ValueId from, ValueId to, Location location) {
    Operation op;
    op.opcode = Opcode::kConvertLayout;
    op.operand[0].kind = Operand::Kind::kTile;
    op.operand[0].value = from;
    op.type = op.operand[0].type = types_[form_.values[from].type].dtype;
    op.results = {to};
    op.location = location;
    form_.ops.push_back(std::move(op));
    return static_cast<OpId>(form_.ops.size() - 1);
  }

  void Insert(RegionId region) {
    std::vector<Insertion>& list = inserted_[region];
    if (list.empty()) return;
    std::vector<OpId> out;
    const auto add = [&](OpId place, bool after) {
      for (const Insertion& insertion : list) {
        if (insertion.place == place && insertion.after == after) out.push_back(insertion.op);
      }
    };
    for (const OpId id : form_.regions[region].ops) {
      add(id, false);
      out.push_back(id);
      add(id, true);
    }
    add(kNone, false);
    form_.regions[region].ops = std::move(out);
  }

  // ---- types and annotations ---------------------------------------------------------------

  void SetTypes() {
    std::map<uint32_t, uint32_t> types;  // by variable
    for (ValueId value = 0; value < graph_.of_value.size(); ++value) {
      const uint32_t variable = graph_.of_value[value];
      if (variable == kNone || graph_.variables[variable].written) continue;
      const auto [known, is_new] = types.try_emplace(variable, 0);
      if (is_new) {
        ConcreteType type = types_[form_.values[value].type];
        type.reg_layout = choice_.LayoutOf(variable).reg();
        types_.push_back(std::move(type));
        known->second = static_cast<uint32_t>(types_.size() - 1);
      }
      form_.values[value].type = known->second;
    }
    for (const LayoutOp& op : graph_.ops) SetBits(op);
  }

  // The words of packed tiles keep their bit layout, for the instructions that read codes.
  void SetBits(const LayoutOp& op) {
    const Operation& operation = form_.ops[op.op];
    if (operation.opcode != Opcode::kLoad || graph_.variables[op.anchor].written) return;
    const AccessedMemory memory = memories_.Of(operation);
    const TileLayout& layout = choice_.LayoutOf(op.anchor);
    if (!LoadsPackedWords(memory, layout) || IsCarried(operation.results[0])) return;
    const auto bits = memory.packed_bits.Apply(memory.type, layout.slots());
    if (!bits.ok()) return;
    types_[form_.values[operation.results[0]].type].bit_layout = *bits;
  }

  [[nodiscard]] bool IsCarried(ValueId value) const {
    return std::any_of(graph_.carries.begin(), graph_.carries.end(),
                       [&](const LayoutCarry& c) { return c.from == graph_.of_value[value]; });
  }

  void Annotate() {
    for (const tile::Region& region : form_.regions) {
      for (const OpId id : region.ops) {
        Operation& op = form_.ops[id];
        if (op.HasRegions() || op.results.empty()) continue;
        const ConcreteType& type = form_.TypeOf(op.results[0]);
        if (!IsRegisterTile(type) || !type.reg_layout || !op.annotation.layout.none()) continue;
        tile::AnnotateLayout(type, form_.pool, op.annotation);
      }
    }
  }

  const LayoutGraph& graph_;
  const LayoutChoice& choice_;
  Form& form_;
  const std::vector<tile::Definition> definitions_;
  const AccessedMemories memories_;
  std::vector<ConcreteType> types_;
  std::vector<std::vector<Insertion>> inserted_;  // by region
  std::map<ValueId, std::vector<std::pair<TileLayout, ValueId>>> converted_;
};

}  // namespace

void WriteLayouts(const LayoutGraph& graph, const LayoutChoice& choice, Target target, Form& form) {
  Writer(graph, choice, target, form).Run();
}

}  // namespace tarsia::compiler

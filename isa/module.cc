#include "isa/module.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace tarsia {

std::string_view SpaceName(Space space) {
  switch (space) {
    case Space::kNone:
      return "";
    case Space::kGlobal:
      return "global";
    case Space::kShared:
      return "shared";
    case Space::kRegister:
      return "reg";
  }
  return "";
}

ExprType ExprTypeOf(ConstKind kind) {
  switch (kind) {
    case ConstKind::kInt:
      return ExprType::kInt;
    case ConstKind::kBool:
      return ExprType::kBool;
    case ConstKind::kDType:
      return ExprType::kDType;
    case ConstKind::kRegLayout:
      return ExprType::kRegLayout;
    case ConstKind::kMemLayout:
      return ExprType::kMemLayout;
    case ConstKind::kBitLayout:
      return ExprType::kBitLayout;
  }
  return ExprType::kUnknown;
}

namespace {

// Where the attribute stands among the arguments, counted from first_arg; nothing when it is not
// set.
std::optional<size_t> AttrPosition(const Inst& inst, Attr attr) {
  if (inst.attrs == 0) return std::nullopt;
  const std::optional<size_t> index = Row(inst.opcode).AttrIndex(attr);
  if (!index || (inst.attrs >> *index & 1) == 0) return std::nullopt;
  const auto before = static_cast<unsigned>(inst.attrs) & ((1u << *index) - 1);
  return static_cast<size_t>(inst.results) + inst.slots +
         static_cast<size_t>(std::popcount(before));
}

}  // namespace

ExprId Kernel::AttrOf(const Inst& inst, Attr attr) const {
  const std::optional<size_t> position = AttrPosition(inst, attr);
  return position ? args[inst.first_arg + *position] : ExprId();
}

Location Kernel::AttrLocation(const Inst& inst, Attr attr) const {
  const std::optional<size_t> position = AttrPosition(inst, attr);
  return position ? ArgLocation(inst, *position) : LocationOf(inst);
}

Location Kernel::DefinitionOf(uint32_t value) const {
  if (value < params.size()) return params[value].location;
  for (const Inst& inst : code) {
    for (size_t i = 0; i < inst.results; ++i) {
      if (args[inst.first_arg + i] == ExprId::Value(value)) return ArgLocation(inst, i);
    }
  }
  return {};
}

int64_t IntAttr(const ExprPool& pool, const Kernel& kernel, const Inst& inst, Attr attr) {
  return pool.AsInt(kernel.AttrOf(inst, attr)).value_or(0);
}

TypeId Module::Intern(const TypeExpr& type) {
  if (type == TypeExpr{}) return kNoTypeId;
  const uint32_t words[] = {static_cast<uint32_t>(type.space), type.dtype.raw(), type.shape.raw(),
                            type.layout.raw(), type.bits.raw()};
  const uint64_t hash = HashBytes(words, sizeof words);
  // Index 0 of the hash index means type 1: type 0 is never looked up.
  const uint32_t found =
      type_index_.Find(hash, [&](uint32_t id) { return types_[id + 1] == type; });
  if (found != HashIndex::kNone) return found + 1;
  type_index_.Insert(hash, static_cast<uint32_t>(types_.size() - 1));
  types_.push_back(type);
  return static_cast<TypeId>(types_.size() - 1);
}

const Kernel* Module::FindKernel(std::string_view name) const {
  for (const Kernel& kernel : kernels) {
    if (Name(kernel) == name) return &kernel;
  }
  return nullptr;
}

Module Module::Clone() const {
  Module out;
  out.pool = pool;
  out.kernels = kernels;
  for (Kernel& kernel : out.kernels) {
    for (size_t i = 0; i < kernel.value_names.size(); ++i) {
      kernel.value_names[i] = out.pool.strings()[kernel.value_name_ids[i]];
    }
  }
  out.graphs = graphs;
  for (Graph& graph : out.graphs) {
    for (size_t i = 0; i < graph.value_names.size(); ++i) {
      if (graph.HasName(static_cast<uint32_t>(i))) {
        graph.value_names[i] = out.pool.strings()[graph.value_name_ids[i]];
      }
    }
  }
  out.source_name = source_name;
  out.opaque = opaque;
  out.types_ = types_;
  out.type_index_ = type_index_;
  return out;
}

namespace {

// Whether the payload of a node of this kind is a StringId.
bool HoldsText(ExprKind kind) {
  switch (kind) {
    case ExprKind::kString:
    case ExprKind::kName:
    case ExprKind::kFragment:
    case ExprKind::kKeyword:
      return true;
    case ExprKind::kNone:
    case ExprKind::kValue:
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kBool:
    case ExprKind::kDType:
    case ExprKind::kUnary:
    case ExprKind::kBinary:
    case ExprKind::kCall:
    case ExprKind::kReplicate:
    case ExprKind::kList:
      return false;
  }
  return false;
}

// Copies a kernel or a graph from one module into another, whose pool it fills.
class Extraction {
 public:
  Extraction(const Module& from, Module& to) : from_(from), to_(to) {}

  Kernel Copy(const Kernel& source) {
    Kernel kernel = source;
    kernel.name = Copy(source.name);
    for (Parameter& param : kernel.params) param.dtype = Copy(param.dtype);
    CopyHeader(kernel.constants, kernel.requires_);
    for (Assume& assume : kernel.assumes) {
      assume.condition = Copy(assume.condition);
      assume.alignment = Copy(assume.alignment);
    }
    for (ExprId& extent : kernel.grid) extent = Copy(extent);
    kernel.warps = Copy(kernel.warps);
    kernel.registers = Copy(kernel.registers);
    for (size_t i = 0; i < kernel.value_name_ids.size(); ++i) {
      kernel.value_name_ids[i] = Copy(source.value_name_ids[i]);
      kernel.value_names[i] = to_.pool.strings()[kernel.value_name_ids[i]];
    }
    for (Inst& inst : kernel.code) inst.type = CopyType(inst.type);
    for (ExprId& arg : kernel.args) arg = Copy(arg);
    return kernel;
  }

  Graph Copy(const Graph& source) {
    Graph graph = source;
    graph.name = Copy(source.name);
    CopyHeader(graph.constants, graph.requires_);
    for (GraphInput& input : graph.inputs) input.dtype = Copy(input.dtype);
    for (GraphOutputType& type : graph.output_types) type.dtype = Copy(type.dtype);
    for (GraphNode& node : graph.nodes) node.dtype = Copy(node.dtype);
    for (ExprId& operand : graph.operands) operand = Copy(operand);
    for (AxisExpr& axis : graph.axes) {
      axis.name = Copy(axis.name);
      axis.extent = Copy(axis.extent);
    }
    for (size_t i = 0; i < graph.value_name_ids.size(); ++i) {
      if (graph.value_name_ids[i] == Graph::kNoName) continue;
      graph.value_name_ids[i] = Copy(source.value_name_ids[i]);
      graph.value_names[i] = to_.pool.strings()[graph.value_name_ids[i]];
    }
    return graph;
  }

 private:
  void CopyHeader(std::vector<Constant>& constants, std::vector<Require>& requirements) {
    for (Constant& constant : constants) {
      constant.name = Copy(constant.name);
      constant.default_value = Copy(constant.default_value);
      constant.candidates = Copy(constant.candidates);
    }
    for (Require& require : requirements) {
      require.condition = Copy(require.condition);
      require.message = Copy(require.message);
    }
  }

  StringId Copy(StringId id) { return to_.pool.strings().Intern(from_.pool.strings()[id]); }

  TypeId CopyType(TypeId id) {
    const TypeExpr& type = from_.type(id);
    return to_.Intern(
        {type.space, Copy(type.dtype), Copy(type.shape), Copy(type.layout), Copy(type.bits)});
  }

  ExprId Copy(ExprId id) {
    if (!id.is_node()) return id;
    const auto [known, is_new] = copies_.try_emplace(id.raw());
    if (!is_new) return known->second;
    const ExprNode node = from_.pool.node(id);
    std::vector<ExprId> children;
    for (const ExprId child : from_.pool.children(id)) children.push_back(Copy(child));
    const uint64_t payload =
        HoldsText(node.kind) ? Copy(static_cast<StringId>(node.payload)) : node.payload;
    const ExprId copy = to_.pool.Intern(node.kind, node.code, payload, children);
    copies_[id.raw()] = copy;
    return copy;
  }

  const Module& from_;
  Module& to_;
  std::unordered_map<uint32_t, ExprId> copies_;  // by the raw id in `from_`
};

}  // namespace

Module Module::Extract(size_t index) const {
  Module out;
  out.kernels.push_back(Extraction(*this, out).Copy(kernels[index]));
  out.source_name = source_name;
  return out;
}

Module Module::ExtractGraph(size_t index) const {
  Module out;
  out.graphs.push_back(Extraction(*this, out).Copy(graphs[index]));
  out.source_name = source_name;
  return out;
}

namespace {

class Comparison {
 public:
  Comparison(const Module& a, const Module& b) : a_(a), b_(b) {}

  bool SameKernel(const Kernel& x, const Kernel& y) {
    if (!SameString(x.name, y.name) || x.fast != y.fast || x.params.size() != y.params.size() ||
        x.assumes.size() != y.assumes.size() || x.value_names != y.value_names ||
        x.code.size() != y.code.size() || !Same(x.warps, y.warps) ||
        !Same(x.registers, y.registers)) {
      return false;
    }
    for (size_t i = 0; i < 3; ++i) {
      if (!Same(x.grid[i], y.grid[i])) return false;
    }
    for (size_t i = 0; i < x.params.size(); ++i) {
      if (x.params[i].is_pointer != y.params[i].is_pointer ||
          !Same(x.params[i].dtype, y.params[i].dtype)) {
        return false;
      }
    }
    if (!SameHeader(x.constants, y.constants, x.requires_, y.requires_)) return false;
    for (size_t i = 0; i < x.assumes.size(); ++i) {
      if (!Same(x.assumes[i].condition, y.assumes[i].condition) ||
          !Same(x.assumes[i].alignment, y.assumes[i].alignment)) {
        return false;
      }
    }
    for (size_t i = 0; i < x.code.size(); ++i) {
      if (!SameInst(x, x.code[i], y, y.code[i])) return false;
    }
    return true;
  }

  bool SameGraph(const Graph& x, const Graph& y) {
    if (!SameString(x.name, y.name) || x.value_names != y.value_names || x.outputs != y.outputs ||
        x.inputs.size() != y.inputs.size() || x.nodes.size() != y.nodes.size() ||
        x.output_types.size() != y.output_types.size() || x.operands.size() != y.operands.size() ||
        !SameHeader(x.constants, y.constants, x.requires_, y.requires_)) {
      return false;
    }
    for (size_t i = 0; i < x.inputs.size(); ++i) {
      if (!Same(x.inputs[i].dtype, y.inputs[i].dtype) ||
          !SameAxes(x.Axes(x.inputs[i].axes), y.Axes(y.inputs[i].axes))) {
        return false;
      }
    }
    for (size_t i = 0; i < x.output_types.size(); ++i) {
      const GraphOutputType& s = x.output_types[i];
      const GraphOutputType& t = y.output_types[i];
      if (!Same(s.dtype, t.dtype) || s.in_place != t.in_place ||
          !SameAxes(x.Axes(s.axes), y.Axes(t.axes))) {
        return false;
      }
    }
    for (size_t i = 0; i < x.nodes.size(); ++i) {
      if (!SameNode(x, x.nodes[i], y, y.nodes[i])) return false;
    }
    return true;
  }

 private:
  bool SameNode(const Graph& x, const GraphNode& p, const Graph& y, const GraphNode& q) {
    const auto a = x.Operands(p);
    const auto b = y.Operands(q);
    return p.op == q.op && p.option == q.option && p.first_result == q.first_result &&
           Same(p.dtype, q.dtype) && SameAxes(x.Axes(p.axes), y.Axes(q.axes)) &&
           std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [this](ExprId s, ExprId t) { return Same(s, t); });
  }

  bool SameAxes(std::span<const AxisExpr> x, std::span<const AxisExpr> y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [this](const AxisExpr& a, const AxisExpr& b) {
                        return SameString(a.name, b.name) && Same(a.extent, b.extent);
                      });
  }

  bool SameHeader(const std::vector<Constant>& a, const std::vector<Constant>& b,
                  const std::vector<Require>& p, const std::vector<Require>& q) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [this](const Constant& c, const Constant& d) {
                        return SameString(c.name, d.name) && c.kind == d.kind &&
                               Same(c.default_value, d.default_value) &&
                               Same(c.candidates, d.candidates);
                      }) &&
           std::equal(p.begin(), p.end(), q.begin(), q.end(),
                      [this](const Require& r, const Require& s) {
                        return Same(r.condition, s.condition) && SameString(r.message, s.message);
                      });
  }

  bool SameString(StringId x, StringId y) const {
    return a_.pool.strings()[x] == b_.pool.strings()[y];
  }

  bool SameInst(const Kernel& x, const Inst& p, const Kernel& y, const Inst& q) {
    if (p.opcode != q.opcode || p.results != q.results || p.slots != q.slots ||
        p.attrs != q.attrs || p.end != q.end || p.else_begin != q.else_begin) {
      return false;
    }
    const TypeExpr& s = a_.type(p.type);
    const TypeExpr& t = b_.type(q.type);
    if (s.space != t.space || !Same(s.dtype, t.dtype) || !Same(s.shape, t.shape) ||
        !Same(s.layout, t.layout) || !Same(s.bits, t.bits)) {
      return false;
    }
    const int args = p.results + p.slots + std::popcount(p.attrs);
    for (int i = 0; i < args; ++i) {
      if (!Same(x.args[p.first_arg + i], y.args[q.first_arg + i])) return false;
    }
    return true;
  }

  bool Same(ExprId x, ExprId y) {
    if (!x.is_node() || !y.is_node()) return x == y;
    const ExprNode& n = a_.pool.node(x);
    const ExprNode& m = b_.pool.node(y);
    if (n.kind != m.kind || n.code != m.code || n.children != m.children) return false;
    if (HoldsText(n.kind)) {
      if (a_.pool.Text(x) != b_.pool.Text(y)) return false;
    } else if (n.payload != m.payload) {
      return false;
    }
    const auto p = a_.pool.children(x);
    const auto q = b_.pool.children(y);
    for (size_t i = 0; i < p.size(); ++i) {
      if (!Same(p[i], q[i])) return false;
    }
    return true;
  }

  const Module& a_;
  const Module& b_;
};

}  // namespace

bool Equal(const Module& a, const Module& b) {
  if (a.kernels.size() != b.kernels.size() || a.graphs.size() != b.graphs.size() ||
      a.opaque.size() != b.opaque.size()) {
    return false;
  }
  for (size_t i = 0; i < a.opaque.size(); ++i) {
    if (a.opaque[i].id != b.opaque[i].id || a.opaque[i].flags != b.opaque[i].flags ||
        a.opaque[i].bytes != b.opaque[i].bytes) {
      return false;
    }
  }
  Comparison comparison(a, b);
  for (size_t i = 0; i < a.kernels.size(); ++i) {
    if (!comparison.SameKernel(a.kernels[i], b.kernels[i])) return false;
  }
  for (size_t i = 0; i < a.graphs.size(); ++i) {
    if (!comparison.SameGraph(a.graphs[i], b.graphs[i])) return false;
  }
  return true;
}

}  // namespace tarsia

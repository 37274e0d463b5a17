// Module to bytecode; see isa/bytecode/format.h and docs/bytecode.md.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "isa/bytecode/byte_writer.h"
#include "isa/bytecode/bytecode.h"
#include "isa/bytecode/diagnostics.h"
#include "isa/bytecode/expr_writer.h"
#include "isa/bytecode/format.h"
#include "isa/bytecode/graph_writer.h"

namespace tarsia {
namespace {

using namespace bytecode;  // NOLINT: the format's numbers are what this file is about

class Writer {
 public:
  explicit Writer(const Module& module)
      : module_(module), pool_(module.pool), exprs_(module.pool), types_(module.type_count()) {}

  // Types are numbered by their use in code and written before it; strings by their use in types,
  // then in code, then in graphs.
  std::string Types() {
    for (const Kernel& kernel : module_.kernels) {
      for (const Inst& inst : kernel.code) {
        if (inst.type != kNoTypeId) types_.Of(inst.type);
      }
    }
    ByteWriter out;
    out.Leb(types_.order().size());
    for (const uint32_t id : types_.order()) Type(module_.type(id), out);
    return out.Take();
  }

  std::string Kernels() {
    ByteWriter out;
    out.Leb(module_.kernels.size());
    for (const Kernel& kernel : module_.kernels) {
      Header(kernel, out);
      Body(kernel);
      out.Leb(body_.size());
      out.Bytes(body_.bytes());
    }
    return out.Take();
  }

  std::string Graphs() { return WriteGraphs(module_, exprs_); }

  std::string Strings() const { return exprs_.Strings(); }

 private:
  void Type(const TypeExpr& type, ByteWriter& out) {
    out.U8(static_cast<uint32_t>(type.space) | (type.dtype.none() ? 0 : kHasDType) |
           (type.shape.none() ? 0 : kHasShape) | (type.layout.none() ? 0 : kHasLayout) |
           (type.bits.none() ? 0 : kHasBits));
    for (const ExprId part : {type.dtype, type.shape, type.layout, type.bits}) {
      if (!part.none()) exprs_.Expr(part, out);
    }
  }

  void Header(const Kernel& kernel, ByteWriter& out) {
    out.Leb(exprs_.String(kernel.name));
    out.U8((kernel.fast ? kFast : 0) | (kernel.registers.none() ? 0 : kHasRegisters));
    out.Leb(kernel.params.size());
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      out.U8(kernel.params[i].is_pointer ? 1 : 0);
      exprs_.Expr(kernel.params[i].dtype, out);
      out.Leb(exprs_.String(kernel.value_name_ids[i]));
    }
    exprs_.Constants(kernel.constants, out);
    exprs_.Requires(kernel.requires_, out);
    out.Leb(kernel.assumes.size());
    for (const Assume& assume : kernel.assumes) {
      exprs_.Expr(assume.condition, out);
      exprs_.Expr(assume.alignment, out);
    }
    uint32_t dimensions = 0;
    while (dimensions < 3 && !kernel.grid[dimensions].none()) ++dimensions;
    out.Leb(dimensions);
    for (uint32_t i = 0; i < dimensions; ++i) exprs_.Expr(kernel.grid[i], out);
    exprs_.Expr(kernel.warps, out);
    if (!kernel.registers.none()) exprs_.Expr(kernel.registers, out);
  }

  void Body(const Kernel& kernel) {
    body_.Clear();
    body_.Leb(kernel.value_name_ids.size());
    body_.Leb(kernel.code.size());
    body_.Leb(kernel.args.size());
    next_value_ = static_cast<uint32_t>(kernel.params.size());
    for (size_t i = 0; i < kernel.code.size(); ++i) Instruction(kernel, i);
  }

  void Instruction(const Kernel& kernel, size_t i) {
    const Inst& inst = kernel.code[i];
    const InstRow& row = Row(inst.opcode);
    const bool has_else = row.Has(kOpensBlock) && inst.else_begin < inst.end;
    body_.U8(row.code);
    body_.U8((inst.attrs & kAttrMask) | ((inst.attrs >> kFifth & 1) != 0 ? kHasFifth : 0u) |
             (inst.type != kNoTypeId ? kHasType : 0u) |
             (inst.slots < row.MaxSlots() ? kLacksLast : 0u) | (has_else ? kHasElse : 0u));
    if (inst.type != kNoTypeId) body_.Leb(types_.Of(inst.type));
    if (row.Has(kOpensBlock)) body_.Leb(inst.end - i - 1);
    if (has_else) body_.Leb(inst.else_begin - i - 1);
    for (const ExprId result : kernel.Results(inst)) Result(kernel, result.value());
    for (const ExprId slot : kernel.Slots(inst)) exprs_.Expr(slot, body_);
    for (const Attr attr : row.attrs) {
      const ExprId value = kernel.AttrOf(inst, attr);
      if (!value.none()) Attribute(Row(attr).kind, value);
    }
  }

  void Result(const Kernel& kernel, uint32_t value) {
    if (value < next_value_) {
      body_.Leb(value + 1);
      return;
    }
    body_.U8(0);
    body_.Leb(exprs_.String(kernel.value_name_ids[value]));
    next_value_ = value + 1;
  }

  void Attribute(AttrKind kind, ExprId value) {
    switch (kind) {
      case AttrKind::kFlag:
        return;  // its presence is the value
      case AttrKind::kInt:
      case AttrKind::kIntList:
        return exprs_.Expr(value, body_);
      case AttrKind::kRounding:
      case AttrKind::kCache:
      case AttrKind::kVia:
        return body_.U8(static_cast<uint32_t>(*pool_.AsInt(value)));
    }
  }

  const Module& module_;
  const ExprPool& pool_;
  ExprWriter exprs_;
  Numbering types_;
  ByteWriter body_;
  uint32_t next_value_ = 0;
};

// ---- debug locations -----------------------------------------------------------------------

// Calls `visit(location)` for every location of a kernel's header, in the order of the format.
template <typename Visit>
void ForEachHeaderLocation(const Kernel& kernel, const Visit& visit) {
  visit(kernel.location);
  visit(kernel.grid_location);
  visit(kernel.warps_location);
  if (!kernel.registers.none()) visit(kernel.registers_location);
  for (const Parameter& param : kernel.params) visit(param.location);
  for (const Constant& constant : kernel.constants) visit(constant.location);
  for (const Require& require : kernel.requires_) visit(require.location);
  for (const Assume& assume : kernel.assumes) visit(assume.location);
}

bool HasText(const std::vector<Location>& locations) {
  return std::any_of(locations.begin(), locations.end(), [](Location l) { return l.IsText(); });
}

bool HasDebug(const Graph& graph) {
  bool found = false;
  ForEachLocation(graph, [&](Location l) { found = found || l.IsText(); });
  return found;
}

bool HasDebugLocations(const Module& module) {
  for (const Kernel& kernel : module.kernels) {
    bool found = HasText(kernel.locations);
    ForEachHeaderLocation(kernel, [&](Location l) { found = found || l.IsText(); });
    if (found) return true;
  }
  return std::any_of(module.graphs.begin(), module.graphs.end(), HasDebug);
}

std::string Debug(const Module& module) {
  ByteWriter out;
  out.Leb(module.source_name.size());
  out.Bytes(module.source_name);
  int64_t line = 0;
  const auto write = [&](Location location) {
    if (!location.IsText()) return out.U8(0);
    out.Leb(1 + ZigZag(location.line - line));
    out.Leb(location.column);
    out.Leb(location.length);
    line = location.line;
  };
  for (const Kernel& kernel : module.kernels) {
    const bool instructions =
        kernel.locations.size() == kernel.code.size() && HasText(kernel.locations);
    out.U8(instructions ? 1 : 0);
    ForEachHeaderLocation(kernel, write);
    if (!instructions) continue;
    for (const Location location : kernel.locations) write(location);
  }
  for (const Graph& graph : module.graphs) ForEachLocation(graph, write);
  return out.Take();
}

// ---- the file ------------------------------------------------------------------------------

struct OutSection {
  uint32_t id;
  uint32_t flags;
  std::string_view bytes;
};

void Append(const OutSection& section, ByteWriter& out) {
  out.Fixed(section.id);
  out.Fixed(section.flags);
  out.Fixed(static_cast<uint64_t>(section.bytes.size()));
  out.Pad(size_t{1} << std::clamp(section.flags >> kAlignmentShift & 0xFF, kMinAlignment,
                                  kMaxAlignment));
  out.Bytes(section.bytes);
  out.Pad(8);
}

// Unknown sections keep their position: after as many known ones, or at the end.
std::vector<OutSection> WithOpaque(const Module& module, const std::vector<OutSection>& known,
                                   const EncodeOptions& options) {
  std::vector<OutSection> out;
  size_t next = 0;
  const auto take = [&](size_t position) {
    for (; next < module.opaque.size() && module.opaque[next].position <= position; ++next) {
      const OpaqueSection& opaque = module.opaque[next];
      if (opaque.id == kProducer && !options.producer.empty()) continue;
      out.push_back({opaque.id, opaque.flags, opaque.bytes});
    }
  };
  for (size_t i = 0; i < known.size(); ++i) {
    take(i);
    out.push_back(known[i]);
  }
  take(SIZE_MAX);
  if (!options.producer.empty())
    out.push_back({kProducer, kPlainFlags | kSkippable, options.producer});
  return out;
}

}  // namespace

BytecodeVersion LowestVersion(const Module& module, std::string_view* needs) {
  BytecodeVersion version{0, 1};
  const auto raise = [&](BytecodeVersion since, std::string_view feature) {
    if (since <= version) return;
    version = since;
    if (needs != nullptr) *needs = feature;
  };
  for (const Kernel& kernel : module.kernels) {
    if (!kernel.registers.none()) raise(kSinceRegisters, "registers");
    for (const Inst& inst : kernel.code) {
      const InstRow& row = Row(inst.opcode);
      raise({0, row.since}, row.mnemonic);
      if ((inst.attrs >> kFifth & 1) != 0) raise(kSinceFifth, Row(row.attrs[kFifth]).text);
      if (kernel.HasAttr(inst, Attr::kFast)) raise(kSinceFast, Row(Attr::kFast).text);
      if (kernel.HasAttr(inst, Attr::kVia)) raise(kSinceVia, Row(Attr::kVia).text);
    }
  }
  for (const Graph& graph : module.graphs) {
    raise(kSinceGraphs, "graph");
    for (const GraphNode& node : graph.nodes) raise({0, Row(node.op).since}, Row(node.op).word);
  }
  return version;
}

Result<std::string> Encode(const Module& module, const EncodeOptions& options) {
  std::string_view needs = "kernel";
  const BytecodeVersion version = LowestVersion(module, &needs);
  if (options.version && *options.version < version) {
    return MakeDiagnostic(diag::kBytecodeTarget, Location(), needs, version.major, version.minor,
                          options.version->major, options.version->minor);
  }
  Writer writer(module);
  const std::string types = writer.Types();
  const std::string kernels = writer.Kernels();
  const std::string graphs = writer.Graphs();
  const std::string strings = writer.Strings();
  const std::string debug = options.debug && HasDebugLocations(module) ? Debug(module) : "";
  std::vector<OutSection> known = {{kStrings, kPlainFlags, strings},
                                   {kTypes, kPlainFlags, types},
                                   {kKernels, kPlainFlags, kernels}};
  if (!module.graphs.empty()) known.push_back({kGraphs, kPlainFlags, graphs});
  if (!debug.empty()) known.push_back({kDebug, kPlainFlags | kSkippable, debug});

  ByteWriter out;
  out.Bytes(kMagic);
  out.Fixed(version.major);
  out.Fixed(version.minor);
  out.Fixed(uint32_t{0});
  out.Fixed(uint64_t{0});  // length and checksum, written when they are known
  out.Fixed(uint64_t{0});
  for (const OutSection& section : WithOpaque(module, known, options)) Append(section, out);
  if (out.size() > kMaxBytes) {
    return MakeDiagnostic(diag::kBytecodeTooLong, Location(), out.size(), +kMaxBytes);
  }
  const auto rest = std::string_view(out.bytes()).substr(kHeaderBytes);
  const uint64_t checksum = XXH3_64bits(rest.data(), rest.size());
  out.Patch(kLengthOffset, static_cast<uint64_t>(out.size()));
  out.Patch(kChecksumOffset, checksum);
  return out.Take();
}

}  // namespace tarsia

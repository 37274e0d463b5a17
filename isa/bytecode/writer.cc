// Module to bytecode; see isa/bytecode/format.h and docs/bytecode.md.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "isa/bytecode/bytecode.h"
#include "isa/bytecode/diagnostics.h"
#include "isa/bytecode/format.h"

namespace tarsia {
namespace {

using namespace bytecode;  // NOLINT: the format's numbers are what this file is about

class ByteWriter {
 public:
  void U8(uint32_t value) { bytes_ += static_cast<char>(value); }
  template <typename T>
  void Fixed(T value) {
    static_assert(std::endian::native == std::endian::little);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof value);
  }
  void Leb(uint64_t value) {
    while (value >= 0x80) {
      U8(static_cast<uint8_t>(value) | 0x80);
      value >>= 7;
    }
    U8(static_cast<uint8_t>(value));
  }
  void Bytes(std::string_view bytes) { bytes_ += bytes; }
  void Pad(size_t multiple) { bytes_.resize((bytes_.size() + multiple - 1) / multiple * multiple); }
  void Patch(size_t at, uint64_t value) { std::memcpy(bytes_.data() + at, &value, sizeof value); }
  void Clear() { bytes_.clear(); }
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Numbers from 0 in the order of first use.
class Numbering {
 public:
  explicit Numbering(size_t things) : numbers_(things, kUnused) {}
  uint32_t Of(uint32_t thing) {
    uint32_t& number = numbers_[thing];
    if (number == kUnused) {
      number = static_cast<uint32_t>(order_.size());
      order_.push_back(thing);
    }
    return number;
  }
  [[nodiscard]] const std::vector<uint32_t>& order() const { return order_; }

 private:
  static constexpr uint32_t kUnused = UINT32_MAX;
  std::vector<uint32_t> numbers_;
  std::vector<uint32_t> order_;
};

class Writer {
 public:
  explicit Writer(const Module& module)
      : module_(module),
        pool_(module.pool),
        strings_(module.pool.strings().size()),
        types_(module.type_count()) {}

  // Types are numbered by their use in code and written before it; strings by their use in types,
  // then in code.
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

  std::string Strings() {
    ByteWriter out;
    out.Leb(strings_.order().size());
    for (const uint32_t id : strings_.order()) {
      out.Leb(pool_.strings()[id].size());
      out.Bytes(pool_.strings()[id]);
    }
    return out.Take();
  }

 private:
  void Type(const TypeExpr& type, ByteWriter& out) {
    out.U8(static_cast<uint32_t>(type.space) | (type.dtype.none() ? 0 : kHasDType) |
           (type.shape.none() ? 0 : kHasShape) | (type.layout.none() ? 0 : kHasLayout) |
           (type.bits.none() ? 0 : kHasBits));
    for (const ExprId part : {type.dtype, type.shape, type.layout, type.bits}) {
      if (!part.none()) Expr(part, out);
    }
  }

  void Header(const Kernel& kernel, ByteWriter& out) {
    out.Leb(strings_.Of(kernel.name));
    out.U8((kernel.fast ? kFast : 0) | (kernel.registers.none() ? 0 : kHasRegisters));
    out.Leb(kernel.params.size());
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      out.U8(kernel.params[i].is_pointer ? 1 : 0);
      Expr(kernel.params[i].dtype, out);
      out.Leb(strings_.Of(kernel.value_name_ids[i]));
    }
    out.Leb(kernel.constants.size());
    for (const Constant& constant : kernel.constants) {
      out.Leb(strings_.Of(constant.name));
      out.U8(static_cast<uint32_t>(constant.kind));
      Expr(constant.default_value, out);
      Expr(constant.candidates, out);
    }
    out.Leb(kernel.requires_.size());
    for (const Require& require : kernel.requires_) {
      Expr(require.condition, out);
      out.Leb(strings_.Of(require.message));
    }
    out.Leb(kernel.assumes.size());
    for (const Assume& assume : kernel.assumes) {
      Expr(assume.condition, out);
      Expr(assume.alignment, out);
    }
    uint32_t dimensions = 0;
    while (dimensions < 3 && !kernel.grid[dimensions].none()) ++dimensions;
    out.Leb(dimensions);
    for (uint32_t i = 0; i < dimensions; ++i) Expr(kernel.grid[i], out);
    Expr(kernel.warps, out);
    if (!kernel.registers.none()) Expr(kernel.registers, out);
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
    body_.U8(inst.attrs | (inst.type != kNoTypeId ? kHasType : 0u) |
             (inst.slots < row.MaxSlots() ? kLacksLast : 0u) | (has_else ? kHasElse : 0u));
    if (inst.type != kNoTypeId) body_.Leb(types_.Of(inst.type));
    if (row.Has(kOpensBlock)) body_.Leb(inst.end - i - 1);
    if (has_else) body_.Leb(inst.else_begin - i - 1);
    for (const ExprId result : kernel.Results(inst)) Result(kernel, result.value());
    for (const ExprId slot : kernel.Slots(inst)) Expr(slot, body_);
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
    body_.Leb(strings_.Of(kernel.value_name_ids[value]));
    next_value_ = value + 1;
  }

  void Attribute(AttrKind kind, ExprId value) {
    switch (kind) {
      case AttrKind::kFlag:
        return;  // its presence is the value
      case AttrKind::kInt:
      case AttrKind::kIntList:
        return Expr(value, body_);
      case AttrKind::kRounding:
      case AttrKind::kCache:
        return body_.U8(static_cast<uint32_t>(*pool_.AsInt(value)));
    }
  }

  void Expr(ExprId id, ByteWriter& out) {
    if (id.is_value()) return out.Leb(uint64_t{id.value()} << 2 | kValueHead);
    if (id.is_small()) return out.Leb(ZigZag(id.small()) << 2 | kSmallHead);
    if (id.none()) return out.U8(kNoneTag << 2);
    Node(pool_.node(id), out);
    for (const ExprId child : pool_.children(id)) Expr(child, out);
  }

  // Head and payload of a node, without its children.
  void Node(const ExprNode& node, ByteWriter& out) {
    const auto head = [&](uint32_t tag) { out.U8(tag << 2); };
    const auto text = [&](uint32_t tag) {
      head(tag);
      out.Leb(strings_.Of(static_cast<StringId>(node.payload)));
    };
    switch (node.kind) {
      case ExprKind::kNone:
      case ExprKind::kValue:
        return;  // never nodes
      case ExprKind::kInt:
        head(kIntTag);
        return out.Leb(ZigZag(static_cast<int64_t>(node.payload)));
      case ExprKind::kFloat:
        head(kFloatTag);
        return out.Fixed(node.payload);
      case ExprKind::kBool:
        return head(node.payload != 0 ? kTrueTag : kFalseTag);
      case ExprKind::kDType:
        head(kDTypeTag);
        return out.U8(static_cast<uint8_t>(node.payload));
      case ExprKind::kString:
        return text(kStringTag);
      case ExprKind::kName:
        return text(kNameTag);
      case ExprKind::kFragment:
        return text(kFragmentTag);
      case ExprKind::kUnary:
        return head(static_cast<UnaryOp>(node.code) == UnaryOp::kNegate ? kNegateTag : kNotTag);
      case ExprKind::kBinary:
        return head(kBinaryTag + node.code);
      case ExprKind::kCall:
        head(kCallTag);
        out.U8(node.code);
        return out.Leb(node.children);
      case ExprKind::kKeyword:
        return text(kKeywordTag);
      case ExprKind::kReplicate:
        return head(kReplicateTag);
      case ExprKind::kList:
        head(kListTag);
        return out.Leb(node.children);
    }
  }

  const Module& module_;
  const ExprPool& pool_;
  Numbering strings_;
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

bool HasDebug(const Module& module) {
  for (const Kernel& kernel : module.kernels) {
    bool found = HasText(kernel.locations);
    ForEachHeaderLocation(kernel, [&](Location l) { found = found || l.IsText(); });
    if (found) return true;
  }
  return false;
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
    }
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
  const std::string strings = writer.Strings();
  const std::string debug = options.debug && HasDebug(module) ? Debug(module) : "";
  std::vector<OutSection> known = {{kStrings, kPlainFlags, strings},
                                   {kTypes, kPlainFlags, types},
                                   {kKernels, kPlainFlags, kernels}};
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

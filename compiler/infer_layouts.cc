#include "compiler/infer_layouts.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/select/mma.h"
#include "layout/access.h"

namespace tarsia::compiler {
namespace {

// The bits that a thread moves in one access.
constexpr int64_t kVectorBits = 128;
// The bits that a cache transfers at once.
constexpr int64_t kSectorBits = kSectorBytes * 8;
// The limit for f16 operands on tensor cores; above it the scalar path stages through shared
// memory.
constexpr int64_t kMaxFragmentSlots = 512;

// Tiles that share a layout.
class Classes {
 public:
  explicit Classes(size_t values) : parent_(values) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }
  uint32_t Find(uint32_t value) {
    while (parent_[value] != value) value = parent_[value] = parent_[parent_[value]];
    return value;
  }
  // The lower number represents both, so that names follow the text.
  void Join(uint32_t a, uint32_t b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<uint32_t> parent_;
};

// The preferences of a class before its layout is chosen.
struct Preference {
  std::optional<TileLayout> layout;
  int64_t access_bits = 0;  // of the widest element that is moved to or from memory
  int fast = -1;            // the dimension along which memory runs
  std::string why;
};

class Inference {
 public:
  explicit Inference(const Program& program)
      : program_(program),
        kernel_(program.kernel()),
        infos_(program.instructions()),
        classes_(program.types().size()) {}

  Result<LayoutPlan> Run() {
    plan_.values.resize(program_.types().size());
    plan_.insts.resize(infos_.size());
    preferences_.resize(program_.types().size());
    for (const ResolvedInst& info : infos_) JoinClasses(info);
    TakeWritten();
    for (size_t i = 0; i < infos_.size(); ++i) TARSIA_CHECK(CollectWishes(i));
    for (size_t i = 0; i < infos_.size(); ++i) {
      for (size_t r = 0; r < infos_[i].results.size(); ++r) TARSIA_CHECK(Choose(infos_[i], r));
      TARSIA_CHECK(PlanInst(i));
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] int64_t threads() const { return int64_t{program_.warps()} * 32; }
  [[nodiscard]] const ConcreteType& type(uint32_t value) const { return program_.type(value); }
  [[nodiscard]] Location LocationOf(const ResolvedInst& info) const {
    return kernel_.LocationOf(*info.inst);
  }
  [[nodiscard]] const TileLayout& layout(LayoutId id) const { return plan_.layouts[id]; }

  LayoutId Intern(TileLayout layout) {
    const auto found = std::find(plan_.layouts.begin(), plan_.layouts.end(), layout);
    if (found != plan_.layouts.end()) return static_cast<LayoutId>(found - plan_.layouts.begin());
    plan_.layouts.push_back(std::move(layout));
    return static_cast<LayoutId>(plan_.layouts.size() - 1);
  }

  // ---- who goes with whom ----------------------------------------------------------------------

  // Joins the results; also the operands, if the instruction combines only elements at the same
  // place and the layout of the result is not written out.
  void JoinClasses(const ResolvedInst& info) {
    std::optional<uint32_t> one;
    const auto join = [&](uint32_t value) {
      if (!IsRegisterTile(type(value))) return;
      if (one) classes_.Join(*one, value);
      one = value;
    };
    for (const uint32_t result : info.results) join(result);
    const bool all = info.row->Has(kByElement) && info.row->annotation != Annotation::kLayoutType;
    for (size_t i = 0; i < kMaxOperands; ++i) {
      const bool accumulator = info.row->family == Family::kMma && i == 2;
      if ((all || accumulator) && info.operand[i].IsTile()) join(info.operand[i].value);
    }
  }

  // ---- what each class wants -------------------------------------------------------------------

  Preference& PreferenceOf(uint32_t value) { return preferences_[classes_.Find(value)]; }

  // The first layout that the text writes for a tile of a class is that of the class.
  void TakeWritten() {
    for (uint32_t value = 0; value < program_.types().size(); ++value) {
      if (!type(value).reg_layout) continue;
      Preference& preference = PreferenceOf(value);
      if (preference.layout) continue;
      preference.layout = TileLayout::Padded(*type(value).reg_layout, type(value).shape);
      preference.why =
          "as `%" + std::string(kernel_.ValueName(value)) + "`, whose layout is written";
    }
  }

  void WishAccess(uint32_t memory, uint32_t tile) {
    Preference& preference = PreferenceOf(tile);
    preference.access_bits = std::max<int64_t>(preference.access_bits, type(tile).dtype.bits);
    if (preference.fast < 0 && !type(tile).shape.empty()) preference.fast = FastDimension(memory);
  }

  // The dimension along which elements of a memory tile are contiguous.
  int FastDimension(uint32_t memory) const {
    const MemLayoutFamily& family = type(memory).mem_layout;
    const int last = static_cast<int>(type(memory).shape.size()) - 1;
    switch (family.kind) {
      case MemLayoutFamily::Kind::kColumnMajor:
        return 0;
      case MemLayoutFamily::Kind::kConcrete:
        for (int d = last; d >= 0 && !family.concrete.IsPacked(); --d) {
          const auto& modes = family.concrete.modes(d);
          if (!modes.empty() && modes.back().stride == 1) return d;
        }
        return last;
      case MemLayoutFamily::Kind::kRowMajor:
      case MemLayoutFamily::Kind::kPacked:
        return last;
    }
    return last;
  }

  Status CollectWishes(size_t i) {
    const ResolvedInst& info = infos_[i];
    if (info.row->family == Family::kMma) return WishFragments(i);
    if (info.operand[0].kind != Operand::Kind::kMemory) return OkStatus();
    const uint32_t memory = info.operand[0].value;
    const Role role = info.row->operands[0].role;
    if (role == Role::kRead && info.results.size() != 0 && IsRegisterTile(type(info.results[0]))) {
      WishAccess(memory, info.results[0]);
    } else if (const auto stored = StoredTile(info); role == Role::kWritten && stored) {
      WishAccess(memory, info.operand[*stored].value);
    }
    return OkStatus();
  }

  // The tile that goes to memory: the last one that is read.
  static std::optional<size_t> StoredTile(const ResolvedInst& info) {
    for (size_t i = info.row->operands.size(); i-- > 0;) {
      if (info.operand[i].IsTile() && info.row->operands[i].role == Role::kRead) return i;
    }
    return std::nullopt;
  }

  // Whether the written layouts of all tiles of a `dot` are fragments: they are used as they are.
  bool WrittenAsFragments(const ResolvedInst& info) const {
    const auto written = [&](uint32_t value) -> std::optional<TileLayout> {
      if (!type(value).reg_layout) return std::nullopt;
      return TileLayout::Padded(*type(value).reg_layout, type(value).shape);
    };
    const auto a = written(info.operand[0].value);
    const auto b = written(info.operand[1].value);
    const auto c = written(info.operand[2].value);
    return a && b && c && written(info.results[0]) == c && SelectMma(*a, *b, *c);
  }

  Status WishFragments(size_t i) {
    const ResolvedInst& info = infos_[i];
    const DType a = info.operand[0].type;
    if (!HasMma(a, info.operand[1].type, info.operand[2].type)) return OkStatus();
    if (WrittenAsFragments(info)) return OkStatus();
    const auto& sa = type(info.operand[0].value).shape;
    const auto& sb = type(info.operand[1].value).shape;
    TARSIA_TRY(MmaLayouts mma, LayoutsOfMma(sa[0], sb[1], sa[1], program_.warps()));
    if (std::max({mma.a.slots(), mma.b.slots(), mma.c.slots()}) > kMaxFragmentSlots) {
      return OkStatus();
    }
    InstLayouts& out = plan_.insts[i];
    out.operand[0] = Intern(mma.a);
    out.operand[1] = Intern(mma.b);
    out.operand[2] = out.result[0] = Intern(mma.c);
    Preference& preference = PreferenceOf(info.results[0]);
    if (!preference.layout) {
      preference.layout = layout(out.result[0]);
      preference.why = "the accumulator of m16n8k16 fragments";
    }
    return OkStatus();
  }

  // ---- choosing --------------------------------------------------------------------------------

  Status Choose(const ResolvedInst& info, size_t r) {
    const uint32_t value = info.results[r];
    if (!IsRegisterTile(type(value)) || plan_.values[value].layout != kNoLayout) return OkStatus();
    ValueLayout& out = plan_.values[value];
    if (type(value).reg_layout) {
      out.layout = Intern(TileLayout::Padded(*type(value).reg_layout, type(value).shape));
      out.why = "stated in the program";
    } else {
      Preference& preference = PreferenceOf(value);
      if (!preference.layout) TARSIA_CHECK(ChooseForClass(info, value, preference));
      out.layout = Intern(*preference.layout);
      out.why = preference.why;
    }
    if (layout(out.layout).slots() > kMaxSlots) {
      return MakeDiagnostic(diag::kTooManySlots, LocationOf(info), kernel_.ValueName(value),
                            layout(out.layout).slots(), +kMaxSlots);
    }
    return OkStatus();
  }

  Status ChooseForClass(const ResolvedInst& info, uint32_t value, Preference& preference) {
    if (preference.access_bits == 0) {
      TARSIA_TRY(preference.layout, NaturalLayout(info));
      if (preference.layout && preference.layout->slots() <= kMaxSlots) {
        preference.why = "from the source of `" + std::string(info.row->mnemonic) + "`";
        return OkStatus();
      }
    }
    const Extents& shape = type(value).shape;
    const int64_t bits =
        preference.access_bits != 0 ? preference.access_bits : type(value).dtype.bits;
    const int last = static_cast<int>(shape.size()) - 1;
    // Codes of a few bits in groups that fill bytes.
    int64_t vector = 1;
    while (vector * 2 * bits <= kVectorBits) vector *= 2;
    TARSIA_TRY(preference.layout, BlockedLayout(shape, threads(), std::min<int64_t>(vector, 16),
                                                preference.fast < 0 ? last : preference.fast));
    preference.why = preference.access_bits != 0 ? "wide accesses to memory" : "rows side by side";
    return OkStatus();
  }

  // The layout of a result if no data move; empty if the instruction moves data.
  Result<std::optional<TileLayout>> NaturalLayout(const ResolvedInst& info) {
    const auto none = std::optional<TileLayout>();
    if (!info.operand[0].IsTile()) return none;
    const LayoutId from = plan_.values[info.operand[0].value].layout;
    if (from == kNoLayout) return none;
    const TileLayout& source = layout(from);
    switch (info.row->family) {
      case Family::kReduce: {
        TARSIA_TRY(TileLayout reduced, ReducedLayout(source, info.axes, info.keepdims));
        return std::optional<TileLayout>(std::move(reduced));
      }
      case Family::kShape:
        return MovedLayout(info, source);
      case Family::kControl:
      case Family::kMemory:
      case Family::kElementwise:
      case Family::kConvert:
      case Family::kMma:
      case Family::kSync:
        return none;
    }
    return none;
  }

  // The layout for permute, reshape, squeeze and unsqueeze.
  Result<std::optional<TileLayout>> MovedLayout(const ResolvedInst& info,
                                                const TileLayout& source) {
    if (info.opcode() == Opcode::kPermute) {
      TARSIA_TRY(TileLayout permuted, PermutedLayout(source, info.axes));
      return std::optional<TileLayout>(std::move(permuted));
    }
    if (info.row->Has(kKeepsOrder)) {
      return ReshapedLayout(source, type(info.results[0]).shape);
    }
    return std::optional<TileLayout>();
  }

  // ---- how each instruction takes and gives its tiles ---------------------------------------

  Status PlanInst(size_t i) {
    const ResolvedInst& info = infos_[i];
    InstLayouts& out = plan_.insts[i];
    // By default, operands and results have the layouts of their values.
    for (size_t o = 0; o < kMaxOperands; ++o) {
      if (info.operand[o].IsTile() && out.operand[o] == kNoLayout) {
        out.operand[o] = plan_.values[info.operand[o].value].layout;
      }
    }
    for (size_t r = 0; r < info.results.size(); ++r) {
      if (out.result[r] == kNoLayout) out.result[r] = plan_.values[info.results[r]].layout;
    }
    switch (info.row->family) {
      case Family::kElementwise:
      case Family::kConvert:
        return PlanElementwise(info, out);
      case Family::kControl:
        return info.row->Has(kByElement) ? PlanElementwise(info, out) : OkStatus();
      case Family::kReduce:
        return PlanReduce(info, out);
      case Family::kShape:
        return PlanShape(info, out);
      case Family::kMemory:
        return PlanMemory(info, out);
      case Family::kMma:
        out.operand[2] = out.result[0];
        return OkStatus();
      case Family::kSync:
        return OkStatus();
    }
    return OkStatus();
  }

  // Operands have the layout of the result, also for `unpack` and stochastic casts. Bits are viewed
  // in place.
  Status PlanElementwise(const ResolvedInst& info, InstLayouts& out) {
    if (info.opcode() == Opcode::kUnpack) {
      out.result[0] = out.result[1] = out.operand[0];
      return OkStatus();
    }
    for (LayoutId& operand : out.operand) {
      if (operand != kNoLayout) operand = out.result[0];
    }
    return OkStatus();
  }

  Status PlanReduce(const ResolvedInst& info, InstLayouts& out) {
    TARSIA_TRY(TileLayout natural, ReducedLayout(layout(out.operand[0]), info.axes, info.keepdims));
    const LayoutId id = Intern(std::move(natural));
    for (size_t r = 0; r < info.results.size(); ++r) out.result[r] = id;
    return OkStatus();
  }

  Status PlanShape(const ResolvedInst& info, InstLayouts& out) {
    if (info.opcode() == Opcode::kConvertLayout) {
      out.operand[0] = out.result[0];
      return OkStatus();
    }
    if (info.opcode() == Opcode::kBroadcast) return PlanBroadcast(info, out);
    TARSIA_TRY(std::optional<TileLayout> moved, MovedLayout(info, layout(out.operand[0])));
    if (moved) out.result[0] = Intern(*std::move(moved));
    return OkStatus();
  }

  // The source has the layout of the result reduced along the repeated axes.
  Status PlanBroadcast(const ResolvedInst& info, InstLayouts& out) {
    const Extents& from = type(info.operand[0].value).shape;
    const Extents& to = type(info.results[0]).shape;
    std::vector<int64_t> axes;
    for (size_t d = 0; d < from.size(); ++d) {
      if (from[d] != to[d]) axes.push_back(static_cast<int64_t>(d));
    }
    TARSIA_TRY(TileLayout source, ReducedLayout(layout(out.result[0]), axes, true));
    out.operand[0] = Intern(std::move(source));
    return OkStatus();
  }

  Status PlanMemory(const ResolvedInst& info, InstLayouts& out) {
    const auto indices = info.row->OperandWith(Role::kIndex);
    const auto stored = StoredTile(info);
    if (indices && info.operand[*indices].IsTile()) {
      const LayoutId tile = stored ? out.operand[*stored] : out.result[0];
      TARSIA_TRY(out.operand[*indices], IndexLayout(info, layout(tile)));
    } else if (info.row->Has(kAtomic)) {
      const LayoutId value = out.operand[*stored];
      for (size_t i = 1; i <= *stored; ++i) out.operand[i] = value;
      if (info.results.size() != 0) out.result[0] = value;
    } else if (info.results.size() == 0 && info.row->annotation == Annotation::kShapeType) {
      TARSIA_TRY(out.access, AccessLayout(info));
    }
    return OkStatus();
  }

  // Each thread has the indices of the elements that it moves.
  Result<LayoutId> IndexLayout(const ResolvedInst& info, const TileLayout& tile) {
    std::vector<int64_t> others;
    for (int64_t d = 0; d < tile.rank(); ++d) {
      if (d != info.axis) others.push_back(d);
    }
    TARSIA_TRY(TileLayout indices, ReducedLayout(tile, others, false));
    return Intern(std::move(indices));
  }

  // Assigns the elements of the annotated shape to threads if they do not go through a register
  // tile: by vectors if they are written, else by sectors.
  Result<LayoutId> AccessLayout(const ResolvedInst& info) {
    const Extents shape(info.shape.begin(), info.shape.end());
    const int64_t bits = info.row->WritesMemory() ? kVectorBits : kSectorBits;
    int64_t vector = 1;
    while (vector * 2 * info.operand[0].type.bits <= bits) vector *= 2;
    const int fast = FastDimension(info.operand[*info.row->OperandWith(Role::kRead)].value);
    TARSIA_TRY(TileLayout copy, BlockedLayout(shape, threads(), vector, fast));
    if (copy.slots() > kMaxSlots) {
      return MakeDiagnostic(diag::kTooManySlots, LocationOf(info),
                            kernel_.ValueName(info.operand[0].value), copy.slots(), +kMaxSlots);
    }
    return Intern(std::move(copy));
  }

  const Program& program_;
  const Kernel& kernel_;
  const std::vector<ResolvedInst>& infos_;
  Classes classes_;
  std::vector<Preference> preferences_;  // by the value that represents a class
  LayoutPlan plan_;
};

void AppendConversion(const Program& program, const LayoutPlan& plan, const ResolvedInst& info,
                      uint32_t value, LayoutId from, LayoutId to, bool before, std::string& out) {
  if (from == to || from == kNoLayout || to == kNoLayout) return;
  out += "  line " + std::to_string(program.kernel().LocationOf(*info.inst).line) + ": `" +
         std::string(info.row->mnemonic) + "` " + (before ? "takes" : "gives") + " %" +
         std::string(program.kernel().ValueName(value)) + " as " +
         ToString(plan.layouts[before ? to : from]) + "\n";
}

}  // namespace

Result<LayoutPlan> InferLayouts(const Program& program) { return Inference(program).Run(); }

std::string ToString(const Program& program, const LayoutPlan& plan) {
  const Kernel& kernel = program.kernel();
  std::string out = "kernel " + std::string(program.name()) + "\n";
  for (uint32_t value = 0; value < plan.values.size(); ++value) {
    const ValueLayout& layout = plan.values[value];
    if (layout.layout == kNoLayout) continue;
    out += "  %" + std::string(kernel.ValueName(value)) + " : " +
           std::string(DTypeName(program.type(value).dtype)) +
           tarsia::ToString(program.type(value).shape) + " " +
           ToString(plan.layouts[layout.layout]) + " (" + layout.why + ")\n";
  }
  for (size_t i = 0; i < plan.insts.size(); ++i) {
    const ResolvedInst& info = program.instructions()[i];
    for (size_t o = 0; o < kMaxOperands; ++o) {
      if (!info.operand[o].IsTile()) continue;
      const uint32_t value = info.operand[o].value;
      AppendConversion(program, plan, info, value, plan.values[value].layout,
                       plan.insts[i].operand[o], true, out);
    }
    for (size_t r = 0; r < info.results.size(); ++r) {
      const uint32_t value = info.results[r];
      AppendConversion(program, plan, info, value, plan.insts[i].result[r],
                       plan.values[value].layout, false, out);
    }
  }
  return out;
}

}  // namespace tarsia::compiler

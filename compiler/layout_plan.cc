#include "compiler/layout_plan.h"

#include <algorithm>
#include <utility>

#include "compiler/diagnostics.h"
#include "layout/access.h"

namespace tarsia::compiler {
namespace {

// The bits that a thread moves in one access.
constexpr int64_t kVectorBits = 128;
// The bits that a cache transfers at once.
constexpr int64_t kSectorBits = kSectorBytes * 8;

class LayoutReader {
 public:
  explicit LayoutReader(const Program& program)
      : program_(program), kernel_(program.kernel()), infos_(program.instructions()) {}

  Result<LayoutPlan> Run() {
    plan_.values.assign(program_.types().size(), kNoLayout);
    plan_.accesses.assign(infos_.size(), kNoLayout);
    for (const ResolvedInst& info : infos_) {
      for (const uint32_t value : info.results) TARSIA_CHECK(ReadTile(info, value));
    }
    for (size_t i = 0; i < infos_.size(); ++i) {
      if (!AccessesAlone(infos_[i])) continue;
      TARSIA_TRY(plan_.accesses[i], AccessLayout(infos_[i]));
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const ConcreteType& type(uint32_t value) const { return program_.type(value); }

  LayoutId Intern(TileLayout layout) {
    const auto found = std::find(plan_.layouts.begin(), plan_.layouts.end(), layout);
    if (found != plan_.layouts.end()) return static_cast<LayoutId>(found - plan_.layouts.begin());
    plan_.layouts.push_back(std::move(layout));
    return static_cast<LayoutId>(plan_.layouts.size() - 1);
  }

  Status CheckSlots(const ResolvedInst& info, uint32_t value, const TileLayout& layout) const {
    if (layout.slots() <= kMaxSlots) return OkStatus();
    return MakeDiagnostic(diag::kTooManySlots, kernel_.LocationOf(*info.inst),
                          kernel_.ValueName(value), layout.slots(), +kMaxSlots);
  }

  Status ReadTile(const ResolvedInst& info, uint32_t value) {
    if (!IsRegisterTile(type(value)) || plan_.values[value] != kNoLayout) return OkStatus();
    TileLayout layout = TileLayout::Padded(*type(value).reg_layout, type(value).shape);
    TARSIA_CHECK(CheckSlots(info, value, layout));
    plan_.values[value] = Intern(std::move(layout));
    return OkStatus();
  }

  // Whether an instruction accesses a box of memory without a register tile.
  static bool AccessesAlone(const ResolvedInst& info) {
    const auto indices = info.row->OperandWith(Role::kIndex);
    return info.row->family == Family::kMemory && !info.row->Has(kAtomic) &&
           !(indices && info.operand[*indices].IsTile()) && info.results.size() == 0 &&
           info.row->annotation == Annotation::kShapeType;
  }

  // Assigns the elements of the annotated shape to threads if they do not go through a register
  // tile: by vectors if they are written, else by sectors.
  Result<LayoutId> AccessLayout(const ResolvedInst& info) {
    const Extents shape(info.shape.begin(), info.shape.end());
    const int64_t bits = info.row->WritesMemory() ? kVectorBits : kSectorBits;
    int64_t vector = 1;
    while (vector * 2 * info.operand[0].type.bits <= bits) vector *= 2;
    const uint32_t source = info.operand[*info.row->OperandWith(Role::kRead)].value;
    const int64_t threads = int64_t{program_.warps()} * kWarpThreads;
    TARSIA_TRY(TileLayout copy, BlockedLayout(shape, threads, vector, FastDimension(source)));
    TARSIA_CHECK(CheckSlots(info, info.operand[0].value, copy));
    return Intern(std::move(copy));
  }

  // The dimension along which elements of a memory tile are contiguous.
  [[nodiscard]] int FastDimension(uint32_t memory) const {
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

  const Program& program_;
  const Kernel& kernel_;
  const std::vector<ResolvedInst>& infos_;
  LayoutPlan plan_;
};

}  // namespace

Result<LayoutPlan> PlanLayouts(const Program& program) { return LayoutReader(program).Run(); }

}  // namespace tarsia::compiler

#include "compiler/layout_plan.h"

#include <algorithm>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/select/box.h"
#include "layout/access.h"

namespace tarsia::compiler {
namespace {

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

  Status CheckSlots(const ResolvedInst& info, uint32_t value, const TileLayout& layout,
                    int64_t most) const {
    if (layout.slots() <= most) return OkStatus();
    return MakeDiagnostic(diag::kTooManySlots, kernel_.LocationOf(*info.inst),
                          kernel_.ValueName(value), layout.slots(), most);
  }

  Status ReadTile(const ResolvedInst& info, uint32_t value) {
    if (!IsRegisterTile(type(value)) || plan_.values[value] != kNoLayout) return OkStatus();
    TileLayout layout = TileLayout::Padded(*type(value).reg_layout, type(value).shape);
    TARSIA_CHECK(CheckSlots(info, value, layout, kMaxSlots));
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

  Result<LayoutId> AccessLayout(const ResolvedInst& info) {
    const uint32_t source = info.operand[*info.row->OperandWith(Role::kRead)].value;
    const int64_t threads = int64_t{program_.warps()} * kWarpThreads;
    const Extents shape(info.shape.begin(), info.shape.end());
    TARSIA_TRY(TileLayout copy, LayoutOfBox(*info.row, shape, type(source), threads));
    TARSIA_CHECK(CheckSlots(info, info.operand[0].value, copy, kMaxBoxSlots));
    return Intern(std::move(copy));
  }

  const Program& program_;
  const Kernel& kernel_;
  const std::vector<ResolvedInst>& infos_;
  LayoutPlan plan_;
};

}  // namespace

Result<LayoutPlan> PlanLayouts(const Program& program) { return LayoutReader(program).Run(); }

}  // namespace tarsia::compiler

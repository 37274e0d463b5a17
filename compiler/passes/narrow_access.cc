#include "compiler/passes/narrow_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/cost/cost.h"
#include "compiler/passes/accessed_memory.h"
#include "compiler/passes/layout_choice.h"
#include "compiler/passes/layout_graph.h"
#include "compiler/passes/shared_layouts.h"
#include "compiler/select/access.h"
#include "layout/access.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::Operation;

class Advising {
 public:
  Advising(const Form& form, Target target)
      : form_(form), target_(target), definitions_(form.Definitions()), memories_(form, target) {}

  std::vector<LineAdvice> Run() {
    for (const tile::Region& region : form_.regions) {
      for (const tile::OpId id : region.ops) Access(form_.ops[id]);
    }
    return std::move(out_);
  }

 private:
  void Access(const Operation& op) {
    if (op.opcode != Opcode::kLoad && op.opcode != Opcode::kStore) return;
    const AccessedMemory memory = memories_.Of(op);
    if (memory.space != Space::kGlobal || memory.packed || memory.fast < 0) return;
    const int64_t wanted = WantedRun(op, memory);
    const int64_t run = std::min(wanted, WidestRun(memory));
    if (run < wanted) AddOnRun(op, memory, wanted, run);
    AddOnPointer(op, run * memory.type.bits / 8);
  }

  // The elements of a thread that could move together.
  [[nodiscard]] int64_t WantedRun(const Operation& op, const AccessedMemory& memory) const {
    const tile::ValueId tile = op.opcode == Opcode::kLoad ? op.results[0] : op.operand[1].value;
    if (tile == tile::kNone) return 1;  // a scalar is stored
    const ConcreteType& type = form_.TypeOf(tile);
    const std::vector<int64_t>& shape = type.shape;
    if (Size(memory.fast) >= shape.size()) return 1;
    const int64_t share = type.Elements() / (kWarpThreads * form_.Warps());  // of a thread
    const int64_t most = std::min(kWidestAccess * 8 / memory.type.bits, share);
    int64_t out = 1;
    while (out * 2 <= most && shape[Size(memory.fast)] % (out * 2) == 0) out *= 2;
    return out;
  }

  void AddOnRun(const Operation& op, const AccessedMemory& memory, int64_t wanted, int64_t run) {
    const int64_t bits = run * memory.type.bits;
    const std::string now = bits % 8 == 0 ? fmt::format("an access has at most {} byte{}", bits / 8,
                                                        bits == 8 ? "" : "s")
                                          : fmt::format("an access has at most {} bits", bits);
    if (const auto parameter = FindParameter(op, wanted, run)) {
      Add(op,
          fmt::format("add `assume %{} % {} == 0`: without it {}", NameOf(*parameter), wanted, now),
          SavedBy(*parameter, wanted));
    } else if (memory.begins[Size(memory.fast)] % wanted != 0) {
      Add(op, fmt::format("the first index of dimension {} is not known to be a multiple of {}: {}",
                          memory.fast, wanted, now));
    } else if (memory.extents[Size(memory.fast)] % wanted != 0) {
      const int64_t extent = form_.TypeOf(op.operand[0].value).shape[Size(memory.fast)];
      const std::string is = extent < 0 ? "is not known to be a" : fmt::format("is {}, no", extent);
      Add(op, fmt::format("the extent of dimension {} {} multiple of {}: {}", memory.fast, is,
                          wanted, now));
    }
  }

  // A parameter that makes accesses wider if it is a multiple of what is wanted.
  [[nodiscard]] std::optional<tile::ValueId> FindParameter(const Operation& op, int64_t wanted,
                                                           int64_t run) const {
    for (tile::ValueId i = 0; i < form_.header.params.size(); ++i) {
      const ConcreteType& type = form_.TypeOf(i);
      if (type.kind != ValueKind::kScalar || !type.dtype.IsInteger()) continue;
      AccessedMemories assumed(form_, target_);
      assumed.Suppose(i, wanted);
      if (WidestRun(assumed.Of(op)) <= run) continue;
      return i;
    }
    return std::nullopt;
  }

  // Of the whole kernel, if a number divides a parameter.
  [[nodiscard]] Cost SavedBy(tile::ValueId parameter, int64_t divisor) const {
    Form assumed = form_;
    ExprPool& pool = assumed.pool;
    const ExprId rest = pool.Binary(BinaryOp::kModulo, ExprId::Value(parameter), pool.Int(divisor));
    Assume assume;
    assume.condition = pool.Binary(BinaryOp::kEqual, rest, pool.Int(0));
    assumed.header.assumes.push_back(assume);
    return std::max<Cost>(0, LeastCost(form_) - LeastCost(std::move(assumed)));
  }

  [[nodiscard]] Cost LeastCost(Form form) const {
    OpenSharedTiles(form);
    return ChooseLayouts(form, MakeLayoutGraph(form), target_).cost;
  }

  // If the alignment of the pointer allows less than `bytes` bytes.
  void AddOnPointer(const Operation& op, int64_t bytes) {
    tile::ValueId value = op.operand[0].value;
    while (definitions_[value].op != tile::kNone) {
      const Operation& from = form_.ops[definitions_[value].op];
      if (from.opcode != Opcode::kSlice && from.opcode != Opcode::kView) return;
      value = from.operand[0].value;
    }
    if (value >= form_.header.params.size()) return;
    const std::optional<int64_t> alignment = AssumedAlignment(value);
    if (!alignment || *alignment >= bytes) return;
    Add(op, fmt::format("add `assume %{} align {}`: with {} an access has at most {} byte{}",
                        NameOf(value), bytes, *alignment, *alignment, *alignment == 1 ? "" : "s"));
  }

  [[nodiscard]] std::optional<int64_t> AssumedAlignment(tile::ValueId pointer) const {
    std::optional<int64_t> out;
    for (const Assume& assume : form_.header.assumes) {
      if (assume.alignment.none() || assume.condition.value() != pointer) continue;
      out = std::max(out.value_or(1), form_.pool.AsInt(assume.alignment).value_or(1));
    }
    return out;
  }

  [[nodiscard]] std::string_view NameOf(tile::ValueId value) const {
    return form_.pool.strings()[form_.values[value].name];
  }

  void Add(const Operation& op, std::string text, Cost saves = 0) {
    out_.push_back({op.location.line, std::move(text), saves});
  }

  const Form& form_;
  const Target target_;
  const std::vector<tile::Definition> definitions_;
  const AccessedMemories memories_;
  std::vector<LineAdvice> out_;
};

}  // namespace

std::vector<LineAdvice> AdviceOnNarrowAccesses(const tile::Form& form, Target target) {
  return Advising(form, target).Run();
}

}  // namespace tarsia::compiler

#include "vm/plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "dtypes/bits.h"
#include "dtypes/bulk.h"
#include "dtypes/cast_table.h"
#include "isa/limits.h"
#include "support/align.h"
#include "support/extents.h"
#include "vm/chain.h"
#include "vm/diagnostics.h"
#include "vm/exec.h"
#include "vm/host/dot.h"
#include "vm/host/reduce.h"
#include "vm/launch_context.h"

namespace tarsia::vm {
namespace {

constexpr uint64_t kTileAlignment = 64;
constexpr uint64_t kSharedAlignment = 128;
constexpr uint64_t kMaxSharedBytes = uint64_t{1} << 30;

ExecFunction FunctionOf(Opcode opcode) {
  static constexpr ExecFunction kFunctions[] = {
#define INST(name, ...) &Exec##name,
#include "isa/isa.def"
#undef INST
  };
  return kFunctions[static_cast<size_t>(opcode)];
}

bool IsRegister(const ValuePlan& value) {
  return value.kind == ValueKind::kTile && value.space == Space::kRegister;
}

}  // namespace

class Planner {
 public:
  explicit Planner(Plan& plan) : plan_(plan), kernel_(plan.kernel()) {}

  Status Run() {
    plan_.storages.emplace_back();
    TARSIA_CHECK(PlanValues());
    TARSIA_CHECK(EmitBlock(0, kernel_.code.size(), 0));
    for (const PlannedInst& inst : plan_.code) {
      if (inst.inst == nullptr) continue;
      ReserveScratch(inst);
      if (inst.inst->opcode == Opcode::kGriddepWait) plan_.waits_for_grids = true;
    }
    FindChains(plan_);
    for (const PlannedInst& inst : plan_.code) {
      if (inst.chain == nullptr) continue;
      Reserve(kChainScratch, static_cast<int64_t>(inst.chain->ScratchBytes()));
    }
    return OkStatus();
  }

 private:
  const ExprPool& pool() const { return plan_.program.pool(); }

  // ---- values ------------------------------------------------------------------------------

  Status PlanValues() {
    for (size_t i = 0; i < plan_.program.types().size(); ++i) {
      const ConcreteType& type = plan_.program.types()[i];
      ValuePlan value;
      value.kind = type.kind;
      value.space = type.space;
      value.dtype = type.dtype;
      value.container = ContainerBytes(type.dtype);
      value.shape = type.shape;
      value.rank = static_cast<int>(type.shape.size());
      if (value.rank > kMaxRank) return NotRunnable({}, "a tile of more than 8 dimensions");
      if (IsRegister(value)) TARSIA_CHECK(PlanTile(static_cast<uint32_t>(i), type, value));
      plan_.values.push_back(std::move(value));
    }
    if (plan_.arena_bytes > kMaxBlockTileBytes) {
      return MakeDiagnostic(diag::kTilesTooLarge, kernel_.location, plan_.arena_bytes,
                            +kMaxBlockTileBytes);
    }
    return OkStatus();
  }

  Status PlanTile(uint32_t id, const ConcreteType& type, ValuePlan& value) {
    value.elements = 1;
    bool overflow = false;
    for (const int64_t extent : type.shape) {
      if (extent < 0) return NotRunnable({}, "a register tile whose shape is not constant");
      if (extent == 0) {
        value.elements = 0;
        overflow = false;
        break;
      }
      overflow |= __builtin_mul_overflow(value.elements, extent, &value.elements);
    }
    value.stored = value.elements;
    if (type.reg_layout && value.elements != 0) {
      value.storage = StorageOf(*type.reg_layout, type.shape);
      value.stored = type.reg_layout->threads() * type.reg_layout->slots();
    }
    int64_t bytes = 0;
    overflow |= __builtin_mul_overflow(value.stored, value.container, &bytes);
    if (overflow || bytes > kMaxRegisterTileBytes) {
      return MakeDiagnostic(diag::kRegisterTileTooLarge, kernel_.location, plan_.ValueName(id),
                            overflow ? std::string("more than 2^63") : std::to_string(bytes),
                            +kMaxRegisterTileBytes);
    }
    value.arena_offset = plan_.arena_bytes;
    // One vector more than needed: host code may read whole vectors.
    plan_.arena_bytes += AlignUp(static_cast<uint64_t>(bytes) + kTileAlignment, kTileAlignment);
    return OkStatus();
  }

  // Row-major numbers in the shape of a layout become those in the tile's shape.
  static void NumberWithin(const Extents& from, const std::vector<int64_t>& to,
                           std::vector<uint32_t>& numbers) {
    for (uint32_t& number : numbers) {
      int64_t rest = number;
      int64_t stride = 1;
      int64_t out = 0;
      bool inside = true;
      for (size_t d = from.size(); d-- > 0;) {
        const int64_t index = rest % from[d];
        rest /= from[d];
        inside = inside && index < to[d];
        out += index * stride;
        stride *= to[d];
      }
      number = inside ? static_cast<uint32_t>(out) : Storage::kPadding;
    }
  }

  StorageId StorageOf(const RegLayout& layout, const std::vector<int64_t>& shape) {
    for (StorageId i = 1; i < plan_.storages.size(); ++i) {
      if (plan_.storages[i].layout == layout && plan_.storages[i].shape == shape) return i;
    }
    Storage storage;
    storage.layout = layout;
    storage.shape = shape;
    storage.element = layout.LinearTable();
    if (layout.shape() != shape) NumberWithin(layout.shape(), shape, storage.element);
    int64_t elements = 1;
    for (const int64_t extent : shape) elements *= extent;
    storage.holder.assign(Size(elements), 0);
    for (size_t i = storage.element.size(); i-- > 0;) {
      if (storage.element[i] == Storage::kPadding) continue;
      storage.holder[storage.element[i]] = static_cast<uint32_t>(i);
    }
    storage.replicated = layout.replication() > 1;
    plan_.storages.push_back(std::move(storage));
    return static_cast<StorageId>(plan_.storages.size() - 1);
  }

  Conversion Convert(StorageId from, StorageId to) {
    if (from == to) return nullptr;
    Conversion& known = conversions_[{from, to}];
    if (known != nullptr) return known;
    const Storage& source = plan_.storages[from];
    const Storage& target = plan_.storages[to];
    std::vector<uint32_t> index = to == kLogical ? source.holder : target.element;
    std::replace(index.begin(), index.end(), Storage::kPadding, 0U);
    if (from != kLogical && to != kLogical) {
      for (uint32_t& i : index) i = source.holder[i];
    }
    known = std::make_shared<const std::vector<uint32_t>>(std::move(index));
    return known;
  }

  // ---- code --------------------------------------------------------------------------------

  Diagnostic NotRunnable(Location location, std::string_view why) {
    return MakeDiagnostic(diag::kNotRunnable, location, why);
  }

  Status EmitBlock(size_t begin, size_t end, int depth) {
    if (depth > kMaxBlockDepth) return NotRunnable(kernel_.location, "blocks are nested too deep");
    for (size_t i = begin; i < end;) {
      const ResolvedInst& inst = plan_.program.instructions()[i];
      const size_t at = plan_.code.size();
      PlannedInst planned;
      TARSIA_CHECK(PlanInst(inst, planned));
      plan_.code.push_back(std::move(planned));
      if (inst.row->Has(kOpensBlock)) TARSIA_CHECK(EmitBody(i, at, depth));
      i = std::max<size_t>(inst.inst->end, i + 1);
    }
    return OkStatus();
  }

  Status EmitBody(size_t i, size_t at, int depth) {
    const Inst& inst = kernel_.code[i];
    TARSIA_CHECK(EmitBlock(i + 1, inst.else_begin, depth + 1));
    if (inst.opcode == Opcode::kIf) {
      if (inst.else_begin < inst.end) {
        const size_t jump = EmitJump(&ExecJump, 0, 0);
        plan_.code[at].target = Next();
        TARSIA_CHECK(EmitBlock(inst.else_begin, inst.end, depth + 1));
        plan_.code[jump].target = Next();
      } else {
        plan_.code[at].target = Next();
      }
    } else if (inst.opcode == Opcode::kFor) {
      const size_t close =
          EmitJump(&ExecNextTurn, static_cast<uint32_t>(at + 1), plan_.code[at].loop);
      plan_.code[close].result[0] = plan_.code[at].result[0];
      plan_.code[close].type = plan_.code[at].type;
      plan_.code[at].target = Next();
    } else {
      EmitJump(&ExecJump, static_cast<uint32_t>(at), 0);
      plan_.code[at].target = Next();
    }
    return OkStatus();
  }

  uint32_t Next() const { return static_cast<uint32_t>(plan_.code.size()); }

  size_t EmitJump(ExecFunction exec, uint32_t target, uint32_t loop) {
    PlannedInst jump;
    jump.exec = exec;
    jump.target = target;
    jump.loop = loop;
    plan_.code.push_back(std::move(jump));
    return plan_.code.size() - 1;
  }

  Status PlanInst(const ResolvedInst& inst, PlannedInst& out) {
    out.exec = FunctionOf(inst.opcode());
    out.inst = inst.inst;
    out.results = static_cast<uint32_t>(inst.results.size());
    std::copy(inst.results.begin(), inst.results.end(), out.result);
    out.tile_result = out.results > 0 && IsRegister(plan_.values[out.result[0]]);
    out.type = inst.type;
    out.cast = inst.cast;
    out.axis = inst.axis;
    out.axes.assign(inst.axes.begin(), inst.axes.end());
    out.zeroed = inst.zeroed;
    out.finite = inst.finite;
    out.exclusive = inst.exclusive;
    out.reverse = inst.reverse;
    out.smallest = inst.smallest;
    for (size_t i = 0; i < inst.row->operands.size(); ++i) {
      PlanOperand(inst, i, out.operand[i]);
    }
    PlanStorage(inst, out);
    if (inst.row->family == Family::kMemory) TARSIA_CHECK(PlanMemory(inst, out));
    if (inst.opcode() == Opcode::kUnpack) TARSIA_CHECK(PlanUnpack(*inst.inst, out));
    if (inst.opcode() == Opcode::kFor) out.loop = plan_.loops++;
    return OkStatus();
  }

  void PlanOperand(const ResolvedInst& inst, size_t i, PlannedOperand& out) {
    const Operand& operand = inst.operand[i];
    out.kind = operand.kind;
    out.value = operand.value;
    out.type = operand.type;
    switch (operand.kind) {
      case Operand::Kind::kNone:
      case Operand::Kind::kScalar:
        break;
      case Operand::Kind::kTile:
        out.to_logical = Convert(plan_.values[operand.value].storage, kLogical);
        break;
      case Operand::Kind::kConstant:
      case Operand::Kind::kExpr:
        out.expr = plan_.program.scalar(operand.expr);
        if (operand.kind == Operand::Kind::kConstant) out.code = out.expr.Code(nullptr, out.type);
        break;
      case Operand::Kind::kMemory:
        for (const ExprId index : pool().children(operand.indices)) {
          out.indices.push_back(plan_.program.scalar(index));
        }
        break;
      case Operand::Kind::kText:
        out.text = pool().Text(operand.expr);
        break;
    }
  }

  // How operands and results are stored, and the conversions between them.
  void PlanStorage(const ResolvedInst& inst, PlannedInst& out) {
    for (size_t r = 0; r < out.results; ++r) {
      const ValuePlan& value = plan_.values[out.result[r]];
      if (!IsRegister(value)) continue;
      out.from_logical[r] = Convert(kLogical, value.storage);
      out.direct[r] = value.storage == kLogical;
      for (const PlannedOperand& operand : out.operand) {
        if (operand.IsTile() && operand.value == out.result[r]) out.direct[r] = false;
      }
    }
    if (out.tile_result) {
      out.count = plan_.values[out.result[0]].stored;
    } else {
      out.count = out.operand[0].IsTile() ? plan_.values[out.operand[0].value].stored : 1;
    }
    if (!out.tile_result || !inst.row->Has(kByElement)) return;
    const StorageId storage = plan_.values[out.result[0]].storage;
    for (PlannedOperand& operand : out.operand) {
      if (!operand.IsTile()) continue;
      operand.to_result = Convert(plan_.values[operand.value].storage, storage);
    }
  }

  // ---- memory ------------------------------------------------------------------------------

  Status PlanMemory(const ResolvedInst& inst, PlannedInst& out) {
    if (out.results == 0) {
      out.shape.assign(inst.shape.begin(), inst.shape.end());
    } else if (IsMemoryTile(plan_.program.type(out.result[0]))) {
      TARSIA_CHECK(PlanMemoryTile(inst, out));
    } else if (inst.row->MakesView()) {
      TARSIA_CHECK(PlanRegisterView(*inst.inst, out));
    } else {
      out.shape = plan_.values[out.result[0]].shape;
    }
    if (inst.row->Allocates() == Space::kShared) return PlanAllocShared(inst, out);
    if (inst.row->Allocates() == Space::kGlobal) {
      out.allocation = static_cast<uint32_t>(plan_.global.size());
      plan_.global.push_back({out.result[0], inst.inst, 0, 0, out.zeroed});
    }
    return OkStatus();
  }

  // Views, slices and allocations: extents, and the addresses where all extents are known.
  Status PlanMemoryTile(const ResolvedInst& inst, PlannedInst& out) {
    const ConcreteType& type = plan_.program.type(out.result[0]);
    bool constant = true;
    for (size_t d = 0; d < type.shape.size(); ++d) {
      if (type.shape[d] >= 0) {
        out.extents.push_back(ScalarExpr::Constant(type.shape[d]));
        continue;
      }
      constant = false;
      out.extents.push_back(plan_.program.scalar(type.shape_exprs[d]));
    }
    if (!constant || inst.opcode() == Opcode::kSlice) return OkStatus();
    Result<std::shared_ptr<AddressMap>> map =
        AddressMap::Make(type.mem_layout, type.shape, type.dtype);
    if (!map.ok()) {
      Diagnostic error = map.TakeError();
      error.location = kernel_.TypeLocation(*inst.inst);
      return error;
    }
    out.map = *std::move(map);
    return OkStatus();
  }

  // Tiles that the text does not place come after those that it places.
  Status PlanAllocShared(const ResolvedInst& inst, PlannedInst& out) {
    const Location location = kernel_.LocationOf(*inst.inst);
    if (out.map == nullptr) return NotRunnable(location, "a shape not constant");
    if (plan_.shared.empty()) plan_.shared_bytes = PlacedBytes();
    out.allocation = static_cast<uint32_t>(plan_.shared.size());
    const uint64_t bytes = out.map->size_bytes();
    const uint64_t first =
        inst.at ? static_cast<uint64_t>(*inst.at) : AlignUp(plan_.shared_bytes, kSharedAlignment);
    plan_.shared.push_back({out.result[0], inst.inst, first, bytes, false, inst.at.has_value()});
    if (bytes > kMaxSharedBytes || first + bytes > kMaxSharedBytes) {
      return MakeDiagnostic(diag::kOutOfMemory, location, bytes, "shared memory");
    }
    plan_.shared_bytes = std::max(plan_.shared_bytes, first + bytes);
    return OkStatus();
  }

  // A bound on the end of the tiles that are placed.
  uint64_t PlacedBytes() const {
    uint64_t end = 0;
    for (const ResolvedInst& inst : plan_.program.instructions()) {
      if (!inst.at) continue;
      const ConcreteType& type = plan_.program.type(inst.results[0]);
      const auto layout = Apply(type.mem_layout, type.shape, type.dtype);
      const uint64_t bytes = layout.ok() ? layout->SizeBytes(type.dtype.bits) : 0;
      end = std::max(end, static_cast<uint64_t>(*inst.at) + bytes);
    }
    return end;
  }

  // ---- scratch -----------------------------------------------------------------------------

  void Reserve(size_t buffer, int64_t bytes) {
    uint64_t& size = plan_.scratch_bytes[buffer];
    size = std::max(size, static_cast<uint64_t>(std::max<int64_t>(bytes, 0)));
  }

  // The scratch that the functions of Agent and the EXECs use for this instruction.
  void ReserveScratch(const PlannedInst& inst) {
    for (size_t i = 0; i < kMaxOperands; ++i) {
      const PlannedOperand& operand = inst.operand[i];
      if (!operand.IsTile()) continue;
      const ValuePlan& value = plan_.values[operand.value];
      if (operand.to_logical != nullptr) Reserve(i, value.elements * value.container);
      if (operand.to_result != nullptr) {
        Reserve(i, static_cast<int64_t>(operand.to_result->size()) * value.container);
      }
    }
    for (size_t r = 0; r < inst.results; ++r) {
      const ValuePlan& value = plan_.values[inst.result[r]];
      if (!IsRegister(value) || inst.direct[r]) continue;
      Reserve(kMaxOperands + r, std::max(value.elements, value.stored) * value.container);
    }
    switch (Row(inst.inst->opcode).family) {
      case Family::kMemory:
        return ReserveForMemory(inst);
      case Family::kConvert:
        return ReserveForConversion(inst);
      case Family::kMma:
        return ReserveForDot(inst);
      case Family::kReduce:
        return ReserveForReduction(inst);
      case Family::kControl:
      case Family::kShape:
      case Family::kElementwise:
      case Family::kSync:
        break;
    }
  }

  void ReserveForMemory(const PlannedInst& inst) {
    if (Row(inst.inst->opcode).MakesView() && inst.operand[0].IsTile()) {
      const ValuePlan& from = plan_.values[inst.operand[0].value];
      const auto bits = static_cast<uint64_t>(from.stored) * from.dtype.bits;
      const int64_t stream = static_cast<int64_t>(BytesForBits(bits)) + 1;
      const auto* table = inst.register_bits.get();
      Reserve(0, table != nullptr ? table->threads * table->words * 4 : stream);
    }
    if (Row(inst.inst->opcode).Has(kAsynchronous)) {
      int64_t bytes = ContainerBytes(plan_.values[inst.operand[1].value].dtype);
      for (const int64_t extent : inst.shape) {
        if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > kMaxRegisterTileBytes) return;
      }
      Reserve(kFirstFreeScratch, bytes);
    }
  }

  void ReserveForConversion(const PlannedInst& inst) {
    const ValuePlan& from = plan_.values[inst.operand[0].value];
    if (inst.inst->opcode == Opcode::kUnpack) {
      for (size_t r = 0; r < inst.results; ++r) {
        const int64_t bytes = from.stored * ContainerBytes(plan_.values[inst.result[r]].dtype);
        if (inst.unpack_results[r] != nullptr) Reserve(kMaxOperands + r, bytes);
      }
    } else if (inst.inst->opcode == Opcode::kCast && inst.tile_result) {
      PrepareCast(from.dtype, plan_.values[inst.result[0]].dtype, inst.cast);
    }
  }

  void ReserveForDot(const PlannedInst& inst) {
    const ValuePlan& a = plan_.values[inst.operand[0].value];
    const ValuePlan& b = plan_.values[inst.operand[1].value];
    PrepareCast(a.dtype, kF32);
    PrepareCast(b.dtype, kF32);
    const size_t row = a.shape.size() - 2;  // behind a batch axis, if there is one
    plan_.host_scratch.Include(host::DotScratch(a.dtype, b.dtype,
                                                plan_.values[inst.result[0]].dtype, a.shape[row],
                                                b.shape[row + 1], a.shape[row + 1]));
  }

  void ReserveForReduction(const PlannedInst& inst) {
    const ValuePlan& source = plan_.values[inst.operand[0].value];
    plan_.host_scratch.Include(
        host::ReduceScratch(inst.inst->opcode, source.dtype, source.shape, inst.axes));
  }

  // ---- bits of registers -------------------------------------------------------------------

  Result<BitLayout> BitsOf(uint32_t value) const {
    const ConcreteType& type = plan_.program.type(value);
    if (type.bit_layout) return *type.bit_layout;
    return BitLayout::Contiguous(type.dtype, type.reg_layout ? type.reg_layout->slots() : 0);
  }

  static CodePieces Pieces(const BitLayout& bits) {
    return CodePieces(
        bits.count(), bits.bits(),
        [&](int64_t slot, int bit) {
          const BitPlace place = bits.Place(slot, bit);
          return uint64_t{place.word} * 32 + place.bit;
        },
        [&](int64_t slot) { return bits.Complement(slot); });
  }

  Status PlanRegisterView(const Inst& inst, PlannedInst& out) {
    const ConcreteType& from = plan_.program.type(out.operand[0].value);
    const ConcreteType& to = plan_.program.type(out.result[0]);
    if (!from.reg_layout || !to.reg_layout ||
        from.reg_layout->threads() != to.reg_layout->threads() ||
        from.reg_layout->slots() * from.dtype.bits != to.reg_layout->slots() * to.dtype.bits) {
      return NotRunnable(kernel_.LocationOf(inst), "a view of registers that do not match");
    }
    TARSIA_TRY(const BitLayout source, BitsOf(out.operand[0].value));
    TARSIA_TRY(const BitLayout target, BitsOf(out.result[0]));
    if (source.order() == BitOrder::kContiguous && target.order() == BitOrder::kContiguous) {
      return OkStatus();  // the bits of all threads as one stream
    }
    auto bits = std::make_shared<RegisterBits>();
    bits->threads = from.reg_layout->threads();
    bits->words = std::max(source.words(), target.words());
    bits->source = Pieces(source);
    bits->target = Pieces(target);
    out.register_bits = std::move(bits);
    return OkStatus();
  }

  Status PlanUnpack(const Inst& inst, PlannedInst& out) {
    const uint32_t codes = out.operand[0].value;
    const DType compute = plan_.values[out.result[0]].dtype;
    const DType type = plan_.values[codes].dtype;
    if (!plan_.program.type(codes).reg_layout || type.bits > 8) {
      return NotRunnable(kernel_.LocationOf(inst), "codes whose layout is not written out");
    }
    TARSIA_TRY(const BitLayout bits, BitsOf(codes));
    auto table = std::make_shared<UnpackTable>();
    table->slots = bits.count();
    std::vector<UnpackForm> forms;
    for (int64_t slot = 0; slot < table->slots; ++slot) {
      Result<UnpackForm> form = bits.Unpack(slot, compute);
      if (!form.ok()) {
        Diagnostic error = form.TakeError();
        error.location = kernel_.LocationOf(inst);
        return error;
      }
      const auto found = std::find(forms.begin(), forms.end(), *form);
      table->form.push_back(static_cast<uint16_t>(found - forms.begin()));
      if (found != forms.end()) continue;
      forms.push_back(*form);
      AddForm(type, compute, *form, *table);
    }
    out.unpack = std::move(table);
    for (size_t r = 0; r < out.results; ++r) {
      out.unpack_results[r] =
          Convert(plan_.values[codes].storage, plan_.values[out.result[r]].storage);
    }
    return OkStatus();
  }

  // q = (value + bias) * 2^-exponent, and the bias or the power of two that inverts it.
  static void AddForm(DType type, DType compute, UnpackForm form, UnpackTable& table) {
    std::vector<uint16_t> codes;
    const double down = std::ldexp(1.0, -form.exponent);
    for (uint64_t code = 0; code <= CodeMask(type); ++code) {
      double value = DecodeToDouble(type, code) * down;  // -0 of a float stays -0
      if (form.bias != 0) value += form.bias;
      codes.push_back(static_cast<uint16_t>(EncodeFromDouble(compute, value)));
    }
    const double back = type.IsInteger() ? form.bias : std::ldexp(1.0, form.exponent);
    table.codes.push_back(std::move(codes));
    table.bias.push_back(static_cast<uint16_t>(EncodeFromDouble(compute, back)));
  }

  Plan& plan_;
  const Kernel& kernel_;
  std::map<std::pair<StorageId, StorageId>, Conversion> conversions_;
};

Plan::Plan(Program p) : program(std::move(p)), contexts_(std::make_unique<LaunchContexts>()) {}
Plan::~Plan() = default;

uint64_t Plan::BytesOfRunner() const {
  uint64_t bytes = arena_bytes + shared_bytes + host_scratch.Total();
  for (const uint64_t size : scratch_bytes) bytes += size;
  return bytes;
}

Result<std::shared_ptr<const Plan>> Plan::Make(const Program& program) {
  auto plan = std::make_shared<Plan>(program);
  plan->launch = launch::LaunchTemplate::Make(program);
  TARSIA_CHECK(Planner(*plan).Run());
  return std::shared_ptr<const Plan>(std::move(plan));
}

}  // namespace tarsia::vm

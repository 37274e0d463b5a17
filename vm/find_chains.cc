// What becomes a chain, and where its values are.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <variant>
#include <vector>

#include "support/align.h"
#include "support/extents.h"
#include "vm/chain.h"
#include "vm/plan.h"

namespace tarsia::vm {
namespace {

// Below this size of a tile, all values of a run are in the L1 cache anyway.
constexpr size_t kLeastTileBytes = 4096;
// What the slots of a chain may take together: half of the L1 cache of a small processor.
constexpr size_t kMostSlotBytes = 16384;
constexpr size_t kMostPiece = 2048;  // elements
constexpr size_t kVectorBytes = 64;
// Instructions between two of a chain: a bound on the search from each beginning.
constexpr size_t kMostWaiting = 64;

bool IsRegisterTile(const Plan& plan, uint32_t value) {
  const ValuePlan& v = plan.values[value];
  return v.kind == ValueKind::kTile && v.space == Space::kRegister;
}

// The form of a broadcast whose repeated axes lie before and after those that it keeps.
std::optional<Chain::Repeat> RepeatOf(std::span<const int64_t> from, std::span<const int64_t> to) {
  size_t first = to.size();
  size_t last = 0;
  for (size_t d = 0; d < to.size(); ++d) {
    if (from[d] == 1) continue;
    first = std::min(first, d);
    last = d + 1;
  }
  if (first > last) first = last = 0;  // one element
  for (size_t d = first; d < last; ++d) {
    if (from[d] != to[d]) return std::nullopt;
  }
  return Chain::Repeat{Size(Product(to.subspan(last))),
                       Size(Product(to.subspan(first, last - first)))};
}

// What an instruction does as a step; none if it cannot be one.
std::optional<Chain::Operation> OperationOf(const Plan& plan, const PlannedInst& inst) {
  if (inst.inst == nullptr || !inst.tile_result) return std::nullopt;
  for (const PlannedOperand& operand : inst.operand) {
    if (operand.IsTile() && operand.to_result != nullptr) return std::nullopt;
  }
  const Opcode op = inst.inst->opcode;
  const PlannedOperand& source = inst.operand[0];
  if (op == Opcode::kFill || op == Opcode::kMov) return Chain::Copy{};
  if (op == Opcode::kCast) {
    if (!source.IsTile() || inst.operand[1].IsTile()) return std::nullopt;
    return Chain::Cast{source.type, plan.values[inst.result[0]].dtype, inst.cast};
  }
  if (op == Opcode::kBroadcast) {
    const ValuePlan& from = plan.values[source.value];
    const ValuePlan& to = plan.values[inst.result[0]];
    if (from.storage != kLogical || to.storage != kLogical) return std::nullopt;
    const auto repeat = RepeatOf(from.shape, to.shape);
    if (!repeat) return std::nullopt;
    return *repeat;
  }
  if (!Row(op).Has(kByElement) || Row(op).operands.size() > 3) return std::nullopt;
  const auto loop = host::Loop::Find(op, inst.type);
  if (!loop) return std::nullopt;
  return *loop;
}

// Whether an instruction between those of a chain may run before it, if no value stands against it.
bool MayRunBefore(const PlannedInst& inst) {
  if (inst.inst == nullptr) return false;
  const Opcode op = inst.inst->opcode;
  return Row(op).Has(kPure) || op == Opcode::kLoad || op == Opcode::kLoadScalar;
}

// Builds the chain that begins at an instruction.
class Builder {
 public:
  Builder(const Plan& plan, const std::vector<bool>& targets, const std::vector<uint32_t>& reads)
      : plan_(plan), targets_(targets), all_reads_(reads) {}

  // Collects the instructions; false if they are too few.
  bool Collect(uint32_t begin) {
    chain_.count = Size(plan_.code[begin].count);
    if (!Joins(plan_.code[begin])) return false;
    std::vector<uint32_t> waiting;  // may run before, if another instruction joins
    for (uint32_t at = begin; at < plan_.code.size() && (at == begin || !targets_[at]); ++at) {
      const PlannedInst& inst = plan_.code[at];
      if (Joins(inst)) {
        chain_.before.insert(chain_.before.end(), waiting.begin(), waiting.end());
        waiting.clear();
        Join(at);
        chain_.end = at + 1;
      } else if (waiting.size() < kMostWaiting && MayRunBefore(inst) && IsIndependent(inst)) {
        waiting.push_back(at);
      } else {
        break;
      }
    }
    return members_.size() > 1;
  }

  std::shared_ptr<const Chain> Build() {
    for (size_t m = 0; m < members_.size();) {
      if (AppendCompensated(m)) {
        m += std::size(kCompensated);
      } else {
        Append(members_[m++]);
      }
    }
    PlaceResults();
    if (chain_.steps.empty()) return nullptr;
    AssignSlots();
    return std::make_shared<const Chain>(std::move(chain_));
  }

 private:
  // A value at one time, between one assignment and the next.
  struct Version {
    Chain::Place place;
    bool placed = false;
    bool uniform = false;
    int made = -1;  // the step; -1: exists before
    int last = -1;  // the last step that reads it
  };

  bool Joins(const PlannedInst& inst) const {
    if (!OperationOf(plan_, inst) || Size(inst.count) != chain_.count) return false;
    const auto bytes = Size(plan_.values[inst.result[0]].container) * chain_.count;
    if (bytes < kLeastTileBytes) return false;
    // What a broadcast repeats is a tile of another shape, so that no step makes it.
    return inst.inst->opcode != Opcode::kBroadcast || !written_.contains(inst.operand[0].value);
  }

  void Join(uint32_t at) {
    const PlannedInst& inst = plan_.code[at];
    members_.push_back(at);
    for (const PlannedOperand& operand : inst.operand) {
      if (operand.IsTile()) {
        ++reads_[operand.value];
        read_.insert(operand.value);
        if (!written_.contains(operand.value)) live_in_.insert(operand.value);
      } else if (operand.kind == Operand::Kind::kScalar || operand.kind == Operand::Kind::kExpr) {
        reads_scalars_ = true;
      }
    }
    written_.insert(inst.result[0]);
  }

  // Whether an instruction neither needs nor changes what the instructions so far write or read.
  bool IsIndependent(const PlannedInst& inst) const {
    for (const PlannedOperand& operand : inst.operand) {
      if (operand.IsTile() && written_.contains(operand.value)) return false;
    }
    for (uint32_t r = 0; r < inst.results; ++r) {
      const uint32_t value = inst.result[r];
      if (written_.contains(value) || read_.contains(value)) return false;
      if (!IsRegisterTile(plan_, value) && reads_scalars_) return false;
    }
    return true;
  }

  // ---- steps ------------------------------------------------------------------------------

  size_t NewVersion(uint8_t container) {
    versions_.emplace_back().place.container = container;
    return versions_.size() - 1;
  }

  size_t UniformVersion(uint32_t at, uint8_t operand, DType type) {
    const size_t version = NewVersion(static_cast<uint8_t>(ContainerBytes(type)));
    versions_[version].uniform = true;
    versions_[version].placed = true;
    versions_[version].place.number = chain_.slots;
    chain_.uniforms.push_back({at, operand, type, chain_.slots++});
    return version;
  }

  // The version of a tile that is current.
  size_t Current(uint32_t value) {
    const auto found = current_.find(value);
    if (found != current_.end()) return found->second;
    const size_t version = NewVersion(static_cast<uint8_t>(plan_.values[value].container));
    versions_[version].placed = true;
    versions_[version].place.in_tile = true;
    versions_[version].place.number = value;
    return current_[value] = before_[value] = version;
  }

  // The type of the elements that a step reads.
  DType OperandType(const PlannedInst& inst, size_t operand) const {
    if (inst.inst->opcode == Opcode::kSelect && operand == 0) return kBoolType;
    return inst.type;
  }

  size_t Operand(uint32_t at, size_t operand) {
    const PlannedInst& inst = plan_.code[at];
    const PlannedOperand& o = inst.operand[operand];
    if (o.IsTile()) return Current(o.value);
    return UniformVersion(at, static_cast<uint8_t>(operand), OperandType(inst, operand));
  }

  // A step that makes a version of `container` bytes an element.
  size_t AppendStep(const Chain::Operation& operation, std::span<const size_t> operands,
                    uint8_t container) {
    const int step = static_cast<int>(chain_.steps.size());
    Chain::Step& out = chain_.steps.emplace_back();
    out.operation = operation;
    out.operands = static_cast<uint8_t>(operands.size());
    auto& numbers = numbers_.emplace_back();
    for (size_t i = 0; i < operands.size(); ++i) {
      numbers[i] = operands[i];
      versions_[operands[i]].last = step;
    }
    const size_t made = NewVersion(container);
    versions_[made].made = step;
    numbers.back() = made;
    return made;
  }

  static constexpr Opcode kCompensated[] = {Opcode::kSub, Opcode::kAdd, Opcode::kSub, Opcode::kSub};

  // Whether four instructions are a step of a compensated sum, whose parts nothing else reads:
  // t = term - error; new = sum + t; u = new - sum; error = u - t.
  [[nodiscard]] bool IsCompensated(size_t m) const {
    if (members_.size() - m < std::size(kCompensated)) return false;
    const PlannedInst* inst[std::size(kCompensated)];
    for (size_t i = 0; i < std::size(kCompensated); ++i) {
      inst[i] = &plan_.code[members_[m + i]];
      const bool tiles = i == 0 || (inst[i]->operand[0].IsTile() && inst[i]->operand[1].IsTile());
      if (inst[i]->inst->opcode != kCompensated[i] || inst[i]->type != inst[0]->type || !tiles)
        return false;
    }
    const auto reads = [&](size_t i, uint32_t a, uint32_t b) {
      return inst[i]->operand[0].value == a && inst[i]->operand[1].value == b;
    };
    const uint32_t t = inst[0]->result[0];
    const uint32_t sum = inst[1]->operand[0].value;
    const uint32_t made = inst[1]->result[0];
    const uint32_t u = inst[2]->result[0];
    const bool differ = t != sum && t != made && t != u && sum != made && u != made;
    return differ && reads(1, sum, t) && reads(2, made, sum) && reads(3, u, t) &&
           all_reads_[t] == 2 && all_reads_[u] == 1 &&
           host::FindCompensated(inst[0]->type) != nullptr;
  }

  bool AppendCompensated(size_t m) {
    if (!IsCompensated(m)) return false;
    const PlannedInst& first = plan_.code[members_[m]];
    const PlannedInst& add = plan_.code[members_[m + 1]];
    const size_t term = Operand(members_[m], 0);
    const size_t error = Operand(members_[m], 1);
    const size_t operands[] = {term, error, Operand(members_[m + 1], 0)};
    const auto container = static_cast<uint8_t>(ContainerBytes(first.type));
    current_[add.result[0]] =
        AppendStep(Chain::Compensated{host::FindCompensated(first.type)}, operands, container);
    const size_t second = NewVersion(container);
    versions_[second].made = static_cast<int>(chain_.steps.size()) - 1;
    second_[chain_.steps.size() - 1] = second;
    current_[plan_.code[members_[m + 3]].result[0]] = second;
    return true;
  }

  // The form of a broadcast that is one of the last two steps, if only `operand` reads it.
  [[nodiscard]] const Chain::Repeat* LastRepeat(const PlannedOperand& operand,
                                                size_t version) const {
    const int made = versions_[version].made;
    const int steps = static_cast<int>(chain_.steps.size());
    if (!operand.IsTile() || all_reads_[operand.value] != 1 || made < 0 || made < steps - 2)
      return nullptr;
    return std::get_if<Chain::Repeat>(&chain_.steps[static_cast<size_t>(made)].operation);
  }

  // If a step needs two broadcasts, of a column and a row, that are just before it: one step in
  // place of the three.
  bool AppendOuter(const PlannedInst& inst, std::span<const size_t> operands) {
    if (operands.size() != 2 || operands[0] == operands[1]) return false;
    const Chain::Repeat* const a = LastRepeat(inst.operand[0], operands[0]);
    const Chain::Repeat* const b = LastRepeat(inst.operand[1], operands[1]);
    if (a == nullptr || b == nullptr) return false;
    const bool row_first = a->inner == 1;
    const Chain::Repeat column = row_first ? *b : *a;
    const Chain::Repeat row = row_first ? *a : *b;
    const host::OuterKernel kernel = host::FindOuter(inst.inst->opcode, inst.type, row_first);
    if (kernel == nullptr || row.inner != 1 || row.period != column.inner) return false;
    const auto source = [&](size_t operand) {
      return numbers_[static_cast<size_t>(versions_[operands[operand]].made)][0];
    };
    const size_t sources[] = {source(row_first ? 1 : 0), source(row_first ? 0 : 1)};
    for (int i = 0; i < 2; ++i) {
      chain_.steps.pop_back();
      numbers_.pop_back();
    }
    const uint32_t value = inst.result[0];
    const auto container = static_cast<uint8_t>(plan_.values[value].container);
    current_[value] = AppendStep(Chain::Outer{kernel, column}, sources, container);
    return true;
  }

  void Append(uint32_t at) {
    const PlannedInst& inst = plan_.code[at];
    const uint32_t value = inst.result[0];
    const Opcode op = inst.inst->opcode;
    const auto container = static_cast<uint8_t>(plan_.values[value].container);
    if (op == Opcode::kFill) {
      current_[value] = UniformVersion(at, 0, plan_.values[value].dtype);
      return;
    }
    size_t operands[3] = {};
    const size_t count = Row(op).operands.size() - (op == Opcode::kCast ? 1 : 0);
    for (size_t i = 0; i < count; ++i) operands[i] = Operand(at, i);
    // A move is another name for a piece, unless the tile of that piece may change.
    if (op == Opcode::kMov && !versions_[operands[0]].place.in_tile) {
      current_[value] = operands[0];
      return;
    }
    if (AppendOuter(inst, {operands, count})) return;
    current_[value] = AppendStep(*OperationOf(plan_, inst), {operands, count}, container);
  }

  // Whether something reads a value that the chain writes after the chain.
  bool IsUsedLater(uint32_t value) const {
    const auto found = reads_.find(value);
    const uint32_t here = found == reads_.end() ? 0 : found->second;
    return live_in_.contains(value) || all_reads_[value] != here;
  }

  // Results that are used later go to their tiles, at once if nothing needs what is there.
  void PlaceResults() {
    for (const uint32_t value : written_) {
      if (!IsUsedLater(value)) continue;
      const size_t version = current_[value];
      Version& v = versions_[version];
      const auto before = before_.find(value);
      const int needed = before == before_.end() ? -1 : versions_[before->second].last;
      if (v.placed || needed > v.made) {
        const size_t copy = AppendStep(Chain::Copy{}, {&version, 1}, v.place.container);
        Locate(copy, value);
      } else {
        Locate(version, value);
      }
    }
  }
  void Locate(size_t version, uint32_t value) {
    versions_[version].placed = true;
    versions_[version].place.in_tile = true;
    versions_[version].place.number = value;
  }

  // Slots are used again after the last step that reads them; by that step itself if elements have
  // the same size.
  void AssignSlots() {
    size_t widest = 1;
    for (const Version& v : versions_) widest = std::max<size_t>(widest, v.place.container);
    std::vector<uint32_t> free;
    for (size_t s = 0; s < chain_.steps.size(); ++s) {
      Chain::Step& step = chain_.steps[s];
      const auto& numbers = numbers_[s];
      Version& made = versions_[numbers.back()];
      std::vector<uint32_t> ends, later;
      for (size_t i = 0; i < step.operands; ++i) {
        const Version& v = versions_[numbers[i]];
        step.operand[i] = v.place;
        if (v.uniform || v.place.in_tile || v.last != static_cast<int>(s)) continue;
        if (std::find(ends.begin(), ends.end(), v.place.number) != ends.end()) continue;
        const bool same = v.place.container == made.place.container;
        (same ? free : later).push_back(v.place.number);
        ends.push_back(v.place.number);
      }
      const auto place = [&](Version& v) {
        if (!v.placed) {
          if (free.empty()) free.push_back(chain_.slots++);
          v.place.number = free.back();
          v.placed = true;
          free.pop_back();
          if (v.last < 0) later.push_back(v.place.number);
        }
        return v.place;
      };
      step.result = place(made);
      step.second = step.result;
      if (const auto second = second_.find(s); second != second_.end()) {
        step.second = place(versions_[second->second]);
      }
      free.insert(free.end(), later.begin(), later.end());
    }
    const size_t most = kMostSlotBytes / (std::max<size_t>(chain_.slots, 1) * widest);
    chain_.piece = std::clamp(most / kVectorBytes * kVectorBytes, kVectorBytes, kMostPiece);
    chain_.piece = std::min(chain_.piece, AlignUp(chain_.count, kVectorBytes));
    chain_.slot_bytes = chain_.piece * widest;
  }

  const Plan& plan_;
  const std::vector<bool>& targets_;
  const std::vector<uint32_t>& all_reads_;  // by value: operands of the plan that read its tile
  Chain chain_;
  std::vector<uint32_t> members_;
  std::set<uint32_t> written_, read_, live_in_;
  std::map<uint32_t, uint32_t> reads_;
  bool reads_scalars_ = false;
  std::vector<Version> versions_;
  std::map<uint32_t, size_t> current_, before_;
  std::map<size_t, size_t> second_;             // by step: the version of its second result
  std::vector<std::array<size_t, 4>> numbers_;  // by step: versions of the operands and the result
};

}  // namespace

void FindChains(Plan& plan) {
  std::vector<bool> targets(plan.code.size() + 1, false);
  std::vector<uint32_t> reads(plan.values.size(), 0);
  for (const PlannedInst& inst : plan.code) {
    targets[inst.target] = true;
    for (const PlannedOperand& operand : inst.operand) {
      if (operand.IsTile()) ++reads[operand.value];
    }
  }
  for (uint32_t at = 0; at < plan.code.size(); ++at) {
    Builder builder(plan, targets, reads);
    if (!builder.Collect(at)) continue;
    const std::shared_ptr<const Chain> chain = builder.Build();
    if (chain == nullptr) continue;
    plan.code[at].chain = chain;
    at = chain->end - 1;
  }
}

}  // namespace tarsia::vm

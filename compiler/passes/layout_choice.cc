#include "compiler/passes/layout_choice.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "compiler/passes/live_words.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;

// Of the tables that the solver builds.
constexpr size_t kMostEntries = 1 << 14;
// More than any kernel costs.
constexpr Cost kForbidden = Cost{1} << 50;
// The registers of a thread that the tiles of a `dot` and those around it can take: of 255 (PTX
// ISA, since compute capability 5.0), what addresses, counters, loads in flight and the fragments
// that are being read leave.
constexpr int64_t kTileRegisters = 208;
// A tile is converted before it gets another shape rather than after that, if both cost as much:
// what a load gives may come to other threads on its way through shared memory.
constexpr Cost kLate = 1;

LayoutNumber NumberAt(const DotWay& way, Port port) {
  if (port == Port::Operand(0)) return way.a;
  return port == Port::Operand(1) ? way.b : way.c;
}

class Pricing {
 public:
  Pricing(const Form& form, const LayoutGraph& graph, LayoutCandidates& candidates, Target target)
      : form_(form),
        graph_(graph),
        target_(target),
        candidates_(candidates),
        table_(candidates.table),
        memories_(form, target) {}

  PairwiseProblem Run() {
    for (uint32_t v = 0; v < graph_.variables.size(); ++v) {
      problem_.own.emplace_back(CandidatesOf(v), 0);
    }
    NoteReshaped();
    for (const LayoutOp& op : graph_.ops) AddWork(op);
    for (const LayoutTie& tie : graph_.ties) AddTie(tie);
    for (const LayoutCarry& carry : graph_.carries) AddCarry(carry);
    return std::move(problem_);
  }

 private:
  [[nodiscard]] bool IsDot(uint32_t variable) const {
    return graph_.variables[variable].kind == LayoutVariable::Kind::kDot;
  }
  // Whether each thread computes its elements of a `dot`: tensor cores have none of the ways then.
  [[nodiscard]] bool IsScalar(const LayoutOp& dot) const {
    const std::vector<DotWay>& ways = candidates_.ways[dot.anchor];
    return !ways.empty() && ways[0].tensor == 0;
  }
  [[nodiscard]] size_t CandidatesOf(uint32_t v) const {
    return IsDot(v) ? candidates_.ways[v].size() : candidates_.of[v].size();
  }
  [[nodiscard]] DType DTypeOf(uint32_t variable) const {
    return form_.types[graph_.variables[variable].type].dtype;
  }

  // Whether it gives elements another shape where they are.
  [[nodiscard]] static bool KeepsElements(const LayoutOp& op) {
    return op.rule.row().family == Family::kShape && op.rule.opcode != Opcode::kBroadcast &&
           op.rule.opcode != Opcode::kConvertLayout;
  }

  void NoteReshaped() {
    reshaped_.assign(graph_.variables.size(), 0);
    for (const LayoutOp& op : graph_.ops) {
      if (KeepsElements(op)) reshaped_[graph_.of_value[form_.ops[op.op].results[0]]] = 1;
    }
  }

  // ---- instructions ------------------------------------------------------------------------

  void AddWork(const LayoutOp& op) {
    std::vector<Cost>& own = problem_.own[op.anchor];
    if (IsDot(op.anchor)) {
      for (size_t i = 0; i < own.size(); ++i) {
        own[i] += op.turns * Price(DotWork(op, candidates_.ways[op.anchor][i]));
      }
      return;
    }
    const Operation& operation = form_.ops[op.op];
    const bool moves = operation.operand[0].kind == Operand::Kind::kMemory;
    AccessedMemory memory;
    if (moves) memory = memories_.Of(operation);
    for (size_t i = 0; i < own.size(); ++i) {
      const TileLayout& layout = table_[candidates_.of[op.anchor][i].layout];
      own[i] += op.turns * Price(moves ? AccessWork(memory, layout) : WorkOf(op, layout));
    }
  }

  [[nodiscard]] Work WorkOf(const LayoutOp& op, const TileLayout& layout) const {
    if (const auto work = OwnWork(op.rule, layout)) return *work;
    if (op.rule.row().family == Family::kReduce) {
      const DType type = op.rule.operand[0]->dtype;
      const auto reduced = LayoutAt(op.rule, Port::Result(0), layout);
      return ReductionWork(op.rule.opcode, type, layout, op.rule.axes,
                           ResultOf(op, reduced ? reduced->slots() : 1));
    }
    if (op.rule.row().family == Family::kShape) return {};
    return ElementwiseWork(op.rule.opcode, DTypeOf(op.anchor), layout, op.rule.fast);
  }

  // What threads exchange of a reduction.
  [[nodiscard]] static ReducedResult ResultOf(const LayoutOp& op, int64_t slots) {
    const int64_t words = op.rule.operand[0]->dtype.bits > 32 ? 2 : 1;
    const int64_t indices = op.rule.result[1] != nullptr ? 1 : 0;
    return {slots, words + indices, 1 + indices};
  }

  [[nodiscard]] Work DotWork(const LayoutOp& op, const DotWay& way) {
    if (way.tensor != 0) return MmaWork(way.tensor) + SpillWork(MissingRegisters(op, way));
    return ScalarDotWork(table_[way.c], op.rule.operand[0]->shape.back(),
                         op.rule.operand[2]->dtype);
  }

  // Operands that are made in the loop of the `dot` are read as they are needed; others stay in
  // registers all the time.
  [[nodiscard]] int64_t MissingRegisters(const LayoutOp& op, const DotWay& way) {
    if (!live_) live_.emplace(form_);
    const auto [known, is_new] = across_.try_emplace(op.op, 0);
    if (is_new) known->second = live_->Across(op.op);
    int64_t words = known->second + WordsOf(table_[way.c].slots(), DTypeOf(op.anchor));
    for (size_t i = 0; i < 2; ++i) {
      const uint32_t tile = graph_.of_value[form_.ops[op.op].operand[i].value];
      if (graph_.variables[tile].turns >= op.turns) continue;
      words += WordsOf(table_[NumberAt(way, Port::Operand(i))].slots(), DTypeOf(tile));
    }
    return std::max<int64_t>(0, words - kTileRegisters);
  }

  [[nodiscard]] Cost Price(const Work& work) const { return CyclesOf(work, target_); }

  // ---- conversions -------------------------------------------------------------------------

  Cost Conversion(LayoutNumber from, LayoutNumber to, DType type) {
    if (from == to) return 0;
    const auto [known, is_new] = conversions_.try_emplace({from, to, type.bits}, 0);
    if (is_new) known->second = Price(ConversionWork(EndOf(from, type), EndOf(to, type), target_));
    return known->second;
  }

  ScratchEnd& EndOf(LayoutNumber number, DType type) {
    const auto known = ends_.find({number, type.bits});
    if (known != ends_.end()) return known->second;
    return ends_.emplace(std::pair(number, type.bits), ConversionEnd(table_[number], type, target_))
        .first->second;
  }

  void AddTie(const LayoutTie& tie) {
    const LayoutOp& op = graph_.ops[tie.op];
    const DType type = DTypeOf(tie.tile);
    // An operand that does not change is converted where it is made. What moves it itself does so
    // each time.
    const bool moves_itself = IsDot(op.anchor) && IsScalar(op);
    const Cost turns =
        tie.port.is_result || moves_itself ? op.turns : graph_.variables[tie.tile].turns;
    const bool reads_codes =
        op.rule.row().Has(kReadsCodes) && tie.port == Port::Operand(0) && type.bits <= 8;
    const bool is_late = tie.port.is_result ? KeepsElements(op) : reshaped_[tie.tile] != 0;
    PairwiseProblem::Factor factor{op.anchor, tie.tile, {}};
    for (size_t i = 0; i < CandidatesOf(op.anchor); ++i) {
      const LayoutNumber there = NeededBy(op, tie.port, i);
      for (const LayoutCandidate& candidate : candidates_.of[tie.tile]) {
        Cost cost = 0;
        if (there != kNone) {
          cost = tie.port.is_result ? Conversion(there, candidate.layout, type)
                                    : Conversion(candidate.layout, there, type);
          if (is_late && there != candidate.layout) cost += kLate;
          if (reads_codes && there != candidate.layout) {
            cost += Price(LoneCodesWork(table_[there].slots()));
          }
        } else {
          cost = Price(WorkInAnyLayout(op, tie.port, i, candidate.layout));
        }
        factor.cost.push_back(turns * cost);
      }
    }
    problem_.factors.push_back(std::move(factor));
  }

  // Of an instruction that moves the elements at a port itself, whatever their layout is.
  [[nodiscard]] Work WorkInAnyLayout(const LayoutOp& op, Port port, size_t i, LayoutNumber layout) {
    if (IsDot(op.anchor)) return OperandWork(op, port, i, layout);
    if (!port.is_result) return {};
    return MovedWork(table_[candidates_.of[op.anchor][i].layout], table_[layout]);
  }

  [[nodiscard]] Work OperandWork(const LayoutOp& op, Port port, size_t i, LayoutNumber layout) {
    const size_t operand = port == Port::Operand(0) ? 0 : 1;
    const DType type = op.rule.operand[operand]->dtype;
    const auto which = operand == 0 ? DotOperand::kA : DotOperand::kB;
    const LayoutNumber c = candidates_.ways[op.anchor][i].c;
    const int64_t depth = op.rule.operand[0]->shape.back();
    const auto [known, is_new] = reads_.try_emplace({c, which, depth, type.bits});
    if (is_new) {
      for (const DotReads& order : ReadsOfDot(table_[c], which, depth)) {
        known->second.push_back(EndOfReads(order, ContainerBytes(type)));
      }
    }
    std::vector<ScratchEnd*> reads;
    for (ScratchEnd& end : known->second) reads.push_back(&end);
    return ScalarOperandWork(EndOf(layout, type), reads);
  }

  LayoutNumber NeededBy(const LayoutOp& op, Port port, size_t i) {
    if (IsDot(op.anchor)) return NumberAt(candidates_.ways[op.anchor][i], port);
    auto layout = LayoutAt(op.rule, port, table_[candidates_.of[op.anchor][i].layout]);
    return layout ? table_.Add(*std::move(layout)) : kNone;
  }

  void AddCarry(const LayoutCarry& carry) {
    if (carry.from == carry.to) return;
    PairwiseProblem::Factor factor{carry.from, carry.to, {}};
    for (const LayoutCandidate& from : candidates_.of[carry.from]) {
      for (const LayoutCandidate& to : candidates_.of[carry.to]) {
        factor.cost.push_back(carry.turns * Conversion(from.layout, to.layout, DTypeOf(carry.to)));
      }
    }
    problem_.factors.push_back(std::move(factor));
  }

  const Form& form_;
  const LayoutGraph& graph_;
  const Target target_;
  LayoutCandidates& candidates_;
  LayoutTable& table_;
  const AccessedMemories memories_;
  PairwiseProblem problem_;
  std::vector<uint8_t> reshaped_;         // by variable: whether such an instruction made it
  std::optional<LiveWords> live_;         // made when it is first wanted
  std::map<tile::OpId, int64_t> across_;  // what it says of each `dot`
  std::map<std::tuple<LayoutNumber, LayoutNumber, int>, Cost> conversions_;
  std::map<std::pair<LayoutNumber, int>, ScratchEnd> ends_;  // of conversions
  // Of a `dot` by scalar arithmetic: by the layout of c, the operand, its depth and its bits.
  std::map<std::tuple<LayoutNumber, DotOperand, int64_t, int>, std::vector<ScratchEnd>> reads_;
};

}  // namespace

LayoutChoice ChooseLayouts(const Form& form, const LayoutGraph& graph, Target target) {
  LayoutChoice out;
  out.candidates = FindLayoutCandidates(form, graph, target);
  out.problem = Pricing(form, graph, out.candidates, target).Run();
  PairwiseChoice best = Minimise(out.problem, kMostEntries);
  out.chosen = std::move(best.chosen);
  out.cost = best.cost;
  out.exact = best.exact;
  return out;
}

std::optional<Cost> CostWithout(const LayoutChoice& choice, uint32_t variable) {
  if (choice.problem.own[variable].size() < 2) return std::nullopt;
  PairwiseProblem others = choice.problem;
  others.own[variable][choice.chosen[variable]] += kForbidden;
  return Minimise(others, kMostEntries).cost;
}

std::optional<TileLayout> LayoutNeeded(const LayoutGraph& graph, const LayoutChoice& choice,
                                       const LayoutOp& op, Port port) {
  if (graph.variables[op.anchor].kind != LayoutVariable::Kind::kDot) {
    return LayoutAt(op.rule, port, choice.LayoutOf(op.anchor));
  }
  const LayoutNumber number = NumberAt(choice.WayOf(op.anchor), port);
  if (number == kNone) return std::nullopt;
  return choice.candidates.table[number];
}

}  // namespace tarsia::compiler

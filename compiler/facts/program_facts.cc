#include "compiler/facts/program_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "compiler/facts/scalar_forms.h"
#include "isa/limits.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// Sums of a few indices of this size do not wrap; no index of a tile comes near.
constexpr int64_t kLargestIndex = int64_t{1} << 50;

// A tile in memory: along each dimension the index of its first element in the whole tile, and
// those that exist, low <= i < high.
struct WindowForms {
  struct Dim {
    LinearForm origin, low, high;
  };
  std::vector<Dim> dims;
};

// Goes through the instructions in order.
class Walk {
 public:
  Walk(const Program& program, bool text) : program_(program), text_(text), forms_(program) {}

  ProgramFacts Run() {
    Block(0, program_.instructions().size());
    return std::move(out_);
  }

 private:
  Relations& relations() { return forms_.relations(); }

  void Block(size_t begin, size_t end) {
    for (size_t i = begin; i < end; i = std::max<size_t>(i + 1, Of(i).inst->end)) Instruction(i);
  }

  const ResolvedInst& Of(size_t number) const { return program_.instructions()[number]; }

  void Instruction(size_t number) {
    const ResolvedInst& inst = Of(number);
    if (inst.opcode() == Opcode::kFor) return Loop(number);
    if (inst.opcode() == Opcode::kIf) return Branch(number);
    if (inst.opcode() == Opcode::kWhile) return While(number);
    if (inst.opcode() == Opcode::kAssert && inst.operand[0].IsExpr()) {
      return forms_.Assume(inst.operand[0].expr, true);
    }
    if (inst.row->MakesView() || inst.row->Allocates() != Space::kNone) return View(inst);
    for (size_t i = 0; i < inst.row->operands.size(); ++i) Access(number, i);
    Scalar(inst);
  }

  // ---- scalars ------------------------------------------------------------------------------

  void Scalar(const ResolvedInst& inst) {
    if (inst.results.size() == 0) return;
    const uint32_t result = inst.results[0];
    const ConcreteType& type = program_.type(result);
    if (type.kind != ValueKind::kScalar || !type.dtype.IsInteger()) return;
    if (const auto form = Result(inst, type.dtype)) forms_.Write(result, *form);
  }

  std::optional<LinearForm> Result(const ResolvedInst& inst, DType type) {
    if (inst.opcode() >= Opcode::kBlockX && inst.opcode() <= Opcode::kBlockZ) {
      return forms_.Block(static_cast<int>(inst.opcode()) - static_cast<int>(Opcode::kBlockX));
    }
    if (inst.opcode() >= Opcode::kGridX && inst.opcode() <= Opcode::kGridZ) {
      return forms_.Grid(static_cast<int>(inst.opcode()) - static_cast<int>(Opcode::kGridX));
    }
    if (inst.opcode() == Opcode::kMov) return forms_.Element(inst.operand[0], type);
    LinearForm (Relations::*combine)(const LinearForm&, const LinearForm&) = nullptr;
    if (inst.opcode() == Opcode::kAdd) combine = &Relations::Add;
    if (inst.opcode() == Opcode::kSub) combine = &Relations::Subtract;
    if (inst.opcode() == Opcode::kMul) combine = &Relations::Multiply;
    // Numbers of 64 bits without sign are compared as such, not as the symbols are.
    const bool ordered = type.IsSigned() || type.bits < 64;
    if (inst.opcode() == Opcode::kMin && ordered) combine = &Relations::Min;
    if (inst.opcode() == Opcode::kMax && ordered) combine = &Relations::Max;
    if (combine == nullptr || inst.type != type) return std::nullopt;
    const auto x = forms_.Element(inst.operand[0], type);
    const auto y = forms_.Element(inst.operand[1], type);
    if (!x || !y) return std::nullopt;
    return relations().Truncated((relations().*combine)(*x, *y), type);
  }

  // ---- control ------------------------------------------------------------------------------

  void Loop(size_t number) {
    const ResolvedInst& inst = Of(number);
    const LinearForm start = forms_.Evaluate(inst.operand[0].expr);
    const LinearForm stop = forms_.Evaluate(inst.operand[1].expr);
    const LinearForm step =
        inst.operand[2].present() ? forms_.Evaluate(inst.operand[2].expr) : LinearForm::Constant(1);
    Inside([&] {
      const uint32_t counter = inst.results[0];
      const LinearForm i = Counter(counter, start, stop, step);
      forms_.Bind(counter, relations().Truncated(i, program_.type(counter).dtype));
      Block(number + 1, inst.inst->end);
    });
  }

  // Facts that `body` adds are forgotten afterwards.
  template <typename Body>
  void Inside(const Body& body) {
    const size_t views = views_.size();
    {
      const ScalarForms::Scope scope(forms_);
      body();
    }
    for (; views_.size() > views; views_.pop_back()) windows_.erase(views_.back());
  }

  // start + step * iteration, or any integer between start and stop.
  LinearForm Counter(uint32_t value, const LinearForm& start, const LinearForm& stop,
                     const LinearForm& step) {
    const std::string name = "%" + std::string(program_.kernel().ValueName(value));
    const Facts steps = relations().FactsOf(step);
    const Facts from = relations().FactsOf(start);
    const Facts to = relations().FactsOf(stop);
    std::optional<LinearForm> i;
    if (step.IsConstant() && steps.lo > 0) {
      const __int128 last = (static_cast<__int128>(to.hi) - 1 - from.lo) / steps.lo;
      const auto most = static_cast<int64_t>(std::clamp<__int128>(last, 0, INT64_MAX));
      const bool plain = start == LinearForm() && steps.lo == 1;
      const LinearForm iteration =
          relations().NewSymbol(Facts::Between(0, most), plain ? name : "iteration(" + name + ")");
      i = LinearForm::Combine(1, start, steps.lo, iteration);
    }
    if (!i) i = relations().NewSymbol({}, name);
    if (steps.lo > 0) {
      relations().AssumeLessEqual(start, *i);
      relations().AssumeLess(*i, stop);
    } else if (steps.hi < 0) {
      relations().AssumeLessEqual(*i, start);
      relations().AssumeLess(stop, *i);
    }
    return *i;
  }

  void While(size_t number) {
    const ResolvedInst& inst = Of(number);
    Inside([&] {
      forms_.Assume(inst.operand[0].expr, true);
      Block(number + 1, inst.inst->end);
    });
  }

  void Branch(size_t number) {
    const Inst& inst = *Of(number).inst;
    const ExprId condition = Of(number).operand[0].expr;
    const size_t otherwise = std::min(inst.else_begin, inst.end);
    const auto side = [&](size_t begin, size_t end, bool holds) {
      Inside([&] {
        forms_.Assume(condition, holds);
        Block(begin, end);
      });
    };
    side(number + 1, otherwise, true);
    side(otherwise, inst.end, false);
    // Code after the `if` runs only if the side that ends with `exit` did not run.
    if (Exits(number + 1, otherwise)) forms_.Assume(condition, false);
    if (Exits(otherwise, inst.end)) forms_.Assume(condition, true);
  }

  bool Exits(size_t begin, size_t end) const {
    return begin < end && Of(end - 1).opcode() == Opcode::kExit && InBlock(begin, end);
  }

  // Whether the last of these instructions is one of this block itself.
  bool InBlock(size_t begin, size_t end) const {
    size_t i = begin;
    size_t last = begin;
    for (; i < end; i = std::max<size_t>(i + 1, Of(i).inst->end)) last = i;
    return last == end - 1;
  }

  // ---- memory -------------------------------------------------------------------------------

  LinearForm Extent(const ConcreteType& type, size_t d) {
    if (type.shape[d] >= 0) return LinearForm::Constant(type.shape[d]);
    const LinearForm extent = forms_.Evaluate(type.shape_exprs[d]);
    // The launch has checked that, or the code of the view does.
    relations().AssumeLessEqual(LinearForm(), extent);
    relations().AssumeLessEqual(extent, LinearForm::Constant(kMaxExtent));
    return extent;
  }

  void View(const ResolvedInst& inst) {
    if (inst.results.size() == 0) return;
    const uint32_t result = inst.results[0];
    const ConcreteType& type = program_.type(result);
    if (!IsMemoryTile(type)) return;
    WindowForms window;
    for (size_t d = 0; d < type.shape.size(); ++d) {
      window.dims.push_back({LinearForm(), LinearForm(), Extent(type, d)});
    }
    if (inst.opcode() == Opcode::kSlice) {
      const auto source = windows_.find(inst.operand[0].value);
      if (source == windows_.end() || !Narrow(inst.operand[0], source->second, &window)) {
        windows_.erase(result);
        return;
      }
    }
    windows_[result] = std::move(window);
    views_.push_back(result);
  }

  // An index, if it is small enough for sums.
  std::optional<LinearForm> Index(ExprId expr) {
    const LinearForm form = forms_.Evaluate(expr);
    const bool fits = relations().ProvesLessEqual(LinearForm::Constant(-kLargestIndex), form) &&
                      relations().ProvesLessEqual(form, LinearForm::Constant(kLargestIndex));
    return fits ? std::optional(form) : std::nullopt;
  }

  // A slice of `source` that has the extents of `window`.
  bool Narrow(const Operand& operand, const WindowForms& source, WindowForms* window) {
    const auto starts = program_.pool().children(operand.indices);
    if (starts.size() != source.dims.size() || window->dims.size() != starts.size()) return false;
    for (size_t d = 0; d < starts.size(); ++d) {
      const auto start = Index(starts[d]);
      if (!start) return false;
      WindowForms::Dim& dim = window->dims[d];
      const WindowForms::Dim& whole = source.dims[d];
      dim.origin = relations().Add(whole.origin, *start);
      dim.low = relations().Max(whole.low, dim.origin);
      dim.high = relations().Min(whole.high, relations().Add(dim.origin, dim.high));
    }
    return true;
  }

  // The extents of the register tile that an access moves.
  std::vector<int64_t> ShapeOf(const ResolvedInst& inst, size_t rank) const {
    if (inst.results.size() != 0 && IsRegisterTile(program_.type(inst.results[0]))) {
      return program_.type(inst.results[0]).shape;
    }
    for (const Operand& operand : inst.operand) {
      if (operand.IsTile()) return program_.type(operand.value).shape;
    }
    if (!inst.shape.empty()) return {inst.shape.begin(), inst.shape.end()};
    return std::vector<int64_t>(rank, inst.opcode() == Opcode::kLoadScalar ? 1 : -1);
  }

  void Access(size_t number, size_t i) {
    const ResolvedInst& inst = Of(number);
    const Operand& operand = inst.operand[i];
    if (operand.kind != Operand::Kind::kMemory || operand.indices.none()) return;
    const auto window = windows_.find(operand.value);
    if (window == windows_.end()) return;
    const auto indices = program_.pool().children(operand.indices);
    const std::vector<int64_t> shape = ShapeOf(inst, indices.size());
    if (indices.size() != window->second.dims.size() || shape.size() != indices.size()) return;
    AccessFacts access{number, i, {}};
    for (size_t d = 0; d < indices.size(); ++d) {
      access.dims.push_back(OfIndex(window->second.dims[d], indices[d], shape[d]));
    }
    out_.accesses.push_back(std::move(access));
  }

  IndexFacts OfIndex(const WindowForms::Dim& dim, ExprId expr, int64_t count) {
    IndexFacts out;
    out.count = count;
    const auto index = Index(expr);
    if (!index || count < 0) return out;
    const LinearForm first = relations().Add(dim.origin, *index);
    out.first = relations().FactsOf(first);
    out.above_low = relations().ProvesLessEqual(dim.low, first);
    out.below_high = relations().ProvesLessEqual(first, dim.high, count);
    if (!text_) return out;
    out.first_text = relations().Text(first);
    out.high_text = relations().Text(dim.high);
    if (!out.below_high) out.advice = Advice(first, dim.high, count);
    return out;
  }

  // The assumption on a parameter with which the access ends below `high`.
  std::string Advice(const LinearForm& first, const LinearForm& high, int64_t count) {
    const auto& params = program_.kernel().params;
    for (uint32_t i = 0; i < params.size() && count > 1; ++i) {
      const ConcreteType& type = program_.type(i);
      if (type.kind != ValueKind::kScalar || !type.dtype.IsInteger()) continue;
      const LinearForm parameter = forms_.Read(i);
      const auto helps = [&](const auto& assume) {
        Relations::Mark mark = relations().Here();
        assume();
        const bool out = relations().ProvesLessEqual(first, high, count);
        relations().Return(std::move(mark));
        return out;
      };
      const std::string_view name = program_.kernel().ValueName(i);
      if (helps([&] {
            const LinearForm divisor = LinearForm::Constant(count);
            relations().AssumeEqual(relations().Modulo(parameter, divisor), LinearForm());
          })) {
        return fmt::format("add `assume %{} % {} == 0`", name, count);
      }
      if (!first.IsConstant()) continue;
      const int64_t end = first.constant() + count;
      if (helps([&] { relations().AssumeLessEqual(LinearForm::Constant(end), parameter); })) {
        return fmt::format("add `assume %{} >= {}`", name, end);
      }
    }
    if (high.IsConstant() && count > 1 && high.constant() % count != 0) {
      return fmt::format("{} is no multiple of {}", high.constant(), count);
    }
    return "";
  }

  const Program& program_;
  const bool text_;
  ScalarForms forms_;
  std::map<uint32_t, WindowForms> windows_;  // by value
  std::vector<uint32_t> views_;              // the values with a window, in order
  ProgramFacts out_;
};

std::string LineOf(const IndexFacts& dim, size_t d) {
  if (dim.first_text.empty()) return fmt::format("    dimension {}: nothing is known\n", d);
  std::string out =
      fmt::format("    dimension {}: {} elements from {}", d, dim.count, dim.first_text);
  if (dim.first.multiple > 1) out += fmt::format(", a multiple of {}", dim.first.multiple);
  if (!dim.above_low) out += "; not known to begin inside";
  if (dim.below_high) {
    out += dim.above_low ? "; inside" : fmt::format("; ends below {}", dim.high_text);
  } else {
    out += fmt::format("; not known to end below {}", dim.high_text);
  }
  if (!dim.advice.empty()) out += ": " + dim.advice;
  return out + "\n";
}

// What would leave out the mask along a dimension, or why there is one.
std::string MaskAdvice(const IndexFacts& dim, size_t d) {
  if (dim.advice.starts_with("add ")) return dim.advice + ": without it the access is masked";
  if (!dim.advice.empty()) return dim.advice + ": the access is masked";
  if (dim.below_high || dim.first_text.empty() || dim.count < 2) return "";
  return fmt::format("dimension {} is not known to end below {}: the access is masked", d,
                     dim.high_text);
}

}  // namespace

const AccessFacts* ProgramFacts::Find(size_t inst, size_t operand) const {
  const auto at = std::lower_bound(accesses.begin(), accesses.end(), std::pair(inst, operand),
                                   [](const AccessFacts& a, const std::pair<size_t, size_t>& key) {
                                     return std::pair(a.inst, a.operand) < key;
                                   });
  return at != accesses.end() && at->inst == inst && at->operand == operand ? &*at : nullptr;
}

ProgramFacts CollectProgramFacts(const Program& program, bool text) {
  return Walk(program, text).Run();
}

std::string FactsText(const Program& program) {
  std::string out = fmt::format("kernel {}\n", program.name());
  const Kernel& kernel = program.kernel();
  for (const AccessFacts& access : CollectProgramFacts(program, true).accesses) {
    const ResolvedInst& inst = program.instructions()[access.inst];
    out += fmt::format("  line {}: {} %{}\n", kernel.LocationOf(*inst.inst).line,
                       inst.row->mnemonic, kernel.ValueName(inst.operand[access.operand].value));
    for (size_t d = 0; d < access.dims.size(); ++d) out += LineOf(access.dims[d], d);
  }
  return out;
}

std::vector<LineAdvice> AdviceOn(const Program& program) {
  std::set<std::pair<uint32_t, std::string>> all;
  for (const AccessFacts& access : CollectProgramFacts(program, true).accesses) {
    const Inst& inst = *program.instructions()[access.inst].inst;
    for (size_t d = 0; d < access.dims.size(); ++d) {
      const std::string text = MaskAdvice(access.dims[d], d);
      if (!text.empty()) all.emplace(program.kernel().LocationOf(inst).line, text);
    }
  }
  std::vector<LineAdvice> out;
  for (const auto& [line, text] : all) {
    out.push_back({line, text});
  }
  return out;
}

}  // namespace tarsia::compiler

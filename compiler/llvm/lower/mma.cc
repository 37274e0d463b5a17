// The mma family: `dot` on tensor cores where the layouts are those of fragments. Everywhere else
// each thread computes its own elements, and both operands pass through shared scratch: as
// compiler/select/blocked_dot.h plans it, or in slabs along k where they do not fit.
#include <llvm/IR/InlineAsm.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/llvm/lower/lower.h"
#include "compiler/select/blocked_dot.h"
#include "compiler/select/mma.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// ---- tensor cores ------------------------------------------------------------------------------

class TensorCoreDot {
 public:
  TensorCoreDot(Emitter& e, const MmaSelection& selection)
      : emitter_(e), f_(e.function()), b_(f_.b()), selection_(selection), form_(*selection.form) {}

  void Run() {
    const int rank = emitter_.layouts()[emitter_.OperandLayout(0)].rank();
    Slots left = FragmentWords(0, rank - 1);
    Slots right = FragmentWords(1, rank - 2);
    if (selection_.transposed) std::swap(left, right);
    switch (form_.product) {
      case MmaProduct::kReal:
        emitter_.SetResult(0, Accumulate(left, right, emitter_.TileOperand(2)));
        return;
      case MmaProduct::kComplex:
        RunComplex(left, right);
        return;
    }
  }

 private:
  // The registers of fragments: neighbouring slots. Elements beyond the true shape along `k_dim`
  // are zero, because the products of all k are summed.
  Slots FragmentWords(size_t operand, int k_dim) {
    const LayoutId layout = emitter_.OperandLayout(operand);
    const DType type = emitter_.inst().operand[operand].type;
    Slots codes = emitter_.TileOperand(operand);
    for (size_t slot = 0; slot < codes.size(); ++slot) {
      codes[slot] = ToCode(b_, codes[slot], type);
      const TileLayout& tile = emitter_.layouts()[layout];
      if (!tile.PaddedAlong(k_dim)) continue;
      llvm::Value* k = emitter_.layouts().ElementIndex(layout, static_cast<int64_t>(slot), k_dim);
      llvm::Value* in = b_.CreateICmpULT(k, f_.Int32(tile.shape()[Size(k_dim)]));
      codes[slot] =
          b_.CreateSelect(in, codes[slot], llvm::Constant::getNullValue(codes[slot]->getType()));
    }
    Slots words = RunOfCodes(b_, codes, type.bits, WordBits(type));
    if (type == kF64) {
      for (llvm::Value*& word : words) word = FromCode(b_, word, type);
    }
    return words;
  }

  static int WordBits(DType type) { return std::max<int>(32, type.bits); }

  // With x = a + bi and y = c + di: the word of x is (a, b), and that of y (c, d). The real part is
  // (a, b) * (c, -d), and the imaginary part (a, b) * (d, c).
  void RunComplex(const Slots& left, const Slots& right) {
    Slots real, imaginary;
    for (llvm::Value* word : right) {
      real.push_back(b_.CreateXor(word, uint64_t{0x80000000}));
      imaginary.push_back(
          b_.CreateIntrinsic(llvm::Intrinsic::fshl, {f_.I(32)}, {word, word, f_.Int32(16)}));
    }
    Slots sums = emitter_.TileOperand(2);
    const auto half = [&](uint64_t first) {
      Slots out;
      for (llvm::Value* sum : sums) {
        llvm::Value* code = ToCode(b_, sum, kC64);
        code = b_.CreateTrunc(b_.CreateLShr(code, first), f_.I(32));
        out.push_back(FromCode(b_, code, kF32));
      }
      return out;
    };
    const Slots re = Accumulate(left, real, half(0));
    const Slots im = Accumulate(left, imaginary, half(32));
    for (size_t i = 0; i < sums.size(); ++i) {
      llvm::Value* low = b_.CreateZExt(ToCode(b_, re[i], kF32), f_.I(64));
      llvm::Value* high = b_.CreateZExt(ToCode(b_, im[i], kF32), f_.I(64));
      sums[i] = FromCode(b_, b_.CreateOr(low, b_.CreateShl(high, uint64_t{32})), kC64);
    }
    emitter_.SetResult(0, sums);
  }

  // `sums` and the products of all steps.
  Slots Accumulate(const Slots& left, const Slots& right, Slots sums) {
    const DotTypes& types = form_.types;
    const auto words = [](const RegLayout& fragment, DType type) {
      return Size(fragment.slots() * type.bits / WordBits(type));
    };
    const size_t left_words = words(form_.a(), types.a);
    const size_t right_words = words(form_.b(), types.b);
    const size_t left_slots = Size(form_.a().slots());
    const size_t right_slots = Size(form_.b().slots());
    const size_t sum_words = Size(form_.c().slots());
    for (const MmaStep& step : selection_.steps) {
      const size_t sum = Size(step.sum);
      const Slots results =
          Multiply(Part(left, Size(step.left) / left_slots * left_words, left_words),
                   Part(right, Size(step.right) / right_slots * right_words, right_words),
                   Part(sums, sum, sum_words));
      std::copy(results.begin(), results.end(), sums.begin() + static_cast<std::ptrdiff_t>(sum));
    }
    return sums;
  }

  static Slots Part(const Slots& all, size_t first, size_t count) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }

  // One instruction.
  Slots Multiply(const Slots& left, const Slots& right, const Slots& sums) {
    if (instruction_ == nullptr) instruction_ = MakeInstruction(left, right, sums);
    std::vector<llvm::Value*> arguments = left;
    arguments.insert(arguments.end(), right.begin(), right.end());
    arguments.insert(arguments.end(), sums.begin(), sums.end());
    llvm::CallInst* call = b_.CreateCall(instruction_->getFunctionType(), instruction_, arguments);
    call->setConvergent();
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    call->addFnAttr(llvm::Attribute::WillReturn);
    Slots out;
    for (unsigned i = 0; i < sums.size(); ++i) out.push_back(b_.CreateExtractValue(call, i));
    return out;
  }

  // Its text: LLVM has no intrinsic for some of them.
  llvm::InlineAsm* MakeInstruction(const Slots& left, const Slots& right, const Slots& sums) {
    std::string text = "mma.sync.aligned." + std::string(form_.instruction) + " ";
    std::string constraints;
    std::vector<llvm::Type*> types;
    size_t number = 0;
    const auto add = [&](const Slots& registers, bool is_result) {
      text += number == 0 ? "{" : ", {";
      for (llvm::Value* value : registers) {
        text += (text.back() == '{' ? "$" : ", $") + std::to_string(number++);
        constraints += (constraints.empty() ? "" : ",") + std::string(is_result ? "=" : "") +
                       ConstraintOf(value->getType());
        if (!is_result) types.push_back(value->getType());
      }
      text += "}";
    };
    add(sums, true);
    add(left, false);
    add(right, false);
    add(sums, false);
    llvm::Type* result = llvm::StructType::get(
        b_.getContext(), std::vector<llvm::Type*>(sums.size(), sums[0]->getType()));
    auto* type = llvm::FunctionType::get(result, types, false);
    return llvm::InlineAsm::get(type, text + ";", constraints, false);
  }

  static const char* ConstraintOf(llvm::Type* type) {
    if (type->isFloatTy()) return "f";
    if (type->isDoubleTy()) return "d";
    return "r";
  }

  Emitter& emitter_;
  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  const MmaSelection& selection_;
  const MmaForm& form_;
  llvm::InlineAsm* instruction_ = nullptr;  // the same for all products
};

// ---- scalar arithmetic ----------------------------------------------------------------------

// Both operands lie in scratch, as a plan says.
class BlockedDot {
 public:
  BlockedDot(Emitter& e, const BlockedDotPlan& plan)
      : emitter_(e), layouts_(e.layouts()), f_(e.function()), b_(f_.b()), plan_(plan) {
    a_ = MakeOperand(plan.a, 0, 0);
    w_ = MakeOperand(plan.b, 1, plan.b_first);
    const TileLayout& c = layouts_[e.ResultLayout(0)];
    for (int64_t slot = 0; slot < c.slots(); ++slot) {
      sums_.push_back({LineOf(a_, c.SlotOffset(slot)), LineOf(w_, c.SlotOffset(slot))});
    }
  }

  void Run() {
    const Slots a = emitter_.TileOperand(0);
    const Slots w = emitter_.TileOperand(1);
    emitter_.shared().TakeScratch(static_cast<uint64_t>(plan_.bytes));
    f_.Barrier();
    emitter_.exchange().Put(a, a_.type, emitter_.OperandLayout(0), plan_.a.scratch, a_.first);
    emitter_.exchange().Put(w, w_.type, emitter_.OperandLayout(1), plan_.b.scratch, w_.first);
    f_.Barrier();
    const auto add_steps = [&](llvm::Value* turn, const Slots& sums) {
      return AddSteps(Read(a_, turn), Read(w_, turn), sums);
    };
    emitter_.SetResult(
        0, f_.Loop(f_.Int32(a_.depth / plan_.step), emitter_.TileOperand(2), add_steps));
  }

 private:
  struct Part {
    const DotOperandPlan* plan = nullptr;
    DType type;
    LayoutId reads = 0;
    int64_t first = 0;  // byte of scratch
    int64_t depth = 1, lines = 1;
    int depth_dim = 0;
    int64_t apart = 0;                // bytes from one turn to the next
    std::map<Extents, int64_t> line;  // by what its slots add to the index
    // The slot of a line and a k.
    [[nodiscard]] int64_t Slot(int64_t of_line, int64_t k) const {
      return plan->reads.along_k ? of_line * depth + k : k * lines + of_line;
    }
  };

  Part MakeOperand(const DotOperandPlan& plan, size_t operand, int64_t first) {
    Part out;
    const TileLayout& tile = plan.reads.layout;
    out.plan = &plan;
    out.type = emitter_.inst().operand[operand].type;
    out.reads = layouts_.Add(tile);
    out.first = first;
    out.depth_dim = DepthDimension(operand == 0 ? DotOperand::kA : DotOperand::kB, tile.rank());
    out.depth = tile.shape()[Size(out.depth_dim)];
    out.lines = tile.slots() / out.depth;
    for (int64_t line = 0; line < out.lines; ++line) {
      out.line.emplace(tile.SlotOffset(out.Slot(line, 0)), line);
    }
    if (plan_.step < out.depth) {
      const LayoutId places = layouts_.Add(plan.scratch.get_places);
      const auto offset = [&](int64_t k) {
        return layouts_.Strided(places, out.Slot(0, k), plan.scratch.order.strides).slot;
      };
      out.apart = (offset(plan_.step) - offset(0)) * ContainerBytes(out.type);
    }
    return out;
  }

  static int64_t LineOf(const Part& part, Extents of_c) {
    of_c[Size(part.depth_dim)] = 0;
    return part.line.at(of_c);
  }

  // Of each k of a turn the elements of all lines.
  std::vector<Slots> Read(const Part& part, llvm::Value* turn) {
    const ScratchPlan& scratch = part.plan->scratch;
    const bool along_k = part.plan->reads.along_k;
    llvm::Value* further = b_.CreateMul(turn, f_.Int32(part.apart));
    std::vector<Slots> out(Size(plan_.step), Slots(Size(part.lines)));
    for (int64_t k = 0; k < plan_.step; k += along_k ? scratch.get.run : 1) {
      for (int64_t line = 0; line < part.lines; line += along_k ? 1 : scratch.get.run) {
        const Slots run = emitter_.exchange().GetRun(part.type, part.reads, scratch,
                                                     part.Slot(line, k), part.first, further);
        for (size_t i = 0; i < run.size(); ++i) {
          (along_k ? out[Size(k) + i][Size(line)] : out[Size(k)][Size(line) + i]) = run[i];
        }
      }
    }
    return out;
  }

  Slots AddSteps(const std::vector<Slots>& a, const std::vector<Slots>& w, Slots sums) {
    const DType type = emitter_.inst().operand[2].type;
    for (size_t k = 0; k < a.size(); ++k) {
      for (size_t i = 0; i < sums.size(); ++i) {
        const auto [row, column] = sums_[i];
        sums[i] = emitter_.elements().MulAdd(a_.type, a[k][Size(row)], w_.type, w[k][Size(column)],
                                             type, sums[i]);
      }
    }
    return sums;
  }

  Emitter& emitter_;
  Layouts& layouts_;
  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  const BlockedDotPlan& plan_;
  Part a_, w_;
  std::vector<std::pair<int64_t, int64_t>> sums_;  // by slot of c: lines of a and of b
};

// Operands that do not fit in scratch pass through it in slabs.
class ScalarDot {
 public:
  explicit ScalarDot(Emitter& e)
      : emitter_(e),
        layouts_(e.layouts()),
        f_(e.function()),
        b_(f_.b()),
        c_layout_(e.ResultLayout(0)),
        a_type_(e.inst().operand[0].type),
        b_type_(e.inst().operand[1].type),
        c_type_(e.inst().operand[2].type) {
    const auto shape_of = [&](size_t i) {
      return e.program().type(e.inst().operand[i].value).shape;
    };
    const DotShape shape = ShapeOfDot(shape_of(0), shape_of(1));
    batches_ = shape.batches.value_or(1);
    m_ = shape.m;
    k_ = shape.k;
    n_ = shape.n;
  }

  Status Run() {
    const Slots c = emitter_.TileOperand(2);
    if (k_ == 0 || c.empty()) {
      emitter_.SetResult(0, c);
      return OkStatus();
    }
    TARSIA_CHECK(ChooseSlab());
    const Slots a = emitter_.TileOperand(0);
    const Slots w = emitter_.TileOperand(1);
    const auto add_slab = [&](llvm::Value* turn, const Slots& sums) {
      llvm::Value* first = b_.CreateMul(turn, f_.Int32(slab_));
      f_.Barrier();
      PutSlab(0, a, first);
      PutSlab(1, w, first);
      f_.Barrier();
      llvm::Value* left = b_.CreateSub(f_.Int32(k_), first);
      llvm::Value* depth =
          b_.CreateSelect(b_.CreateICmpULT(left, f_.Int32(slab_)), left, f_.Int32(slab_));
      return f_.Loop(depth, sums,
                     [&](llvm::Value* k, const Slots& part) { return AddStep(k, part); });
    };
    emitter_.SetResult(0, f_.Loop(f_.Int32((k_ + slab_ - 1) / slab_), c, add_slab));
    return OkStatus();
  }

 private:
  // Takes as many steps along k as there is room for, and decides where the elements of b lie.
  Status ChooseSlab() {
    const int64_t a_bytes = batches_ * m_ * ContainerBytes(a_type_);
    const int64_t b_bytes = batches_ * n_ * ContainerBytes(b_type_);
    const auto place_of_b = [&](int64_t slab) { return (a_bytes * slab + 15) / 16 * 16; };
    const int64_t whole = place_of_b(k_) + b_bytes * k_;
    const auto room =
        static_cast<int64_t>(emitter_.shared().ScratchRoom(static_cast<uint64_t>(whole)));
    // At most 16 bytes lie between a and b.
    slab_ = room == whole ? k_ : (room - 16) / (a_bytes + b_bytes);
    if (slab_ <= 0) {
      return MakeDiagnostic(diag::kDotTooWide, emitter_.location(), a_bytes + b_bytes, room - 16);
    }
    b_offset_ = place_of_b(slab_);
    emitter_.shared().TakeScratch(static_cast<uint64_t>(b_offset_ + b_bytes * slab_));
    return OkStatus();
  }

  // The elements of an operand with first <= k < first + slab: a [m, slab] row by row, b [slab, n],
  // one batch after the other.
  void PutSlab(size_t operand, const Slots& slots, llvm::Value* first) {
    const LayoutId layout = emitter_.OperandLayout(operand);
    const DType type = operand == 0 ? a_type_ : b_type_;
    const int bytes = ContainerBytes(type);
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto slot = static_cast<int64_t>(i);
      const int rank = layouts_[layout].rank();
      llvm::Value* row = layouts_.ElementIndex(layout, slot, rank - 2);
      llvm::Value* column = layouts_.ElementIndex(layout, slot, rank - 1);
      llvm::Value* batch = rank == 3 ? layouts_.ElementIndex(layout, slot, 0) : f_.Int32(0);
      llvm::Value* k = b_.CreateSub(operand == 0 ? column : row, first);
      llvm::Value* at = operand == 0 ? PlaceInA(batch, row, k) : PlaceInB(batch, k, column);
      llvm::Value* mine = b_.CreateICmpULT(k, f_.Int32(slab_));
      mine = f_.And(mine, layouts_.IsElement(layout, slot));
      mine = f_.And(mine, layouts_.IsFirstHolder(layout));
      emitter_.memory().StoreCode(Space::kShared, Place(at, bytes, operand), bytes,
                                  static_cast<uint64_t>(bytes), ToCode(b_, slots[i], type), mine);
    }
  }

  // k counts from the beginning of the slab.
  llvm::Value* PlaceInA(llvm::Value* batch, llvm::Value* row, llvm::Value* k) {
    llvm::Value* line = b_.CreateAdd(b_.CreateMul(batch, f_.Int32(m_)), row);
    return b_.CreateAdd(b_.CreateMul(line, f_.Int32(slab_)), k);
  }
  llvm::Value* PlaceInB(llvm::Value* batch, llvm::Value* k, llvm::Value* column) {
    llvm::Value* line = b_.CreateAdd(b_.CreateMul(batch, f_.Int32(slab_)), k);
    return b_.CreateAdd(b_.CreateMul(line, f_.Int32(n_)), column);
  }

  Address Place(llvm::Value* at, int bytes, size_t operand) {
    return {b_.CreateAdd(emitter_.shared().Scratch(), b_.CreateMul(at, f_.Int32(bytes))),
            operand == 0 ? 0 : b_offset_};
  }

  // The batch, row or column of a slot of c; of padding 0, which is that of an element.
  llvm::Value* Line(int64_t slot, int dim) {
    llvm::Value* index = layouts_.ElementIndex(c_layout_, slot, dim);
    const TileLayout& tile = layouts_[c_layout_];
    if (!tile.PaddedAlong(dim)) return index;
    llvm::Value* in = b_.CreateICmpULT(index, f_.Int32(tile.shape()[Size(dim)]));
    return b_.CreateSelect(in, index, f_.Int32(0));
  }

  // One k of all of this thread's elements; rows and columns that slots share are read once.
  Slots AddStep(llvm::Value* k, const Slots& sums) {
    std::map<Extents, llvm::Value*> rows, columns;  // of each batch
    const int rank = layouts_[c_layout_].rank();
    Slots out;
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto slot = static_cast<int64_t>(i);
      Extents row = layouts_[c_layout_].SlotOffset(slot);
      Extents column = row;
      row.back() = column[Size(rank - 2)] = 0;
      llvm::Value* batch = rank == 3 ? Line(slot, 0) : f_.Int32(0);
      llvm::Value*& x = rows[std::move(row)];
      llvm::Value*& y = columns[std::move(column)];
      if (x == nullptr) x = Read(PlaceInA(batch, Line(slot, rank - 2), k), a_type_, 0);
      if (y == nullptr) y = Read(PlaceInB(batch, k, Line(slot, rank - 1)), b_type_, 1);
      out.push_back(emitter_.elements().MulAdd(a_type_, x, b_type_, y, c_type_, sums[i]));
    }
    return out;
  }

  llvm::Value* Read(llvm::Value* at, DType type, size_t operand) {
    const int bytes = ContainerBytes(type);
    return FromCode(b_,
                    emitter_.memory().LoadCode(Space::kShared, Place(at, bytes, operand), bytes,
                                               static_cast<uint64_t>(bytes), nullptr),
                    type);
  }

  Emitter& emitter_;
  Layouts& layouts_;
  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  const LayoutId c_layout_;
  const DType a_type_, b_type_, c_type_;
  int64_t batches_ = 1, m_ = 0, n_ = 0, k_ = 0;
  int64_t slab_ = 0;
  int64_t b_offset_ = 0;
};

}  // namespace

LOWER(Dot) {
  const auto layout = [&](size_t i) { return e.layouts()[e.OperandLayout(i)]; };
  const auto& operand = e.inst().operand;
  const auto selection = SelectMma({operand[0].type, operand[1].type, operand[2].type}, e.target(),
                                   layout(0), layout(1), layout(2));
  if (selection) {
    TensorCoreDot(e, *selection).Run();
    return OkStatus();
  }
  const auto plan = PlanBlockedDot({operand[0].type, operand[1].type, operand[2].type}, layout(0),
                                   layout(1), layout(2), e.target());
  const auto wanted = static_cast<uint64_t>(plan ? plan->bytes : 0);
  if (!plan || e.shared().ScratchRoom(wanted) != wanted) return ScalarDot(e).Run();
  BlockedDot(e, *plan).Run();
  return OkStatus();
}

}  // namespace tarsia::compiler

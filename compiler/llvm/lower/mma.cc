// The mma family: `dot` on tensor cores where the layouts are those of fragments. Everywhere else
// each thread computes its own elements, and both operands pass through shared scratch in slabs
// along k.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/llvm/lower/lower.h"
#include "compiler/select/mma.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// ---- tensor cores ------------------------------------------------------------------------------

// The 32-bit registers of fragments: pairs of neighbouring slots. Elements beyond the true shape
// along `k_dim` are zero, because the products of all k are summed.
Slots FragmentWords(Emitter& e, size_t operand, int k_dim) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  const LayoutId layout = e.OperandLayout(operand);
  const DType type = e.inst().operand[operand].type;
  Slots codes = e.TileOperand(operand);
  for (size_t slot = 0; slot < codes.size(); ++slot) {
    codes[slot] = ToCode(b, codes[slot], type);
    if (!e.layouts()[layout].PaddedAlong(k_dim)) continue;
    llvm::Value* k = e.layouts().ElementIndex(layout, static_cast<int64_t>(slot), k_dim);
    const int64_t extent = e.layouts()[layout].shape()[Size(k_dim)];
    codes[slot] = b.CreateSelect(b.CreateICmpULT(k, f.Int32(extent)), codes[slot], b.getInt16(0));
  }
  return RunOfCodes(b, codes, 16, 32);
}

Status TensorCoreDot(Emitter& e, const MmaSelection& selection) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  const bool bf16 = e.inst().operand[0].type == kBF16;
  Slots left = FragmentWords(e, 0, 1);
  Slots right = FragmentWords(e, 1, 0);
  if (selection.transposed) std::swap(left, right);
  Slots c = e.TileOperand(2);
  llvm::Type* pair = llvm::FixedVectorType::get(b.getHalfTy(), 2);
  const unsigned intrinsic = bf16 ? llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16
                                  : llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32;
  for (const MmaStep& step : selection.steps) {
    std::vector<llvm::Value*> arguments;
    const auto add_words = [&](const Slots& words, int64_t slot, size_t count) {
      for (size_t i = Size(slot / 2); count > 0; ++i, --count) {
        arguments.push_back(bf16 ? words[i] : b.CreateBitCast(words[i], pair));
      }
    };
    add_words(left, step.left, 4);
    add_words(right, step.right, 2);
    const size_t first = Size(step.sum);
    for (size_t r = 0; r < 4; ++r) arguments.push_back(c[first + r]);
    llvm::Value* sum = f.CallIntrinsic(intrinsic, {}, arguments, true);
    for (unsigned r = 0; r < 4; ++r) c[first + r] = b.CreateExtractValue(sum, r);
  }
  e.SetResult(0, c);
  return OkStatus();
}

// ---- scalar arithmetic ----------------------------------------------------------------------

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
    const auto& a = e.program().type(e.inst().operand[0].value).shape;
    m_ = a[0];
    k_ = a[1];
    n_ = e.program().type(e.inst().operand[1].value).shape[1];
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
    const int64_t a_bytes = m_ * ContainerBytes(a_type_);
    const int64_t b_bytes = n_ * ContainerBytes(b_type_);
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

  // The elements of an operand with first <= k < first + slab: a [m, slab] row by row, b [slab, n].
  void PutSlab(size_t operand, const Slots& slots, llvm::Value* first) {
    const LayoutId layout = emitter_.OperandLayout(operand);
    const DType type = operand == 0 ? a_type_ : b_type_;
    const int bytes = ContainerBytes(type);
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto slot = static_cast<int64_t>(i);
      llvm::Value* row = layouts_.ElementIndex(layout, slot, 0);
      llvm::Value* column = layouts_.ElementIndex(layout, slot, 1);
      llvm::Value* k = b_.CreateSub(operand == 0 ? column : row, first);
      llvm::Value* at = operand == 0 ? b_.CreateAdd(b_.CreateMul(row, f_.Int32(slab_)), k)
                                     : b_.CreateAdd(b_.CreateMul(k, f_.Int32(n_)), column);
      llvm::Value* mine = b_.CreateICmpULT(k, f_.Int32(slab_));
      mine = f_.And(mine, layouts_.IsElement(layout, slot));
      mine = f_.And(mine, layouts_.IsFirstHolder(layout));
      emitter_.memory().StoreCode(Space::kShared, Place(at, bytes, operand), bytes,
                                  static_cast<uint64_t>(bytes), ToCode(b_, slots[i], type), mine);
    }
  }

  Address Place(llvm::Value* at, int bytes, size_t operand) {
    return {b_.CreateAdd(emitter_.shared().Scratch(), b_.CreateMul(at, f_.Int32(bytes))),
            operand == 0 ? 0 : b_offset_};
  }

  // The row or column of a slot of c; of padding 0, which is that of an element.
  llvm::Value* Line(int64_t slot, int dim) {
    llvm::Value* index = layouts_.ElementIndex(c_layout_, slot, dim);
    const TileLayout& tile = layouts_[c_layout_];
    if (!tile.PaddedAlong(dim)) return index;
    llvm::Value* in = b_.CreateICmpULT(index, f_.Int32(tile.shape()[Size(dim)]));
    return b_.CreateSelect(in, index, f_.Int32(0));
  }

  // One k of all of this thread's elements; rows and columns that slots share are read once.
  Slots AddStep(llvm::Value* k, const Slots& sums) {
    std::map<int64_t, llvm::Value*> rows, columns;
    Slots out;
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto slot = static_cast<int64_t>(i);
      const Extents offset = layouts_[c_layout_].SlotOffset(slot);
      llvm::Value*& x = rows[offset[0]];
      llvm::Value*& y = columns[offset[1]];
      if (x == nullptr) {
        llvm::Value* at = b_.CreateAdd(b_.CreateMul(Line(slot, 0), f_.Int32(slab_)), k);
        x = Read(at, a_type_, 0);
      }
      if (y == nullptr) {
        llvm::Value* at = b_.CreateAdd(b_.CreateMul(k, f_.Int32(n_)), Line(slot, 1));
        y = Read(at, b_type_, 1);
      }
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
  int64_t m_ = 0, n_ = 0, k_ = 0;
  int64_t slab_ = 0;
  int64_t b_offset_ = 0;
};

}  // namespace

LOWER(Dot) {
  if (HasMma(e.inst().operand[0].type, e.inst().operand[1].type, e.inst().operand[2].type)) {
    const auto selection =
        SelectMma(e.layouts()[e.OperandLayout(0)], e.layouts()[e.OperandLayout(1)],
                  e.layouts()[e.OperandLayout(2)]);
    if (selection) return TensorCoreDot(e, *selection);
  }
  return ScalarDot(e).Run();
}

}  // namespace tarsia::compiler

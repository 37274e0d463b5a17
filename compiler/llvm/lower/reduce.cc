// The reduce family: each thread reduces its own slots, then lanes of a warp exchange what they
// have, then warps through shared scratch. Every holder of a result computes it from the same parts
// in the same order, so replicas agree.
#include <algorithm>
#include <map>

#include "compiler/llvm/lower/combine.h"
#include "compiler/llvm/lower/lower.h"
#include "compiler/select/warp_reduction.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// The parts of one reduction, in threads and slots. A part is a bundle of integers (codes): the key
// and the index for argmin and argmax, one code for all other reductions.
class Reduction {
 public:
  using Bundle = Slots;
  using Combine = std::function<Bundle(const Bundle&, const Bundle&)>;

  // Of parts of a type: their keys.
  Reduction(Emitter& e, DType type)
      : f_(e.function()),
        layouts_(e.layouts()),
        exchange_(e.exchange()),
        opcode_(e.inst().opcode()),
        type_(type),
        axes_(e.inst().axes),
        source_(e.OperandLayout(0)),
        result_(e.ResultLayout(0)) {}

  [[nodiscard]] LayoutId source() const { return source_; }

  // `parts` by source slot; the caller has replaced those of padding by the `empty` bundle. Returns
  // a bundle for each slot of the result.
  std::vector<Bundle> Run(const std::vector<Bundle>& parts, const Bundle& empty,
                          const Combine& combine) {
    std::vector<Bundle> out = InThread(parts, empty, combine);
    const ThreadReduction threads = ReduceThreads(layouts_[source_], axes_);
    const auto redux = SelectWarpReduction(opcode_, type_, threads);
    for (Bundle& bundle : out) {
      if (redux) {
        bundle = OverWarp(*redux, bundle);
        continue;
      }
      for (const int mask : threads.lane_masks) {
        Bundle other;
        for (llvm::Value* code : bundle) other.push_back(exchange_.ShuffleXor(code, mask));
        bundle = combine(bundle, other);
      }
    }
    return threads.parts == 1 ? out : AcrossWarps(out, threads, combine);
  }

  // i1, or null for always: whether the slot's element is no padding along the reduced axes.
  llvm::Value* Counts(int64_t slot) {
    const TileLayout& tile = layouts_[source_];
    llvm::Value* out = nullptr;
    for (const int64_t axis : axes_) {
      if (!tile.PaddedAlong(static_cast<int>(axis))) continue;
      llvm::Value* index = layouts_.ElementIndex(source_, slot, static_cast<int>(axis));
      out = f_.And(out, f_.b().CreateICmpULT(index, f_.Int32(tile.shape()[Size(axis)])));
    }
    return out;
  }

 private:
  std::vector<Bundle> InThread(const std::vector<Bundle>& parts, const Bundle& empty,
                               const Combine& combine) {
    const TileLayout& from = layouts_[source_];
    const TileLayout& to = layouts_[result_];
    const bool keeps = to.rank() == from.rank();
    std::map<Extents, size_t> slot_of;
    for (int64_t slot = 0; slot < to.slots(); ++slot) slot_of[to.SlotOffset(slot)] = Size(slot);
    std::vector<Bundle> out(Size(to.slots()), empty);
    for (size_t slot = 0; slot < parts.size(); ++slot) {
      const Extents offset = from.SlotOffset(static_cast<int64_t>(slot));
      Extents kept;
      for (size_t d = 0; d < offset.size(); ++d) {
        const bool goes =
            std::find(axes_.begin(), axes_.end(), static_cast<int64_t>(d)) != axes_.end();
        if (!goes) kept.push_back(offset[d]);
        if (goes && keeps) kept.push_back(0);
      }
      const auto place = slot_of.find(kept);
      if (place == slot_of.end()) continue;  // of a result without elements
      out[place->second] = combine(out[place->second], parts[slot]);
    }
    return out;
  }

  // One code, or a key and an index. The keys of argmin and argmax are made by the caller.
  Bundle OverWarp(const WarpReduction& redux, const Bundle& part) {
    llvm::IRBuilder<>& b = f_.b();
    const bool makes_keys = redux.by_keys && !redux.finds_index;
    llvm::Value* mine = makes_keys ? KeyOf(b, part[0], type_) : part[0];
    llvm::Value* best = exchange_.Reduce(redux.operation, mine);
    if (!redux.finds_index) return {makes_keys ? KeyOf(b, best, type_) : best};
    llvm::Value* index = b.CreateSelect(b.CreateICmpEQ(mine, best), part[1], f_.Int32(-1));
    return {best, exchange_.Reduce(Redux::kUnsignedMin, index)};
  }

  std::vector<Bundle> AcrossWarps(const std::vector<Bundle>& mine, const ThreadReduction& threads,
                                  const Combine& combine) {
    llvm::IRBuilder<>& b = f_.b();
    llvm::Value* part = f_.Int32(0);
    for (const ThreadReduction::Cross& cross : threads.cross) {
      llvm::Value* digit =
          b.CreateURem(b.CreateUDiv(f_.Thread(), f_.Int32(cross.stride)), f_.Int32(cross.extent));
      part = b.CreateAdd(b.CreateMul(part, f_.Int32(cross.extent)), digit);
    }
    llvm::Value* speaks = layouts_.IsFirstHolder(source_);
    for (const int mask : threads.lane_masks) {
      speaks = f_.And(speaks, b.CreateICmpEQ(b.CreateAnd(f_.Thread(), static_cast<uint64_t>(mask)),
                                             f_.Int32(0)));
    }
    // All first parts, then all second ones: neighbours of a warp meet in no bank.
    const int64_t elements = layouts_.ElementCount(result_);
    std::vector<Exchange::Place> put, get;
    llvm::Value* mine_first = nullptr;
    for (size_t slot = 0; slot < mine.size(); ++slot) {
      const LinearIndex at = layouts_.Linear(result_, static_cast<int64_t>(slot));
      if (mine_first == nullptr) {
        mine_first = b.CreateAdd(at.thread, b.CreateMul(part, f_.Int32(elements)));
      }
      llvm::Value* element = layouts_.IsElement(result_, static_cast<int64_t>(slot));
      put.push_back({{mine_first, at.slot}, f_.And(element, speaks)});
      for (int64_t p = 0; p < threads.parts; ++p) {
        get.push_back({{at.thread, at.slot + p * elements}, element});
      }
    }
    std::vector<Bundle> all(get.size());
    const int64_t count = elements * threads.parts;
    for (size_t i = 0; !mine.empty() && i < mine[0].size(); ++i) {
      Slots codes;
      for (const Bundle& bundle : mine) codes.push_back(bundle[i]);
      const auto bytes = static_cast<int>(codes[0]->getType()->getIntegerBitWidth() / 8);
      const Slots got = exchange_.Codes(codes, bytes, count, put, get);
      for (size_t g = 0; g < got.size(); ++g) all[g].push_back(got[g]);
    }
    std::vector<Bundle> out;
    for (size_t slot = 0; slot < mine.size(); ++slot) {
      const size_t begin = slot * Size(threads.parts);
      Bundle total = all[begin];
      for (size_t p = 1; p < Size(threads.parts); ++p) total = combine(total, all[begin + p]);
      out.push_back(std::move(total));
    }
    return out;
  }

  FunctionBuilder& f_;
  Layouts& layouts_;
  Exchange& exchange_;
  const Opcode opcode_;
  const DType type_;
  const std::span<const int64_t> axes_;
  const LayoutId source_;
  const LayoutId result_;
};

Status Reduce(Emitter& e) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  const Opcode opcode = e.inst().opcode();
  const DType type = e.inst().operand[0].type;
  const DType wide = JoinedIn(opcode, type);
  Reduction reduction(e, wide);
  llvm::Value* empty = ToCode(b, f.Constant(wide, EmptyCode(opcode, wide)), wide);
  std::vector<Slots> parts;
  for (llvm::Value* slot : e.TileOperand(0)) {
    llvm::Value* code = ToCode(b, wide == type ? slot : e.elements().Cast(slot, type, wide), wide);
    if (llvm::Value* counts = reduction.Counts(static_cast<int64_t>(parts.size()))) {
      code = b.CreateSelect(counts, code, empty);
    }
    parts.push_back({code});
  }
  const auto combine = [&](const Slots& x, const Slots& y) {
    llvm::Value* joined =
        e.elements().Binary(JoinOf(opcode), wide, FromCode(b, x[0], wide), FromCode(b, y[0], wide));
    return Slots{ToCode(b, joined, wide)};
  };
  Slots out;
  for (const Slots& bundle : reduction.Run(parts, {empty}, combine)) {
    llvm::Value* element = FromCode(b, bundle[0], wide);
    out.push_back(wide == type ? element : e.elements().Cast(element, wide, type));
  }
  e.SetResult(0, out);
  return OkStatus();
}

// Reduces pairs of key and index. An index of -1, the highest as an unsigned number, is that of no
// element.
Status ReduceArg(Emitter& e) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  const DType type = e.inst().operand[0].type;
  const bool least = e.inst().opcode() == Opcode::kReduceArgmin;
  const int64_t axis = e.inst().axis;
  Reduction reduction(e, type);
  llvm::Value* worst = KeyOf(b, ToCode(b, f.Constant(type, ExtremeCode(type, least)), type), type);
  const Slots empty = {worst, f.Int32(-1)};
  std::vector<Slots> parts;
  for (llvm::Value* element : e.TileOperand(0)) {
    const auto slot = static_cast<int64_t>(parts.size());
    llvm::Value* counts = reduction.Counts(slot);
    if (type.IsFloat()) counts = f.And(counts, b.CreateFCmpORD(element, element));
    llvm::Value* key = KeyOf(b, ToCode(b, element, type), type);
    llvm::Value* index = e.layouts().ElementIndex(reduction.source(), slot, static_cast<int>(axis));
    if (counts != nullptr) {
      key = b.CreateSelect(counts, key, worst);
      index = b.CreateSelect(counts, index, empty[1]);
    }
    parts.push_back({key, index});
  }
  const auto combine = [&](const Slots& x, const Slots& y) {
    llvm::Value* low = least ? y[0] : x[0];
    llvm::Value* high = least ? x[0] : y[0];
    llvm::Value* better =
        type.IsUnsigned() ? b.CreateICmpULT(low, high) : b.CreateICmpSLT(low, high);
    llvm::Value* first = b.CreateAnd(b.CreateICmpEQ(x[0], y[0]), b.CreateICmpULT(y[1], x[1]));
    llvm::Value* takes = b.CreateOr(better, first);
    return Slots{b.CreateSelect(takes, y[0], x[0]), b.CreateSelect(takes, y[1], x[1])};
  };
  Slots values, indices;
  for (const Slots& bundle : reduction.Run(parts, empty, combine)) {
    values.push_back(FromCode(b, KeyOf(b, bundle[0], type), type));
    indices.push_back(bundle[1]);
  }
  e.SetResult(0, values);
  e.SetResult(1, indices);
  return OkStatus();
}

}  // namespace

LOWER(ReduceSum) { return Reduce(e); }
LOWER(ReduceProd) { return Reduce(e); }
LOWER(ReduceMin) { return Reduce(e); }
LOWER(ReduceMax) { return Reduce(e); }
LOWER(ReduceAny) { return Reduce(e); }
LOWER(ReduceAll) { return Reduce(e); }
LOWER(ReduceArgmin) { return ReduceArg(e); }
LOWER(ReduceArgmax) { return ReduceArg(e); }

}  // namespace tarsia::compiler

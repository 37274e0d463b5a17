// `topk` of the reduce family, as compiler/select/top_k.h says. All holders of a result find it
// among the same elements, so replicas agree.
#include "compiler/select/top_k.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/llvm/lower/combine.h"
#include "compiler/llvm/lower/lower.h"
#include "layout/access.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// Elements of a type as the numbers that order them. 0 is no element.
class Order {
 public:
  Order(FunctionBuilder& function, DType type, int64_t extent, bool smallest)
      : f_(function),
        b_(function.b()),
        type_(type),
        smallest_(smallest),
        bits_(OrderBits(type, extent)),
        index_bits_(std::min(bits_ - static_cast<unsigned>(type.bits), 32u)) {}

  [[nodiscard]] unsigned bits() const { return bits_; }
  // Those that are not always zero, which are the low ones.
  [[nodiscard]] unsigned used_bits() const {
    return static_cast<unsigned>(type_.bits) + index_bits_;
  }
  [[nodiscard]] llvm::Value* None() const { return llvm::ConstantInt::get(f_.I(bits_), 0); }

  // `counts`: i1, or null for always; whether the element is none of the padding.
  llvm::Value* NumberOf(llvm::Value* element, llvm::Value* index, llvm::Value* counts) {
    if (type_.IsFloat()) counts = f_.And(counts, b_.CreateFCmpORD(element, element));
    llvm::Value* key = b_.CreateXor(KeyOf(b_, ToCode(b_, element, type_), type_), Flipped());
    llvm::Value* high = b_.CreateShl(b_.CreateZExt(key, f_.I(bits_)), uint64_t{index_bits_});
    llvm::Value* low = b_.CreateSub(NoIndex(), b_.CreateZExtOrTrunc(index, f_.I(bits_)));
    llvm::Value* number = b_.CreateOr(high, low);
    return counts == nullptr ? number : b_.CreateSelect(counts, number, None());
  }

  std::pair<llvm::Value*, llvm::Value*> ElementOf(llvm::Value* number) {
    llvm::Value* is_none = b_.CreateICmpEQ(number, None());
    llvm::Value* key = b_.CreateTrunc(b_.CreateLShr(number, uint64_t{index_bits_}),
                                      f_.I(static_cast<unsigned>(type_.bits)));
    llvm::Value* code = KeyOf(b_, b_.CreateXor(key, Flipped()), type_);
    llvm::Value* none = ToCode(b_, f_.Constant(type_, ExtremeCode(type_, smallest_)), type_);
    llvm::Value* low = b_.CreateAnd(number, NoIndex());
    llvm::Value* index = b_.CreateZExtOrTrunc(b_.CreateSub(NoIndex(), low), f_.I(32));
    return {FromCode(b_, b_.CreateSelect(is_none, none, code), type_),
            b_.CreateSelect(is_none, f_.Int32(-1), index)};
  }

  llvm::Value* Greater(llvm::Value* a, llvm::Value* c) {
    return b_.CreateSelect(b_.CreateICmpUGT(a, c), a, c);
  }
  llvm::Value* Less(llvm::Value* a, llvm::Value* c) {
    return b_.CreateSelect(b_.CreateICmpUGT(a, c), c, a);
  }

 private:
  // The greatest number of index bits; 0 less an index there, which is below it, is no index.
  llvm::Value* NoIndex() const {
    return llvm::ConstantInt::get(f_.I(bits_), llvm::APInt::getLowBitsSet(bits_, index_bits_));
  }

  // What makes a key an unsigned number that is greater where the element comes first.
  [[nodiscard]] llvm::Value* Flipped() const {
    const auto bits = static_cast<unsigned>(type_.bits);
    llvm::APInt out(bits, smallest_ ? CodeMask(type_) : 0);
    if (!type_.IsUnsigned()) out.flipBit(bits - 1);
    return llvm::ConstantInt::get(f_.I(bits), out);
  }

  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  const DType type_;
  const bool smallest_;
  const unsigned bits_;
  const unsigned index_bits_;
};

class TopK {
 public:
  TopK(Emitter& e, int64_t k)
      : e_(e),
        f_(e.function()),
        b_(f_.b()),
        layouts_(e.layouts()),
        source_(e.OperandLayout(0)),
        axis_(e.inst().axis),
        k_(k),
        type_(e.inst().operand[0].type),
        order_(f_, type_, layouts_[source_].shape()[Size(axis_)], e.inst().smallest),
        plan_(PlanTopK(layouts_[source_], axis_, k)),
        rows_(layouts_.Add(*ReducedLayout(layouts_[source_], e.inst().axes, true))) {}

  Status Run() {
    std::vector<Slots> found = RowsOfThread();
    if (plan_.elements > 0) {
      for (Slots& row : found) row = OverLanes(Sorted(std::move(row)));
      if (plan_.threads.parts > 1) AcrossWarps(found);
    }
    SetResults(found);
    return OkStatus();
  }

 private:
  // Of the elements beside the axis, by the slots of `rows_`, those of the thread.
  std::vector<Slots> RowsOfThread() {
    const std::map<Extents, size_t> row_at = RowsByOffset();
    std::vector<Slots> out(Size(layouts_[rows_].slots()));
    const TileLayout& tile = layouts_[source_];
    int64_t slot = 0;
    for (llvm::Value* element : e_.TileOperand(0)) {
      llvm::Value* index = layouts_.ElementIndex(source_, slot, static_cast<int>(axis_));
      llvm::Value* counts = nullptr;
      if (tile.PaddedAlong(static_cast<int>(axis_))) {
        counts = b_.CreateICmpULT(index, f_.Int32(tile.shape()[Size(axis_)]));
      }
      const auto row = row_at.find(WithoutAxis(tile.SlotOffset(slot++)));
      if (row == row_at.end()) continue;  // of a result without elements
      out[row->second].push_back(order_.NumberOf(element, index, counts));
    }
    return out;
  }

  [[nodiscard]] Extents WithoutAxis(Extents offset) const {
    offset[Size(axis_)] = 0;
    return offset;
  }

  [[nodiscard]] std::map<Extents, size_t> RowsByOffset() const {
    const TileLayout& rows = layouts_[rows_];
    std::map<Extents, size_t> out;
    for (int64_t row = 0; row < rows.slots(); ++row) out[rows.SlotOffset(row)] = Size(row);
    return out;
  }

  // The best of some numbers, in order.
  Slots Sorted(Slots numbers) {
    for (const Comparator& at : SelectionNetwork(static_cast<int64_t>(numbers.size()), k_)) {
      llvm::Value*& first = numbers[Size(at.first)];
      llvm::Value*& second = numbers[Size(at.second)];
      llvm::Value* greater = order_.Greater(first, second);
      second = order_.Less(first, second);
      first = greater;
    }
    numbers.resize(std::min(numbers.size(), Size(k_)));
    return numbers;
  }

  // The best of the sorted numbers of all lanes along the axis: in each turn the best of the first
  // that a lane has left, which its lane then drops.
  Slots OverLanes(Slots mine) {
    if (plan_.threads.lane_masks.empty()) return mine;
    Slots out;
    const size_t lanes = size_t{1} << plan_.threads.lane_masks.size();
    const size_t turns = std::min(mine.size() * lanes, Size(k_));
    for (size_t turn = 0; turn < turns; ++turn) {
      llvm::Value* best = BestOfLanes(mine[0]);
      out.push_back(best);
      const size_t left = turns - turn - 1;
      llvm::Value* is_mine = b_.CreateICmpEQ(mine[0], best);
      for (size_t i = 0; i < std::min(mine.size(), left); ++i) {
        llvm::Value* next = i + 1 < mine.size() ? mine[i + 1] : order_.None();
        mine[i] = b_.CreateSelect(is_mine, next, mine[i]);
      }
    }
    return out;
  }

  llvm::Value* BestOfLanes(llvm::Value* number) {
    if (plan_.whole_warp()) return BestOfWarp(number);
    for (const int mask : plan_.threads.lane_masks) {
      Slots words;
      for (llvm::Value* word : Words(number, 64)) {
        words.push_back(e_.exchange().ShuffleXor(word, mask));
      }
      number = order_.Greater(number, Joined(words));
    }
    return number;
  }

  // Word by word from the highest one on, among the lanes that have the words found so far.
  llvm::Value* BestOfWarp(llvm::Value* number) {
    Slots words = Words(number, 32);
    llvm::Value* leads = nullptr;
    for (size_t i = words.size(); i-- > 0;) {
      llvm::Value* mine =
          leads == nullptr ? words[i] : b_.CreateSelect(leads, words[i], f_.Int32(0));
      llvm::Value* best = e_.exchange().Reduce(Redux::kUnsignedMax, mine);
      leads = f_.And(leads, b_.CreateICmpEQ(words[i], best));
      words[i] = best;
    }
    return Joined(words);
  }

  // A number in words of at most so many bits, the lowest first.
  Slots Words(llvm::Value* number, unsigned most) {
    const unsigned bits = std::min(order_.bits(), most);
    Slots out;
    for (unsigned from = 0; from < order_.used_bits(); from += bits) {
      out.push_back(b_.CreateTrunc(b_.CreateLShr(number, uint64_t{from}), f_.I(bits)));
    }
    return out;
  }

  llvm::Value* Joined(const Slots& words) {
    llvm::Value* out = order_.None();
    uint64_t from = 0;
    for (llvm::Value* word : words) {
      llvm::Value* wide = b_.CreateZExt(word, f_.I(order_.bits()));
      out = b_.CreateOr(out, b_.CreateShl(wide, from));
      from += word->getType()->getIntegerBitWidth();
    }
    return out;
  }

  // i32: which of the parts along the axis the thread's warp has.
  llvm::Value* PartOfThread() {
    llvm::Value* out = f_.Int32(0);
    for (const ThreadReduction::Cross& cross : plan_.threads.cross) {
      llvm::Value* digit =
          b_.CreateURem(b_.CreateUDiv(f_.Thread(), f_.Int32(cross.stride)), f_.Int32(cross.extent));
      out = b_.CreateAdd(b_.CreateMul(out, f_.Int32(cross.extent)), digit);
    }
    return out;
  }

  // i1, or null for always: of the threads that found the same, the first one says it.
  llvm::Value* Speaks() {
    llvm::Value* out = layouts_.IsFirstHolder(source_);
    for (const int mask : plan_.threads.lane_masks) {
      llvm::Value* bit = b_.CreateAnd(f_.Thread(), static_cast<uint64_t>(mask));
      out = f_.And(out, b_.CreateICmpEQ(bit, f_.Int32(0)));
    }
    return out;
  }

  void AcrossWarps(std::vector<Slots>& found) {
    const int64_t of_row = plan_.parts();
    llvm::Value* part = b_.CreateMul(PartOfThread(), f_.Int32(plan_.in_warp));
    llvm::Value* speaks = Speaks();
    llvm::Value* lane = b_.CreateAnd(f_.Thread(), uint64_t{kWarpThreads - 1});
    const int64_t step = plan_.of_lane > 0 ? kWarpThreads : 1;
    std::vector<Exchange::Place> put, get;
    Slots numbers;
    for (size_t row = 0; row < found.size(); ++row) {
      const LinearIndex at = layouts_.Linear(rows_, static_cast<int64_t>(row));
      llvm::Value* element = layouts_.IsElement(rows_, static_cast<int64_t>(row));
      llvm::Value* first = b_.CreateMul(at.thread, f_.Int32(of_row));
      llvm::Value* mine = b_.CreateAdd(first, part);
      llvm::Value* from = plan_.of_lane > 0 ? b_.CreateAdd(first, lane) : first;
      for (size_t i = 0; i < found[row].size(); ++i) {
        put.push_back(
            {{mine, at.slot * of_row + static_cast<int64_t>(i)}, f_.And(element, speaks)});
      }
      for (int64_t i = 0; i < of_row; i += step) {
        llvm::Value* reads = element;
        if (i + step > of_row) {
          reads = f_.And(reads, b_.CreateICmpULT(lane, f_.Int32(of_row - i)));
        }
        get.push_back({{from, at.slot * of_row + i}, reads});
      }
      numbers.insert(numbers.end(), found[row].begin(), found[row].end());
    }
    const Slots all = Exchanged(numbers, layouts_.ElementCount(rows_) * of_row, put, get);
    const size_t each = all.size() / found.size();
    for (size_t row = 0; row < found.size(); ++row) {
      const auto begin = all.begin() + static_cast<ptrdiff_t>(row * each);
      Slots sorted = Sorted(Slots(begin, begin + static_cast<ptrdiff_t>(each)));
      found[row] = plan_.of_lane > 0 ? OverLanes(std::move(sorted)) : std::move(sorted);
    }
  }

  // Through shared memory; what is not read is no element.
  Slots Exchanged(const Slots& numbers, int64_t count, const std::vector<Exchange::Place>& put,
                  const std::vector<Exchange::Place>& get) {
    std::vector<Slots> words(get.size());
    const unsigned bits = std::min(order_.bits(), 64u);
    for (unsigned from = 0, word = 0; from < order_.used_bits(); from += bits, ++word) {
      Slots codes;
      for (llvm::Value* number : numbers) codes.push_back(Words(number, 64)[word]);
      const Slots got = e_.exchange().Codes(codes, static_cast<int>(bits / 8), count, put, get);
      for (size_t i = 0; i < get.size(); ++i) words[i].push_back(got[i]);
    }
    Slots out;
    for (size_t i = 0; i < get.size(); ++i) {
      llvm::Value* number = Joined(words[i]);
      if (get[i].condition != nullptr) {
        number = b_.CreateSelect(get[i].condition, number, order_.None());
      }
      out.push_back(number);
    }
    return out;
  }

  void SetResults(const std::vector<Slots>& found) {
    const std::map<Extents, size_t> row_at = RowsByOffset();
    const TileLayout& result = layouts_[e_.ResultLayout(0)];
    Slots values, indices;
    for (int64_t slot = 0; slot < result.slots(); ++slot) {
      const Extents offset = result.SlotOffset(slot);
      const auto row = row_at.find(WithoutAxis(offset));
      const auto place = Size(offset[Size(axis_)]);
      const bool is_found = row != row_at.end() && place < found[row->second].size();
      const auto [value, index] =
          order_.ElementOf(is_found ? found[row->second][place] : order_.None());
      values.push_back(value);
      indices.push_back(index);
    }
    e_.SetResult(0, values);
    e_.SetResult(1, indices);
  }

  Emitter& e_;
  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  Layouts& layouts_;
  const LayoutId source_;
  const int64_t axis_;
  const int64_t k_;
  const DType type_;
  Order order_;
  const TopKPlan plan_;
  const LayoutId rows_;
};

}  // namespace

LOWER(TopK) {
  const TileLayout& found = e.layouts()[e.ResultLayout(0)];
  return TopK(e, found.shape()[Size(e.inst().axis)]).Run();
}

}  // namespace tarsia::compiler

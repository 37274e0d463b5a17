// The scans of the reduce family: level by level (compiler/select/scan_levels.h), from the elements
// that lie next to each other along the axis to the whole of it. All holders of an element compute
// it from the same parts in the same order, so replicas agree.
#include <algorithm>
#include <utility>

#include "compiler/llvm/lower/combine.h"
#include "compiler/llvm/lower/lower.h"
#include "compiler/select/scan_levels.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

class Scan {
 public:
  // Works on codes of `type`.
  Scan(Emitter& e, DType type)
      : e_(e),
        f_(e.function()),
        b_(f_.b()),
        layouts_(e.layouts()),
        layout_(e.OperandLayout(0)),
        tile_(layouts_[layout_]),
        type_(type),
        axis_(static_cast<int>(e.inst().axis)),
        exclusive_(e.inst().exclusive),
        reverse_(e.inst().reverse),
        empty_(ToCode(b_, f_.Constant(type, EmptyCode(e.inst().opcode(), type)), type)) {}

  // One code for each slot.
  Slots Run(const Slots& codes) {
    if (codes.empty()) return {};
    const std::vector<ScanLevel> levels = ScanLevels(tile_, axis_);
    Begin(codes, levels);
    for (size_t i = 0; i < levels.size(); ++i) {
      const bool last = i + 1 == levels.size();
      if (levels[i].kind == ScanLevel::Kind::kSlots) InThread(levels[i]);
      if (levels[i].kind == ScanLevel::Kind::kLanes) OverLanes(levels[i], last);
      if (levels[i].kind == ScanLevel::Kind::kThreads) AcrossWarps(levels[i], last);
    }
    for (llvm::Value*& prefix : prefix_) {
      if (prefix == nullptr) prefix = empty_;
    }
    return prefix_;
  }

 private:
  llvm::Value* Join(llvm::Value* a, llvm::Value* c) {
    return ToCode(b_,
                  e_.elements().Binary(JoinOf(e_.inst().opcode()), type_, FromCode(b_, a, type_),
                                       FromCode(b_, c, type_)),
                  type_);
  }

  // What precedes a block comes before the prefixes in it.
  void Precede(size_t block, llvm::Value* before) {
    llvm::Value* const total = total_[block];
    llvm::Value* joined = nullptr;  // of the slots whose prefix is the block's total
    for (size_t slot = 0; slot < prefix_.size(); ++slot) {
      if (block_[slot] != block) continue;
      llvm::Value*& prefix = prefix_[slot];
      if (prefix == nullptr) {
        prefix = before;
      } else if (prefix == total) {
        if (joined == nullptr) joined = Join(before, prefix);
        prefix = joined;
      } else {
        prefix = Join(before, prefix);
      }
    }
  }

  [[nodiscard]] int64_t DigitOf(size_t slot, const ScanLevel& level) const {
    return static_cast<int64_t>(slot) / level.stride % level.extent;
  }

  // Every slot is a block. The first ones start from what no elements give, which makes a NaN that
  // min and max ignore, and -0 in a sum, what they are in any order.
  void Begin(const Slots& codes, const std::vector<ScanLevel>& levels) {
    const bool in_thread = !levels.empty() && levels[0].kind == ScanLevel::Kind::kSlots;
    for (size_t slot = 0; slot < codes.size(); ++slot) {
      llvm::Value* code = codes[slot];
      if (llvm::Value* counts = Counts(static_cast<int64_t>(slot))) {
        code = b_.CreateSelect(counts, code, empty_);
      }
      const int64_t first = in_thread && reverse_ ? levels[0].extent - 1 : 0;
      if (!in_thread || DigitOf(slot, levels[0]) == first) code = Join(empty_, code);
      total_.push_back(code);
      block_.push_back(slot);
    }
    prefix_ = exclusive_ ? Slots(codes.size(), nullptr) : total_;
  }

  // i1, or null for always: whether the slot's element is no padding that comes before elements.
  llvm::Value* Counts(int64_t slot) {
    if (!reverse_ || !tile_.PaddedAlong(axis_)) return nullptr;
    return b_.CreateICmpULT(layouts_.ElementIndex(layout_, slot, axis_),
                            f_.Int32(tile_.shape()[Size(axis_)]));
  }

  void InThread(const ScanLevel& level) {
    for (size_t first = 0; first < block_.size(); ++first) {
      if (block_[first] != first || DigitOf(first, level) != 0) continue;
      llvm::Value* running = nullptr;
      std::vector<size_t> blocks;
      for (int64_t step = 0; step < level.extent; ++step) {
        const int64_t digit = reverse_ ? level.extent - 1 - step : step;
        const size_t block = first + Size(digit * level.stride);
        if (running == nullptr) {
          running = total_[block];
        } else {
          Precede(block, running);
          running = Join(running, total_[block]);
        }
        blocks.push_back(block);
      }
      for (size_t& block : block_) {
        if (std::find(blocks.begin(), blocks.end(), block) != blocks.end()) block = first;
      }
      total_[first] = running;
    }
  }

  [[nodiscard]] bool IsOneSlot(size_t block) const {
    return std::count(block_.begin(), block_.end(), block) == 1;
  }

  llvm::Value* ShuffleFromBefore(llvm::Value* code, int64_t lanes) {
    return reverse_ ? e_.exchange().ShuffleAbove(code, lanes)
                    : e_.exchange().ShuffleBelow(code, lanes);
  }

  // Each lane joins what the lane 1, 2, 4, .. before it has so far (Kogge and Stone 1973).
  void OverLanes(const ScanLevel& level, bool last) {
    const int64_t mask = (level.extent - 1) * level.stride;
    llvm::Value* place = b_.CreateAnd(f_.Thread(), f_.Int32(mask));
    const auto has_before = [&](int64_t steps) {
      const int64_t lanes = steps * level.stride;
      return reverse_ ? b_.CreateICmpULE(place, f_.Int32(mask - lanes))
                      : b_.CreateICmpUGE(place, f_.Int32(lanes));
    };
    for (size_t block = 0; block < block_.size(); ++block) {
      if (block_[block] != block) continue;
      llvm::Value* sum = total_[block];
      for (int64_t steps = 1; steps < level.extent; steps *= 2) {
        llvm::Value* before = ShuffleFromBefore(sum, steps * level.stride);
        sum = b_.CreateSelect(has_before(steps), Join(before, sum), sum);
      }
      if (IsOneSlot(block) && prefix_[block] == total_[block]) {
        prefix_[block] = sum;
      } else {
        llvm::Value* before = ShuffleFromBefore(sum, level.stride);
        Precede(block, b_.CreateSelect(has_before(1), before, empty_));
      }
      if (last) continue;
      llvm::Value* end = reverse_ ? b_.CreateAnd(f_.Thread(), f_.Int32(~mask))
                                  : b_.CreateOr(f_.Thread(), f_.Int32(mask));
      total_[block] = e_.exchange().ShuffleFrom(sum, end);
    }
  }

  llvm::Value* DigitOfThread(int64_t stride, int64_t extent) {
    return b_.CreateURem(b_.CreateUDiv(f_.Thread(), f_.Int32(stride)), f_.Int32(extent));
  }

  // Of the threads that have equal totals the first one tells them.
  llvm::Value* Speaks(const ScanLevel& level) {
    llvm::Value* out = layouts_.IsFirstHolder(layout_);
    for (const ScanLevel& inner : ScanLevels(tile_, axis_)) {
      if (inner.along >= level.along || inner.kind == ScanLevel::Kind::kSlots) continue;
      out = f_.And(out, b_.CreateICmpEQ(DigitOfThread(inner.stride, inner.extent), f_.Int32(0)));
    }
    return out;
  }

  // What the thread adds to the place of a total.
  llvm::Value* PlaceOfThread(const ScanTotals& places) {
    llvm::Value* out = f_.Int32(0);
    for (const ScanPart& part : places.parts) {
      if (part.is_slot) continue;
      llvm::Value* digit = DigitOfThread(part.stride, part.extent);
      out = b_.CreateAdd(out, b_.CreateMul(digit, f_.Int32(part.step)));
    }
    return out;
  }

  // Through shared memory: each thread joins the totals of all that come before it.
  void AcrossWarps(const ScanLevel& level, bool last) {
    std::vector<size_t> blocks;
    for (size_t slot = 0; slot < block_.size(); ++slot) {
      if (block_[slot] == slot) blocks.push_back(slot);
    }
    const ScanTotals places = TotalsOf(tile_, axis_, level);
    llvm::Value* of_thread = PlaceOfThread(places);
    llvm::Value* digit = DigitOfThread(level.stride, level.extent);
    llvm::Value* mine = b_.CreateAdd(of_thread, b_.CreateMul(digit, f_.Int32(places.step)));
    llvm::Value* speaks = Speaks(level);
    // The total of the whole counts only for further levels.
    const int64_t read = last ? level.extent - 1 : level.extent;
    const auto at = [&](int64_t step) { return reverse_ ? level.extent - 1 - step : step; };
    std::vector<Exchange::Place> put, get;
    Slots totals;
    for (size_t i = 0; i < blocks.size(); ++i) {
      totals.push_back(total_[blocks[i]]);
      const int64_t of_slot = places.PlaceOf(true, static_cast<int64_t>(blocks[i]));
      put.push_back({{mine, of_slot}, speaks});
      for (int64_t step = 0; step < read; ++step) {
        get.push_back({{of_thread, of_slot + at(step) * places.step}, nullptr});
      }
    }
    const auto bytes = static_cast<int>(empty_->getType()->getIntegerBitWidth() / 8);
    const Slots got = e_.exchange().Codes(totals, bytes, places.count, put, get);
    for (size_t i = 0; i < blocks.size(); ++i) {
      llvm::Value* before = empty_;
      llvm::Value* running = nullptr;
      for (int64_t step = 0; step < read; ++step) {
        llvm::Value* part = got[i * Size(read) + Size(step)];
        running = running == nullptr ? part : Join(running, part);
        if (step + 1 == level.extent) break;
        llvm::Value* limit = f_.Int32(at(step));
        llvm::Value* precedes =
            reverse_ ? b_.CreateICmpULT(digit, limit) : b_.CreateICmpUGT(digit, limit);
        before = b_.CreateSelect(precedes, running, before);
      }
      Precede(blocks[i], before);
      if (!last) total_[blocks[i]] = running;
    }
  }

  Emitter& e_;
  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  Layouts& layouts_;
  const LayoutId layout_;
  const TileLayout& tile_;
  const DType type_;
  const int axis_;
  const bool exclusive_;
  const bool reverse_;
  llvm::Value* const empty_;
  // By slot. A block is known by its lowest slot, at which its total is.
  Slots prefix_;  // of its element in its block; null: nothing comes before it
  Slots total_;
  std::vector<size_t> block_;
};

Status LowerScan(Emitter& e) {
  llvm::IRBuilder<>& b = e.function().b();
  const DType type = e.inst().operand[0].type;
  const DType wide = JoinedIn(e.inst().opcode(), type);
  Slots codes;
  for (llvm::Value* slot : e.TileOperand(0)) {
    codes.push_back(ToCode(b, wide == type ? slot : e.elements().Cast(slot, type, wide), wide));
  }
  Slots out;
  for (llvm::Value* code : Scan(e, wide).Run(codes)) {
    llvm::Value* element = FromCode(b, code, wide);
    out.push_back(wide == type ? element : e.elements().Cast(element, wide, type));
  }
  e.SetResult(0, out);
  return OkStatus();
}

}  // namespace

LOWER(ScanSum) { return LowerScan(e); }
LOWER(ScanProd) { return LowerScan(e); }
LOWER(ScanMin) { return LowerScan(e); }
LOWER(ScanMax) { return LowerScan(e); }

}  // namespace tarsia::compiler

#include "compiler/llvm/code/exchange.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/cost/cost.h"
#include "compiler/select/scratch.h"
#include "support/extents.h"

namespace tarsia::compiler {

Slots Exchange::Codes(const Slots& codes, int bytes, int64_t count, std::span<const Place> put,
                      std::span<const Place> get) {
  Slots out(get.size(), llvm::Constant::getNullValue(f_.I(static_cast<unsigned>(bytes) * 8)));
  if (count == 0) return out;
  const auto wanted = static_cast<uint64_t>(count) * static_cast<uint64_t>(bytes);
  const int64_t room = static_cast<int64_t>(shared_.ScratchRoom(wanted)) / bytes;
  shared_.TakeScratch(static_cast<uint64_t>(std::min(count, room)) * static_cast<uint64_t>(bytes));
  const bool whole = count <= room;
  for (int64_t first = 0; first < count; first += room) {
    std::map<llvm::Value*, llvm::Value*> bases;  // by the part of a place that a thread gives
    const auto here = [&](const Place& place) -> std::pair<Address, llvm::Value*> {
      llvm::Value*& base = bases[place.number.thread];
      if (base == nullptr) {
        base = b_.CreateAdd(shared_.Scratch(), b_.CreateMul(place.number.thread, f_.Int32(bytes)));
      }
      const int64_t offset = place.number.slot - first;
      llvm::Value* in = nullptr;
      if (!whole) {
        in = b_.CreateICmpULT(b_.CreateAdd(place.number.thread, f_.Int32(offset)), f_.Int32(room));
      }
      return {Address{base, offset * bytes}, f_.And(place.condition, in)};
    };
    f_.Barrier();
    for (size_t i = 0; i < put.size(); ++i) {
      const auto [address, condition] = here(put[i]);
      memory_.StoreCode(Space::kShared, address, bytes, static_cast<uint64_t>(bytes), codes[i],
                        condition);
    }
    f_.Barrier();
    for (size_t i = 0; i < get.size(); ++i) {
      const auto [address, condition] = here(get[i]);
      llvm::Value* code =
          memory_.LoadCode(Space::kShared, address, bytes, static_cast<uint64_t>(bytes), condition);
      out[i] = first == 0 ? code : b_.CreateSelect(condition, code, out[i]);
    }
  }
  return out;
}

Slots Exchange::Elements(const Slots& slots, DType type, int64_t count, std::span<const Place> put,
                         std::span<const Place> get) {
  Slots codes;
  for (llvm::Value* slot : slots) codes.push_back(ToCode(b_, slot, type));
  Slots out = Codes(codes, ContainerBytes(type), count, put, get);
  for (llvm::Value*& code : out) code = FromCode(b_, code, type);
  return out;
}

Slots Exchange::Convert(const Slots& slots, DType type, LayoutId from, LayoutId to) {
  const TileLayout& source = layouts_[from];
  const TileLayout& target = layouts_[to];
  const int bytes = ContainerBytes(type);
  if (const auto shuffles = CheapestByShuffles(source, target, type, memory_.target())) {
    return Shuffled(slots, type, *shuffles);
  }
  if (source.shape() == target.shape() && source.rank() != 0 && !source.empty()) {
    const ScratchPlan plan = PlanScratch(source, target, bytes, memory_.target());
    const auto wanted = static_cast<uint64_t>(plan.order.elements * bytes);
    if (shared_.ScratchRoom(wanted) == wanted) return Planned(slots, type, from, to, plan);
  }
  std::vector<Place> put, get;
  for (int64_t slot = 0; slot < source.slots(); ++slot) {
    put.push_back({layouts_.Linear(from, slot),
                   f_.And(layouts_.IsElement(from, slot), layouts_.IsFirstHolder(from))});
  }
  for (int64_t slot = 0; slot < target.slots(); ++slot) {
    get.push_back({layouts_.Linear(to, slot), layouts_.IsElement(to, slot)});
  }
  return Elements(slots, type, layouts_.ElementCount(from), put, get);
}

Slots Exchange::Planned(const Slots& slots, DType type, LayoutId from, LayoutId to,
                        const ScratchPlan& plan) {
  const int bytes = ContainerBytes(type);
  shared_.TakeScratch(static_cast<uint64_t>(plan.order.elements * bytes));
  f_.Barrier();
  Put(slots, type, from, plan, 0);
  f_.Barrier();
  if (!plan.get.matrices) return GetRuns(type, to, plan);
  Slots out = GetMatrices(bytes, to, plan);
  for (llvm::Value*& code : out) code = FromCode(b_, code, type);
  return out;
}

Address Exchange::PlaceOf(LayoutId layout, int64_t slot, const ScratchOrder& order, int bytes,
                          int64_t first) {
  const LinearIndex index = layouts_.Strided(layout, slot, order.strides);
  return {b_.CreateAdd(shared_.Scratch(), b_.CreateMul(index.thread, f_.Int32(bytes))),
          first + index.slot * bytes};
}

void Exchange::Put(const Slots& slots, DType type, LayoutId from, const ScratchPlan& plan,
                   int64_t first) {
  Slots codes;
  for (llvm::Value* slot : slots) codes.push_back(ToCode(b_, slot, type));
  const int bytes = ContainerBytes(type);
  plan.put.matrices ? PutMatrices(codes, bytes, plan, first)
                    : PutRuns(codes, bytes, from, plan, first);
}

void Exchange::PutMatrices(const Slots& codes, int bytes, const ScratchPlan& plan, int64_t first) {
  const LayoutId rows = layouts_.Add(plan.put_places);
  memory_.StoreMatrices(*plan.put.matrices, codes, bytes * 8, [&](int64_t slot) {
    return PlaceOf(rows, slot, plan.order, bytes, first);
  });
}

void Exchange::PutRuns(const Slots& codes, int bytes, LayoutId layout, const ScratchPlan& plan,
                       int64_t first) {
  const int64_t run = plan.put.run;
  const LayoutId places = layouts_.Add(plan.put_places);
  const int run_bytes = static_cast<int>(run) * bytes;
  for (int64_t slot = 0; slot < static_cast<int64_t>(codes.size()); slot += run) {
    llvm::Value* mine = f_.And(layouts_.IsElement(layout, slot), layouts_.IsFirstHolder(layout));
    const auto begin = codes.begin() + slot;
    const Slots words =
        RunOfCodes(b_, Slots(begin, begin + run), bytes * 8, std::min(run_bytes, 4) * 8);
    memory_.StoreWords(Space::kShared, PlaceOf(places, slot, plan.order, bytes, first), run_bytes,
                       words, mine);
  }
}

Slots Exchange::GetRun(DType type, LayoutId to, const ScratchPlan& plan, int64_t slot,
                       int64_t first, llvm::Value* further) {
  const int bytes = ContainerBytes(type);
  const int run_bytes = static_cast<int>(plan.get.run) * bytes;
  Address place = PlaceOf(layouts_.Add(plan.get_places), slot, plan.order, bytes, first);
  if (further != nullptr) place.base = b_.CreateAdd(place.base, further);
  const Slots words =
      memory_.LoadWords(Space::kShared, place, run_bytes, layouts_.IsElement(to, slot));
  Slots out;
  for (int i = 0; i < plan.get.run; ++i) {
    llvm::Value* code = CodeInRun(b_, words, std::min(run_bytes, 4) * 8, i * bytes * 8, bytes * 8);
    out.push_back(FromCode(b_, code, type));
  }
  return out;
}

Slots Exchange::GetRuns(DType type, LayoutId layout, const ScratchPlan& plan) {
  Slots out;
  for (int64_t slot = 0; slot < layouts_[layout].slots(); slot += plan.get.run) {
    const Slots run = GetRun(type, layout, plan, slot, 0, nullptr);
    out.insert(out.end(), run.begin(), run.end());
  }
  return out;
}

Slots Exchange::GetMatrices(int bytes, LayoutId layout, const ScratchPlan& plan) {
  const MatrixAccesses& loads = *plan.get.matrices;
  const LayoutId rows = layouts_.Add(plan.get_places);
  return memory_.LoadMatrices(loads, loads.InstructionsFor(layouts_[layout]), bytes * 8,
                              [&](int64_t slot) { return PlaceOf(rows, slot, plan.order, bytes); });
}

// i32: 0 or 1.
llvm::Value* Exchange::ThreadBit(int bit) {
  return b_.CreateAnd(b_.CreateLShr(f_.Thread(), f_.Int32(bit)), f_.Int32(1));
}

// Of the thread that a plan says, or the own one.
llvm::Value* Exchange::ReadLane(llvm::Value* word, llvm::Value* lane, const ShufflePlan& plan) {
  if (!plan.reads_others) return word;
  return f_.CallIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {},
                          {f_.Int32(-1), word, lane, f_.Int32(31)}, true);
}

// The one of `words` that the thread's bits choose, of which the first tells neighbours apart.
llvm::Value* Exchange::Chosen(Slots words, const std::vector<int>& choice) {
  for (const int bit : choice) {
    llvm::Value* high = b_.CreateICmpNE(ThreadBit(bit), f_.Int32(0));
    Slots chosen;
    for (size_t i = 0; i < words.size(); i += 2) {
      chosen.push_back(b_.CreateSelect(high, words[i + 1], words[i]));
    }
    words = std::move(chosen);
  }
  return words[0];
}

// The words of each run of slots, which fill a part of one word, or two.
std::vector<Slots> Exchange::WordsOfRuns(const Slots& slots, DType type, const ShufflePlan& plan) {
  const int bits = ContainerBytes(type) * 8;
  const auto filled = Size(std::max<int64_t>(1, 32 / bits));
  std::vector<Slots> out;
  for (size_t slot = 0; slot < slots.size(); slot += Size(plan.run)) {
    Slots codes;
    for (size_t i = slot; i < slot + Size(plan.run); ++i) {
      codes.push_back(ToCode(b_, slots[i], type));
    }
    codes.resize(std::max(codes.size(), filled),
                 llvm::Constant::getNullValue(f_.I(static_cast<unsigned>(bits))));
    out.push_back(RunOfCodes(b_, codes, bits, 32));
  }
  return out;
}

Slots Exchange::Shuffled(const Slots& slots, DType type, const ShufflePlan& plan) {
  const int bits = ContainerBytes(type) * 8;
  const std::vector<Slots> words = WordsOfRuns(slots, type, plan);
  llvm::Value* lane = f_.Int32(0);
  for (const auto& [from, to] : plan.lane) {
    lane = b_.CreateOr(lane, b_.CreateShl(ThreadBit(from), f_.Int32(to)));
  }
  Slots out;
  for (const ShufflePlan::Run& run : plan.runs) {
    llvm::Value* other = b_.CreateOr(lane, f_.Int32(run.lane));
    Slots got;
    for (size_t word = 0; word < Size(plan.words); ++word) {
      Slots read;
      for (const int64_t source : run.sources) {
        read.push_back(ReadLane(words[Size(source / plan.run)][word], other, plan));
      }
      got.push_back(Chosen(std::move(read), plan.choice));
    }
    for (int i = 0; i < static_cast<int>(plan.run); ++i) {
      out.push_back(FromCode(b_, CodeInRun(b_, got, 32, i * bits, bits), type));
    }
  }
  return out;
}

llvm::Value* Exchange::ShuffleWords(unsigned intrinsic, llvm::Value* code, llvm::Value* lane,
                                    int form) {
  const unsigned bits = code->getType()->getIntegerBitWidth();
  const auto shuffle = [&](llvm::Value* word) {
    return f_.CallIntrinsic(intrinsic, {}, {f_.Int32(-1), word, lane, f_.Int32(form)}, true);
  };
  if (bits <= 32) {
    return b_.CreateTrunc(shuffle(b_.CreateZExt(code, f_.I(32))), f_.I(bits));
  }
  llvm::Value* low = shuffle(b_.CreateTrunc(code, f_.I(32)));
  llvm::Value* high = shuffle(b_.CreateTrunc(b_.CreateLShr(code, uint64_t{32}), f_.I(32)));
  return b_.CreateOr(b_.CreateZExt(low, f_.I(64)),
                     b_.CreateShl(b_.CreateZExt(high, f_.I(64)), uint64_t{32}));
}

llvm::Value* Exchange::ShuffleXor(llvm::Value* code, int mask) {
  return ShuffleWords(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, code, f_.Int32(mask), 31);
}

llvm::Value* Exchange::ShuffleBelow(llvm::Value* code, int64_t lanes) {
  return ShuffleWords(llvm::Intrinsic::nvvm_shfl_sync_up_i32, code, f_.Int32(lanes), 0);
}

llvm::Value* Exchange::ShuffleAbove(llvm::Value* code, int64_t lanes) {
  return ShuffleWords(llvm::Intrinsic::nvvm_shfl_sync_down_i32, code, f_.Int32(lanes), 31);
}

llvm::Value* Exchange::ShuffleFrom(llvm::Value* code, llvm::Value* lane) {
  return ShuffleWords(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, code, lane, 31);
}

llvm::Value* Exchange::Reduce(Redux operation, llvm::Value* code) {
  static constexpr unsigned kIntrinsics[] = {
      llvm::Intrinsic::nvvm_redux_sync_add,  llvm::Intrinsic::nvvm_redux_sync_min,
      llvm::Intrinsic::nvvm_redux_sync_max,  llvm::Intrinsic::nvvm_redux_sync_umin,
      llvm::Intrinsic::nvvm_redux_sync_umax, llvm::Intrinsic::nvvm_redux_sync_and,
      llvm::Intrinsic::nvvm_redux_sync_or};
  const bool is_signed = operation == Redux::kMin || operation == Redux::kMax;
  llvm::Value* word = is_signed ? b_.CreateSExt(code, f_.I(32)) : b_.CreateZExt(code, f_.I(32));
  llvm::Value* out =
      f_.CallIntrinsic(kIntrinsics[static_cast<size_t>(operation)], {}, {word, f_.Int32(-1)}, true);
  return b_.CreateTrunc(out, code->getType());
}

llvm::Value* Exchange::FromThreadZero(llvm::Value* code) {
  const auto bytes = static_cast<int>(code->getType()->getIntegerBitWidth() / 8);
  const Address address{shared_.Scratch(), 0};
  shared_.TakeScratch(static_cast<uint64_t>(bytes));
  f_.Barrier();
  memory_.StoreCode(Space::kShared, address, bytes, 16, code,
                    b_.CreateICmpEQ(f_.Thread(), f_.Int32(0)));
  f_.Barrier();
  return memory_.LoadCode(Space::kShared, address, bytes, 16, nullptr);
}

}  // namespace tarsia::compiler

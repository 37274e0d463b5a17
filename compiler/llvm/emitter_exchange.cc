// Elements that change threads: by shuffles within a warp, else through scratch in shared memory.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/llvm/emitter.h"
#include "compiler/llvm/lower.h"

namespace tarsia::compiler {
namespace {

constexpr char kSharedName[] = "tarsia_shared";

}  // namespace

llvm::Value* Emitter::SharedBase() {
  if (shared_base_ != nullptr) return shared_base_;
  auto* array = new llvm::GlobalVariable(*module_, llvm::ArrayType::get(I(8), 0), false,
                                         llvm::GlobalValue::ExternalLinkage, nullptr, kSharedName,
                                         nullptr, llvm::GlobalValue::NotThreadLocal, 3);
  array->setAlignment(llvm::Align(kSharedAlignment));
  llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  builder_.SetInsertPoint(entry_end_);
  shared_base_ = builder_.CreateTrunc(builder_.CreatePtrToInt(array, I(64)), I(32));
  return shared_base_;
}

llvm::Value* Emitter::Scratch() {
  if (scratch_ != nullptr) return scratch_;
  llvm::Value* base = SharedBase();
  llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  builder_.SetInsertPoint(entry_end_);
  scratch_ = builder_.CreateAdd(base, Int32(static_cast<int64_t>(shared_.tile_bytes)));
  return scratch_;
}

// Where there is too little room, the kernel is refused in the end.
uint64_t Emitter::ScratchRoom(uint64_t wanted) const {
  return std::min(wanted, std::max(shared_.scratch_room, kLeastScratch));
}

void Emitter::TakeScratch(uint64_t bytes) { scratch_bytes_ = std::max(scratch_bytes_, bytes); }

Slots Emitter::ExchangeCodes(const Slots& codes, int bytes, int64_t count,
                             std::span<const Place> put, std::span<const Place> get) {
  Slots out(get.size(), llvm::Constant::getNullValue(I(static_cast<unsigned>(bytes) * 8)));
  if (count == 0) return out;
  const auto wanted = static_cast<uint64_t>(count) * static_cast<uint64_t>(bytes);
  const int64_t room = static_cast<int64_t>(ScratchRoom(wanted)) / bytes;
  TakeScratch(static_cast<uint64_t>(std::min(count, room)) * static_cast<uint64_t>(bytes));
  const bool whole = count <= room;
  for (int64_t first = 0; first < count; first += room) {
    std::map<llvm::Value*, llvm::Value*> bases;  // by the part of a place that a thread gives
    const auto here = [&](const Place& place) -> std::pair<Address, llvm::Value*> {
      llvm::Value*& base = bases[place.place.thread];
      if (base == nullptr) {
        base = builder_.CreateAdd(Scratch(), builder_.CreateMul(place.place.thread, Int32(bytes)));
      }
      const int64_t offset = place.place.slot - first;
      llvm::Value* in = nullptr;
      if (!whole) {
        in = builder_.CreateICmpULT(builder_.CreateAdd(place.place.thread, Int32(offset)),
                                    Int32(room));
      }
      return {Address{base, offset * bytes}, And(place.condition, in)};
    };
    Barrier();
    for (size_t i = 0; i < put.size(); ++i) {
      const auto [address, condition] = here(put[i]);
      StoreCode(Space::kShared, address, bytes, static_cast<uint64_t>(bytes), codes[i], condition);
    }
    Barrier();
    for (size_t i = 0; i < get.size(); ++i) {
      const auto [address, condition] = here(get[i]);
      llvm::Value* code =
          LoadCode(Space::kShared, address, bytes, static_cast<uint64_t>(bytes), condition);
      out[i] = first == 0 ? code : builder_.CreateSelect(condition, code, out[i]);
    }
  }
  return out;
}

Slots Emitter::Exchange(const Slots& slots, DType type, int64_t count, std::span<const Place> put,
                        std::span<const Place> get) {
  Slots codes;
  for (llvm::Value* slot : slots) codes.push_back(ToCode(builder_, slot, type));
  Slots out = ExchangeCodes(codes, ContainerBytes(type), count, put, get);
  for (llvm::Value*& code : out) code = FromCode(builder_, code, type);
  return out;
}

Slots Emitter::ExchangeElements(const Slots& slots, DType type, LayoutId from, LayoutId to) {
  std::vector<Place> put, get;
  for (int64_t slot = 0; slot < Layout(from).slots(); ++slot) {
    put.push_back({LinearParts(from, slot), And(IsElement(from, slot), IsFirstHolder(from))});
  }
  for (int64_t slot = 0; slot < Layout(to).slots(); ++slot) {
    get.push_back({LinearParts(to, slot), IsElement(to, slot)});
  }
  return Exchange(slots, type, ElementCount(to), put, get);
}

llvm::Value* Emitter::ShuffleXor(llvm::Value* code, int mask) {
  const unsigned bits = code->getType()->getIntegerBitWidth();
  const auto shuffle = [&](llvm::Value* word) {
    return CallIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                         {Int32(-1), word, Int32(mask), Int32(31)}, true);
  };
  if (bits <= 32) {
    return builder_.CreateTrunc(shuffle(builder_.CreateZExt(code, I(32))), I(bits));
  }
  llvm::Value* low = shuffle(builder_.CreateTrunc(code, I(32)));
  llvm::Value* high = shuffle(builder_.CreateTrunc(builder_.CreateLShr(code, uint64_t{32}), I(32)));
  return builder_.CreateOr(builder_.CreateZExt(low, I(64)),
                           builder_.CreateShl(builder_.CreateZExt(high, I(64)), uint64_t{32}));
}

llvm::Value* Emitter::FromThreadZero(llvm::Value* code) {
  const auto bytes = static_cast<int>(code->getType()->getIntegerBitWidth() / 8);
  const Address address{Scratch(), 0};
  TakeScratch(static_cast<uint64_t>(bytes));
  Barrier();
  StoreCode(Space::kShared, address, bytes, 16, code, builder_.CreateICmpEQ(thread_, Int32(0)));
  Barrier();
  return LoadCode(Space::kShared, address, bytes, 16, nullptr);
}

}  // namespace tarsia::compiler

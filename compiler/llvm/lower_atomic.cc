// The atomic instructions: one element at a time, by the first thread that holds it.
#include <llvm/IR/InlineAsm.h>

#include "compiler/llvm/lower.h"
#include "compiler/llvm/tile_access.h"

namespace tarsia::compiler {
namespace {

enum class Action : uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange, kCompare };

class Atomics {
 public:
  Atomics(Emitter& e, Action action)
      : e_(e), b_(e.b()), action_(action), memory_(e.Memory(e.inst().operand[0].value)) {}

  Status Run() {
    const size_t last = action_ == Action::kCompare ? 2 : 1;
    const LayoutId layout = e_.inst_layouts().operand[last];
    TileAccess access(e_, memory_, layout, e_.Indices(e_.inst().operand[0]));
    const Slots values = e_.TileOperand(last);
    const Slots expected = last == 2 ? e_.TileOperand(1) : Slots();
    Slots out;
    for (size_t i = 0; i < values.size(); ++i) {
      const auto slot = static_cast<int64_t>(i);
      llvm::Value* condition = e_.And(access.Exists(slot), e_.IsElement(layout, slot));
      condition = e_.And(condition, e_.IsFirstHolder(layout));
      const Address address = access.ByteAddress(slot);
      llvm::Value* at = b_.CreateAdd(
          address.base, llvm::ConstantInt::get(address.base->getType(),
                                               static_cast<uint64_t>(address.offset), true));
      llvm::Type* type = e_.TypeOf(memory_.type);
      llvm::AllocaInst* old = e_.Variable(type, "old");
      b_.CreateStore(llvm::Constant::getNullValue(type), old);
      e_.If(condition, [&] {
        b_.CreateStore(One(at, expected.empty() ? nullptr : expected[i], values[i]), old);
      });
      out.push_back(b_.CreateLoad(type, old));
    }
    if (e_.inst().results.size() != 0) e_.SetResult(0, Shared(layout, out));
    return OkStatus();
  }

 private:
  // What the first holders got, in all holders.
  Slots Shared(LayoutId layout, const Slots& slots) {
    if (!e_.Layout(layout).replicated()) return slots;
    std::vector<Emitter::Place> put, get;
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto slot = static_cast<int64_t>(i);
      const Emitter::Linear at = e_.LinearParts(layout, slot);
      llvm::Value* element = e_.IsElement(layout, slot);
      put.push_back({at, e_.And(element, e_.IsFirstHolder(layout))});
      get.push_back({at, element});
    }
    return e_.Exchange(slots, memory_.type, e_.ElementCount(layout), put, get);
  }

  llvm::Value* Pointer(llvm::Value* at) {
    const unsigned space = memory_.space == Space::kShared ? 3 : 1;
    return b_.CreateIntToPtr(at, llvm::PointerType::get(b_.getContext(), space));
  }

  llvm::Value* One(llvm::Value* at, llvm::Value* expected, llvm::Value* value) {
    const auto relaxed = llvm::AtomicOrdering::Monotonic;
    const llvm::MaybeAlign align(static_cast<uint64_t>(memory_.type.bits / 8));
    if (action_ == Action::kCompare) {
      return b_.CreateExtractValue(
          b_.CreateAtomicCmpXchg(Pointer(at), expected, value, align, relaxed, relaxed), 0);
    }
    if (memory_.type.IsInteger() || memory_.type == kF64) {
      return b_.CreateAtomicRMW(Operation(), Pointer(at), value, align, relaxed);
    }
    if (memory_.type == kF32) return AddF32(at, value);
    return AddHalf(at, value);
  }

  llvm::AtomicRMWInst::BinOp Operation() const {
    using Op = llvm::AtomicRMWInst;
    const bool is_signed = memory_.type.IsSigned();
    switch (action_) {
      case Action::kAdd:
        return memory_.type == kF64 ? Op::FAdd : Op::Add;
      case Action::kMin:
        return is_signed ? Op::Min : Op::UMin;
      case Action::kMax:
        return is_signed ? Op::Max : Op::UMax;
      case Action::kAnd:
        return Op::And;
      case Action::kOr:
        return Op::Or;
      case Action::kXor:
        return Op::Xor;
      case Action::kExchange:
      case Action::kCompare:
        break;
    }
    return Op::Xchg;
  }

  // In global memory `atom.add.f32` takes subnormals for zero, so the sum is made here.
  llvm::Value* AddF32(llvm::Value* at, llvm::Value* value) {
    llvm::Value* old = b_.CreateBitCast(LoadSeen(at, 4), b_.getFloatTy());
    const auto relaxed = llvm::AtomicOrdering::Monotonic;
    return CompareLoop(
        old, e_.I(32),
        [&](llvm::Value* expected, llvm::Value* next) {
          return b_.CreateExtractValue(
              b_.CreateAtomicCmpXchg(Pointer(at), expected, next, llvm::MaybeAlign(4), relaxed,
                                     relaxed),
              0);
        },
        value);
  }

  // What a loop of compare-and-swap begins with.
  llvm::Value* LoadSeen(llvm::Value* at, int bytes) {
    return e_.LoadWords(memory_.space, {at, 0}, bytes, nullptr, Emitter::Cache::kStrong)[0];
  }

  llvm::Value* AddHalf(llvm::Value* at, llvm::Value* value) {
    const std::string space = memory_.space == Space::kShared ? ".shared" : ".global";
    const std::string reg = memory_.space == Space::kShared ? "r" : "l";
    const bool bf16 = memory_.type == kBF16;
    if (!bf16 || Row(e_.target()).capability >= 90) {
      const std::string text =
          "atom" + space + ".add.noftz" + (bf16 ? ".bf16" : ".f16") + " $0, [$1], $2;";
      return FromCode(
          b_, Asm16(text, "=h," + reg + ",h,~{memory}", {at, ToCode(b_, value, memory_.type)}),
          memory_.type);
    }
    const std::string text = "atom" + space + ".cas.b16 $0, [$1], $2, $3;";
    llvm::Value* old = FromCode(b_, LoadSeen(at, 2), memory_.type);
    return CompareLoop(
        old, e_.I(16),
        [&](llvm::Value* expected, llvm::Value* next) {
          return Asm16(text, "=h," + reg + ",h,h,~{memory}", {at, expected, next});
        },
        value);
  }

  llvm::Value* Asm16(const std::string& text, const std::string& constraints,
                     std::vector<llvm::Value*> arguments) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    auto* type = llvm::FunctionType::get(e_.I(16), types, false);
    return b_.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), arguments);
  }

  // Adds until nobody came in between; gives what stood there.
  template <typename Exchange>
  llvm::Value* CompareLoop(llvm::Value* first, llvm::Type* code_type, const Exchange& exchange,
                           llvm::Value* value) {
    llvm::AllocaInst* seen = e_.Variable(code_type, "seen");
    b_.CreateStore(ToCode(b_, first, memory_.type), seen);
    llvm::BasicBlock* again = e_.NewBlock("add");
    llvm::BasicBlock* done = e_.NewBlock("added");
    b_.CreateBr(again);
    b_.SetInsertPoint(again);
    llvm::Value* expected = b_.CreateLoad(code_type, seen);
    llvm::Value* sum = e_.elements().Binary(Opcode::kAdd, memory_.type,
                                            FromCode(b_, expected, memory_.type), value);
    llvm::Value* old = exchange(expected, ToCode(b_, sum, memory_.type));
    b_.CreateStore(old, seen);
    b_.CreateCondBr(b_.CreateICmpEQ(old, expected), done, again);
    b_.SetInsertPoint(done);
    return FromCode(b_, old, memory_.type);
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const Action action_;
  const MemoryTile& memory_;
};

Status Atomic(Emitter& e, Action action) { return Atomics(e, action).Run(); }

}  // namespace

LOWER(AtomicAdd) { return Atomic(e, Action::kAdd); }
LOWER(AtomicMin) { return Atomic(e, Action::kMin); }
LOWER(AtomicMax) { return Atomic(e, Action::kMax); }
LOWER(AtomicAnd) { return Atomic(e, Action::kAnd); }
LOWER(AtomicOr) { return Atomic(e, Action::kOr); }
LOWER(AtomicXor) { return Atomic(e, Action::kXor); }
LOWER(AtomicExch) { return Atomic(e, Action::kExchange); }
LOWER(AtomicCas) { return Atomic(e, Action::kCompare); }
LOWER(RedAdd) { return Atomic(e, Action::kAdd); }
LOWER(RedMin) { return Atomic(e, Action::kMin); }
LOWER(RedMax) { return Atomic(e, Action::kMax); }
LOWER(RedAnd) { return Atomic(e, Action::kAnd); }
LOWER(RedOr) { return Atomic(e, Action::kOr); }
LOWER(RedXor) { return Atomic(e, Action::kXor); }

}  // namespace tarsia::compiler

// The atomic instructions: each element by the first thread that holds it, one at a time or with
// its neighbours.
#include <llvm/IR/InlineAsm.h>

#include <algorithm>

#include "compiler/llvm/lower/indexed_window.h"
#include "compiler/llvm/lower/lower.h"
#include "compiler/select/access.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

enum class Action : uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange, kCompare };

class Atomics {
 public:
  Atomics(Emitter& e, Action action)
      : emitter_(e),
        layouts_(e.layouts()),
        f_(e.function()),
        b_(f_.b()),
        action_(action),
        memory_(e.memory_tiles()[e.inst().operand[0].value]) {}

  Status Run() {
    const InstRow& row = *emitter_.inst().row;
    const size_t last = row.operands.size() - 1;
    const LayoutId layout = emitter_.OperandLayout(last);
    const bool scatters = row.operands[1].role == Role::kIndex;
    AccessEmitter access = emitter_.Access(scatters ? IndexedWindow(emitter_, layout)
                                                    : emitter_.OperandWindow(0, layout));
    const Slots values = emitter_.TileOperand(last);
    if (AddTogether(access, values)) return OkStatus();
    const Slots expected = action_ == Action::kCompare ? emitter_.TileOperand(last - 1) : Slots();
    Slots out;
    for (size_t i = 0; i < values.size(); ++i) {
      const auto slot = static_cast<int64_t>(i);
      llvm::Value* condition = access.addresses().StoreMask(slot);
      llvm::Value* at = emitter_.memory().Sum(access.ByteAddress(slot));
      llvm::Type* type = f_.TypeOf(memory_.type);
      const Slots old = f_.If(condition, {llvm::Constant::getNullValue(type)}, [&] {
        return Slots{One(at, expected.empty() ? nullptr : expected[i], values[i])};
      });
      out.push_back(old[0]);
    }
    if (emitter_.inst().results.size() != 0) emitter_.SetResult(0, Shared(layout, out));
    return OkStatus();
  }

 private:
  // Adds neighbours at once, which need no old value, where the target can.
  bool AddTogether(AccessEmitter& access, const Slots& values) {
    const Opcode opcode = emitter_.inst().opcode();
    const int64_t together = std::min(
        UpdatedTogether(opcode, memory_.type, memory_.space, emitter_.target()),
        std::min<int64_t>(access.width().vector, access.width().unit * 8 / memory_.bits()));
    if (together < 2) return false;
    for (size_t slot = 0; slot < values.size(); slot += Size(together)) {
      Slots codes;
      for (size_t i = slot; i < slot + Size(together); ++i) {
        codes.push_back(ToCode(b_, values[i], memory_.type));
      }
      const auto first = static_cast<int64_t>(slot);
      emitter_.memory().AddWords(memory_.space, access.ByteAddress(first), memory_.type,
                                 RunOfCodes(b_, codes, memory_.bits(), 32),
                                 access.addresses().StoreMask(first));
    }
    return true;
  }

  // Gives all holders of an element the result of the first holder.
  Slots Shared(LayoutId layout, const Slots& slots) {
    if (!layouts_[layout].replicated()) return slots;
    std::vector<Exchange::Place> put, get;
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto slot = static_cast<int64_t>(i);
      const LinearIndex at = layouts_.Linear(layout, slot);
      llvm::Value* element = layouts_.IsElement(layout, slot);
      put.push_back({at, f_.And(element, layouts_.IsFirstHolder(layout))});
      get.push_back({at, element});
    }
    return emitter_.exchange().Elements(slots, memory_.type, layouts_.ElementCount(layout), put,
                                        get);
  }

  llvm::Value* Pointer(llvm::Value* at) { return emitter_.memory().Pointer(memory_.space, at); }

  llvm::Value* One(llvm::Value* at, llvm::Value* expected, llvm::Value* value) {
    const auto relaxed = llvm::AtomicOrdering::Monotonic;
    const llvm::MaybeAlign align(static_cast<uint64_t>(memory_.type.bits / 8));
    if (action_ == Action::kCompare) {
      return b_.CreateExtractValue(
          b_.CreateAtomicCmpXchg(Pointer(at), expected, value, align, relaxed, relaxed), 0);
    }
    if (memory_.type == kF16 || memory_.type == kBF16) return AddHalf(at, value);
    return b_.CreateAtomicRMW(Operation(), Pointer(at), value, align, relaxed);
  }

  llvm::AtomicRMWInst::BinOp Operation() const {
    using Op = llvm::AtomicRMWInst;
    const bool is_signed = memory_.type.IsSigned();
    switch (action_) {
      case Action::kAdd:
        return memory_.type.IsFloat() ? Op::FAdd : Op::Add;
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

  // The value with which a loop of compare-and-swap begins.
  llvm::Value* LoadSeen(llvm::Value* at, int bytes) {
    return emitter_.memory().LoadWords(memory_.space, {at, 0}, bytes, nullptr, {.strong = true})[0];
  }

  llvm::Value* AddHalf(llvm::Value* at, llvm::Value* value) {
    const std::string space = memory_.space == Space::kShared ? ".shared" : ".global";
    const std::string reg = memory_.space == Space::kShared ? "r" : "l";
    const bool bf16 = memory_.type == kBF16;
    if (!bf16 || Row(emitter_.target()).capability >= 90) {
      const std::string text =
          "atom" + space + ".add.noftz" + (bf16 ? ".bf16" : ".f16") + " $0, [$1], $2;";
      return FromCode(
          b_, Asm16(text, "=h," + reg + ",h,~{memory}", {at, ToCode(b_, value, memory_.type)}),
          memory_.type);
    }
    const std::string text = "atom" + space + ".cas.b16 $0, [$1], $2, $3;";
    llvm::Value* old = FromCode(b_, LoadSeen(at, 2), memory_.type);
    return CompareLoop(
        old, f_.I(16),
        [&](llvm::Value* expected, llvm::Value* next) {
          return Asm16(text, "=h," + reg + ",h,h,~{memory}", {at, expected, next});
        },
        value);
  }

  llvm::Value* Asm16(const std::string& text, const std::string& constraints,
                     const std::vector<llvm::Value*>& arguments) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    auto* type = llvm::FunctionType::get(f_.I(16), types, false);
    return b_.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), arguments);
  }

  // Adds until no other thread has stored in between; gives the value before.
  template <typename CompareAndSwap>
  llvm::Value* CompareLoop(llvm::Value* first, llvm::Type* code_type,
                           const CompareAndSwap& compare_and_swap, llvm::Value* value) {
    llvm::Value* seen = ToCode(b_, first, memory_.type);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* again = f_.NewBlock("add");
    llvm::BasicBlock* done = f_.NewBlock("added");
    b_.CreateBr(again);
    b_.SetInsertPoint(again);
    llvm::PHINode* expected = b_.CreatePHI(code_type, 2, "seen");
    expected->addIncoming(seen, before);
    llvm::Value* sum = emitter_.elements().Binary(Opcode::kAdd, memory_.type,
                                                  FromCode(b_, expected, memory_.type), value);
    llvm::Value* old = compare_and_swap(expected, ToCode(b_, sum, memory_.type));
    expected->addIncoming(old, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpEQ(old, expected), done, again);
    b_.SetInsertPoint(done);
    return FromCode(b_, old, memory_.type);
  }

  Emitter& emitter_;
  Layouts& layouts_;
  FunctionBuilder& f_;
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
LOWER(AtomicScatterAdd) { return Atomic(e, Action::kAdd); }
LOWER(AtomicScatterMin) { return Atomic(e, Action::kMin); }
LOWER(AtomicScatterMax) { return Atomic(e, Action::kMax); }
LOWER(AtomicScatterAnd) { return Atomic(e, Action::kAnd); }
LOWER(AtomicScatterOr) { return Atomic(e, Action::kOr); }
LOWER(AtomicScatterXor) { return Atomic(e, Action::kXor); }
LOWER(AtomicScatterExch) { return Atomic(e, Action::kExchange); }
LOWER(AtomicScatterCas) { return Atomic(e, Action::kCompare); }
LOWER(RedScatterAdd) { return Atomic(e, Action::kAdd); }
LOWER(RedScatterMin) { return Atomic(e, Action::kMin); }
LOWER(RedScatterMax) { return Atomic(e, Action::kMax); }
LOWER(RedScatterAnd) { return Atomic(e, Action::kAnd); }
LOWER(RedScatterOr) { return Atomic(e, Action::kOr); }
LOWER(RedScatterXor) { return Atomic(e, Action::kXor); }

}  // namespace tarsia::compiler

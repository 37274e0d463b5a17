// Accesses are PTX in inline assembly: only there can a load or store be predicated without a
// branch, carry a constant offset and a cache hint.
#include "compiler/llvm/code/memory.h"

#include <llvm/IR/InlineAsm.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// How a run of bytes moves: `count` registers of `bits` bits.
struct Shape {
  int count = 1;
  int bits = 32;
};
Shape ShapeOf(int bytes) {
  if (bytes >= 4) return {bytes / 4, 32};
  return {1, bytes * 8};
}

std::string TypeText(const Shape& shape) {
  const std::string scalar = ".b" + std::to_string(shape.bits);
  return shape.count == 1 ? scalar : ".v" + std::to_string(shape.count) + scalar;
}

std::string SpaceText(Space space) { return space == Space::kShared ? ".shared" : ".global"; }

// Of shared memory there is no cache.
std::string CacheText(Space space, CachePolicy cache) {
  if (space != Space::kGlobal) return "";
  switch (cache) {
    case CachePolicy::kDefault:
      return "";
    case CachePolicy::kEvictFirst:
      return ".L1::no_allocate.L2::cache_hint";
    case CachePolicy::kNoAllocate:
      return ".L1::no_allocate";
  }
  return "";
}

// Whether a policy of the second-level cache is the last operand.
bool HasHint(Space space, AccessPolicy policy) {
  return space == Space::kGlobal && policy.cache == CachePolicy::kEvictFirst;
}

std::string HintText(int number) { return ", $" + std::to_string(number); }

// What follows `ld` or `st`, up to the type.
std::string PolicyText(Space space, AccessPolicy policy) {
  return (policy.strong ? ".relaxed.gpu" : "") + SpaceText(space) +
         (policy.read_only ? ".nc" : "") + CacheText(space, policy.cache);
}

// "{$0, $1}", or "$0".
std::string Registers(int first, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i == 0 ? "$" : ", $") + std::to_string(first + i);
  return count == 1 ? out : "{" + out + "}";
}

const char* RegisterOf(int bits) { return bits == 32 ? "r" : "h"; }

// `ldmatrix` or `stmatrix`, up to the operands.
std::string MatrixText(const std::string& what, size_t count, bool transposed) {
  return what + ".sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") +
         ".shared.b16 ";
}

// Registers in braces, one, too.
std::string Matrices(int first, int count) {
  const std::string registers = Registers(first, count);
  return count == 1 ? "{" + registers + "}" : registers;
}

llvm::Value* Resize(llvm::IRBuilder<>& b, llvm::Value* x, unsigned bits) {
  return b.CreateZExtOrTrunc(x, b.getIntNTy(bits));
}

}  // namespace

std::string AddressText(int number, int64_t offset) {
  const std::string reg = "[$" + std::to_string(number);
  return offset == 0 ? reg + "]" : reg + "+" + std::to_string(offset) + "]";
}

llvm::Value* Memory::Sum(const Address& address) {
  return b_.CreateAdd(
      address.base,
      llvm::ConstantInt::get(address.base->getType(), static_cast<uint64_t>(address.offset), true));
}

llvm::Value* Memory::Pointer(Space space, llvm::Value* address) {
  const unsigned number = space == Space::kShared ? 3 : 1;
  return b_.CreateIntToPtr(address, llvm::PointerType::get(b_.getContext(), number));
}

// In the entry block, so that there is one.
llvm::Value* Memory::EvictFirst() {
  if (evict_first_ != nullptr) return evict_first_;
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  b_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
  auto* type = llvm::FunctionType::get(b_.getInt64Ty(), {}, false);
  auto* text = llvm::InlineAsm::get(type, "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;",
                                    "=l", false);
  llvm::CallInst* call = b_.CreateCall(type, text, {});
  call->setDoesNotAccessMemory();
  evict_first_ = call;
  return call;
}

void Memory::AddHint(std::vector<llvm::Value*>& arguments, std::string& constraints) {
  constraints += ",l";
  arguments.push_back(EvictFirst());
}

Address Memory::WithinReach(const Address& address) {
  constexpr int64_t kReach = 1 << 20;
  if (address.offset > -kReach && address.offset < kReach) return address;
  return {Sum(address), 0};
}

Slots Memory::LoadWords(Space space, Address address, int bytes, llvm::Value* condition,
                        AccessPolicy policy) {
  address = WithinReach(address);
  // Of both, ptxas 13.5 keeps only the hint: the load may read an old line of the first-level
  // cache.
  if (policy.strong && policy.cache == CachePolicy::kEvictFirst) policy.cache = {};
  const Shape shape = ShapeOf(bytes);
  // A byte comes in a register of 16 bits.
  llvm::Type* reg = b_.getIntNTy(shape.bits == 32 ? 32 : 16);
  const bool shared = space == Space::kShared;
  std::string text, constraints;
  const int at = shape.count;
  if (condition != nullptr) {
    for (int i = 0; i < shape.count; ++i) {
      text += std::string(shape.bits == 32 ? "mov.b32" : "mov.b16") + " $" + std::to_string(i) +
              ", 0; ";
    }
    text += "@$" + std::to_string(at + 1) + " ";
  }
  text += "ld" + PolicyText(space, policy) + TypeText(shape) + " " + Registers(0, shape.count) +
          ", " + AddressText(at, address.offset) +
          (HasHint(space, policy) ? HintText(at + (condition == nullptr ? 1 : 2)) : "") + ";";
  for (int i = 0; i < shape.count; ++i) {
    constraints += std::string(condition != nullptr ? "=&" : "=") + RegisterOf(shape.bits) + ",";
  }
  constraints += shared ? "r" : "l";
  std::vector<llvm::Value*> arguments = {address.base};
  std::vector<llvm::Type*> types = {address.base->getType()};
  if (condition != nullptr) {
    constraints += ",b";
    arguments.push_back(condition);
  }
  if (HasHint(space, policy)) AddHint(arguments, constraints);
  for (llvm::Value* argument : Slots(arguments.begin() + 1, arguments.end())) {
    types.push_back(argument->getType());
  }
  if (!policy.read_only) constraints += ",~{memory}";
  llvm::Type* result =
      shape.count == 1
          ? reg
          : llvm::StructType::get(b_.getContext(),
                                  std::vector<llvm::Type*>(static_cast<size_t>(shape.count), reg));
  auto* type = llvm::FunctionType::get(result, types, false);
  // LLVM may move, share and leave out loads of memory that nobody writes.
  llvm::CallInst* call = b_.CreateCall(
      type, llvm::InlineAsm::get(type, text, constraints, !policy.read_only), arguments);
  if (policy.read_only) {
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    call->addFnAttr(llvm::Attribute::WillReturn);
  }
  if (shape.count == 1) return {Resize(b_, call, static_cast<unsigned>(shape.bits))};
  Slots out;
  for (int i = 0; i < shape.count; ++i) {
    out.push_back(b_.CreateExtractValue(call, static_cast<unsigned>(i)));
  }
  return out;
}

void Memory::StoreWords(Space space, Address address, int bytes, const Slots& words,
                        llvm::Value* condition, AccessPolicy policy) {
  address = WithinReach(address);
  const Shape shape = ShapeOf(bytes);
  std::string text, constraints = space == Space::kShared ? "r" : "l";
  std::vector<llvm::Value*> arguments = {address.base};
  if (condition != nullptr) text = "@$" + std::to_string(shape.count + 1) + " ";
  text += "st" + PolicyText(space, policy) + TypeText(shape) + " " +
          AddressText(0, address.offset) + ", " + Registers(1, shape.count) +
          (HasHint(space, policy) ? HintText(shape.count + (condition == nullptr ? 1 : 2)) : "") +
          ";";
  for (llvm::Value* word : words) {
    constraints += std::string(",") + RegisterOf(shape.bits);
    arguments.push_back(Resize(b_, word, shape.bits == 32 ? 32 : 16));
  }
  if (condition != nullptr) {
    constraints += ",b";
    arguments.push_back(std::exchange(condition, nullptr));
  }
  if (HasHint(space, policy)) AddHint(arguments, constraints);
  Effect(text, constraints, arguments, condition);
}

// An instruction that changes memory; the condition is its last operand.
llvm::CallInst* Memory::Effect(const std::string& text, std::string constraints,
                               std::vector<llvm::Value*> arguments, llvm::Value* condition) {
  if (condition != nullptr) {
    constraints += ",b";
    arguments.push_back(condition);
  }
  constraints += ",~{memory}";
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
  return b_.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), arguments);
}

void Memory::AddWords(Space space, Address address, DType type, const Slots& words,
                      llvm::Value* condition) {
  address = WithinReach(address);
  const auto count = static_cast<int>(words.size());
  const std::string vector = count == 1 ? "" : ".v" + std::to_string(count);
  const std::string predicate = condition == nullptr ? "" : "@$" + std::to_string(count + 1) + " ";
  const bool halves = type != kF32;
  const std::string text = predicate + "red" + SpaceText(space) + ".add" +
                           (halves ? ".noftz" : "") + vector +
                           (halves ? type == kBF16 ? ".bf16x2 " : ".f16x2 " : ".f32 ") +
                           AddressText(0, address.offset) + ", " + Registers(1, count) + ";";
  std::string constraints = space == Space::kShared ? "r" : "l";
  std::vector<llvm::Value*> arguments = {address.base};
  for (llvm::Value* word : words) {
    constraints += ",r";
    arguments.push_back(word);
  }
  Effect(text, constraints, arguments, condition);
}

llvm::Value* Memory::LoadAcquire(Address address, llvm::Type* type) {
  address = WithinReach(address);
  const bool wide = type->getIntegerBitWidth() == 64;
  const std::string text =
      std::string(wide ? "ld.acquire.gpu.global.b64 $0, " : "ld.acquire.gpu.global.b32 $0, ") +
      AddressText(1, address.offset) + ";";
  auto* function = llvm::FunctionType::get(type, {address.base->getType()}, false);
  const char* constraints = wide ? "=l,l,~{memory}" : "=r,l,~{memory}";
  return b_.CreateCall(function, llvm::InlineAsm::get(function, text, constraints, true),
                       {address.base});
}

void Memory::AddRelease(Address address, llvm::Value* value, llvm::Value* condition) {
  address = WithinReach(address);
  const bool wide = value->getType()->getIntegerBitWidth() == 64;
  const std::string text =
      std::string(condition == nullptr ? "" : "@$2 ") +
      (wide ? "red.release.gpu.global.add.u64 " : "red.release.gpu.global.add.u32 ") +
      AddressText(0, address.offset) + ", $1;";
  Effect(text, wide ? "l,l" : "l,r", {address.base, value}, condition);
}

llvm::Value* Memory::LoadCode(Space space, Address address, int bytes, uint64_t alignment,
                              llvm::Value* condition, AccessPolicy policy) {
  const int unit = static_cast<int>(std::min<uint64_t>(alignment, static_cast<uint64_t>(bytes)));
  Slots words;
  for (int at = 0; at < bytes; at += unit) {
    const Slots part =
        LoadWords(space, {address.base, address.offset + at}, unit, condition, policy);
    words.insert(words.end(), part.begin(), part.end());
  }
  return CodeInRun(b_, words, std::min(unit, 4) * 8, 0, bytes * 8);
}

void Memory::StoreCode(Space space, Address address, int bytes, uint64_t alignment,
                       llvm::Value* code, llvm::Value* condition, AccessPolicy policy) {
  const int unit = static_cast<int>(std::min<uint64_t>(alignment, static_cast<uint64_t>(bytes)));
  const int word = std::min(unit, 4);
  const Slots words = RunOfCodes(b_, {code}, bytes * 8, word * 8);
  for (int at = 0; at < bytes; at += unit) {
    const auto first = words.begin() + at / word;
    StoreWords(space, {address.base, address.offset + at}, unit,
               Slots(first, first + std::max(1, unit / word)), condition, policy);
  }
}

Slots Memory::LoadMatrices(Address address, int count, bool transposed) {
  address = WithinReach(address);
  const std::string text = MatrixText("ldmatrix", Size(count), transposed) + Matrices(0, count) +
                           ", " + AddressText(count, address.offset) + ";";
  std::string constraints;
  for (int i = 0; i < count; ++i) constraints += "=r,";
  constraints += "r,~{memory}";
  llvm::Type* word = b_.getInt32Ty();
  llvm::Type* result =
      count == 1 ? word
                 : llvm::StructType::get(
                       b_.getContext(), std::vector<llvm::Type*>(static_cast<size_t>(count), word));
  auto* type = llvm::FunctionType::get(result, {address.base->getType()}, false);
  llvm::CallInst* call =
      b_.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), {address.base});
  call->setConvergent();
  if (count == 1) return {call};
  Slots out;
  for (int i = 0; i < count; ++i) {
    out.push_back(b_.CreateExtractValue(call, static_cast<unsigned>(i)));
  }
  return out;
}

Slots Memory::LoadMatrices(const MatrixAccesses& loads, int64_t instructions, int bits,
                           const std::function<Address(int64_t slot)>& row) {
  Slots out;
  for (int64_t i = 0; i < instructions; ++i) {
    const Address address = row(i * loads.RowElements());
    for (llvm::Value* word : LoadMatrices(address, loads.count, loads.transposed)) {
      for (int bit = 0; bit < 32; bit += bits) out.push_back(CodeInRun(b_, {word}, 32, bit, bits));
    }
  }
  return out;
}

void Memory::StoreMatrices(Address address, const Slots& words, bool transposed) {
  address = WithinReach(address);
  const std::string text = MatrixText("stmatrix", words.size(), transposed) +
                           AddressText(0, address.offset) + ", " +
                           Matrices(1, static_cast<int>(words.size())) + ";";
  std::string constraints = "r";
  std::vector<llvm::Value*> arguments = {address.base};
  for (llvm::Value* word : words) {
    constraints += ",r";
    arguments.push_back(word);
  }
  Effect(text, constraints, arguments, nullptr)->setConvergent();
}

void Memory::StoreMatrices(const MatrixAccesses& stores, const Slots& codes, int bits,
                           const std::function<Address(int64_t slot)>& row) {
  const auto each = Size(stores.elements * stores.count);
  for (size_t i = 0; i * each < codes.size(); ++i) {
    const auto first = codes.begin() + static_cast<std::ptrdiff_t>(i * each);
    const Slots words =
        RunOfCodes(b_, Slots(first, first + static_cast<std::ptrdiff_t>(each)), bits, 32);
    StoreMatrices(row(static_cast<int64_t>(i) * stores.RowElements()), words, stores.transposed);
  }
}

}  // namespace tarsia::compiler

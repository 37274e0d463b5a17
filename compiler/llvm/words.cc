// Raw memory of the Emitter: predicated accesses of 1 to 16 bytes, and codes within words.
//
// Accesses are PTX in inline assembly: only there can a load or store be predicated without a
// branch, carry a constant offset and a cache hint.
#include <llvm/IR/InlineAsm.h>

#include <algorithm>

#include "compiler/llvm/emitter.h"

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

std::string OrderText(Emitter::Cache cache) {
  return cache == Emitter::Cache::kStrong ? ".relaxed.gpu" : "";
}

std::string CacheText(Space space, Emitter::Cache cache) {
  if (space != Space::kGlobal) return "";
  switch (cache) {
    case Emitter::Cache::kDefault:
    case Emitter::Cache::kStrong:
      return "";
    case Emitter::Cache::kEvictFirst:
      return ".L1::evict_first";
    case Emitter::Cache::kNoAllocate:
      return ".L1::no_allocate";
  }
  return "";
}

// "{$0, $1}", or "$0".
std::string Registers(int first, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i == 0 ? "$" : ", $") + std::to_string(first + i);
  return count == 1 ? out : "{" + out + "}";
}

// "[$0]", "[$0+4]" or "[$0+-4]": PTX has no register minus a constant.
std::string AddressText(int number, int64_t offset) {
  const std::string reg = "[$" + std::to_string(number);
  return offset == 0 ? reg + "]" : reg + "+" + std::to_string(offset) + "]";
}

const char* RegisterOf(int bits) { return bits == 32 ? "r" : "h"; }

// Beyond what fits in an instruction, the offset is added to the register.
Address WithinReach(Emitter& e, Address address) {
  constexpr int64_t kReach = 1 << 20;
  if (address.offset > -kReach && address.offset < kReach) return address;
  llvm::Type* type = address.base->getType();
  return {e.b().CreateAdd(address.base, llvm::ConstantInt::get(
                                            type, static_cast<uint64_t>(address.offset), true)),
          0};
}

llvm::Value* Resize(llvm::IRBuilder<>& b, llvm::Value* x, unsigned bits) {
  return b.CreateZExtOrTrunc(x, b.getIntNTy(bits));
}

}  // namespace

Slots Emitter::LoadWords(Space space, Address address, int bytes, llvm::Value* condition,
                         Cache cache) {
  address = WithinReach(*this, address);
  const Shape shape = ShapeOf(bytes);
  // A byte comes in a register of 16 bits.
  llvm::Type* reg = I(shape.bits == 32 ? 32 : 16);
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
  text += "ld" + OrderText(cache) + SpaceText(space) + CacheText(space, cache) + TypeText(shape) +
          " " + Registers(0, shape.count) + ", " + AddressText(at, address.offset) + ";";
  for (int i = 0; i < shape.count; ++i) {
    constraints += std::string(condition != nullptr ? "=&" : "=") + RegisterOf(shape.bits) + ",";
  }
  constraints += shared ? "r" : "l";
  std::vector<llvm::Value*> arguments = {address.base};
  std::vector<llvm::Type*> types = {address.base->getType()};
  if (condition != nullptr) {
    constraints += ",b";
    arguments.push_back(condition);
    types.push_back(condition->getType());
  }
  constraints += ",~{memory}";
  llvm::Type* result =
      shape.count == 1
          ? reg
          : llvm::StructType::get(*context_,
                                  std::vector<llvm::Type*>(static_cast<size_t>(shape.count), reg));
  auto* type = llvm::FunctionType::get(result, types, false);
  llvm::Value* call =
      builder_.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), arguments);
  if (shape.count == 1) return {Resize(builder_, call, static_cast<unsigned>(shape.bits))};
  Slots out;
  for (int i = 0; i < shape.count; ++i) {
    out.push_back(builder_.CreateExtractValue(call, static_cast<unsigned>(i)));
  }
  return out;
}

void Emitter::StoreWords(Space space, Address address, int bytes, const Slots& words,
                         llvm::Value* condition, Cache cache) {
  address = WithinReach(*this, address);
  const Shape shape = ShapeOf(bytes);
  std::string text, constraints = space == Space::kShared ? "r" : "l";
  std::vector<llvm::Value*> arguments = {address.base};
  if (condition != nullptr) text = "@$" + std::to_string(shape.count + 1) + " ";
  text += "st" + OrderText(cache) + SpaceText(space) + CacheText(space, cache) + TypeText(shape) +
          " " + AddressText(0, address.offset) + ", " + Registers(1, shape.count) + ";";
  for (llvm::Value* word : words) {
    constraints += std::string(",") + RegisterOf(shape.bits);
    arguments.push_back(Resize(builder_, word, shape.bits == 32 ? 32 : 16));
  }
  if (condition != nullptr) {
    constraints += ",b";
    arguments.push_back(condition);
  }
  constraints += ",~{memory}";
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), types, false);
  builder_.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), arguments);
}

llvm::Value* Emitter::BitsOf(const Slots& words, int word_bits, int bit, int width) {
  const unsigned container = width <= 8 ? 8 : width <= 16 ? 16 : width <= 32 ? 32 : 64;
  llvm::Value* out = nullptr;
  for (int done = 0; done < width;) {
    const int at = (bit + done) % word_bits;
    const int take = std::min(word_bits - at, width - done);
    llvm::Value* piece = words[static_cast<size_t>((bit + done) / word_bits)];
    if (at != 0) piece = builder_.CreateLShr(piece, static_cast<uint64_t>(at));
    piece = Resize(builder_, piece, container);
    if (take < std::min<int>(static_cast<int>(container), word_bits - at)) {
      piece = builder_.CreateAnd(piece, (uint64_t{1} << take) - 1);
    }
    if (done != 0) piece = builder_.CreateShl(piece, static_cast<uint64_t>(done));
    out = out == nullptr ? piece : builder_.CreateOr(out, piece);
    done += take;
  }
  return out;
}

Slots Emitter::PackCodes(const Slots& codes, int width, int word_bits) {
  Slots words;
  const auto bits = static_cast<unsigned>(word_bits);
  int used = word_bits;  // of the last word
  for (llvm::Value* code : codes) {
    for (int done = 0; done < width;) {
      if (used == word_bits) {
        words.push_back(nullptr);
        used = 0;
      }
      const int take = std::min(word_bits - used, width - done);
      llvm::Value* piece = code;
      if (done != 0) piece = builder_.CreateLShr(piece, static_cast<uint64_t>(done));
      piece = Resize(builder_, piece, bits);
      // What is above the word's end falls off by itself.
      if (used != 0) piece = builder_.CreateShl(piece, static_cast<uint64_t>(used));
      words.back() = words.back() == nullptr ? piece : builder_.CreateOr(words.back(), piece);
      used += take;
      done += take;
    }
  }
  return words;
}

llvm::Value* Emitter::LoadCode(Space space, Address address, int bytes, uint64_t alignment,
                               llvm::Value* condition, Cache cache) {
  const int unit = static_cast<int>(std::min<uint64_t>(alignment, static_cast<uint64_t>(bytes)));
  Slots words;
  for (int at = 0; at < bytes; at += unit) {
    const Slots part =
        LoadWords(space, {address.base, address.offset + at}, unit, condition, cache);
    words.insert(words.end(), part.begin(), part.end());
  }
  return BitsOf(words, std::min(unit, 4) * 8, 0, bytes * 8);
}

void Emitter::StoreCode(Space space, Address address, int bytes, uint64_t alignment,
                        llvm::Value* code, llvm::Value* condition, Cache cache) {
  const int unit = static_cast<int>(std::min<uint64_t>(alignment, static_cast<uint64_t>(bytes)));
  const int word = std::min(unit, 4);
  const Slots words = PackCodes({code}, bytes * 8, word * 8);
  for (int at = 0; at < bytes; at += unit) {
    const auto first = words.begin() + at / word;
    StoreWords(space, {address.base, address.offset + at}, unit,
               Slots(first, first + std::max(1, unit / word)), condition, cache);
  }
}

}  // namespace tarsia::compiler

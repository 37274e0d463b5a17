#include "compiler/llvm/element/random.h"

#include <array>

#include "compiler/llvm/element/ir.h"

namespace tarsia::compiler {
namespace {

constexpr uint32_t kMultiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
constexpr uint32_t kWeyl[2] = {0x9E3779B9u, 0xBB67AE85u};
constexpr int kRounds = 10;

using Block = std::array<Value*, 4>;

Value* Low(Ir& ir, Value* x) { return ir.Zext(x, 32); }
Value* High(Ir& ir, Value* x) { return ir.Zext(ir.Shr(x, 32), 32); }

Block Round(Ir& ir, const Block& x, Value* key0, Value* key1) {
  const auto product = [&](Value* word, uint32_t multiplier) {
    Value* wide = ir.Zext(word, 64);
    return ir.Mul(wide, Ir::Const(wide, multiplier));
  };
  Value* p0 = product(x[0], kMultiplier[0]);
  Value* p1 = product(x[2], kMultiplier[1]);
  return {ir.Xor(ir.Xor(High(ir, p1), x[1]), key0), Low(ir, p1),
          ir.Xor(ir.Xor(High(ir, p0), x[3]), key1), Low(ir, p0)};
}

}  // namespace

llvm::Value* EmitRandom(llvm::IRBuilderBase& builder, llvm::Value* seed, llvm::Value* number) {
  Ir ir(builder);
  Value* counter = ir.Shr(number, 2);
  Value* zero = builder.getInt32(0);
  Block x = {Low(ir, counter), High(ir, counter), zero, zero};
  Value* key0 = Low(ir, seed);
  Value* key1 = High(ir, seed);
  for (int round = 0; round < kRounds; ++round) {
    x = Round(ir, x, key0, key1);
    key0 = ir.Add(key0, kWeyl[0]);
    key1 = ir.Add(key1, kWeyl[1]);
  }
  Value* odd = builder.CreateTrunc(number, builder.getInt1Ty());
  Value* upper = builder.CreateTrunc(ir.Shr(number, 1), builder.getInt1Ty());
  return ir.Select(upper, ir.Select(odd, x[3], x[2]), ir.Select(odd, x[1], x[0]));
}

}  // namespace tarsia::compiler

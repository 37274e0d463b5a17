// The main loop of a GEMM in each type that tensor cores multiply, synchronous and pipelined, held
// to bounds that follow from its tile. Needs the pinned ptxas and nvdisasm.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/codegen/machine_code.h"

namespace tarsia::harness::product_types_test {
namespace {

using compiler::SassClass;
using compiler::Target;

constexpr const char* kGemm = R"(
kernel gemm(%a: ptr<A>, %b: ptr<B>, %y: ptr<S>)
  const A: dtype
  const B: dtype
  const S: dtype
  const BM: int
  const BN: int
  const BK: int
  const STAGES: int = 1
  const M: int = 4096
  const N: int = 4096
  const K: int = 4096
  grid (M / BM, N / BN)
  warps 4
{
  %bx = block.x
  %by = block.y
  %ga = view %a : global<A>[M, K]
  %gb = view %b : global<B>[K, N] column_major
  %gy = view %y : global<S>[M, N]
  %acc = fill 0 : reg<S>[BM, BN]
  for %t = 0 to K / BK pipeline STAGES {
    %ta = load %ga[%bx * BM, %t * BK] : [BM, BK]
    %tb = load %gb[%t * BK, %by * BN] : [BK, BN]
    %acc = dot %ta, %tb, %acc
  }
  store %gy[%bx * BM, %by * BN], %acc
}
)";

struct Product {
  const char* name;
  const char* a;
  const char* b;
  const char* sum;
  Target target;
  int64_t tile, depth;  // of a block: tile x tile x depth elements
  int bytes;            // of an element of a or b
  const char* opcode;   // of the tensor cores
  int64_t tensor;       // multiply-adds of elements that the instruction does
  int64_t halves = 1;   // instructions for them
  double changes = 0;   // instructions for a register of b, to make what is multiplied
};

KernelText TextOf(const Product& p, int64_t stages) {
  return {SourceFile("gemm.tsa", kGemm),
          {{"A", p.a},
           {"B", p.b},
           {"S", p.sum},
           {"BM", std::to_string(p.tile)},
           {"BN", std::to_string(p.tile)},
           {"BK", std::to_string(p.depth)},
           {"STAGES", std::to_string(stages)}}};
}

// Instructions of a warp, one of four that have a quarter of the products each.
int64_t TensorOf(const Product& p) { return p.tile * p.tile * p.depth / 4 / p.tensor * p.halves; }

constexpr int64_t kHalf = 16 * 8 * 16;
constexpr int64_t kByte = 16 * 8 * 32;
constexpr int64_t kWord = 16 * 8 * 8;

// Each thread brings its part of both operands to shared memory in accesses of 16 bytes. The warps
// are two by two, so that each needs half of the rows and half of the columns, in registers of 4
// bytes, four of which an `ldmatrix` reads. Besides there are two barriers, and at most 16
// instructions for the addresses and the loop; where a sum has two halves, ptxas moves up to 8
// parts of it.
void CheckSynchronous(const Product& p, const MachineCode& code) {
  const int64_t bytes = 2 * p.tile * p.depth * p.bytes;
  const int64_t copies = bytes / 128 / 16;
  const int64_t registers = bytes / 2 / 32 / 4;
  EXPECT_EQ(code.OpcodesInLoop(p.opcode), TensorOf(p));
  EXPECT_EQ(code.InLoop(SassClass::kTensor), static_cast<size_t>(TensorOf(p)));
  EXPECT_EQ(code.OpcodesInLoop("LDG.E.128"), copies);
  EXPECT_EQ(code.OpcodesInLoop("STS.128"), copies);
  EXPECT_EQ(code.OpcodesInLoop("LDSM.16.M88.4"), registers / 4);
  EXPECT_EQ(code.OpcodesInLoop("LDS."), 0);
  const int64_t moved = 2 * copies + registers / 4 + 2;
  const double floor = static_cast<double>(moved) + p.changes * static_cast<double>(registers) / 2;
  const auto all = static_cast<double>(code.sass.MainLoop().size());
  const double moves = p.halves > 1 ? 8 : 0;
  EXPECT_LE(all - static_cast<double>(TensorOf(p)), floor + moves + 16);
  EXPECT_EQ(code.resources.spill_store_bytes, 0);
}

// As in examples/gemm.tsa, which is held to the same.
void CheckOthers(const Product& p, const MachineCode& code) {
  if (p.tile != 128) return;
  const auto others =
      static_cast<double>(code.sass.MainLoop().size()) - static_cast<double>(TensorOf(p));
  EXPECT_LE(others, 0.8 * static_cast<double>(TensorOf(p)));
}

// Copies that run ahead take the place of loads and of stores to shared memory, and one barrier
// that of two.
void CheckPipelined(const Product& p, const MachineCode& code) {
  const auto tensor = static_cast<int64_t>(code.InLoop(SassClass::kTensor));
  const int64_t turns = tensor / TensorOf(p);  // in the loop
  EXPECT_EQ(tensor, turns * TensorOf(p));
  const int64_t bytes = 2 * p.tile * p.depth * p.bytes;
  const int64_t copies = bytes / 128 / 16;
  const int64_t registers = bytes / 2 / 32 / 4;
  EXPECT_EQ(code.OpcodesInLoop("LDGSTS"), turns * copies);
  EXPECT_EQ(code.InLoop(SassClass::kStoreShared), 0);
  EXPECT_EQ(code.OpcodesInLoop("LDSM.16.M88.4"), turns * registers / 4);
  EXPECT_EQ(code.OpcodesInLoop("BAR"), turns);
  // ptxas puts three instructions between loads and copies, which stand in groups of eight.
  const int64_t between = (copies + 7) / 8 * 3;
  const double floor = static_cast<double>(copies) + static_cast<double>(registers) / 4 +
                       static_cast<double>(between) + 3 +
                       p.changes * static_cast<double>(registers) / 2;
  const double moves = p.halves > 1 ? 8 : 0;
  EXPECT_LE(static_cast<double>(code.sass.MainLoop().size()),
            static_cast<double>(turns) * (static_cast<double>(TensorOf(p)) + floor + moves + 16));
  EXPECT_EQ(code.resources.spill_store_bytes, 0);
}

// A turn begins with what its first products need, and its copies stand among the products: the
// queue of the memory unit takes few at once, and loads wait behind them.
void CheckSpread(const MachineCode& code) {
  size_t copies = 0;  // since the last product
  bool begun = true;  // no load since the last barrier
  for (const compiler::SassInstruction& inst : code.sass.MainLoop()) {
    if (inst.opcode.starts_with("BAR")) begun = true;
    if (inst.opcode.starts_with("LDSM")) begun = false;
    if (inst.sass_class == SassClass::kTensor) copies = 0;
    if (!inst.opcode.starts_with("LDGSTS")) continue;
    EXPECT_FALSE(begun) << "a copy in front of the loads of its turn, at " << inst.address;
    EXPECT_LE(++copies, 16U) << "at " << inst.address;
  }
}

class GemmOf : public MachineCodeTest<Product> {};

TEST_P(GemmOf, NeedsCopiesFragmentsAndLittleBesides) {
  const Product& p = GetParam();
  const auto codes = MachineCodesOf({TextOf(p, 1), TextOf(p, 3)}, p.target);
  {
    SCOPED_TRACE("synchronous");
    CheckSynchronous(p, codes[0]);
    CheckOthers(p, codes[0]);
  }
  SCOPED_TRACE("pipelined");
  CheckPipelined(p, codes[1]);
  CheckSpread(codes[1]);
}

// Hopper's mma.sync has no 8-bit floats. They are cast to f16 where they are loaded, two at once,
// and the rest is what f16 needs.
TEST(GemmOfF8OnHopper, CastsPairsAndMultipliesHalves) {
  if (!compiler::FindTool(compiler::Tool::kNvdisasm).ok()) GTEST_SKIP() << "no nvdisasm";
  const Product f8 = {"f8", "f8e4m3fn", "f8e4m3fn", "f32",  Target::kSm90a,
                      128,  64,         1,          "HMMA", kHalf};
  const MachineCode code = MachineCodesOf({TextOf(f8, 1)}, f8.target).front();
  const int64_t elements = 2 * f8.tile * f8.depth / 128;  // of a thread
  EXPECT_EQ(code.OpcodesInLoop("HMMA.16816.F32"), TensorOf(f8));
  EXPECT_EQ(code.OpcodesInLoop("F2FP"), elements / 2);
  EXPECT_EQ(code.OpcodesInLoop("LDG.E.128"), elements / 16);
  EXPECT_EQ(code.OpcodesInLoop("STS.128"), elements / 8);
  EXPECT_EQ(code.OpcodesInLoop("LDSM.16.M88.4"), elements / 4) << "each warp has half of both";
  const int64_t floor = elements / 2 + elements / 16 + elements / 8 + elements / 4 + 4;
  EXPECT_LE(static_cast<int64_t>(code.sass.MainLoop().size()) - TensorOf(f8), floor + 16);
}

INSTANTIATE_TEST_SUITE_P(
    Types, GemmOf,
    testing::Values(
        Product{"f16", "f16", "f16", "f32", Target::kSm80, 128, 64, 2, "HMMA.16816.F32", kHalf},
        Product{"bf16", "bf16", "bf16", "f32", Target::kSm90a, 128, 64, 2, "HMMA.16816.F32.BF16",
                kHalf},
        Product{"tf32", "tf32", "tf32", "f32", Target::kSm80, 128, 32, 4, "HMMA.1688.F32.TF32",
                kWord},
        Product{"tf32_hopper", "tf32", "tf32", "f32", Target::kSm90a, 128, 32, 4,
                "HMMA.1688.F32.TF32", kWord},
        Product{"i8", "i8", "i8", "i32", Target::kSm80, 128, 64, 1, "IMMA.16832.S8.S8", kByte},
        Product{"i8_hopper", "i8", "i8", "i32", Target::kSm90a, 128, 64, 1, "IMMA.16832.S8.S8",
                kByte},
        Product{"u8_i8", "u8", "i8", "i32", Target::kSm89, 128, 64, 1, "IMMA.16832.U8.S8", kByte},
        Product{"f8", "f8e4m3fn", "f8e4m3fn", "f32", Target::kSm89, 128, 64, 1,
                "QMMA.16832.F32.E4M3.E4M3", kByte},
        Product{"f8_mixed", "f8e4m3fn", "f8e5m2", "f32", Target::kSm89, 128, 64, 1,
                "QMMA.16832.F32.E4M3.E5M2", kByte},
        // Two registers are made of each of b: for the real and for the imaginary parts.
        Product{"c32", "c32", "c32", "c64", Target::kSm80, 64, 32, 4, "HMMA.16816.F32", kWord, 2,
                2},
        Product{"c32_hopper", "c32", "c32", "c64", Target::kSm90a, 64, 32, 4, "HMMA.16816.F32",
                kWord, 2, 2}),
    [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace tarsia::harness::product_types_test

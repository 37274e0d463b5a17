#include "tests/unit/compiler/recipe_kernel.h"

#include <fmt/format.h>

namespace tarsia::compiler {
namespace {

class Writer {
 public:
  Writer(const Recipe& recipe, int tile)
      : recipe_(recipe), prefix_(fmt::format("%t{}_", tile)), tile_(tile) {}

  std::string Run() {
    out_ = fmt::format("  .reg .b32 {}<{}>;\n", prefix_, recipe_.words + recipe_.steps.size());
    for (uint32_t word = 0; word < recipe_.words; ++word) {
      out_ += fmt::format("  ld.global.b32 {}, [%from+{}];\n", Register(word),
                          (static_cast<uint32_t>(tile_) * recipe_.words + word) * 128);
    }
    uint32_t result = recipe_.words;
    for (const RecipeStep& step : recipe_.steps) Step(step, Register(result++));
    for (size_t pair = 0; pair + 4 <= recipe_.pairs.size(); pair += 4) Multiply(pair);
    return out_;
  }

 private:
  [[nodiscard]] std::string Register(uint32_t number) const {
    return fmt::format("{}{}", prefix_, number);
  }
  [[nodiscard]] std::string Text(const RecipeOperand& operand) const {
    return operand.is_constant ? fmt::format("0x{:08X}", operand.value) : Register(operand.value);
  }

  void Step(const RecipeStep& step, const std::string& result) {
    const std::string a = Text(step.a), b = Text(step.b), c = Text(step.c);
    switch (step.op) {
      case RecipeOp::kTurn:
        out_ += fmt::format("  shf.r.wrap.b32 {}, {}, {}, {};\n", result, a, b, c);
        return;
      case RecipeOp::kPermute:
        out_ += fmt::format("  prmt.b32 {}, {}, {}, {};\n", result, a, b, c);
        return;
      case RecipeOp::kLop3:
        out_ += fmt::format("  lop3.b32 {}, {}, {}, {}, {};\n", result, a, b, c, step.table);
        return;
      case RecipeOp::kAdd:
        out_ += fmt::format("  add.u32 {}, {}, {};\n", result, a, b);
        return;
      case RecipeOp::kFma:
        out_ += fmt::format("  mov.b32 %u, {};\n  mov.b32 %v, {};\n", b, c);
        out_ += fmt::format("  fma.rn.{} {}, {}, %u, %v;\n",
                            recipe_.compute == kF16 ? "f16x2" : "bf16x2", result, a);
        return;
    }
  }

  void Multiply(size_t pair) {
    const std::string a = fmt::format(
        "{}, {}, {}, {}", Register(recipe_.pairs[pair]), Register(recipe_.pairs[pair + 1]),
        Register(recipe_.pairs[pair + 2]), Register(recipe_.pairs[pair + 3]));
    const std::string sums = "{%s0, %s1, %s2, %s3}";
    out_ += fmt::format("  mma.sync.aligned.m16n8k16.row.col.f32.{0}.{0}.f32 {1}, {{{2}}}, ",
                        recipe_.compute == kF16 ? "f16" : "bf16", sums, a) +
            "{%x0, %x1}, " + sums + ";\n";
  }

  const Recipe& recipe_;
  const std::string prefix_;
  const int tile_;
  std::string out_;
};

}  // namespace

std::string RecipeModuleHeader() { return ".version 8.5\n.target sm_90a\n.address_size 64\n"; }

std::string RecipeKernel(const std::string& name, const Recipe& recipe, int tiles) {
  std::string out = ".visible .entry " + name + R"((.param .u64 a, .param .u64 b, .param .u32 n)
{
  .reg .b64 %from, %to, %lane;
  .reg .b32 %n, %x0, %x1, %u, %v;
  .reg .f32 %s<4>;
  .reg .pred %more;
  ld.param.u64 %from, [a];
  ld.param.u64 %to, [b];
  ld.param.u32 %n, [n];
  mov.u32 %u, %tid.x;
  mul.wide.u32 %lane, %u, 4;
  add.u64 %from, %from, %lane;
  ld.global.b32 %x0, [%to];
  ld.global.b32 %x1, [%to+4];
  mov.f32 %s0, 0f00000000;
  mov.f32 %s1, %s0;
  mov.f32 %s2, %s0;
  mov.f32 %s3, %s0;
loop:
  .pragma "nounroll";
)";
  for (int tile = 0; tile < tiles; ++tile) out += Writer(recipe, tile).Run();
  return out + R"(  add.u64 %from, %from, 65536;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %more, %n, 0;
  @%more bra loop;
  st.global.f32 [%to], %s0;
  st.global.f32 [%to+4], %s1;
  st.global.f32 [%to+8], %s2;
  st.global.f32 [%to+12], %s3;
  ret;
}
)";
}

}  // namespace tarsia::compiler

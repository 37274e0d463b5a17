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
    for (size_t at = 0; at + 4 <= recipe_.values.size(); at += 4) Multiply(at);
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

  void Multiply(size_t at) {
    const std::vector<uint32_t>& values = recipe_.values;
    const std::string a =
        fmt::format("{}, {}, {}, {}", Register(values[at]), Register(values[at + 1]),
                    Register(values[at + 2]), Register(values[at + 3]));
    const std::string sums = "{%s0, %s1, %s2, %s3}";
    out_ += fmt::format("  mma.sync.aligned.{} {}, {{{}}}, ", Shape(), sums, a) + "{%x0, %x1}, " +
            sums + ";\n";
  }

  [[nodiscard]] std::string_view Shape() const {
    if (recipe_.compute == kF16) return "m16n8k16.row.col.f32.f16.f16.f32";
    if (recipe_.compute == kBF16) return "m16n8k16.row.col.f32.bf16.bf16.f32";
    // Of 8-bit floats, too: for sm_90a ptxas makes an `mma` of those out of conversions to f16.
    return "m16n8k32.row.col.s32.s8.s8.s32";
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
  .reg .b32 %s<4>;
  .reg .pred %more;
  ld.param.u64 %from, [a];
  ld.param.u64 %to, [b];
  ld.param.u32 %n, [n];
  mov.u32 %u, %tid.x;
  mul.wide.u32 %lane, %u, 4;
  add.u64 %from, %from, %lane;
  ld.global.b32 %x0, [%to];
  ld.global.b32 %x1, [%to+4];
  mov.b32 %s0, 0;
  mov.b32 %s1, %s0;
  mov.b32 %s2, %s0;
  mov.b32 %s3, %s0;
loop:
  .pragma "nounroll";
)";
  for (int tile = 0; tile < tiles; ++tile) out += Writer(recipe, tile).Run();
  return out + R"(  add.u64 %from, %from, 65536;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %more, %n, 0;
  @%more bra loop;
  st.global.b32 [%to], %s0;
  st.global.b32 [%to+4], %s1;
  st.global.b32 [%to+8], %s2;
  st.global.b32 [%to+12], %s3;
  ret;
}
)";
}

}  // namespace tarsia::compiler

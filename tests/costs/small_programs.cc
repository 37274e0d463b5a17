#include "tests/costs/small_programs.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "support/diagnostic.h"
#include "tests/harness/program.h"

namespace tarsia::costs {
namespace {

constexpr SmallProgram kPrograms[] = {
    {"copy_f32", R"(  %gx = view %x : global<f32>[32, 32]
  %gy = view %y : global<f32>[32, 32]
  %t = load %gx[0, 0] : [32, 32]
  store %gy[0, 0], %t
)"},
    {"copy_part_of_rows", R"(  %gx = view %x : global<f16>[64, 256]
  %gy = view %y : global<f16>[64, 16]
  %t = load %gx[0, 32] : [64, 16]
  store %gy[0, 0], %t
)"},
    {"chain_f32", R"(  %gx = view %x : global<f32>[16, 64]
  %gy = view %y : global<f32>[16, 64]
  %t = load %gx[0, 0] : [16, 64]
  %u = mul %t, 2.0
  %v = add %u, 1.0
  %w1 = max %v, 0.0
  store %gy[0, 0], %w1
)"},
    {"two_inputs", R"(  %gx = view %x : global<f16>[32, 32]
  %gy = view %y : global<f16>[32, 32]
  %gz = view %z : global<f16>[32, 32]
  %a = load %gx[0, 0] : [32, 32]
  %b = load %gz[0, 0] : [32, 32]
  %s = add %a, %b
  store %gy[0, 0], %s
)"},
    {"one_row", R"(  %gx = view %x : global<f32>[1024]
  %gy = view %y : global<f32>[1024]
  %t = load %gx[0] : [1024]
  %u = mul %t, %t
  store %gy[0], %u
)"},
    {"transposing_copy", R"(  %gx = view %x : global<f32>[32, 32]
  %gy = view %y : global<f32>[32, 32] column_major
  %t = load %gx[0, 0] : [32, 32]
  store %gy[0, 0], %t
)"},
    {"transposing_copy_f16", R"(  %gx = view %x : global<f16>[32, 32]
  %gy = view %y : global<f16>[32, 32] column_major
  %t = load %gx[0, 0] : [32, 32]
  store %gy[0, 0], %t
)"},
    {"transposing_copy_u8", R"(  %gx = view %x : global<u8>[32, 32]
  %gy = view %y : global<u8>[32, 32] column_major
  %t = load %gx[0, 0] : [32, 32]
  store %gy[0, 0], %t
)"},
    {"permute_small", R"(  %gx = view %x : global<f32>[8, 8]
  %gy = view %y : global<f32>[8, 8]
  %t = load %gx[0, 0] : [8, 8]
  %u = permute %t order [1, 0]
  store %gy[0, 0], %u
)"},
    {"permute_three", R"(  %gx = view %x : global<f16>[4, 16, 16]
  %gy = view %y : global<f16>[16, 4, 16]
  %t = load %gx[0, 0, 0] : [4, 16, 16]
  %u = permute %t order [1, 0, 2]
  store %gy[0, 0, 0], %u
)"},
    {"reshape_rows", R"(  %gx = view %x : global<f32>[16, 64]
  %gy = view %y : global<f32>[32, 32]
  %t = load %gx[0, 0] : [16, 64]
  %u = reshape %t : [32, 32]
  store %gy[0, 0], %u
)"},
    {"reshape_and_transpose", R"(  %gx = view %x : global<f16>[16, 64]
  %gy = view %y : global<f16>[32, 32] column_major
  %t = load %gx[0, 0] : [16, 64]
  %u = reshape %t : [32, 32]
  store %gy[0, 0], %u
)"},
    {"sum_of_rows", R"(  %gx = view %x : global<f32>[32, 32]
  %gy = view %y : global<f32>[32]
  %t = load %gx[0, 0] : [32, 32]
  %s = reduce.sum %t axes [1]
  store %gy[0], %s
)"},
    {"sum_of_columns", R"(  %gx = view %x : global<f32>[32, 32]
  %gy = view %y : global<f32>[32]
  %t = load %gx[0, 0] : [32, 32]
  %s = reduce.sum %t axes [0]
  store %gy[0], %s
)"},
    {"sum_of_all", R"(  %gx = view %x : global<f16>[32, 32]
  %gy = view %y : global<f16>[1]
  %t = load %gx[0, 0] : [32, 32]
  %s = reduce.sum %t axes [0, 1] keepdims
  %r = reshape %s : [1]
  store %gy[0], %r
)"},
    {"max_of_middle", R"(  %gx = view %x : global<f32>[8, 8, 16]
  %gy = view %y : global<f32>[8, 16]
  %t = load %gx[0, 0, 0] : [8, 8, 16]
  %s = reduce.max %t axes [1]
  store %gy[0, 0], %s
)"},
    {"argmax_of_rows", R"(  %gx = view %x : global<f32>[16, 64]
  %gy = view %y : global<f32>[16]
  %gz = view %z : global<i32>[16]
  %t = load %gx[0, 0] : [16, 64]
  %m, %i = reduce.argmax %t axis 1
  store %gy[0], %m
  store %gz[0], %i
)"},
    {"broadcast_row", R"(  %gx = view %x : global<f32>[32, 32]
  %gy = view %y : global<f32>[32, 32]
  %gz = view %z : global<f32>[1, 32]
  %t = load %gx[0, 0] : [32, 32]
  %r = load %gz[0, 0] : [1, 32]
  %b = broadcast %r : [32, 32]
  %s = mul %t, %b
  store %gy[0, 0], %s
)"},
    {"broadcast_column", R"(  %gx = view %x : global<f16>[32, 32]
  %gy = view %y : global<f16>[32, 32]
  %gz = view %z : global<f16>[32, 1]
  %t = load %gx[0, 0] : [32, 32]
  %r = load %gz[0, 0] : [32, 1]
  %b = broadcast %r : [32, 32]
  %s = mul %t, %b
  store %gy[0, 0], %s
)"},
    {"rows_minus_their_max", R"(  %gx = view %x : global<f32>[16, 32]
  %gy = view %y : global<f32>[16, 32]
  %t = load %gx[0, 0] : [16, 32]
  %m = reduce.max %t axes [1] keepdims
  %b = broadcast %m : [16, 32]
  %d = sub %t, %b
  store %gy[0, 0], %d
)"},
    {"columns_minus_their_max", R"(  %gx = view %x : global<f32>[32, 16]
  %gy = view %y : global<f32>[32, 16]
  %t = load %gx[0, 0] : [32, 16]
  %m = reduce.max %t axes [0] keepdims
  %b = broadcast %m : [32, 16]
  %d = sub %t, %b
  store %gy[0, 0], %d
)"},
    {"packed_u4",
     R"(  %gx = view %x : global<u4>[64, 16] packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))
  %gy = view %y : global<f16>[64, 16]
  %t = load %gx[0, 0] : [64, 16]
  %f = cast %t : f16
  store %gy[0, 0], %f
)"},
    {"row_major_u4", R"(  %gx = view %x : global<u4>[16, 64]
  %gy = view %y : global<f16>[16, 64]
  %t = load %gx[0, 0] : [16, 64]
  %f = cast %t : f16
  store %gy[0, 0], %f
)"},
    {"widen_f16", R"(  %gx = view %x : global<f16>[16, 64]
  %gy = view %y : global<f32>[16, 64]
  %t = load %gx[0, 0] : [16, 64]
  %f = cast %t : f32
  store %gy[0, 0], %f
)"},
    {"mixed_widths", R"(  %gx = view %x : global<u8>[16, 64]
  %gy = view %y : global<f32>[16, 64]
  %gz = view %z : global<f16>[16, 64]
  %t = load %gx[0, 0] : [16, 64]
  %a = cast %t : f32
  %h = load %gz[0, 0] : [16, 64]
  %b = cast %h : f32
  %s = add %a, %b
  store %gy[0, 0], %s
)"},
    {"sum_over_a_loop", R"(  %gx = view %x : global<f32>[128, 32]
  %gy = view %y : global<f32>[16, 32]
  %acc = fill 0.0 : reg<f32>[16, 32]
  for %i = 0 to 8 {
    %t = load %gx[%i * 16, 0] : [16, 32]
    %acc = add %acc, %t
  }
  store %gy[0, 0], %acc
)"},
    {"transposed_sum_over_a_loop", R"(  %gx = view %x : global<f32>[128, 32]
  %gy = view %y : global<f32>[16, 32] column_major
  %acc = fill 0.0 : reg<f32>[16, 32]
  for %i = 0 to 8 {
    %t = load %gx[%i * 16, 0] : [16, 32]
    %acc = add %acc, %t
  }
  store %gy[0, 0], %acc
)"},
    {"dot_f16", R"(  %gx = view %x : global<f16>[16, 32]
  %gy = view %y : global<f32>[16, 16]
  %gz = view %z : global<f16>[32, 16]
  %a = load %gx[0, 0] : [16, 32]
  %b = load %gz[0, 0] : [32, 16]
  %c = fill 0.0 : reg<f32>[16, 16]
  %d = dot %a, %b, %c
  store %gy[0, 0], %d
)"},
    {"dot_f16_in_a_loop", R"(  %gx = view %x : global<f16>[16, 128]
  %gy = view %y : global<f16>[16, 16]
  %gz = view %z : global<f16>[128, 16]
  %acc = fill 0.0 : reg<f32>[16, 16]
  for %i = 0 to 4 {
    %a = load %gx[0, %i * 32] : [16, 32]
    %b = load %gz[%i * 32, 0] : [32, 16]
    %acc = dot %a, %b, %acc
  }
  %h = cast %acc : f16
  store %gy[0, 0], %h
)"},
    {"gather_rows", R"(  %gx = view %x : global<f32>[64, 32]
  %gy = view %y : global<f32>[16, 32]
  %gz = view %z : global<i32>[16]
  %i = load %gz[0] : [16]
  %t = gather %gx, %i axis 0 : [16, 32]
  store %gy[0, 0], %t
)"},
    {"through_shared_memory", R"(  %gx = view %x : global<f32>[16, 16]
  %gy = view %y : global<f32>[16, 16] column_major
  %s = alloc.shared : f32 [16, 16] row_major
  %t = load %gx[0, 0] : [16, 16]
  store %s[0, 0], %t
  sync
  %u = load %s[0, 0] : [16, 16]
  store %gy[0, 0], %u
)"},
};

}  // namespace

std::span<const SmallProgram> SmallPrograms() { return kPrograms; }

std::string TextOf(const SmallProgram& program) {
  return fmt::format(
      "kernel k(%x: ptr<u8>, %y: ptr<u8>, %z: ptr<u8>, %w: ptr<u8>)\n  warps 1\n{{\n{}}}\n",
      program.body);
}

Program Compiled(const SmallProgram& program) {
  harness::Made made =
      harness::MakeProgram(SourceFile(std::string(program.name), TextOf(program)), "", {});
  if (!made.program) {
    fmt::print(stderr, "{}", made.error);
    std::abort();
  }
  return *std::move(made.program);
}

}  // namespace tarsia::costs

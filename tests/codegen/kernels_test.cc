// Results of compiled kernels against plain formulas.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/harness/codec.h"
#include "tests/harness/run_case.h"

namespace tarsia::harness {
namespace {

// A tensor of integers, element by element from its row-major number.
template <typename F>
Tensor Made(DType type, const Shape& shape, const F& value) {
  Tensor out{type, shape, {}};
  for (int64_t k = 0; k < Elements(shape); ++k) {
    const auto number = static_cast<int64_t>(value(k));
    out.codes.push_back(type.IsInteger() ? static_cast<uint64_t>(number) & CodeMask(type)
                                         : EncodeExact(type, static_cast<double>(number)).value());
  }
  return out;
}

void Check(const std::string& text, std::vector<Input> inputs, const std::string& output,
           const Tensor& expected) {
  Case c;
  c.title = "test";
  c.source = SourceFile("test.tsa", text);
  c.inputs = std::move(inputs);
  c.outputs = {{output, Expectation::Exact(expected)}};
  const CaseResult result = RunEverywhere(c);
  EXPECT_TRUE(result.ok()) << result.Text(c);
}

// Seven codes of 3 bits lie in three bytes, and each is written by a different block.
TEST(Kernels, BlocksShareTheLastBytes) {
  const char* const text = R"(
kernel k(%y: ptr<u3>)
  grid (7)
  warps 1
{
  %b = block.x
  %gy = view %y : global<u3>[7]
  %t = iota : i32 [1]
  %u = add %t, %b
  %v = cast %u : u3
  store %gy[%b], %v
}
)";
  Check(text, {}, "y", Made(kU3, {7}, [](int64_t k) { return k; }));
}

// A shared tile in a loop is a new one in each iteration, in the same bytes.
TEST(Kernels, TurnsReuseSharedMemory) {
  const char* const text = R"(
kernel k(%y: ptr<i32>)
  warps 2
{
  %gy = view %y : global<i32>[4, 64]
  for %i = 0 to 4 {
    %s = alloc.shared : i32 [64]
    %t = iota : i32 [64]
    %u = add %t, %i
    store %s[0], %u
    sync
    for %j = 0 to 2 {
      %r = load %s[63 - %j] : [1]
      %w = reshape %r : [1, 1]
      store %gy[%i, %j], %w
    }
  }
}
)";
  Tensor expected = Made(kI32, {4, 64}, [](int64_t k) { return 63 - k % 64 + k / 64; });
  for (size_t k = 0; k < expected.codes.size(); ++k) {
    if (k % 64 >= 2) expected.codes[k] = 0;
  }
  Check(text, {{"y", Made(kI32, {4, 64}, [](int64_t) { return 0; })}}, "y", expected);
}

int64_t SmallA(int64_t k) { return k * 7 % 5 - 2; }
int64_t SmallB(int64_t k) { return k * 3 % 7 - 3; }

void CheckDot(DType type, DType sum, int64_t m, int64_t k, int64_t n, int warps) {
  const auto extent = [](int64_t x) { return std::to_string(x); };
  const std::string t(DTypeName(type)), s(DTypeName(sum));
  const std::string text = "kernel k(%a: ptr<" + t + ">, %b: ptr<" + t + ">, %y: ptr<" + s +
                           ">)\n  warps " + extent(warps) + "\n{\n  %ga = view %a : global<" + t +
                           ">[" + extent(m) + ", " + extent(k) + "]\n  %gb = view %b : global<" +
                           t + ">[" + extent(k) + ", " + extent(n) +
                           "]\n  %gy = view %y : global<" + s + ">[" + extent(m) + ", " +
                           extent(n) + "]\n  %ta = load %ga[0, 0] : [" + extent(m) + ", " +
                           extent(k) + "]\n  %tb = load %gb[0, 0] : [" + extent(k) + ", " +
                           extent(n) + "]\n  %c = fill 1 : " + s + " [" + extent(m) + ", " +
                           extent(n) + "]\n  %d = dot %ta, %tb, %c\n  store %gy[0, 0], %d\n}\n";
  const Tensor expected = Made(sum, {m, n}, [&](int64_t at) {
    int64_t total = 1;
    for (int64_t i = 0; i < k; ++i) {
      total += SmallA(at / n * k + i) * SmallB(i * n + at % n);
    }
    return total;
  });
  Check(text, {{"a", Made(type, {m, k}, SmallA)}, {"b", Made(type, {k, n}, SmallB)}}, "y",
        expected);
}

TEST(Kernels, DotOfManyFragments) {
  CheckDot(kF16, kF32, 64, 48, 24, 1);
  CheckDot(kBF16, kF32, 33, 40, 70, 4);
  CheckDot(kF16, kF32, 16, 17, 8, 2);
}

// 1 KiB of operands per step, so that the 100 steps do not fit into the scratch at once.
TEST(Kernels, DotOfManySlabs) {
  CheckDot(kF64, kF64, 64, 100, 64, 4);
  CheckDot(kI8, kI32, 37, 65, 29, 1);
}

// The scalar that thread 0 loads is the same in all threads, and they read it after it is stored.
TEST(Kernels, ScalarsFromMemoryThatChanges) {
  const char* const text = R"(
kernel k(%y: ptr<i32>)
  warps 2
{
  %gy = view %y : global<i32>[8]
  %t = fill 0 : i32 [8]
  store %gy[0], %t
  sync
  for %i = 0 to 7 {
    %n = load.scalar %gy[%i]
    %one = fill 0 : i32 [1]
    %sum = mov %n + %i
    %u = add %one, %sum
    store %gy[%i + 1], %u
    sync
  }
}
)";
  Check(text, {}, "y", Made(kI32, {8}, [](int64_t k) { return k * (k - 1) / 2; }));
}

// Codes of 5 bits that a swizzle splits at a boundary of 16 bytes.
TEST(Kernels, SwizzledCodesThatCrossBytes) {
  const char* const text = R"(
kernel k(%x: ptr<u5>, %y: ptr<u5>)
  warps 2
{
  %gx = view %x : global<u5>[16, 24]
  %gy = view %y : global<u5>[16, 24]
  %s = alloc.shared : shared<u5>[16, 24] swizzle(row_major(16, 24), 4, 2, 1)
  %t = load %gx[0, 0] : [16, 24]
  store %s[0, 0], %t
  sync
  %u = load %s[0, 0] : [16, 24]
  store %gy[0, 0], %u
}
)";
  const Tensor x = Made(kU5, {16, 24}, [](int64_t k) { return k * 11 % 32; });
  Check(text, {{"x", x}}, "y", x);
  // The same bytes, read as what they are: byte b of the row is byte b ^ ((b & 32) / 2) of the
  // tile.
  const char* const bytes = R"(
kernel k(%x: ptr<u5>, %y: ptr<u8>)
  warps 1
{
  %gx = view %x : global<u5>[102]
  %gy = view %y : global<u8>[64]
  %gs = view %y : global<u5>[102] swizzle(row_major(102), 4, 1, 1)
  %zero = fill 0 : u8 [64]
  store %gy[0], %zero
  sync
  %t = load %gx[0] : [102]
  store %gs[0], %t
}
)";
  const Tensor codes = Made(kU5, {102}, [](int64_t k) { return k * 7 % 32; });
  Tensor expected{kU8, {64}, std::vector<uint64_t>(64)};
  for (uint64_t bit = 0; bit < 510; ++bit) {
    const uint64_t byte = bit / 8;
    const uint64_t to = byte ^ ((byte & 32) >> 1);
    expected.codes[to] |= (codes.codes[bit / 5] >> bit % 5 & 1) << bit % 8;
  }
  Check(bytes, {{"x", codes}}, "y", expected);
}

// Packed codes whose bits are scattered, read and written where no packed tile begins.
void CheckPacked(DType type, const std::string& bits) {
  const std::string t(DTypeName(type));
  const std::string tensor =
      "global<" + t + ">[20, 40] packed(spatial(8, 4) * local(4, 8), " + bits + ")\n";
  const std::string text = "kernel k(%x: ptr<" + t + ">, %y: ptr<" + t +
                           ">)\n  warps 1\n{\n  %gx = view %x : " + tensor +
                           "  %gy = view %y : " + tensor +
                           "  %t = load %gx[3, 5] : [16, 30]\n  store %gy[1, 2], %t\n}\n";
  const auto value = [](int64_t k) { return k * 5 % 8 - 4; };
  const Tensor expected = Made(type, {20, 40}, [&](int64_t k) -> int64_t {
    const int64_t row = k / 40, column = k % 40;
    const bool stored = row >= 1 && row < 17 && column >= 2 && column < 32;
    return stored ? value((row + 2) * 40 + column + 3) : 1;
  });
  Check(
      text,
      {{"x", Made(type, {20, 40}, value)}, {"y", Made(type, {20, 40}, [](int64_t) { return 1; })}},
      "y", expected);
}

TEST(Kernels, PackedCodesAnywhere) {
  for (const char* const name : {"i3", "i7", "f4e2m1", "f5e2m2", "f6e3m2", "f7e3m3", "f8e4m3"}) {
    SCOPED_TRACE(name);
    CheckPacked(FindDType(name).value(), "contiguous");
    CheckPacked(FindDType(name).value(), "lanes(f16)");
    for (const DType compute : {kI8, kF8E4M3FN}) {
      if (!CheckUnpack(FindDType(name).value(), compute).ok()) continue;
      CheckPacked(FindDType(name).value(), fmt::format("lanes({})", DTypeName(compute)));
    }
  }
}

// A vector of four begins at a multiple of four, and these begin one after it.
TEST(Kernels, VectorsBeginAtTheirIndex) {
  const char* const text = R"(
kernel k(%y: ptr<i32>)
  warps 1
{
  %gy = view %y : global<i32>[128]
  %s = alloc.shared : i32 [132]
  %t = iota : i32 [132]
  store %s[0], %t
  sync
  %u = load %s[1] : reg<i32>[128] spatial(32) * local(4)
  store %gy[0], %u
}
)";
  Check(text, {}, "y", Made(kI32, {128}, [](int64_t k) { return k + 1; }));
}

}  // namespace
}  // namespace tarsia::harness

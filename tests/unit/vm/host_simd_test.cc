// The loops of vm/host compute the same bits on every vector unit of this machine, for any codes,
// including infinities, NaNs and subnormal numbers.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/vm/host_testing.h"
#include "vm/host/dot.h"
#include "vm/host/elementwise.h"
#include "vm/host/reduce.h"

namespace tarsia::host::host_simd_test {
namespace {

constexpr DType kTypes[] = {kU8, kU16, kU32, kU64, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64};

// Arbitrary codes for every other element; else numbers of about one size, whose sums and products
// stay finite and lose digits.
Array Any(DType type, size_t n, uint64_t seed) {
  Random random(seed);
  std::vector<uint64_t> codes;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t any = random.Next() & CodeMask(type);
    const double number = static_cast<double>(random.Between(-1'000'000, 1'000'000)) * 1e-6;
    codes.push_back(type.IsInteger() || i % 2 == 0 ? any : EncodeFromDouble(type, number));
  }
  return {type, codes};
}

// Numbers alone.
Array Numbers(DType type, size_t n, uint64_t seed) {
  Random random(seed);
  std::vector<double> values;
  for (size_t i = 0; i < n; ++i) {
    values.push_back(type.IsInteger()
                         ? static_cast<double>(random.Between(0, 100))
                         : static_cast<double>(random.Between(-1'000'000, 1'000'000)) * 1e-6);
  }
  return Array::OfDoubles(type, values);
}

// Runs `compute` on each vector unit; its results must be those of the first.
void ExpectOneResult(const std::string& what, DType type, size_t n,
                     const std::function<void(void* out)>& compute) {
  std::vector<uint64_t> first;
  ForEachTarget([&] {
    Array out(type, n);
    compute(out.data());
    std::vector<uint64_t> codes;
    for (size_t i = 0; i < n; ++i) codes.push_back(out[i]);
    if (first.empty()) first = codes;
    for (size_t i = 0; i < n; ++i) {
      ASSERT_EQ(codes[i], first[i]) << what << " " << DTypeName(type) << " at " << i;
    }
  });
}

TEST(HostSimd, Unary) {
  constexpr size_t kCount = 333;
  for (const InstRow& row : AllInstructions()) {
    if (row.family != Family::kElementwise || row.operands.size() != 1) continue;
    for (const DType type : kTypes) {
      if (!Contains(row.operands[0].types, type)) continue;
      const Array a = Any(type, kCount, 1);
      ExpectOneResult(std::string(row.mnemonic), type, kCount,
                      [&](void* out) { Unary(row.opcode, type, a.data(), out, kCount); });
    }
  }
}

TEST(HostSimd, Binary) {
  constexpr size_t kCount = 333;
  for (const InstRow& row : AllInstructions()) {
    if (row.family != Family::kElementwise || row.operands.size() != 2) continue;
    for (const DType type : kTypes) {
      if (!Contains(row.operands[0].types, type)) continue;
      const DType result = row.Has(kCompares) ? kBoolType : type;
      const Array a = Any(type, kCount, 2), b = Any(type, kCount, 3);
      ExpectOneResult(std::string(row.mnemonic), result, kCount, [&](void* out) {
        Binary(row.opcode, type, a.data(), false, b.data(), false, out, kCount);
      });
    }
  }
}

TEST(HostSimd, FusedMultiplyAdd) {
  constexpr size_t kCount = 333;
  for (const DType type : {kF16, kBF16, kF32, kF64, kC32, kC64}) {
    const DType part = type.IsComplex() ? ComponentOf(type) : type;
    const size_t parts = type.IsComplex() ? 2 * kCount : kCount;
    const Array a = Any(part, parts, 4), b = Any(part, parts, 5), c = Any(part, parts, 6);
    ExpectOneResult("fma", part, parts, [&](void* out) {
      Fma(type, a.data(), false, b.data(), false, c.data(), false, out, kCount);
    });
  }
}

TEST(HostSimd, Reductions) {
  for (const Opcode op :
       {Opcode::kReduceSum, Opcode::kReduceProd, Opcode::kReduceMin, Opcode::kReduceMax}) {
    for (const DType type : kTypes) {
      for (const int64_t axis : {1, 3, 15, 16, 17, 40, 63, 64, 65, 127, 300, 5000}) {
        for (const int64_t inner : {1, 19}) {
          const auto count = static_cast<size_t>(axis * inner);
          for (const Array& source : {Numbers(type, count, 7), Any(type, count, 8)}) {
            ExpectOneResult(std::string(Row(op).mnemonic) + " of " + std::to_string(axis), type,
                            static_cast<size_t>(inner), [&](void* out) {
                              Reduce(op, type, source.data(), 1, axis, inner, out);
                            });
          }
        }
      }
    }
  }
}

struct DotTypes {
  DType a, b, sum;
};

TEST(HostSimd, Dots) {
  constexpr DotTypes kRows[] = {{kF32, kF32, kF32},   {kF64, kF64, kF64},      {kF16, kF16, kF32},
                                {kBF16, kBF16, kF32}, {kF16, kF8E4M3FN, kF32}, {kI8, kU8, kI32}};
  constexpr int64_t kM = 13, kN = 45, kK = 70;
  for (const DotTypes& types : kRows) {
    for (const bool numbers : {true, false}) {
      const auto make = [&](DType type, int64_t count, uint64_t seed) {
        return numbers ? Numbers(type, static_cast<size_t>(count), seed)
                       : Any(type, static_cast<size_t>(count), seed);
      };
      const Array a = make(types.a, kM * kK, 9), b = make(types.b, kK * kN, 10);
      const Array c = make(types.sum, kM * kN, 11);
      ExpectOneResult(
          numbers ? "dot of numbers" : "dot of any codes", types.sum, kM * kN, [&](void* out) {
            Dot(types.a, types.b, types.sum, a.data(), b.data(), c.data(), out, kM, kN, kK);
          });
    }
  }
}

}  // namespace
}  // namespace tarsia::host::host_simd_test

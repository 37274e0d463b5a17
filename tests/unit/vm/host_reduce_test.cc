// vm/host/reduce.h against plain loops, and values by hand where rounding and NaNs matter.
#include "vm/host/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/vm/host_testing.h"

namespace tarsia::host::host_reduce_test {
namespace {

constexpr Opcode kOps[] = {Opcode::kReduceSum, Opcode::kReduceProd, Opcode::kReduceMin,
                           Opcode::kReduceMax};
constexpr DType kTypes[] = {kU8, kU16, kU32, kU64, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Of small integers, so that floats are exact; wraps for integers by the mask.
int64_t Plain(Opcode op, const std::vector<int64_t>& values) {
  int64_t result = op == Opcode::kReduceSum ? 0 : op == Opcode::kReduceProd ? 1 : values[0];
  for (int64_t value : values) {
    if (op == Opcode::kReduceSum) result += value;
    if (op == Opcode::kReduceProd) result *= value;
    if (op == Opcode::kReduceMin) result = value < result ? value : result;
    if (op == Opcode::kReduceMax) result = value > result ? value : result;
  }
  return result;
}

uint64_t CodeOf(DType type, int64_t value) {
  if (type.IsInteger()) return static_cast<uint64_t>(value) & CodeMask(type);
  return EncodeFromDouble(type, static_cast<double>(value));
}

TEST(HostReduce, SmallIntegersInEveryTypeAndShape) {
  ForEachTarget([] {
    for (DType type : kTypes) {
      for (Opcode op : kOps) {
        SCOPED_TRACE(std::string(Row(op).mnemonic) + " " + std::string(DTypeName(type)));
        for (int64_t axis : {1, 2, 3, 63, 64, 65, 129, 200}) {
          for (int64_t inner : {1, 2, 17}) {
            const int64_t outer = 3;
            Random random(static_cast<uint64_t>(axis * 100 + inner));
            std::vector<int64_t> values;
            std::vector<uint64_t> codes;
            for (int64_t i = 0; i < outer * axis * inner; ++i) {
              int64_t value = random.Between(0, 3);
              if (op == Opcode::kReduceProd) value = i % 37 == 0 ? 2 : 1;
              if (!type.IsUnsigned() && i % 5 == 0) value = -value;
              values.push_back(value);
              codes.push_back(CodeOf(type, value));
            }
            const Array src(type, codes);
            Array out(type, static_cast<size_t>(outer * inner));
            Reduce(op, type, src.data(), outer, axis, inner, out.data());
            for (int64_t o = 0; o < outer; ++o) {
              for (int64_t i = 0; i < inner; ++i) {
                std::vector<int64_t> line;
                for (int64_t a = 0; a < axis; ++a)
                  line.push_back(values[static_cast<size_t>((o * axis + a) * inner + i)]);
                ASSERT_EQ(out[static_cast<size_t>(o * inner + i)], CodeOf(type, Plain(op, line)))
                    << axis << ", " << inner;
              }
            }
            EXPECT_TRUE(out.GuardIsWhole());
          }
        }
      }
    }
  });
}

TEST(HostReduce, OfNothing) {
  for (DType type : kTypes) {
    const uint64_t least = type.IsSigned() ? uint64_t{1} << (type.bits - 1) : 0;
    const uint64_t most = CodeMask(type) ^ least;
    for (int64_t inner : {1, 3}) {
      Array out(type, static_cast<size_t>(2 * inner));
      const auto run = [&](Opcode op) {
        Reduce(op, type, nullptr, 2, 0, inner, out.data());
        for (size_t i = 1; i < out.size(); ++i) EXPECT_EQ(out[i], out[0]);
        return out[0];
      };
      EXPECT_EQ(run(Opcode::kReduceSum), 0u);
      EXPECT_EQ(run(Opcode::kReduceProd), CodeOf(type, 1));
      EXPECT_EQ(run(Opcode::kReduceMin), type.IsFloat() ? EncodeFromDouble(type, kInfinity) : most);
      EXPECT_EQ(run(Opcode::kReduceMax),
                type.IsFloat() ? EncodeFromDouble(type, -kInfinity) : least);
    }
  }
  Array out(kBoolType, 2);
  Reduce(Opcode::kReduceAny, kBoolType, nullptr, 2, 0, 1, out.data());
  EXPECT_EQ(out[1], 0u);
  Reduce(Opcode::kReduceAll, kBoolType, nullptr, 2, 0, 1, out.data());
  EXPECT_EQ(out[1], 1u);
}

TEST(HostReduce, AnyAndAll) {
  ForEachTarget([] {
    for (size_t n : {1, 2, 31, 64, 100}) {
      for (size_t odd_one = 0; odd_one < n; ++odd_one) {
        std::vector<uint64_t> zeros(n, 0), ones(n, 1);
        Array none(kBoolType, zeros), full(kBoolType, ones);
        zeros[odd_one] = 1;
        ones[odd_one] = 0;
        const Array one(kBoolType, zeros), lacking(kBoolType, ones);
        const auto run = [&](Opcode op, const Array& in) {
          Array out(kBoolType, 1);
          Reduce(op, kBoolType, in.data(), 1, static_cast<int64_t>(n), 1, out.data());
          return out[0];
        };
        EXPECT_EQ(run(Opcode::kReduceAny, none), 0u);
        EXPECT_EQ(run(Opcode::kReduceAny, one), 1u);
        EXPECT_EQ(run(Opcode::kReduceAll, full), 1u);
        EXPECT_EQ(run(Opcode::kReduceAll, lacking), 0u);
      }
    }
  });
}

TEST(HostReduce, NansArePassedOverByMinAndMaxOnly) {
  ForEachTarget([] {
    for (DType type : {kF16, kBF16, kF32, kF64}) {
      for (int64_t inner : {1, 2}) {
        // Interleaved columns if inner is 2: the second holds only NaNs.
        std::vector<double> values;
        for (double x : {kNan, 3.0, -kInfinity, kNan, 7.0, -0.0, 0.0}) {
          values.push_back(x);
          if (inner == 2) values.push_back(kNan);
        }
        const Array src = Array::OfDoubles(type, values);
        Array out(type, 2);
        Reduce(Opcode::kReduceMin, type, src.data(), 1, 7, inner, out.data());
        EXPECT_EQ(out.Value(0), -kInfinity);
        if (inner == 2) {
          EXPECT_EQ(out.Value(1), kInfinity);
        }
        Reduce(Opcode::kReduceMax, type, src.data(), 1, 7, inner, out.data());
        EXPECT_EQ(out.Value(0), 7);
        if (inner == 2) {
          EXPECT_EQ(out.Value(1), -kInfinity);
        }
        Reduce(Opcode::kReduceSum, type, src.data(), 1, 7, inner, out.data());
        EXPECT_TRUE(std::isnan(out.Value(0)));
      }
      const Array zeros = Array::OfDoubles(type, {0.0, -0.0, 0.0});
      Array out(type, 1);
      Reduce(Opcode::kReduceMin, type, zeros.data(), 1, 3, 1, out.data());
      EXPECT_TRUE(std::signbit(out.Value(0)));
      Reduce(Opcode::kReduceMax, type, zeros.data(), 1, 3, 1, out.data());
      EXPECT_FALSE(std::signbit(out.Value(0)));
    }
  });
}

TEST(HostReduce, HalvesAccumulateInF32) {
  ForEachTarget([] {
    // In f16 the sum of ones stops at 2048, in bf16 at 256.
    for (DType type : {kF16, kBF16}) {
      for (int64_t inner : {1, 4}) {
        const Array ones =
            Array::OfDoubles(type, std::vector<double>(static_cast<size_t>(4096 * inner), 1.0));
        Array out(type, static_cast<size_t>(inner));
        Reduce(Opcode::kReduceSum, type, ones.data(), 1, 4096, inner, out.data());
        EXPECT_EQ(out.Value(0), 4096);
      }
    }
    // 300 * 300 / 300: an intermediate product exceeds f16.
    const Array factors = Array::OfDoubles(kF16, {256, 512, 1.0 / 256});
    Array out(kF16, 1);
    Reduce(Opcode::kReduceProd, kF16, factors.data(), 1, 3, 1, out.data());
    EXPECT_EQ(out.Value(0), 512);
  });
}

TEST(HostReduce, LongF32SumsStayNearTheTruth) {
  ForEachTarget([] {
    Random random(5);
    for (int64_t inner : {1, 3}) {
      const int64_t axis = 100000;
      std::vector<float> values;
      std::vector<double> sums(static_cast<size_t>(inner));
      for (int64_t i = 0; i < axis * inner; ++i) {
        values.push_back(static_cast<float>(random.Next() >> 40) * 0x1p-24f);
        sums[static_cast<size_t>(i % inner)] += static_cast<double>(values.back());
      }
      std::vector<float> out(static_cast<size_t>(inner));
      Reduce(Opcode::kReduceSum, kF32, values.data(), 1, axis, inner, out.data());
      for (size_t i = 0; i < out.size(); ++i) {
        // An element has at most 64 + 100000 / 64 roundings: 1e-4; summed one by one: 6e-3.
        EXPECT_NEAR(out[i], sums[i], sums[i] * 1e-5);
      }
    }
  });
}

// --- several axes ---

TEST(HostReduceAxes, EverySetOfAxesOfARankFourArray) {
  const std::vector<int64_t> shape = {3, 4, 2, 5};
  Random random(9);
  std::vector<double> values;
  for (int i = 0; i < 120; ++i) values.push_back(static_cast<double>(random.Between(-8, 8)));
  for (DType type : {kF16, kF32, kI32}) {
    const Array src = Array::OfDoubles(type, values);
    for (unsigned set = 0; set < 16; ++set) {
      SCOPED_TRACE(set);
      std::vector<int64_t> axes;
      for (int64_t axis = 3; axis >= 0; --axis) {  // in falling order: any is allowed
        if ((set >> axis & 1) != 0) axes.push_back(axis);
      }
      for (Opcode op : {Opcode::kReduceSum, Opcode::kReduceMax}) {
        std::vector<double> expected;
        size_t element = 0;
        std::vector<size_t> place(120);
        for (int64_t i = 0; i < 3; ++i)
          for (int64_t j = 0; j < 4; ++j)
            for (int64_t k = 0; k < 2; ++k)
              for (int64_t l = 0; l < 5; ++l, ++element) {
                const int64_t index[] = {i, j, k, l};
                size_t at = 0;
                for (size_t d = 0; d < 4; ++d) {
                  if ((set >> d & 1) == 0)
                    at = at * static_cast<size_t>(shape[d]) + static_cast<size_t>(index[d]);
                }
                if (at >= expected.size())
                  expected.resize(at + 1, op == Opcode::kReduceSum ? 0 : -100);
                expected[at] = op == Opcode::kReduceSum ? expected[at] + values[element]
                                                        : std::max(expected[at], values[element]);
              }
        Array out(type, expected.size());
        ReduceAxes(op, type, src.data(), shape, axes, out.data());
        for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(out.Value(i), expected[i]) << i;
        EXPECT_TRUE(out.GuardIsWhole());
      }
    }
  }
}

TEST(HostReduceAxes, RoundsOnceAfterTheLastAxis) {
  // [2, 2, 2] along axes 0 and 2: 2048 + 1 and 1 + 0. Rounded after each axis: 2048 + 1 = 2048
  // (tie to even), then + 1 = 2048 again; at once: 2050.
  const Array src = Array::OfDoubles(kF16, {2048, 1, 0, 0, 1, 0, 0, 0});
  Array out(kF16, 2);
  const int64_t shape[] = {2, 2, 2}, axes[] = {0, 2};
  ReduceAxes(Opcode::kReduceSum, kF16, src.data(), shape, axes, out.data());
  EXPECT_EQ(out.Value(0), 2050);
  EXPECT_EQ(out.Value(1), 0);
}

TEST(HostReduceAxes, EmptyAxesAndEmptyResults) {
  const int64_t shape[] = {2, 0, 3, 4}, axes[] = {1, 3};
  Array out(kI32, 6);
  ReduceAxes(Opcode::kReduceMin, kI32, nullptr, shape, axes, out.data());
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(out[i], 0x7FFFFFFFu);
  const int64_t kept[] = {0, 2};
  Array none(kI32, 0);
  ReduceAxes(Opcode::kReduceMin, kI32, nullptr, shape, kept, none.data());
  EXPECT_TRUE(none.GuardIsWhole());
  const int64_t scalar_shape[] = {2, 3};
  const int64_t both[] = {0, 1};
  const Array six(kI32, {1, 2, 3, 4, 5, 6});
  Array sum(kI32, 1);
  ReduceAxes(Opcode::kReduceSum, kI32, six.data(), scalar_shape, both, sum.data());
  EXPECT_EQ(sum[0], 21u);
  Array copy(kI32, 6);
  ReduceAxes(Opcode::kReduceSum, kI32, six.data(), scalar_shape, {}, copy.data());
  EXPECT_EQ(copy[5], 6u);
}

// --- argmin, argmax ---

TEST(HostReduceArg, FirstOfEqualsInEveryType) {
  ForEachTarget([] {
    for (DType type : kTypes) {
      SCOPED_TRACE(DTypeName(type));
      for (int64_t inner : {1, 3, 20}) {
        for (int64_t axis : {1, 2, 7, 100}) {
          Random random(static_cast<uint64_t>(inner + axis));
          std::vector<double> values;
          for (int64_t i = 0; i < 2 * axis * inner; ++i)
            values.push_back(static_cast<double>(random.Between(1, 9)));
          const Array src = Array::OfDoubles(type, values);
          Array value(type, static_cast<size_t>(2 * inner));
          std::vector<int32_t> index(static_cast<size_t>(2 * inner));
          for (Opcode op : {Opcode::kReduceArgmin, Opcode::kReduceArgmax}) {
            ReduceArg(op, type, src.data(), 2, axis, inner, value.data(), index.data());
            for (int64_t o = 0; o < 2; ++o) {
              for (int64_t i = 0; i < inner; ++i) {
                int32_t best = 0;
                const auto at = [&](int64_t a) {
                  return values[static_cast<size_t>((o * axis + a) * inner + i)];
                };
                for (int32_t a = 1; a < axis; ++a) {
                  if (op == Opcode::kReduceArgmin ? at(a) < at(best) : at(a) > at(best)) best = a;
                }
                const auto r = static_cast<size_t>(o * inner + i);
                ASSERT_EQ(index[r], best);
                ASSERT_EQ(value.Value(r), at(best));
              }
            }
          }
        }
      }
    }
  });
}

TEST(HostReduceArg, NansNothingAndInfinities) {
  for (DType type : {kF16, kBF16, kF32, kF64}) {
    const Array src = Array::OfDoubles(type, {kNan, kInfinity, kInfinity, kNan, kNan, kNan});
    Array value(type, 3);
    int32_t index[3] = {};
    ReduceArg(Opcode::kReduceArgmin, type, src.data(), 2, 3, 1, value.data(), index);
    EXPECT_EQ(index[0], 1);
    EXPECT_EQ(value.Value(0), kInfinity);
    EXPECT_EQ(index[1], -1);
    EXPECT_EQ(value.Value(1), kInfinity);
    ReduceArg(Opcode::kReduceArgmax, type, src.data(), 1, 2, 3, value.data(), index);
    EXPECT_EQ(index[0], -1);
    ReduceArg(Opcode::kReduceArgmax, type, src.data(), 2, 0, 1, value.data(), index);
    EXPECT_EQ(index[1], -1);
    EXPECT_EQ(value.Value(1), -kInfinity);
    const Array zeros = Array::OfDoubles(type, {0.0, -0.0, 0.0});
    ReduceArg(Opcode::kReduceArgmin, type, zeros.data(), 1, 3, 1, value.data(), index);
    EXPECT_EQ(index[0], 1);
  }
  const Array most(kI8, {127, 127});
  Array value(kI8, 1);
  int32_t index = 0;
  ReduceArg(Opcode::kReduceArgmin, kI8, most.data(), 1, 2, 1, value.data(), &index);
  EXPECT_EQ(index, 0);
  ReduceArg(Opcode::kReduceArgmin, kI8, most.data(), 1, 0, 1, value.data(), &index);
  EXPECT_EQ(index, -1);
  EXPECT_EQ(value[0], 127u);
}

}  // namespace
}  // namespace tarsia::host::host_reduce_test

// Tests of the harness: codes and tolerances against numbers computed by hand, and faulty
// witnesses, each of which must be caught.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "compiler/pass.h"
#include "dtypes/convert.h"
#include "tests/harness/codec.h"
#include "tests/harness/faults.h"
#include "tests/harness/run_case.h"

namespace tarsia::harness {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- codes ---------------------------------------------------------------------------------

TEST(Codec, KnownCodes) {
  EXPECT_EQ(Decode(kF16, 0x3C00), 1);
  EXPECT_EQ(Decode(kF16, 0x0001), 0x1p-24);
  EXPECT_EQ(Decode(kBF16, 0xC040), -3);
  EXPECT_EQ(Decode(kI4, 0x8), -8);
  EXPECT_EQ(Decode(kU1, 1), 1);
  EXPECT_EQ(Decode(kF4E2M1, 0x7), 6);
  EXPECT_EQ(Decode(kF8E4M3FN, 0x7E), 448);
  EXPECT_TRUE(IsNan(kF8E4M3FN, 0xFF));
  EXPECT_EQ(Decode(kE8M0, 126), 0.5);
  EXPECT_EQ(Decode(kF32, 0x40490FDB), 0x1.921fb6p+1);
  EXPECT_EQ(Decode(kC32, 0x3C00BC00), -1);
  EXPECT_EQ(DecodeImaginary(kC32, 0x3C00BC00), 1);
}

TEST(Codec, EncodesWhatATypeHoldsAndNothingElse) {
  EXPECT_EQ(EncodeExact(kF16, 1.5), 0x3E00);
  EXPECT_EQ(EncodeExact(kF16, -0.0), 0x8000);
  EXPECT_EQ(EncodeExact(kF16, 65504), 0x7BFF);
  EXPECT_EQ(EncodeExact(kF16, 65536), std::nullopt);
  EXPECT_EQ(EncodeExact(kF16, 2049), std::nullopt);
  EXPECT_EQ(EncodeExact(kF16, kInf), 0x7C00);
  EXPECT_EQ(EncodeExact(kF16, kNan), 0x7E00);
  EXPECT_EQ(EncodeExact(kF16, 0x1p-25), std::nullopt);
  EXPECT_EQ(EncodeExact(kF4E2M1, 6), 7);
  EXPECT_EQ(EncodeExact(kF4E2M1, kNan), std::nullopt);
  EXPECT_EQ(EncodeExact(kF8E4M3FN, 448), 0x7E);
  EXPECT_EQ(EncodeExact(kF8E4M3FN, 480), std::nullopt);
  EXPECT_EQ(EncodeExact(kF8E4M3FNUZ, -0.0), std::nullopt);
  EXPECT_EQ(EncodeExact(kU4, 16), std::nullopt);
  EXPECT_EQ(EncodeExact(kI4, -8), 8);
  EXPECT_EQ(EncodeExact(kI4, 8), std::nullopt);
  EXPECT_EQ(EncodeExact(kF32, 0.1), std::nullopt);
  EXPECT_EQ(EncodeExact(kE8M0, 3), std::nullopt);
  EXPECT_EQ(EncodeInteger(kI64, true, uint64_t{1} << 63), uint64_t{1} << 63);
  EXPECT_EQ(EncodeInteger(kI64, false, uint64_t{1} << 63), std::nullopt);
  EXPECT_EQ(EncodeInteger(kU64, false, ~uint64_t{0}), ~uint64_t{0});
}

// Every code of every type of at most 16 bits is decoded and encoded again.
TEST(Codec, RoundTrip) {
  for (const DTypeRow& row : AllDTypes()) {
    if (row.type.bits > 16 || row.type.IsComplex()) continue;
    for (uint64_t code = 0; code <= CodeMask(row.type); ++code) {
      if (row.type.IsBool() && code > 1) break;
      if (IsNan(row.type, code)) continue;
      EXPECT_EQ(EncodeExact(row.type, Decode(row.type, code)), code) << row.name;
    }
  }
}

TEST(Codec, UnitsInTheLastPlace) {
  EXPECT_EQ(UlpAt(kF32, 1), 0x1p-23);
  EXPECT_EQ(UlpAt(kF16, -1.5), 0x1p-10);
  EXPECT_EQ(UlpAt(kF16, 2048), 2);
  EXPECT_EQ(UlpAt(kF16, 0), 0x1p-24);
  EXPECT_EQ(UlpAt(kBF16, 4), 0x1p-5);
  EXPECT_EQ(UlpAt(kI32, 1e6), 1);
  EXPECT_EQ(LargestFinite(kF16), 65504);
  EXPECT_EQ(LargestFinite(kF8E4M3FN), 448);
}

// ---- comparison ----------------------------------------------------------------------------

TEST(Compare, ExactMeansBits) {
  const Expectation e = Expectation::Exact({kF16, {3}, {0x0000, 0x7E00, 0x3C00}});
  EXPECT_EQ(Compare(e, {kF16, {3}, {0x0000, 0xFE01, 0x3C00}}), "");  // another NaN
  EXPECT_EQ(Compare(e, {kF16, {3}, {0x8000, 0x7E00, 0x3C00}}),
            "at [0]: expected 0 (0x0000), got -0 (0x8000); 1 of 3 elements differ");
  EXPECT_NE(Compare(e, {kF16, {3}, {0x0000, 0x7C00, 0x3C00}}), "");  // infinity is not NaN
  EXPECT_NE(Compare(e, {kF16, {3}, {0x0000, 0x7E00, 0x3C01}}), "");
  EXPECT_NE(Compare(e, {kF16, {1, 3}, {0x0000, 0x7E00, 0x3C00}}), "");
  EXPECT_NE(Compare(e, {kBF16, {3}, {0x0000, 0x7E00, 0x3C00}}), "");
}

TEST(Compare, ComplexNanByComponent) {
  const Expectation e = Expectation::Exact({kC32, {1}, {0x3C007E00}});
  EXPECT_EQ(Compare(e, {kC32, {1}, {0x3C00FE00}}), "");
  EXPECT_NE(Compare(e, {kC32, {1}, {0x3C01FE00}}), "");
}

TEST(Compare, Ulp) {
  const Expectation e = Expectation::WithinUlp(kF32, {3}, {1.0, kInf, kNan}, 2);
  const uint64_t one = 0x3F800000;
  EXPECT_EQ(Compare(e, {kF32, {3}, {one + 2, 0x7F800000, 0x7FC00000}}), "");
  EXPECT_NE(Compare(e, {kF32, {3}, {one + 3, 0x7F800000, 0x7FC00000}}), "");
  EXPECT_NE(Compare(e, {kF32, {3}, {one, 0x7F7FFFFF, 0x7FC00000}}), "");
  EXPECT_NE(Compare(e, {kF32, {3}, {one, 0x7F800000, one}}), "");
}

TEST(Compare, BoundsAreElementwise) {
  const Expectation e = Expectation::WithinBounds(kF32, {2}, {1.0, 2.0}, {0.25, 0.0});
  EXPECT_EQ(Compare(e, {kF32, {2}, {0x3FA00000, 0x40000000}}), "");  // 1.25
  EXPECT_NE(Compare(e, {kF32, {2}, {0x3FA00001, 0x40000000}}), "");
  EXPECT_NE(Compare(e, {kF32, {2}, {0x3F800000, 0x40000001}}), "");
  // Infinity is accepted only if the true value is so near to the largest value that it may
  // overflow.
  const Expectation near = Expectation::WithinBounds(kF16, {1}, {65500}, {8});
  EXPECT_EQ(Compare(near, {kF16, {1}, {0x7C00}}), "");
  EXPECT_NE(Compare(near, {kF16, {1}, {0xFC00}}), "");
  EXPECT_NE(Compare(Expectation::WithinBounds(kF16, {1}, {65000}, {8}), {kF16, {1}, {0x7C00}}), "");
}

TEST(Bound, ByHand) {
  // K = 4: (4 * 2 + 8) * 2^-23 * 8 = 2^-16.
  EXPECT_EQ(AccumulationBound(4, kF32, 8), 0x1p-16);
  // Besides half an ulp of f16 at 1: 2^-11.
  EXPECT_EQ(OutputBound(4, kF32, 8, kF16, 1.0), 0x1p-16 + 0x1p-11);
  // Just below 2 the result may round up to the binade with wider ulps.
  EXPECT_EQ(OutputBound(4, kF32, 8, kF16, 2 - 0x1p-17), 0x1p-16 + 0x1p-10);
  EXPECT_EQ(OutputBound(4, kF32, 8, kF16, 1.0, 0.25), 0.25 + 0x1p-16 + 0x1p-11);
}

TEST(Faults, EachIsRejectedAndLiesAreNot) {
  Tensor right{kF16, {4, 6}, {}};
  std::vector<double> truth;
  std::vector<double> bounds;
  for (int k = 0; k < 24; ++k) {
    truth.push_back(k * 3 % 25 + 1);
    bounds.push_back(0.25);
    right.codes.push_back(*EncodeExact(kF16, truth.back()));
  }
  const auto faults = OutputFaults(right, 2, 4);
  EXPECT_EQ(faults.size(), 3 + 2 * 8);
  EXPECT_EQ(ProveRejection(Expectation::Exact(right), right, faults), "");
  EXPECT_EQ(ProveRejection(Expectation::WithinBounds(kF16, {4, 6}, truth, bounds), right, faults),
            "");
  // A bound as wide as the values accepts zeros, and the proof says so.
  const Expectation wide = Expectation::WithinBounds(kF16, {4, 6}, truth, std::vector(24, 30.0));
  EXPECT_EQ(ProveRejection(wide, right, faults), "accepted: all zero");
}

// ---- memory --------------------------------------------------------------------------------

MemLayout Plain(Shape shape) { return *MemLayout::RowMajor(shape); }

TEST(Memory, SubByteElementsAreAStreamOfBits) {
  GuardedMemory memory(Plain({3}), kU3, 0, Poison::kNan);
  memory.Write({kU3, {3}, {1, 2, 7}});  // 1 | 2 << 3 | 7 << 6, then ones
  EXPECT_EQ(memory.bytes(), 2);
  EXPECT_EQ(memory.data()[0], 0b11010001);
  EXPECT_EQ(memory.data()[1], 0b11111111);
  memory.Seal();
  memory.data()[1] = 0b11111110;  // bit 2 of the last element
  EXPECT_EQ(memory.Read().codes, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(memory.FindDamage(true), "");
  EXPECT_EQ(memory.FindDamage(false), "an input was changed at byte 1");
  memory.data()[1] = 0b11111101;  // after the last element
  EXPECT_EQ(memory.FindDamage(true), "byte 1 has bits that belong to no element and changed");
}

TEST(Memory, GuardsOnBothSides) {
  GuardedMemory memory(Plain({5}), kF32, 0, Poison::kNan);
  memory.Seal();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % GuardedMemory::kAlignment, 0);
  EXPECT_NE(reinterpret_cast<uintptr_t>(memory.data()) % (2 * GuardedMemory::kAlignment), 0);
  memory.data()[-1] = 0;
  EXPECT_EQ(memory.FindDamage(true), "byte 1 before the start was overwritten");
  memory.data()[-1] = 0xFF;
  memory.data()[20] = 0;
  EXPECT_EQ(memory.FindDamage(true), "byte 1 past the end was overwritten");
}

TEST(Memory, GapsOfStridesAreNobodys) {
  const Shape shape = {2, 2};
  const Shape strides = {3, 1};
  GuardedMemory memory(*MemLayout::Strided(shape, strides), kU8, 0, Poison::kNan);
  memory.Write({kU8, shape, {1, 2, 3, 4}});
  EXPECT_EQ(std::vector<uint8_t>(memory.data(), memory.data() + 5),
            (std::vector<uint8_t>{1, 2, 0xFF, 3, 4}));
  memory.Seal();
  memory.data()[2] = 0;
  EXPECT_EQ(memory.FindDamage(true), "byte 2 has bits that belong to no element and changed");
}

TEST(Memory, PoisonsDifferInEveryType) {
  for (const DTypeRow& row : AllDTypes()) {
    EXPECT_NE(PoisonCode(Poison::kNan, row.type), PoisonCode(Poison::kPattern, row.type))
        << row.name;
    EXPECT_EQ(IsNan(row.type, PoisonCode(Poison::kNan, row.type)), row.type.HasNan()) << row.name;
  }
}

// ---- cases ---------------------------------------------------------------------------------

constexpr char kDouble[] = R"(
kernel double(%x: ptr<i32>, %y: ptr<i32>, %n: i32) {
  %gx = view %x : global<i32>[%n]
  %gy = view %y : global<i32>[%n]
  %a = load %gx[0] : [8]
  %b = add %a, %a
  store %gy[0], %b
}
)";

Case DoubleCase() {
  Case c;
  c.title = "double";
  c.source = SourceFile("double.tsa", kDouble);
  c.scalars = {{"n", 3}};
  c.inputs = {{"x", {kI32, {3}, {1, 2, 3}}}};
  c.outputs = {{"y", Expectation::Exact({kI32, {3}, {2, 4, 6}})}};
  return c;
}

TEST(Case, RightOneHoldsEverywhere) {
  const Case c = DoubleCase();
  const CaseResult result = RunEverywhere(c);
  EXPECT_TRUE(result.ok()) << result.Text(c);
  ASSERT_EQ(result.outputs.size(), 1);
  EXPECT_EQ(result.outputs[0].codes, (std::vector<uint64_t>{2, 4, 6}));
}

TEST(Case, MistakesInTheCaseAreTold) {
  const auto failure = [](const Case& c) {
    const CaseResult result = RunCase(c, AnyWitness());
    return result.ok() ? "" : result.failures[0];
  };
  Case c = DoubleCase();
  c.outputs[0].expected.codes[1] = 5;
  EXPECT_EQ(failure(c),
            "`%y` at [1]: expected 5 (0x00000005), got 4 (0x00000004); 1 of 3 elements "
            "differ");
  c = DoubleCase();
  c.inputs[0].value.shape = {4};
  EXPECT_EQ(failure(c), "`%x` is viewed as i32[3], and i32[4] is given");
  c = DoubleCase();
  c.inputs.clear();
  EXPECT_EQ(failure(c), "the case does not mention `%x`");
  c = DoubleCase();
  c.inputs[0].name = "z";
  EXPECT_EQ(failure(c), "the kernel has no pointer `%z`");
  c = DoubleCase();
  c.scalars.clear();
  EXPECT_EQ(failure(c), "the case has no value for `%n`");
  c = DoubleCase();
  c.error = "nothing of the kind";
  EXPECT_EQ(failure(c), "must fail with \"nothing of the kind\", and did not");
  c = DoubleCase();
  c.lines = {"hello"};
  EXPECT_EQ(failure(c), "line 1 that is printed: expected \"hello\", got nothing");
  c = DoubleCase();
  c.findings = {"race"};
  const CaseResult result = RunEverywhere(c);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failures[0], "interpreter --check: no finding `race`");
}

TEST(Case, ExpectedErrors) {
  Case c = DoubleCase();
  c.source = SourceFile("bad.tsa", "kernel bad() { assert false, \"never\" }\n");
  c.scalars.clear();
  c.inputs.clear();
  c.outputs.clear();
  c.error = "never";
  EXPECT_EQ(RunEverywhere(c).Text(c), "");
  c.error = "ever so often";
  // Both interpreters, the compiled code on the emulator, which is the same for all targets, the
  // driver, and the interpreter after each pass.
  const size_t witnesses = 4 + compiler::AllPasses().size();
  EXPECT_EQ(RunEverywhere(c).failures.size(), witnesses);
  c.error = "";
  EXPECT_EQ(RunEverywhere(c).failures.size(), witnesses);
}

// A witness that computes y correctly for `DoubleCase`, and then does something wrong.
class LyingWitness final : public Witness {
 public:
  explicit LyingWitness(std::function<void(std::span<const Argument>, Outcome&)> lie)
      : lie_(std::move(lie)) {}
  [[nodiscard]] std::string_view name() const override { return "liar"; }
  [[nodiscard]] bool checks() const override { return true; }
  Outcome Run(const Program&, const SourceFile&,
              std::span<const Argument> arguments) const override {
    Outcome out;
    const int32_t y[] = {2, 4, 6};
    std::memcpy(std::get<launch::Buffer>(arguments[1]).data, y, sizeof(y));
    lie_(arguments, out);
    return out;
  }

 private:
  std::function<void(std::span<const Argument>, Outcome&)> lie_;
};

TEST(Case, LiesAreCaught) {
  using Lie = std::function<void(std::span<const Argument>, Outcome&)>;
  const auto data = [](std::span<const Argument> a, size_t i) {
    return static_cast<uint8_t*>(std::get<launch::Buffer>(a[i]).data);
  };
  const auto caught = [](const Lie& lie) {
    const Case c = DoubleCase();
    const LyingWitness liar(lie);
    return !RunCase(c, liar, Poison::kNan).ok() && !RunCase(c, liar, Poison::kPattern).ok();
  };
  EXPECT_FALSE(caught([](auto, Outcome&) {}));
  EXPECT_TRUE(caught([&](auto a, Outcome&) { data(a, 1)[4] = 5; }));
  EXPECT_TRUE(caught([&](auto a, Outcome&) { data(a, 1)[12] = 5; }));
  EXPECT_TRUE(caught([&](auto a, Outcome&) { data(a, 1)[-1] = 5; }));
  EXPECT_TRUE(caught([&](auto a, Outcome&) { data(a, 0)[0] = 5; }));
  EXPECT_TRUE(caught([&](auto a, Outcome&) { std::memset(data(a, 1), 0, 12); }));
  EXPECT_TRUE(caught([](auto, Outcome& out) { out.error = "tired"; }));
  EXPECT_TRUE(caught([](auto, Outcome& out) { out.findings.push_back({"race", "a race"}); }));
}

// An unwritten element is found even if the poison happens to be the correct value.
TEST(Case, UnwrittenIsFoundWithOneOfThePoisons) {
  Case c = DoubleCase();
  c.source = SourceFile("empty.tsa", R"(
kernel empty(%y: ptr<f32>) {
  %gy = view %y : global<f32>[2]
}
)");
  c.scalars.clear();
  c.inputs.clear();
  c.outputs = {{"y", Expectation::Exact({kF32, {2}, {0x7FC00000, 0x7FC00000}})}};
  EXPECT_TRUE(RunCase(c, AnyWitness(), Poison::kNan).ok());
  EXPECT_FALSE(RunCase(c, AnyWitness(), Poison::kPattern).ok());
  EXPECT_FALSE(RunEverywhere(c).ok());
}

}  // namespace
}  // namespace tarsia::harness

// The library's quantised matmul with activations of 8 bits: weights of every type that has a
// packed order for them, on the interpreter and on the emulator, each case with an exact twin; and
// refusals.
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "dtypes/dtype.h"
#include "runtime/weights/packed_order.h"
#include "tests/harness/assembly.h"
#include "tests/matmul/quantised_case.h"
#include "tests/settings.h"

namespace tarsia::runtime::quantised_case {
namespace {

struct Pairing {
  DType type, compute;
};

// Every type of weights with every type of activations that it can have.
std::vector<Pairing> Pairings() {
  std::vector<Pairing> out;
  for (const DType compute : {kI8, kF8E4M3FN}) {
    for (const DTypeRow& row : AllDTypes()) {
      if (LowPrecision(row.type) && CheckPackedOrder(row.type, compute).ok()) {
        out.push_back({row.type, compute});
      }
    }
  }
  return out;
}

constexpr int64_t kRows[] = {0, 1, 7, 8, 9, 16, 17, 33, 65};
// Rows of a group; 0: all of k.
constexpr int64_t kGroups[] = {128, 0, 32, 64, 16};
// Columns, and groups of k; a single group has so many rows.
struct Shape {
  int64_t n, groups, k;
};
constexpr Shape kShapes[] = {{33, 3, 77}, {128, 4, 256}, {70, 2, 130}};

// Zero points, outputs and epilogues differ from case to case.
Spec SpecOf(const Pairing& pairing, size_t index, size_t at) {
  Spec spec;
  spec.type = pairing.type;
  spec.compute = pairing.compute;
  const size_t mix = index + 5 * at;
  spec.output = mix % 3 == 0 ? kF32 : mix % 3 == 1 ? kF16 : kBF16;
  spec.scale = mix % 5 == 1 ? kBF16 : mix % 5 == 3 ? kF32 : kF16;
  spec.m = kRows[at % std::size(kRows)];
  const Shape& shape = kShapes[(at + index) % std::size(kShapes)];
  const int64_t group = kGroups[(at + index / 2) % std::size(kGroups)];
  spec.n = shape.n;
  spec.group = group != 0 ? group : shape.k;
  spec.k = group != 0 ? group * shape.groups : shape.k;
  if (!spec.type.IsFloat()) spec.zero = static_cast<ZeroPoint>(mix % 3);
  spec.gathers = mix % 4 == 1;
  spec.bias = mix % 2 == 0;
  spec.gated = spec.n % 2 == 0 && mix % 4 == 2;
  spec.residual = mix % 5 == 2;
  spec.activation = static_cast<Activation>(mix % kActivations);
  if (mix % 7 == 2) spec.tensor_scale = 0.5;
  return spec;
}

// Parameter: the number of the pairing.
class ByteActivations : public testing::TestWithParam<size_t> {
 protected:
  // Casts without a recipe take many registers.
  static void SetUpTestSuite() { harness::AllowSpills(); }
  static Pairing Mine() { return Pairings()[GetParam()]; }
  static void Try(const char* device, size_t first, size_t every) {
    for (size_t at = first; at < 2 * std::size(kRows); at += every) {
      Spec spec = SpecOf(Mine(), GetParam(), at);
      spec.device = device;
      Check(spec, at + 1);
      spec.exact = true;
      spec.activation = Activation::kNone;
      spec.output = kF32;
      // Its kernels differ from the others in the end alone.
      const harness::NotAssembled twin(!IsLong());
      spec.alone = spec.device != "cpu" && !IsLong();
      Check(spec, at + 1);
    }
  }
};

TEST_P(ByteActivations, AgreeOnTheInterpreter) { Try("cpu", 0, 1); }

TEST_P(ByteActivations, AgreeOnTheEmulator) {
  const size_t every = IsLong() ? 9 : 18;  // one case of a type, or two
  Try("ptx:sm_90a", GetParam() % every, every);
  Try(Mine().compute == kI8 ? "ptx:sm_80" : "ptx:sm_89", (GetParam() + 4) % every, every);
}

INSTANTIATE_TEST_SUITE_P(Types, ByteActivations, testing::Range<size_t>(0, Pairings().size()),
                         [](const auto& at) {
                           const Pairing pairing = Pairings()[at.param];
                           return std::string(DTypeName(pairing.type)) + "_" +
                                  std::string(DTypeName(pairing.compute));
                         });

// Candidates of every kind, those that the model ranks last too.
TEST(ByteActivations, CandidatesAgree) {
  Spec spec;
  spec.device = "ptx:sm_90a";
  spec.compute = kI8;
  spec.k = 512;
  spec.n = 130;
  spec.group = 128;
  spec.bias = true;
  spec.zero = ZeroPoint::kInteger;
  spec.exact = true;
  spec.output = kF32;
  for (const int64_t m : {3, 16, 70}) {
    spec.m = m;
    spec.candidate.clear();
    const auto packed = PackedWeights::Pack(Make(spec, 1).source);
    ASSERT_TRUE(packed.ok());
    const auto device = OpenDevice(spec.device);
    const auto all = RankMatmul(ProblemOf(spec, *packed), (*device)->Model(),
                                (*device)->Limits().shared_bytes, {}, m);
    ASSERT_GE(all.size(), 8U);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_FALSE(all[i].dequantises);
      // One in four, others for other rows.
      if (i % 4 != static_cast<size_t>(m) % 4) continue;
      spec.candidate = all[i].Text();
      Check(spec);
    }
  }
}

std::string RefusalOf(const Spec& spec) {
  const auto packed = PackedWeights::Pack(Make(spec, 1).source);
  if (!packed.ok()) return packed.error().message;
  const auto plan = MatmulPlan::Make(ProblemOf(spec, *packed), *OpenDevice(spec.device), {});
  return plan.ok() ? std::string() : plan.error().message;
}

// Products of the largest numbers fill i32 with 65536 rows of codes of 8 bits.
TEST(ByteActivations, TakeGroupsThatI32Sums) {
  Spec spec;
  spec.compute = kI8;
  spec.type = kU8;
  spec.n = 1;
  spec.k = spec.group = 65536;
  EXPECT_EQ(RefusalOf(spec), "");
  spec.k = spec.group = 65537;
  EXPECT_EQ(RefusalOf(spec),
            "a sum over a group of 65537 rows might exceed i32 with activations of `i8`: at most "
            "65536 rows");
  spec.type = kU4;
  EXPECT_EQ(RefusalOf(spec), "");
  spec.zero = ZeroPoint::kInteger;
  EXPECT_NE(RefusalOf(spec), "");
}

TEST(ByteActivations, OfF8NeedTensorCoresOfF8) {
  Spec spec;
  spec.compute = kF8E4M3FN;
  spec.type = kF8E4M3FN;
  spec.device = "ptx:sm_80";
  EXPECT_EQ(RefusalOf(spec),
            "activations of `f8e4m3fn` need sm_89, and the code for ptx:sm_80 is of sm_80");
  spec.type = kU4;
  EXPECT_NE(RefusalOf(spec), "");
}

TEST(ByteActivations, RefuseCodebooks) {
  Spec spec;
  spec.compute = kI8;
  spec.codebook = true;
  EXPECT_EQ(RefusalOf(spec), "there is no kernel for a codebook and activations of `i8`");
}

}  // namespace
}  // namespace tarsia::runtime::quantised_case

// The library's quantised matmul (runtime/matmul) beyond the cover of quantised_cover_test.cc: rows
// from none, codebooks, all candidates, a row for any number of rows, and refusals.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/matmul/matmul_plan.h"
#include "tests/matmul/quantised_case.h"

namespace tarsia::runtime::quantised_case {
namespace {

TEST(QuantisedMatmul, HasRowsFromNone) {
  for (const int64_t m : {0, 1, 63, 64, 65, 127, 128, 129}) {
    Spec spec;
    spec.m = m;
    spec.k = 128;
    spec.n = 70;
    CheckWithTwin(spec);
  }
}

TEST(QuantisedMatmul, LooksUpCodebooks) {
  for (const char* device : {"cpu", "ptx:sm_90a"}) {
    Spec spec;
    spec.device = device;
    spec.codebook = true;
    spec.machine_code = true;
    spec.m = 5;
    spec.k = 128;
    spec.n = 96;
    Check(spec);
  }
}

// Candidates of every kind, those that the model ranks last too.
TEST(QuantisedMatmul, CandidatesAgree) {
  Spec spec;
  spec.device = "ptx:sm_90a";
  spec.k = 384;
  spec.n = 130;
  spec.group = 128;
  spec.bias = true;
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
    ASSERT_GE(all.size(), 10U);
    for (size_t i = 0; i < all.size(); ++i) {
      // One in four, others for other rows.
      if (i % 4 != static_cast<size_t>(m) % 4 && !all[i].dequantises) continue;
      spec.candidate = all[i].Text();
      Check(spec);
    }
  }
}

TEST(QuantisedMatmul, ARowHasTheSameBitsForAnyNumberOfRows) {
  Spec spec;
  spec.device = "ptx:sm_90a";
  spec.k = 256;
  spec.n = 64;
  spec.choice.batch_invariant = true;
  spec.m = 40;
  const Data data = Make(spec, 3);
  const auto packed = PackedWeights::Pack(data.source);
  ASSERT_TRUE(packed.ok());
  const auto device = OpenDevice(spec.device);
  MatmulOptions options;
  options.choice = spec.choice;
  const auto plan = MatmulPlan::Make(ProblemOf(spec, *packed), *device, options);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->ranges().size(), 1U);
  const Memory x(**device, Bytes(kF16, data.x));
  const Memory weights(**device, packed->image().data(), packed->image().size());
  std::vector<uint8_t> first;
  for (const int64_t m : {1, 9, 40}) {
    std::vector<uint8_t> result(static_cast<size_t>(m * spec.n * 2));
    const Memory y(**device, result);
    MatmulArguments arguments;
    arguments.m = m;
    arguments.x = x.view();
    arguments.weights = weights.view();
    arguments.y = y.data();
    arguments.y_bytes = y.bytes();
    ASSERT_TRUE((*plan)->Execute(arguments).ok());
    ASSERT_TRUE((*device)->Read(result.data(), y.data(), result.size(), nullptr).ok());
    result.resize(static_cast<size_t>(spec.n * 2));
    if (first.empty()) first = result;
    EXPECT_EQ(result, first);
  }
}

TEST(QuantisedMatmul, RefusesWhatItCannotCompute) {
  const Spec spec;
  const auto packed = PackedWeights::Pack(Make(spec, 1).source);
  ASSERT_TRUE(packed.ok());
  const auto device = OpenDevice("cpu");
  const auto refusal = [&](const auto& change) {
    MatmulProblem problem = ProblemOf(spec, *packed);
    change(&problem);
    const auto plan = MatmulPlan::Make(problem, *device, {});
    return plan.ok() ? std::string() : plan.error().message;
  };
  EXPECT_EQ(refusal([](MatmulProblem*) {}), "");
  EXPECT_EQ(refusal([](MatmulProblem* p) { p->m_min = 2; }),
            "the rows of x are 2 to 1: they must be in order, from 0 to 2147483647");
  EXPECT_EQ(refusal([](MatmulProblem* p) { p->weights.compute = kF32; }),
            "there is no kernel for activations of `f32`");
  EXPECT_EQ(refusal([](MatmulProblem* p) { p->output = kI32; }), "outputs cannot be `i32`");
  EXPECT_EQ(refusal([](MatmulProblem* p) { p->bias = kI32; }), "a bias cannot be `i32`");
  EXPECT_EQ(refusal([](MatmulProblem* p) {
              p->gated = true;
              p->weights.n = p->weights.whole_n = 33;
            }),
            "a gated pair has two halves, and 33 columns have none");
}

}  // namespace
}  // namespace tarsia::runtime::quantised_case

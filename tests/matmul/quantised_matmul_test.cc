// The library's quantised matmul (runtime/matmul) beyond the cover of quantised_cover_test.cc: rows
// from none, codebooks, all candidates, a row for any number of rows, and refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/matmul/matmul_plan.h"
#include "tests/matmul/quantised_case.h"

namespace tarsia::runtime::quantised_case {
namespace {

// y of a plan that needs no workspace, in f32.
std::vector<float> ProductOf(const MatmulPlan& plan, const Memory& x, const Memory& weights,
                             int64_t m) {
  std::vector<float> result(static_cast<size_t>(m * plan.problem().columns()));
  const Memory y(plan.device(), result.data(), result.size() * sizeof(float));
  MatmulArguments arguments;
  arguments.m = m;
  arguments.x = x.view();
  arguments.weights = weights.view();
  arguments.y = y.data();
  arguments.y_bytes = y.bytes();
  EXPECT_TRUE(plan.Execute(arguments).ok());
  EXPECT_TRUE(plan.device().Read(result.data(), y.data(), y.bytes(), nullptr).ok());
  return result;
}

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

// In plans for few rows and for so many that weights are dequantised first otherwise.
TEST(QuantisedMatmul, ARowHasTheSameBitsForAnyNumberOfRows) {
  Spec spec;
  spec.device = "ptx:sm_90a";
  spec.k = 512;
  spec.n = 80;
  spec.zero = ZeroPoint::kInteger;
  spec.output = kF32;
  spec.choice.batch_invariant = true;
  spec.m = 300;
  const auto device = OpenDevice(spec.device);
  const Data data = Make(spec, 3);
  const auto packed = PackedWeights::Pack(data.source);
  ASSERT_TRUE(packed.ok());
  const Memory x(**device, Bytes(kF16, data.x));
  const Memory weights(**device, packed->image().data(), packed->image().size());
  MatmulOptions options;
  options.choice = spec.choice;
  std::vector<float> first;
  for (const auto& [least, most] : {std::pair<int64_t, int64_t>(1, 1), {2, 40}, {64, 300}}) {
    MatmulProblem problem = ProblemOf(spec, *packed);
    problem.m_min = least;
    problem.m_max = most;
    const auto plan = MatmulPlan::Make(problem, *device, options);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ((*plan)->ranges().size(), 1U);
    for (const int64_t m : {least, most}) {
      std::vector<float> result = ProductOf(**plan, x, weights, m);
      result.resize(static_cast<size_t>(spec.n));
      if (first.empty()) first = result;
      EXPECT_EQ(result, first) << m << " of " << least << " to " << most;
    }
  }
}

TEST(QuantisedMatmul, KeepsNotANumber) {
  for (const char* name : {"cpu", "ptx:sm_90a"}) {
    const auto device = OpenDevice(name);
    for (int act = 0; act < kActivations; ++act) {
      Spec spec;
      spec.m = 2;
      spec.output = kF32;
      spec.activation = static_cast<Activation>(act);
      Data data = Make(spec, 5);
      const auto packed = PackedWeights::Pack(data.source);
      ASSERT_TRUE(packed.ok());
      std::vector<uint8_t> bytes = Bytes(kF16, data.x);
      bytes[1] = 0x7e;  // x[0, 0]: a NaN
      const Memory x(**device, bytes);
      const Memory weights(**device, packed->image().data(), packed->image().size());
      MatmulOptions options;
      options.choice.batch_invariant = true;
      const auto plan = MatmulPlan::Make(ProblemOf(spec, *packed), *device, options);
      ASSERT_TRUE(plan.ok());
      const std::vector<float> y = ProductOf(**plan, x, weights, 2);
      const auto is_nan = [](float value) { return std::isnan(value); };
      EXPECT_EQ(std::count_if(y.begin(), y.end(), is_nan), spec.n) << name << act;
      EXPECT_TRUE(std::all_of(y.begin(), y.begin() + spec.n, is_nan)) << name << act;
    }
  }
}

TEST(QuantisedMatmul, AddsToYInPlace) {
  for (const char* device : {"cpu", "ptx:sm_80", "ptx:sm_90a"}) {
    Spec spec;
    spec.device = device;
    spec.k = 256;
    spec.n = 70;
    spec.residual = spec.in_place = true;
    for (const int64_t m : {3, 17, 70}) {
      spec.m = m;
      CheckWithTwin(spec);
    }
  }
}

// Streams leave what they found zero, and no scratch lies where another plan has that.
TEST(QuantisedMatmul, PlansShareAWorkspace) {
  struct Shared {
    std::string wanted;  // in the text of the candidate
    int64_t m, k, n;
    bool gathers;
  };
  // Each turn of a stream is a block here. So the first sums in the places 15 and 31, the second
  // leaves sums in place 15, and the scratch of the third is as large as those before place 31.
  const std::vector<Shared> layers = {{"ORDERED=false", 12, 1024, 264, false},
                                      {"ORDERED=true", 12, 2048, 264, false},
                                      {"dequantise", 64, 1024, 256, true},
                                      {"ORDERED=false", 12, 1024, 264, true}};
  const auto device = OpenDevice("ptx:sm_80");
  std::deque<Layer> all;
  std::vector<std::unique_ptr<const MatmulPlan>> plans;
  uint64_t bytes = 0;
  for (const Shared& shared : layers) {
    Spec spec;
    spec.device = "ptx:sm_80";
    spec.m = shared.m;
    spec.k = shared.k;
    spec.n = shared.n;
    spec.gathers = shared.gathers;
    spec.exact = true;
    spec.output = kF32;
    const auto packed = PackedWeights::Pack(Make(spec, 1).source);
    ASSERT_TRUE(packed.ok());
    for (const MatmulCandidate& one : RankMatmul(ProblemOf(spec, *packed), (*device)->Model(),
                                                 (*device)->Limits().shared_bytes, {}, spec.m)) {
      if (one.Text().find(shared.wanted) != std::string::npos) spec.candidate = one.Text();
    }
    all.emplace_back(spec, 1, *device);
    plans.push_back(all.back().Plan());
    ASSERT_NE(plans.back(), nullptr);
    bytes = std::max(bytes, plans.back()->workspace_bytes());
  }
  // Each of them can prepare it.
  for (const auto& preparing : plans) {
    const Workspace workspace(*preparing, bytes);
    for (const size_t i : {2, 0, 3, 1, 0, 2, 3}) {
      all[i].Check(*plans[i], layers[i].m, workspace);
    }
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

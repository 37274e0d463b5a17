// The library's quantised matmul over every type of weights, numbers of rows around those of tiles,
// shapes that are multiples of nothing and of everything, and all groups, each case with an exact
// twin. On the interpreter a pairwise cover: every two of these values meet in some case. On the
// emulator every seventh of its cases, so that all rows meet all shapes and groups, and all types
// some. TARSIA_LONG=1 tries all combinations on both: one plan has all rows, as in an engine.
// Scales, zero points and epilogues vary, too.
#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "dtypes/dtype.h"
#include "runtime/weights/packed_order.h"
#include "tests/harness/assembly.h"
#include "tests/matmul/quantised_case.h"
#include "tests/settings.h"

namespace tarsia::runtime::quantised_case {
namespace {

std::vector<DType> WeightTypes() {
  std::vector<DType> out;
  for (const DTypeRow& row : AllDTypes()) {
    const DType type = row.type;
    const bool fits = CheckPackedOrder(type, kF16).ok() || CheckPackedOrder(type, kBF16).ok();
    if (LowPrecision(type) && fits) out.push_back(type);
  }
  return out;
}

constexpr int64_t kRows[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12, 13,
                             14, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129};
// Rows of a group; 0: all of k. The second of these has scales of 1.
constexpr int64_t kGroups[] = {16, 32, 64, 128, 0, 0};
// Columns, and groups of k; a single group has so many rows.
struct Shape {
  int64_t n, groups, k;
};
constexpr Shape kShapes[] = {{33, 3, 77}, {128, 4, 256}, {70, 1, 130}, {18, 5, 100}};

struct Point {
  size_t type = 0, rows = 0, group = 0, shape = 0;
};

// Everything else differs from case to case.
Spec SpecOf(const Point& at, size_t mix, bool exact) {
  Spec spec;
  const DType type = WeightTypes()[at.type];
  spec.type = type;
  spec.compute = CheckPackedOrder(type, kF16).ok() && mix % 3 != 1 ? kF16 : kBF16;
  if (!CheckPackedOrder(type, spec.compute).ok()) spec.compute = kF16;
  spec.output = exact || mix % 4 == 3 ? kF32 : spec.compute;
  spec.m = kRows[at.rows];
  const Shape& shape = kShapes[at.shape];
  spec.n = shape.n;
  spec.group = kGroups[at.group] != 0 ? kGroups[at.group] : shape.k;
  spec.k = kGroups[at.group] != 0 ? spec.group * shape.groups : shape.k;
  spec.unit_scales = at.group + 1 == std::size(kGroups);
  spec.scale = mix % 5 == 1 ? kE8M0 : mix % 5 == 3 ? kF32 : kF16;
  spec.exact = exact;
  if (!type.IsFloat()) spec.zero = static_cast<ZeroPoint>(mix % 3);
  spec.gathers = mix % 4 == 1;
  spec.bias = mix % 2 == 0;
  spec.gated = spec.n % 2 == 0 && mix % 3 == 2;
  spec.residual = mix % 5 == 2;
  if (!exact) spec.activation = static_cast<Activation>(mix % kActivations);
  if (mix % 7 == 2) spec.tensor_scale = 0.5;
  return spec;
}

void CheckPoint(const Point& at, const char* device) {
  const size_t mix = at.type + 5 * at.rows + 3 * at.group + 7 * at.shape;
  for (const bool exact : {false, true}) {
    Spec spec = SpecOf(at, mix, exact);
    spec.device = device;
    // Its kernels differ from the others in the end alone.
    const harness::NotAssembled twin(exact && !IsLong());
    spec.alone = exact && spec.device != "cpu" && !IsLong();
    Check(spec, at.rows + 1);
  }
}

// All numbers of rows. `at` has the last of them. Half of the plans are for both kinds of numbers;
// the others of numbers that are not exact have epilogues that round.
void CheckAllRows(const Point& at, const char* name) {
  const size_t mix = at.type + 3 * at.group + 7 * at.shape;
  const auto device = OpenDevice(name);
  ASSERT_TRUE(device.ok());
  const bool rounds = mix % 2 == 0;
  std::unique_ptr<const MatmulPlan> plan;
  for (const bool exact : {true, false}) {
    Spec spec = SpecOf(at, mix, exact || !rounds);
    spec.exact = exact;
    const Layer layer(spec, mix + 1, *device);
    if (exact || rounds) plan = layer.Plan();
    ASSERT_NE(plan, nullptr);
    const Workspace workspace(*plan);
    for (const int64_t m : kRows) layer.Check(*plan, m, workspace);
  }
}

// Parameter: the number of the type.
class Cover : public testing::TestWithParam<size_t> {
 protected:
  // Casts without a recipe take many registers.
  static void SetUpTestSuite() { harness::AllowSpills(); }
  static void Try(const char* device, size_t every) {
    const size_t type = GetParam();
    if (IsLong()) {
      for (size_t group = 0; group < std::size(kGroups); ++group) {
        for (size_t shape = 0; shape < std::size(kShapes); ++shape) {
          CheckAllRows({type, std::size(kRows) - 1, group, shape}, device);
        }
      }
      return;
    }
    // Six groups, and after six cases the next shape: rows meet others with another type.
    for (size_t rows = type % every; rows < std::size(kRows); rows += every) {
      CheckPoint({type, rows, (rows + type) % std::size(kGroups),
                  (rows / std::size(kGroups) + type) % std::size(kShapes)},
                 device);
    }
  }
};

TEST_P(Cover, AgreesOnTheInterpreter) { Try("cpu", 1); }

TEST_P(Cover, AgreesOnTheEmulator) { Try(GetParam() % 2 == 0 ? "ptx:sm_90a" : "ptx:sm_80", 7); }

INSTANTIATE_TEST_SUITE_P(Types, Cover, testing::Range<size_t>(0, WeightTypes().size()),
                         [](const auto& at) {
                           return std::string(DTypeName(WeightTypes()[at.param]));
                         });

// Of a problem with groups of `group` rows, of which there are `groups`.
MatmulProblem ProblemOf(DType type, int64_t group, int64_t groups, bool gated) {
  MatmulProblem out;
  out.gated = gated;
  WeightInfo& w = out.weights;
  w.type = type;
  w.compute = CheckPackedOrder(type, kF16).ok() ? kF16 : kBF16;
  w.group = group;
  w.k = w.whole_k = group * groups;
  w.n = w.whole_n = 256;
  return out;
}

// Some kernel computes any layer, whatever its groups.
TEST(Candidates, AreThereForEveryLayer) {
  constexpr MatmulChoice kChoices[] = {{}, {true, false}, {true, true}};
  for (const char* const name : {"ptx:sm_80", "ptx:sm_89", "ptx:sm_90a"}) {
    const auto device = OpenDevice(name);
    ASSERT_TRUE(device.ok());
    const DeviceModel model = (*device)->Model();
    for (const DType type : WeightTypes()) {
      for (const int64_t group : {1, 3, 8, 16, 24, 32, 48, 64, 77, 96, 128, 192, 256, 512}) {
        for (int64_t case_of = 0; case_of < 4 * 2 * 3; ++case_of) {
          const int64_t groups = int64_t{1} << case_of % 4;
          const bool gated = case_of / 4 % 2 != 0;
          const MatmulChoice& choice = kChoices[case_of / 8];
          const MatmulProblem problem = ProblemOf(type, group, groups, gated);
          for (const int64_t m : {1, 8, 16, 32, 64, 128, 256, 4096}) {
            const auto all =
                RankMatmul(problem, model, (*device)->Limits().shared_bytes, choice, m);
            EXPECT_FALSE(all.empty())
                << name << " " << DTypeName(type) << " group=" << group << " groups=" << groups
                << " gated=" << gated << " choice=" << case_of / 8 << " m=" << m;
          }
        }
      }
    }
  }
}

// Many rows.
TEST(ManyRows, AgreeOnTheInterpreter) {
  for (const DType type : {kU4, kI8, *FindDType("f6e3m2")}) {
    Spec spec;
    spec.type = type;
    spec.m = 4096;
    spec.k = 96;
    spec.group = 32;
    spec.n = 33;
    CheckWithTwin(spec);
  }
}

}  // namespace
}  // namespace tarsia::runtime::quantised_case

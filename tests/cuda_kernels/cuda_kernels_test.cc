// Runs every case without a fault (correct results, no finding), and with each of its faults
// (findings exactly at the markers of the source). With TARSIA_LONG set: in ten orders of the
// blocks on each of 1, 2 and 8 host threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "tests/cuda_kernels/cases.h"
#include "tests/cuda_kernels/markers.h"
#include "tests/data/test_data.h"
#include "tests/settings.h"

namespace tarsia::cuda_kernels {
namespace {

const std::string kFolder = TestData("tests/cuda_kernels/");
const std::string kTwinsFolder = MadeTestData("tests/cuda_kernels/");

std::string SourceOf(const Case& of) { return kFolder + "kernels/" + of.name + ".cu"; }

// A case with a fault, or without one ("").
struct Variant {
  Case of;
  std::string fault;
  std::vector<Marker> markers;

  // The name of its PTX without ".ptx".
  [[nodiscard]] std::string Name() const {
    std::string name = of.name;
    if (fault.empty()) return name;
    name += '.';
    for (const char c : fault.substr(std::string("FAULT_").size())) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return name;
  }
  friend void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.Name(); }
};

std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (const auto& cases :
       {ArithmeticCases(), MemoryCases(), WarpCases(), BlockCases(), AlgorithmCases(), GridCases(),
        MatrixCases(), HopperCases(), TensorCases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

std::vector<Variant> Variants(bool faulty) {
  std::vector<Variant> variants;
  for (const Case& of : AllCases()) {
    if (!faulty) variants.push_back({of, "", {}});
    if (!faulty) continue;
    for (auto& [fault, markers] : MarkersOf(ReadText(SourceOf(of)))) {
      variants.push_back({of, fault, markers});
    }
  }
  return variants;
}

std::string TestName(const testing::TestParamInfo<Variant>& info) {
  std::string name = info.param.Name();
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

std::string Describe(const Bench& bench, const std::string& ptx, const std::string& name) {
  std::string text;
  for (const ptx::Finding& finding : bench.findings()) {
    text += ptx::ToString(finding, name + ".ptx");
    for (const SourcePlace& place : PlacesOf(ptx, finding.location.line)) {
      text += " <- " + std::to_string(place.file) + ":" + std::to_string(place.line);
    }
    text += '\n';
  }
  return text;
}

std::vector<Schedule> Schedules() {
  if (!IsLong()) return {{}};
  std::vector<Schedule> all;
  for (const int host_threads : {1, 2, 8}) {
    for (uint64_t seed = 0; seed < 10; ++seed) all.push_back({host_threads, seed});
  }
  return all;
}

class Kernels : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    name_ = GetParam().Name();
    const std::string& folder = GetParam().fault.empty() ? kFolder : kTwinsFolder;
    text_ = ReadText(folder + "ptx/" + name_ + ".ptx");
  }
  void Run(const Schedule& schedule) {
    bench_ = std::make_unique<Bench>(name_ + ".ptx", text_, !GetParam().fault.empty(), schedule);
    if (bench_->ok()) GetParam().of.run(*bench_);
  }
  static std::string NameOf(const Schedule& schedule) {
    return std::to_string(schedule.host_threads) + " host threads, order " +
           std::to_string(schedule.seed);
  }

  // The marker of a finding, or null.
  [[nodiscard]] const Marker* MarkerOf(const ptx::Finding& finding) const {
    const auto places = PlacesOf(text_, finding.location.line);
    for (const Marker& marker : GetParam().markers) {
      if (marker.kind != ptx::NameOf(finding.kind)) continue;
      for (const SourcePlace& place : places) {
        if (place.file == 1 && marker.Names(place.line)) return &marker;
      }
    }
    return nullptr;
  }

  // Every marker has its finding, and there are no others.
  void ExpectFound() {
    bool found = false;
    for (const ptx::Finding& finding : bench_->findings()) {
      const Marker* marker = MarkerOf(finding);
      EXPECT_NE(marker, nullptr) << "not marked: " << ptx::ToString(finding, name_ + ".ptx");
      found |= marker != nullptr && marker->required;
    }
    EXPECT_TRUE(found) << "not found: " << GetParam().fault;
    if (HasFailure()) ADD_FAILURE() << Describe(*bench_, text_, name_);
  }

  std::string name_;
  std::string text_;
  std::unique_ptr<Bench> bench_;
};

class Right : public Kernels {};
class Faulty : public Kernels {};

TEST_P(Right, RunsWithoutAFinding) {
  for (const Schedule& schedule : Schedules()) {
    Run(schedule);
    EXPECT_EQ(Describe(*bench_, text_, name_), "") << NameOf(schedule);
  }
}

TEST_P(Faulty, IsFound) {
  for (const Schedule& schedule : Schedules()) {
    Run(schedule);
    SCOPED_TRACE(NameOf(schedule));
    ExpectFound();
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, Right, testing::ValuesIn(Variants(false)), TestName);
INSTANTIATE_TEST_SUITE_P(Cuda, Faulty, testing::ValuesIn(Variants(true)), TestName);

}  // namespace
}  // namespace tarsia::cuda_kernels

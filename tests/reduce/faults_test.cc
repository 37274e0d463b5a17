// Faults planted in certificates of real plans: the checker finds each.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "planner/certificate.h"
#include "tests/reduce/run_plan.h"

namespace tarsia::reduce_test {
namespace {

// A plan with two split axes' worth of everything: chunks with a remainder, states, lifetimes.
struct Certified {
  ConcreteGraph graph =
      MakeGraphOf("examples/reduce/chain.tsa", {{"n", 101}, {"m", 70}, {"p", 50}, {"r", 91}});
  Plan plan;
  nlohmann::ordered_json json;
  CertificateFacts facts;

  explicit Certified(uint64_t limit = 15'000, LimitKind kind = LimitKind::kScratch) {
    Make(limit, kind);
  }
  Certified(ConcreteGraph other, uint64_t limit, LimitKind kind) : graph(std::move(other)) {
    Make(limit, kind);
  }
  void Make(uint64_t limit, LimitKind kind) {
    Diagnostics found;
    plan = MakePlan(graph, {limit, kind}, found).value();
    json = nlohmann::ordered_json::parse(CertificateText(plan, graph));
    facts = FactsOf(graph);
  }
  [[nodiscard]] std::string Faults() const {
    std::string out;
    for (const std::string& fault : CheckCertificate(json.dump(), facts)) out += fault + "\n";
    return out;
  }
  nlohmann::ordered_json& Buffer(const std::string& name) {
    return *std::find_if(json["buffers"].begin(), json["buffers"].end(),
                         [&](const auto& buffer) { return buffer["name"] == name; });
  }
  // The steps of the kernel that has a range, which is more than once in the plan.
  std::vector<nlohmann::ordered_json*> SplitSteps() {
    std::vector<nlohmann::ordered_json*> out;
    for (auto& step : json["steps"]) {
      if (!step["ranges"].empty() && (out.empty() || (*out[0])["kernel"] == step["kernel"])) {
        out.push_back(&step);
      }
    }
    return out;
  }
};

bool Says(const std::string& faults, const std::string& words) {
  return faults.find(words) != std::string::npos;
}

TEST(PlannedFaults, NoneInThePlan) {
  Certified c;
  EXPECT_EQ(c.Faults(), "");
  EXPECT_GT(c.SplitSteps().size(), 2U);
  EXPECT_EQ(Certified(kNoLimit, LimitKind::kTotal).Faults(), "");
}

TEST(PlannedFaults, InPlace) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: f32[i:45, j:70]) -> f32[i:45, j:70] in %x, f32[i:45]\n{\n"
      "  %m = max<j> %x\n  %y = %x - %m\n  return %y, %m\n}\n",
      {});
  Diagnostics found;
  const Plan plan = MakePlan(graph, {}, found).value();
  const auto good = nlohmann::ordered_json::parse(CertificateText(plan, graph));
  const CertificateFacts facts = FactsOf(graph);
  const auto faults = [&](const nlohmann::ordered_json& json, const CertificateFacts& of) {
    std::string out;
    for (const std::string& fault : CheckCertificate(json.dump(), of)) out += fault + "\n";
    return out;
  };
  EXPECT_EQ(faults(good, facts), "");
  auto bad = good;
  std::vector<nlohmann::ordered_json*> launches;
  for (auto& step : bad["steps"]) {
    if (step.contains("kernel")) launches.push_back(&step);
  }
  ASSERT_EQ(launches.size(), 2U);
  std::swap(*launches[0], *launches[1]);
  EXPECT_TRUE(Says(faults(bad, facts), "reads x, in whose place y is written"))
      << faults(bad, facts);
  CertificateFacts other = facts;
  other.in_place.clear();
  EXPECT_TRUE(Says(faults(good, other), "y is in x, which the graph does not say"));
  bad = good;
  for (auto& buffer : bad["buffers"]) {
    if (buffer["name"] == "y") buffer["offset"] = 256;
  }
  EXPECT_TRUE(Says(faults(bad, facts), "y is not in the place of x"));
}

// Of the kernels that write a factor in the place of its matrix, the first one reads the matrix.
TEST(PlannedFaults, AMatrixThatIsReadWhereItsFactorIs) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%a: f64[c:5, i:20, j:20]) -> f64[c:5, i:20, j:20] in %a\n{\n"
      "  %l = cholesky<i, j> %a\n  return %l\n}\n",
      {});
  Certified c(graph, kNoLimit, LimitKind::kTotal);
  ASSERT_EQ(c.Faults(), "");
  auto& steps = c.json["steps"];
  const auto begin = std::find_if(steps.begin(), steps.end(), [](const auto& step) {
    return step.contains("kernel") && step.at("kernel") == "l_begin";
  });
  ASSERT_EQ(begin[1]["kernel"], "l_factor");
  // Half of the matrices before the kernel that factors them, half behind it.
  auto rest = *begin;
  (*begin)["ranges"]["c"] = {0, 2};
  rest["ranges"]["c"] = {2, 5};
  auto early = c;
  early.json["steps"].insert(early.json["steps"].begin() + (begin - steps.begin()) + 1, rest);
  for (auto& buffer : early.json["buffers"]) buffer["last"] = buffer["last"].get<int64_t>() + 1;
  EXPECT_EQ(early.Faults(), "");
  steps.insert(begin + 2, rest);
  for (auto& buffer : c.json["buffers"]) buffer["last"] = buffer["last"].get<int64_t>() + 1;
  EXPECT_TRUE(Says(c.Faults(), "reads a, in whose place l is written")) << c.Faults();
}

TEST(PlannedFaults, AnInputThatIsLoadedOverAnOutput) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: f32[i:45]) -> f32[i:45] in %x\n{\n  %y = %x * 2\n  return %y\n}\n", {});
  Certified c(graph, kNoLimit, LimitKind::kTotal);
  ASSERT_EQ(c.Faults(), "");
  auto& steps = c.json["steps"];
  ASSERT_EQ(steps.size(), 3U);  // a load, a launch, a store
  const auto load = steps[0];
  steps.insert(steps.begin() + 2, load);
  for (auto& buffer : c.json["buffers"]) buffer["last"] = buffer["last"].get<int64_t>() + 1;
  EXPECT_EQ(c.Faults(), "step 2 loads x, in whose place y is written\n");
}

TEST(PlannedFaults, AFactorBeforeItsMatrixIsThere) {
  const ConcreteGraph graph =
      MakeGraph("graph g(%a: f64[i:20, j:20])\n{\n  %l = cholesky<i, j> %a\n  return %l\n}\n", {});
  Certified c(graph, kNoLimit, LimitKind::kScratch);
  ASSERT_EQ(c.Faults(), "");
  ASSERT_EQ(c.json["steps"].size(), 2U);
  std::swap(c.json["steps"][0], c.json["steps"][1]);
  EXPECT_TRUE(Says(c.Faults(), "reads l, which nothing wrote before")) << c.Faults();
}

// An input need not be loaded if the graph says that it has no elements, not if the plan does.
TEST(PlannedFaults, AnInputWithoutElements) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%a: f32[i:0], %b: f32[j:3])\n{\n  %y = sum<i, j>(%a * %b)\n  return %y\n}\n", {});
  Certified c(graph, kNoLimit, LimitKind::kTotal);
  ASSERT_EQ(c.Faults(), "");
  c.Buffer("b")["size"] = 0;
  auto& steps = c.json["steps"];
  const auto load = std::find_if(steps.begin(), steps.end(),
                                 [](const auto& step) { return step.contains("load"); });
  ASSERT_EQ((*load)["load"], "b");
  steps.erase(load);
  EXPECT_TRUE(Says(c.Faults(), "reads b, which nothing wrote before")) << c.Faults();
}

TEST(PlannedFaults, AShortenedLifetime) {
  Certified c;
  auto& buffer = c.Buffer("t");
  buffer["last"] = buffer["last"].get<int64_t>() - 1;
  EXPECT_TRUE(Says(c.Faults(), "t is needed from step")) << c.Faults();
}

TEST(PlannedFaults, AForgottenRemainder) {
  Certified c;
  const auto steps = c.SplitSteps();
  auto& range = (*steps.back())["ranges"].begin().value();
  range[1] = range[1].get<int64_t>() - 1;
  EXPECT_TRUE(Says(c.Faults(), "leaves out a part of its ranges")) << c.Faults();
}

TEST(PlannedFaults, AForgottenStep) {
  Certified c;
  const std::string kernel = (*c.SplitSteps().back())["kernel"];
  auto& steps = c.json["steps"];
  for (size_t i = steps.size(); i-- > 0;) {
    if (steps[i]["kernel"] != kernel) continue;
    steps.erase(i);
    break;
  }
  EXPECT_TRUE(Says(c.Faults(), "leaves out a part of its ranges")) << c.Faults();
}

// The inputs lie one behind the other, with gaps smaller than the alignment.
TEST(PlannedFaults, AShiftedOffset) {
  size_t shifted = 0;
  for (const char* const name : {"a", "b", "c", "bias"}) {
    Certified c(kNoLimit, LimitKind::kTotal);
    auto& buffer = c.Buffer(name);
    const uint64_t offset = buffer["offset"];
    if (offset < kArenaAlignment) continue;
    ++shifted;
    buffer["offset"] = offset - kArenaAlignment;
    EXPECT_TRUE(Says(c.Faults(), "overlap")) << name << ": " << c.Faults();
  }
  EXPECT_GE(shifted, 3U);
}

TEST(PlannedFaults, ARangeCoveredTwice) {
  Certified c;
  const auto steps = c.SplitSteps();
  (*steps[1])["ranges"] = (*steps[0])["ranges"];
  EXPECT_TRUE(Says(c.Faults(), "covers a range twice")) << c.Faults();
}

TEST(PlannedFaults, AReadBeforeItsWrite) {
  Certified c(kNoLimit, LimitKind::kTotal);
  auto& steps = c.json["steps"];
  // Each load goes behind the first kernel.
  const auto launch = std::find_if(steps.begin(), steps.end(),
                                   [](const auto& step) { return step.contains("kernel"); });
  std::rotate(steps.begin(), launch, launch + 1);
  EXPECT_TRUE(Says(c.Faults(), "which nothing wrote before")) << c.Faults();
}

// ---- inputs and outputs by chunks -------------------------------------------------------------

// A plan that loads an input and stores an output by chunks of their rows.
struct Streamed : Certified {
  Streamed() : Certified(Rows(), 20'000, LimitKind::kTotal) {}
  static ConcreteGraph Rows() {
    const std::string text =
        "graph rows(%x: f32[i:1000, j:16], %w: f32[j:16]) -> f32[i:1000]\n"
        "{\n"
        "  %y = sum<j>(%x * %w)\n"
        "  return %y\n"
        "}\n";
    return MakeGraph(text, {});
  }
  // The steps that transfer the tensor.
  std::vector<nlohmann::ordered_json*> Transfers(const char* kind, const char* tensor) {
    std::vector<nlohmann::ordered_json*> out;
    for (auto& step : json["steps"]) {
      if (step.contains(kind) && step[kind] == tensor) out.push_back(&step);
    }
    return out;
  }
};

TEST(StreamedFaults, NoneInThePlan) {
  Streamed c;
  EXPECT_EQ(c.Faults(), "");
  EXPECT_GT(c.Transfers("load", "x").size(), 3U);
  EXPECT_EQ(c.Transfers("load", "w").size(), 1U);
  EXPECT_GT(c.Transfers("store", "y").size(), 3U);
  EXPECT_LT(c.Buffer("x")["size"].get<int64_t>(), 1000 * 16 * 4 / 3);
  EXPECT_EQ(c.Buffer("x:2")["size"], c.Buffer("x")["size"]);  // both count
}

TEST(StreamedFaults, AChunkThatIsNotLoaded) {
  Streamed c;
  auto& range = (*c.Transfers("load", "x")[2])["ranges"];
  range = (*c.Transfers("load", "x")[0])["ranges"];
  EXPECT_TRUE(Says(c.Faults(), "which holds another part of x")) << c.Faults();
}

TEST(StreamedFaults, AChunkInTheOtherBuffer) {
  Streamed c;
  auto& load = *c.Transfers("load", "x")[1];
  ASSERT_EQ(load["writes"][0], "x:2");
  load["writes"][0] = "x";
  EXPECT_TRUE(Says(c.Faults(), "which holds another part of x")) << c.Faults();
}

TEST(StreamedFaults, AChunkThatIsNotStored) {
  Streamed c;
  auto& steps = c.json["steps"];
  for (size_t i = steps.size(); i-- > 0;) {
    if (!steps[i].contains("store")) continue;
    steps.erase(i);
    break;
  }
  EXPECT_TRUE(Says(c.Faults(), "is written and not stored")) << c.Faults();
  EXPECT_TRUE(Says(c.Faults(), "the stores of y leaves out a part")) << c.Faults();
}

TEST(StreamedFaults, AChunkThatIsStoredElsewhere) {
  Streamed c;
  const auto stores = c.Transfers("store", "y");
  std::swap((*stores[0])["ranges"], (*stores[1])["ranges"]);
  EXPECT_TRUE(Says(c.Faults(), "stores another part of y than was written")) << c.Faults();
}

TEST(StreamedFaults, ABufferThatIsTooSmall) {
  Streamed c;
  auto& buffer = c.Buffer("x");
  buffer["size"] = buffer["size"].get<int64_t>() - 4;
  EXPECT_TRUE(Says(c.Faults(), "x is no room for")) << c.Faults();
}

// Their sizes are beyond 64 bits.
TEST(StreamedFaults, SizesThatWrap) {
  Streamed c;
  c.facts.axes["j"] = int64_t{1} << 60;
  EXPECT_TRUE(Says(c.Faults(), "x is no room for")) << c.Faults();
}

TEST(StreamedFaults, EndsThatWrap) {
  Streamed c;
  c.Buffer("x")["offset"] = UINT64_MAX - 255;
  c.Buffer("x:2")["offset"] = UINT64_MAX - 255;
  EXPECT_TRUE(Says(c.Faults(), "x and x:2 overlap")) << c.Faults();
}

TEST(StreamedFaults, BuffersThatAreTheSame) {
  Streamed c;
  c.Buffer("x:2")["offset"] = c.Buffer("x")["offset"];
  EXPECT_TRUE(Says(c.Faults(), "x and x:2 overlap")) << c.Faults();
}

// ---- several ranks ------------------------------------------------------------------------------

// The certificates of three ranks that merge a sum and the largest element.
struct Shared {
  std::vector<nlohmann::ordered_json> ranks;
  CertificateFacts facts;
  explicit Shared(LimitKind kind = LimitKind::kTotal) {
    const ConcreteGraph graph = MakeGraph(
        "graph g(%x: f32[i:300]) -> f32, f32[i:300]\n{\n  %s = sum<i> %x\n  %y = %x / %s\n"
        "  return %s, %y\n}\n",
        {});
    facts = FactsOf(graph);
    for (size_t r = 0; r < 3; ++r) {
      Diagnostics found;
      const Plan plan = MakePlan(graph, {kNoLimit, kind, false, r, 3}, found).value();
      ranks.push_back(nlohmann::ordered_json::parse(CertificateText(plan, graph)));
    }
  }
  [[nodiscard]] std::string Faults() const {
    std::vector<std::string> texts;
    for (const auto& rank : ranks) texts.push_back(rank.dump());
    std::string out;
    for (const std::string& fault : CheckShares(texts, facts)) out += fault + "\n";
    return out;
  }
  // Gives a rank another range, in all that its certificate says.
  void Move(size_t rank, int64_t low, int64_t high) {
    ranks[rank]["share"]["range"] = {low, high};
    for (auto& step : ranks[rank]["steps"]) {
      if (step["ranges"].contains("i")) step["ranges"]["i"] = {low, high};
    }
  }
  [[nodiscard]] int64_t Bound(size_t rank, size_t which) const {
    return ranks[rank]["share"]["range"][which];
  }
  nlohmann::ordered_json& Step(size_t rank, const char* kind) {
    auto& steps = ranks[rank]["steps"];
    return *std::find_if(steps.begin(), steps.end(),
                         [&](const auto& step) { return step.contains(kind); });
  }
  void Erase(size_t rank, const char* kind) {
    auto& steps = ranks[rank]["steps"];
    const auto found = std::find_if(steps.begin(), steps.end(),
                                    [&](const auto& step) { return step.contains(kind); });
    steps.erase(found);
  }
};

TEST(SharedFaults, NoneInThePlans) {
  EXPECT_EQ(Shared().Faults(), "");
  EXPECT_EQ(Shared(LimitKind::kScratch).Faults(), "");
}

TEST(SharedFaults, RangesThatOverlap) {
  Shared s;
  s.Move(1, s.Bound(1, 0) - 1, s.Bound(1, 1) - 1);
  EXPECT_TRUE(Says(s.Faults(), "two ranks have")) << s.Faults();
  EXPECT_TRUE(Says(s.Faults(), "no rank has")) << s.Faults();
}

TEST(SharedFaults, ARangeThatNobodyHas) {
  Shared s;
  s.Move(2, s.Bound(2, 0), s.Bound(2, 1) - 1);
  EXPECT_TRUE(Says(s.Faults(), "no rank has 299 of i")) << s.Faults();
}

TEST(SharedFaults, ARankThatIsMissing) {
  Shared s;
  s.ranks.erase(s.ranks.begin() + 1);
  EXPECT_TRUE(Says(s.Faults(), "is of other ranks")) << s.Faults();
}

TEST(SharedFaults, ARankThatIsThereTwice) {
  Shared s;
  s.ranks[1] = s.ranks[2];
  EXPECT_TRUE(Says(s.Faults(), "rank 2 is there twice")) << s.Faults();
}

TEST(SharedFaults, AKernelThatCoversLessThanTheRange) {
  Shared s;
  auto& range = s.Step(1, "kernel")["ranges"]["i"];
  range[1] = range[1].get<int64_t>() - 1;
  EXPECT_TRUE(Says(s.Faults(), "leaves out a part of its ranges")) << s.Faults();
}

TEST(SharedFaults, AKernelThatCoversWhatAnotherRankHas) {
  Shared s;
  auto& range = s.Step(1, "kernel")["ranges"]["i"];
  range[0] = range[0].get<int64_t>() - 1;
  EXPECT_TRUE(Says(s.Faults(), "has the range")) << s.Faults();
}

TEST(SharedFaults, AMergeThatIsForgotten) {
  Shared all;
  for (size_t r = 0; r < 3; ++r) all.Erase(r, "merge");
  EXPECT_TRUE(Says(all.Faults(), "which has only what this rank made of i")) << all.Faults();
}

TEST(SharedFaults, AMergeBeforeTheEnd) {
  Shared s;
  for (size_t r = 0; r < 3; ++r) {
    const auto merge = s.Step(r, "merge");
    auto& steps = s.ranks[r]["steps"];
    s.Erase(r, "merge");
    const auto kernel = std::find_if(steps.begin(), steps.end(),
                                     [](const auto& step) { return step.contains("kernel"); });
    steps.insert(kernel, merge);
  }
  EXPECT_TRUE(Says(s.Faults(), "which nothing wrote before")) << s.Faults();
}

TEST(SharedFaults, StatesThatGoOnAfterTheirMerge) {
  Shared s;
  for (size_t r = 0; r < 3; ++r) {
    auto& steps = s.ranks[r]["steps"];
    const auto kernel = std::find_if(steps.begin(), steps.end(),
                                     [](const auto& step) { return step.contains("kernel"); });
    auto again = *kernel;
    again["reads"].push_back(again["writes"][0]);
    const auto merge = std::find_if(steps.begin(), steps.end(),
                                    [](const auto& step) { return step.contains("merge"); });
    steps.insert(merge + 1, again);
  }
  EXPECT_TRUE(Says(s.Faults(), "what all ranks have made already")) << s.Faults();
}

TEST(SharedFaults, AnOutputThatIsStoredAsAWhole) {
  Shared s;
  for (auto& step : s.ranks[1]["steps"]) {
    if (step.contains("store") && step["store"] == "y") step["ranges"].clear();
  }
  EXPECT_TRUE(Says(s.Faults(), "stores all of y")) << s.Faults();
}

TEST(SharedFaults, AnotherLimit) {
  Shared s;
  s.ranks[2]["limit"] = 1'000'000;
  EXPECT_TRUE(Says(s.Faults(), "rank 2 has another limit")) << s.Faults();
}

TEST(PlannedFaults, ALimitBelowThePeak) {
  Certified c;
  c.json["limit"] = c.json["peak"].get<uint64_t>() - 1;
  EXPECT_TRUE(Says(c.Faults(), "is above the limit")) << c.Faults();
}

// Chunks of an input under another name of its axis.
TEST(PlannedFaults, NamesOfAxes) {
  const auto made = [] {
    return Certified(MakeGraphOf("examples/reduce/energy.tsa", {{"n", 301}, {"m", 257}, {"d", 4}}),
                     4000, LimitKind::kTotal);
  };
  Certified c = made();
  ASSERT_EQ(c.Faults(), "");
  ASSERT_TRUE(c.Buffer("xx").contains("renamed"));
  c.Buffer("xx")["renamed"] = {{"j", "i"}};
  EXPECT_TRUE(Says(c.Faults(), "xx has names of axes that the graph does not give x"))
      << c.Faults();
  c = made();
  c.Buffer("xx")["of"] = "y";
  EXPECT_TRUE(Says(c.Faults(), "xx has names of axes that the graph does not give x"))
      << c.Faults();
  c = made();
  c.Buffer("xx").erase("renamed");
  c.Buffer("xx").erase("of");
  EXPECT_TRUE(Says(c.Faults(), "of k of x")) << c.Faults();
  // A chunk that is there only under the other name.
  c = made();
  for (auto& step : c.json["steps"]) {
    if (step.contains("load") && step["writes"][0] == "xx") {
      step["ranges"]["k"][1] = step["ranges"]["k"][1].get<int64_t>() - 1;
      break;
    }
  }
  EXPECT_TRUE(Says(c.Faults(), "holds another part of x")) << c.Faults();
}

TEST(PlannedFaults, ASmallerInput) {
  Certified c;  // which the limit does not count
  c.Buffer("a")["size"] = 4;
  EXPECT_TRUE(Says(c.Faults(), "is no input of the graph of 4 bytes")) << c.Faults();
}

TEST(PlannedFaults, NoCertificate) {
  EXPECT_TRUE(Says(CheckCertificate("{}", {}).at(0), "this is no certificate"));
  EXPECT_TRUE(Says(CheckCertificate("[", {}).at(0), "this is no certificate"));
}

}  // namespace
}  // namespace tarsia::reduce_test

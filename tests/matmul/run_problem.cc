#include "tests/matmul/run_problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tests/harness/faults.h"

namespace tarsia::matmul {

Matmul::Matmul(const Spec& spec, const Shape& shape)
    : shape_(shape),
      source_(harness::ReadExample(!shape.program.empty() ? shape.program
                                   : spec.group == 0      ? "matmul.tsa"
                                                          : "matmul_scaled.tsa")) {
  const auto set = [this](const char* name, std::string value) {
    constants_.push_back({name, std::move(value)});
  };
  set("K", std::to_string(spec.k));
  set("N", std::to_string(spec.n));
  set("W", std::string(DTypeName(spec.w)));
  set("X", std::string(DTypeName(spec.x)));
  set("BM", std::to_string(shape.bm));
  set("BN", std::to_string(shape.bn));
  set("BK", std::to_string(shape.bk));
  if (!shape.pack.empty()) set("PACK", shape.pack);
  if (spec.group > 0) {
    set("G", std::to_string(spec.group));
    set("S", std::string(DTypeName(spec.scale)));
  }
  if (spec.zero_points) {
    set("ZERO", "true");
    set("Z", std::string(DTypeName(spec.zero)));
  }
  constants_.insert(constants_.end(), shape.more.begin(), shape.more.end());
  made_ = harness::MakeProgram(source_, "", constants_);
  EXPECT_TRUE(made_.program) << made_.error;
}

harness::Case Matmul::CaseOf(const Problem& p) const {
  harness::Case c;
  c.title = "m=" + std::to_string(p.spec.m);
  for (const Binding& constant : constants_) c.title += " " + constant.name + "=" + constant.text;
  c.where = source_.name();
  c.source = source_;
  c.constants = constants_;
  c.scalars = {{"m", static_cast<uint64_t>(p.spec.m)}};
  c.inputs = {{"x", p.x}, {"w", p.w}};
  if (p.spec.group > 0) c.inputs.push_back({"s", p.scale});
  if (p.spec.zero_points) c.inputs.push_back({"z", {}, true, Bytes(p.zero)});
  c.outputs = {{"y", p.expected}};
  return c;
}

void Matmul::Check(const Problem& p, harness::Case::Compiled compiled) const {
  harness::Case c = CaseOf(p);
  c.compiled = compiled;
  const harness::CaseResult result = harness::RunEverywhere(c, &*made_.program);
  ASSERT_TRUE(result.ok()) << result.Text(c);
  const harness::Tensor& y = result.outputs[0];
  auto faults = harness::OutputFaults(y, shape_.bm, shape_.bn);
  if (p.expected.kind == harness::Expectation::Kind::kExact && !y.codes.empty()) {
    faults.push_back({"last bit of the last output", y});
    faults.back().output.codes.back() ^= 1;
  }
  EXPECT_EQ(harness::ProveRejection(p.expected, y, faults), "") << c.title;
}

bool Matmul::Holds(const Problem& p) const {
  return harness::RunProgram(*made_.program, CaseOf(p), harness::AnyWitness()).ok();
}

bool IsRepresentative(DType w) {
  constexpr std::string_view kNames[] = {"u4", "i3", "u8", "f4e2m1", "f8e4m3", "f6e3m2"};
  return std::find(std::begin(kNames), std::end(kNames), DTypeName(w)) != std::end(kNames);
}

std::vector<DType> WeightTypes() {
  std::vector<DType> out;
  for (const DTypeRow& row : AllDTypes()) {
    const bool number = row.type.IsInteger() || row.type.IsFloat();
    if (number && row.type.bits <= 8) out.push_back(row.type);
  }
  return out;
}

std::string PackedOrder(DType x) {
  const std::string name(DTypeName(x));
  return "packed(permute(local(1, 4) * mma.m16n8k16." + name + ".a, [1, 0]), lanes(" + name + "))";
}

}  // namespace tarsia::matmul

#include "planner/reducer.h"

#include <optional>

namespace tarsia {

namespace {

struct ReducerRow {
  GraphOp op;
  ReducerKind kind;
};
constexpr ReducerRow kReducers[] = {
    {GraphOp::kReduceSum, ReducerKind::kSum},   {GraphOp::kMean, ReducerKind::kSum},
    {GraphOp::kSegmentSum, ReducerKind::kSum},  {GraphOp::kDot, ReducerKind::kDot},
    {GraphOp::kSqDist, ReducerKind::kSqDist},   {GraphOp::kL1Dist, ReducerKind::kL1Dist},
    {GraphOp::kCosine, ReducerKind::kCosine},   {GraphOp::kReduceProd, ReducerKind::kProd},
    {GraphOp::kReduceMax, ReducerKind::kMax},   {GraphOp::kReduceMin, ReducerKind::kMin},
    {GraphOp::kArgMax, ReducerKind::kArgMax},   {GraphOp::kArgMin, ReducerKind::kArgMin},
    {GraphOp::kVar, ReducerKind::kVar},         {GraphOp::kLogSumExp, ReducerKind::kLogSumExp},
    {GraphOp::kSoftmax, ReducerKind::kSoftmax}, {GraphOp::kTopK, ReducerKind::kTopK},
};

}  // namespace

std::optional<ReducerKind> ReducerOf(GraphOp op) {
  for (const ReducerRow& row : kReducers) {
    if (row.op == op) return row.kind;
  }
  return std::nullopt;
}

bool IsArg(ReducerKind kind) {
  return kind == ReducerKind::kArgMax || kind == ReducerKind::kArgMin;
}

bool SumsProducts(const Reduction& reduction) {
  const bool products = reduction.kind == ReducerKind::kDot ||
                        reduction.kind == ReducerKind::kSoftmax ||
                        (reduction.kind == ReducerKind::kSqDist && reduction.expanded);
  const DType type = reduction.accumulator;
  return products && reduction.form == SumForm::kPlain && (type == kF32 || type == kF64);
}

std::vector<StatePart> StateOf(const Reduction& reduction) {
  const DType t = reduction.accumulator;
  switch (reduction.kind) {
    case ReducerKind::kSum:
    case ReducerKind::kDot:
    case ReducerKind::kSqDist:
    case ReducerKind::kL1Dist:
      if (reduction.form == SumForm::kCompensated) return {{"sum", t}, {"error", t}};
      return {{"sum", t}};
    case ReducerKind::kCosine:
      return {{"product", t}, {"left", t}, {"right", t}};
    case ReducerKind::kProd:
      return {{"product", t}};
    case ReducerKind::kMax:
    case ReducerKind::kMin:
      return {{"best", t}};
    case ReducerKind::kArgMax:
    case ReducerKind::kArgMin:
    case ReducerKind::kTopK:
      return {{"best", t}, {"index", kI64}};
    case ReducerKind::kLogSumExp:
      return {{"top", t}, {"sum", t}};
    case ReducerKind::kSoftmax:
      return {{"top", t}, {"sum", t}, {"weighted", t}};
    case ReducerKind::kVar:
      return {{"count", t}, {"mean", t}, {"squares", t}};
  }
  return {};
}

}  // namespace tarsia

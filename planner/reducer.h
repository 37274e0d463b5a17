// Reducers: what they keep of the elements that they have seen. A reduction over parts of an axis
// gives one *state* for each part; states are merged, in any grouping, and the result is made of
// the last one. This file says which tensors a state has; planner/emit_reducer.cc writes its
// programs.
//
//   reducer         state                    of nothing        merge of a and b
//   sum, dot        s; kahan, pairwise: s, c 0                 a.s + b.s
//   sqdist, l1dist  s                        0                 a.s + b.s
//   cosine          a.b, |a|^2, |b|^2        0, 0, 0           sums
//   prod            p                        1                 a.p * b.p
//   max, min        m                        NaN, least, most  max, min
//   argmax, argmin  m, i (2^63 - 1: none)    -inf, none        the better, then the lower i
//   logsumexp       m, s                     -inf, 0           s exp(m - max), summed
//   softmax         m, s, t                  -inf, 0, 0        the same of s and t
//   mean            s                        0                 a.s + b.s
//   var             count, mean, M2          0, 0, 0           Chan's formula
//   topk            k of m, i, largest first NaN or least      the best k of both, a's first
#ifndef TARSIA_PLANNER_REDUCER_H_
#define TARSIA_PLANNER_REDUCER_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "dtypes/dtype.h"
#include "isa/graph/op.h"

namespace tarsia {

enum class ReducerKind : uint8_t {
  kSum,  // of its one operand
  kDot,  // of the product of two
  kSqDist,
  kL1Dist,
  kCosine,
  kProd,
  kMax,
  kMin,
  kArgMax,
  kArgMin,
  kLogSumExp,
  kSoftmax,
  kVar,
  kTopK,
};

// How a sum is kept.
enum class SumForm : uint8_t {
  kPlain,        // in the accumulator's type
  kCompensated,  // s and c: s - c is the sum
};

// What becomes of a second product of a sum of products.
enum class Second : uint8_t { kNone, kAdded, kSubtracted };

struct Reduction {
  ReducerKind kind{};
  SumForm form = SumForm::kPlain;
  bool mean = false;      // a sum that is divided by the number of elements at the end
  bool expanded = false;  // squared distances that may be |a|^2 + |b|^2 - 2 a.b
  // dot: of four operands, a * b + c * d or a * b - c * d.
  Second second = Second::kNone;
  DType accumulator;           // the type of the state's numbers
  std::vector<uint32_t> axes;  // reduced, in the order of the text
  int64_t count = 1;           // of the elements that are reduced to one
  uint32_t chosen = kNone;     // topk: the axis of the elements that it chooses
  uint32_t segments = kNone;   // segment_sum: the axis of its results
  static constexpr uint32_t kNone = UINT32_MAX;
};

// One tensor of a state. It has the axes of the result.
struct StatePart {
  std::string_view name;
  DType dtype;
};
std::vector<StatePart> StateOf(const Reduction& reduction);

// The kind of reducer that an operation is; none if it computes element by element.
std::optional<ReducerKind> ReducerOf(GraphOp op);
bool IsArg(ReducerKind kind);
// Whether a state has plain sums of products, which products of matrices may compute.
bool SumsProducts(const Reduction& reduction);

}  // namespace tarsia

#endif  // TARSIA_PLANNER_REDUCER_H_

#include "planner/emit_reducer.h"

#include <fmt/format.h>

namespace tarsia {
namespace {

constexpr double kExponentialPrice = 8;
constexpr double kQuotientPrice = 4;

bool IsSum(ReducerKind kind) {
  return kind == ReducerKind::kSum || kind == ReducerKind::kDot || kind == ReducerKind::kSqDist ||
         kind == ReducerKind::kL1Dist || kind == ReducerKind::kCosine;
}

bool HasExponentials(ReducerKind kind) {
  return kind == ReducerKind::kLogSumExp || kind == ReducerKind::kSoftmax;
}

}  // namespace

// The least or the largest value of the type.
std::string ReducerEmitter::Extreme(bool least) const {
  if (type_.IsFloat()) return least ? "-inf" : "inf";
  const int bits = type_.bits;
  if (type_.IsUnsigned()) return least ? "0" : fmt::format("{:#x}", ~uint64_t{0} >> (64 - bits));
  const uint64_t most = ~uint64_t{0} >> (65 - bits);
  return least ? fmt::format("(-{} - 1)", most) : fmt::format("{}", most);
}

std::string ReducerEmitter::NothingYet() const {
  const bool top = reduction_.kind == ReducerKind::kTopK;
  const bool least =
      top || reduction_.kind == ReducerKind::kMax || reduction_.kind == ReducerKind::kArgMax;
  const bool skips_nan =
      top || reduction_.kind == ReducerKind::kMax || reduction_.kind == ReducerKind::kMin;
  if (skips_nan && type_.IsFloat() && reduction_.count > 0) return "nan";
  return Extreme(least);
}

TileValue ReducerEmitter::Masked(const TileValue& tile, const TileValue* inside,
                                 std::string_view other) {
  return inside == nullptr ? tile : Op("select", {*inside, tile, Number(other)});
}

void ReducerEmitter::Begin(const TileShape& wide, const TileShape& narrow, const TileShape& loop,
                           uint32_t lanes) {
  lanes_ = lanes;
  const auto fill = [&](std::string_view literal, DType dtype, const TileShape& shape) {
    state_.push_back(writer_.Fill(literal, dtype, shape));
  };
  TileShape kept = narrow;
  for (int i = 0; i < kMaxRank; ++i) {
    if ((lanes >> i & 1) != 0) kept[i] = 1;
  }
  if (product_) product_->Begin(writer_, type_);
  if (IsSum(reduction_.kind)) {
    if (product_ && reduction_.kind == ReducerKind::kSqDist) {
      fill("0", type_, product_->a());
      fill("0", type_, product_->b());
    }
    if (product_) return;
    for (size_t i = 0; i < StateOf(reduction_).size(); ++i) fill("0", type_, wide);
    return;
  }
  switch (reduction_.kind) {
    case ReducerKind::kProd:
      return fill("1", type_, wide);
    case ReducerKind::kMax:
    case ReducerKind::kMin:
      return fill(NothingYet(), type_, wide);
    case ReducerKind::kArgMax:
    case ReducerKind::kArgMin:
      fill(NothingYet(), type_, wide);
      return fill("-1", kI32, wide);
    case ReducerKind::kLogSumExp:
    case ReducerKind::kSoftmax:
      fill("-inf", type_, kept);
      fill("0", type_, narrow);
      if (reduction_.kind == ReducerKind::kSoftmax && !product_) fill("0", type_, wide);
      return;
    case ReducerKind::kVar:
      fill("0", type_, loop);
      fill("0", type_, wide);
      return fill("0", type_, wide);
    case ReducerKind::kTopK:
      return BeginTop(wide, narrow);
    case ReducerKind::kSum:
    case ReducerKind::kDot:
    case ReducerKind::kSqDist:
    case ReducerKind::kL1Dist:
    case ReducerKind::kCosine:
      return;
  }
}

void ReducerEmitter::Step(const std::vector<TileValue>& elements, const TileValue* inside,
                          const std::string& number) {
  if (product_ && IsSum(reduction_.kind)) return StepProduct(elements, inside);
  Tiles operands;
  for (const TileValue& operand : elements) operands.push_back(writer_.Cast(operand, type_));
  const TileValue& x = operands[0];
  switch (reduction_.kind) {
    case ReducerKind::kSum:
    case ReducerKind::kDot:
    case ReducerKind::kSqDist:
    case ReducerKind::kL1Dist:
    case ReducerKind::kCosine:
      return StepSum(operands, inside);
    case ReducerKind::kProd:
      return Into(0, "mul", {state_[0], Masked(x, inside, "1")});
    case ReducerKind::kMax:
      return Into(0, "max", {state_[0], Masked(x, inside, NothingYet())});
    case ReducerKind::kMin:
      return Into(0, "min", {state_[0], Masked(x, inside, NothingYet())});
    case ReducerKind::kArgMax:
    case ReducerKind::kArgMin:
      return StepBest(x, inside, number);
    case ReducerKind::kLogSumExp:
    case ReducerKind::kSoftmax:
      return StepExponentials(operands, inside);
    case ReducerKind::kVar:
      return StepVar(x, inside);
    case ReducerKind::kTopK:
      return StepTop(x, inside, number);
  }
}

// ---- sums -------------------------------------------------------------------------------------

// A factor of the second product with the sign of that.
TileValue ReducerEmitter::Turned(const TileValue& tile) {
  const bool subtracted = reduction_.second == Second::kSubtracted;
  return subtracted ? writer_.Op("neg", {tile}, tile.dtype) : tile;
}

void ReducerEmitter::Add(size_t part, const TileValue& tile) {
  if (reduction_.form == SumForm::kPlain) return Into(part, "add", {state_[part], tile});
  // Kahan: the error of each addition is subtracted from the next element.
  const TileValue y = Op("sub", {tile, state_[1]});
  const TileValue t = Op("add", {state_[0], y});
  const TileValue gained = Op("sub", {t, state_[0]});
  Into(1, "sub", {gained, y});
  Into(0, "mov", {t});
}

void ReducerEmitter::AddProduct(size_t part, const TileValue& a, const TileValue& b,
                                const TileValue* inside) {
  if (inside == nullptr && reduction_.form == SumForm::kPlain && type_.IsFloat()) {
    return Into(part, "fma", {a, b, state_[part]});
  }
  Add(part, Masked(Op("mul", {a, b}), inside, "0"));
}

void ReducerEmitter::StepSum(const Tiles& operands, const TileValue* inside) {
  const TileValue& a = operands[0];
  if (reduction_.kind == ReducerKind::kSum) return Add(0, Masked(a, inside, "0"));
  const TileValue& b = operands[1];
  if (reduction_.kind == ReducerKind::kSqDist || reduction_.kind == ReducerKind::kL1Dist) {
    const TileValue difference = Op("sub", {a, b});
    if (reduction_.kind == ReducerKind::kSqDist) {
      return AddProduct(0, difference, difference, inside);
    }
    return Add(0, Masked(Op("abs", {difference}), inside, "0"));
  }
  AddProduct(0, a, b, inside);
  if (reduction_.second != Second::kNone) AddProduct(0, Turned(operands[2]), operands[3], inside);
  if (reduction_.kind != ReducerKind::kCosine) return;
  AddProduct(1, a, a, inside);
  AddProduct(2, b, b, inside);
}

// Halves go to the matrix units as they are: their products are exact in f32.
void ReducerEmitter::StepProduct(const Tiles& elements, const TileValue* inside) {
  const bool same = elements[0].dtype == elements[1].dtype;
  const bool half = elements[0].dtype == kF16 || elements[0].dtype == kBF16;
  Tiles operands;
  for (const TileValue& element : elements) {
    const bool as_it_is = same && half && type_ == kF32 && reduction_.kind == ReducerKind::kDot;
    const TileValue x = as_it_is ? element : writer_.Cast(element, type_);
    if (inside == nullptr) {
      operands.push_back(x);
    } else {
      const TileValue zero = writer_.Fill("0", x.dtype, TileWriter::UnitShape());
      operands.push_back(writer_.Op("select", {*inside, x, zero}, x.dtype));
    }
  }
  product_->Add(writer_, operands[0], operands[1]);
  if (reduction_.second != Second::kNone) {
    product_->Add(writer_, Turned(operands[2]), operands[3]);
  }
  if (reduction_.kind != ReducerKind::kSqDist) return;
  for (size_t i = 0; i < 2; ++i) Into(i, "fma", {operands[i], operands[i], state_[i]});
}

// |a|^2 + |b|^2 - 2 a.b; a NaN stays.
std::vector<TileValue> ReducerEmitter::CloseExpanded() {
  const TileValue a = writer_.Across("reduce.sum", state_[0], lanes_);
  const TileValue b = writer_.Across("reduce.sum", state_[1], lanes_);
  const TileValue both = Op("add", {a, b});
  const TileValue distance = Op("fma", {product_->Sums(writer_), Number("-2"), both});
  const TileValue below = Test("lt", {distance, Number("0")});
  const TileValue zero = writer_.Fill("0", type_, TileWriter::UnitShape());
  return {Op("select", {below, zero, distance})};
}

// The lanes are added in f64, so that the error does not grow with their number.
std::vector<TileValue> ReducerEmitter::CloseCompensated() {
  const auto wide = [&](const TileValue& tile) {
    return writer_.Across("reduce.sum", writer_.Cast(tile, kF64), lanes_);
  };
  const TileValue sum = writer_.Op("sub", {wide(state_[0]), wide(state_[1])}, kF64);
  const TileValue rounded = writer_.Cast(sum, type_);
  const TileValue error = writer_.Op("sub", {writer_.Cast(rounded, kF64), sum}, kF64);
  return {rounded, writer_.Cast(error, type_)};
}

// ---- argmax and argmin -------------------------------------------------------------------------

void ReducerEmitter::StepBest(const TileValue& x, const TileValue* inside,
                              const std::string& number) {
  // Tiles come from the last to the first, so that of equal elements the first one stays. A NaN is
  // never better.
  const bool most = reduction_.kind == ReducerKind::kArgMax;
  TileValue better = Test(most ? "ge" : "le", {x, state_[0]});
  if (inside != nullptr) better = Test("and", {better, *inside});
  Into(0, "select", {better, x, state_[0]});
  Into(1, "select", {better, TileWriter::Literal(number, kI32), state_[1]});
}

std::vector<TileValue> ReducerEmitter::CloseBest(int64_t tile, int position) {
  TileValue index = writer_.Cast(state_[1], kI64);
  if (tile > 1) {
    index = writer_.Op("mul", {index, TileWriter::Literal(fmt::format("{}", tile), kI64)}, kI64);
    const TileValue lane = writer_.Iota(position, tile, kI64);
    index = writer_.Op("add", {index, lane}, kI64);
  }
  const TileValue none = Test("lt", {state_[1], TileWriter::Literal("0", kI32)});
  const TileValue nowhere = writer_.Fill(kNoIndex, kI64, writer_.UnitShape());
  index = writer_.Op("select", {none, nowhere, index}, kI64);
  const bool most = reduction_.kind == ReducerKind::kArgMax;
  const TileValue best = writer_.Across(most ? "reduce.max" : "reduce.min", state_[0], lanes_);
  const TileValue is_best = Test("eq", {state_[0], best});
  const TileValue candidate = writer_.Op("select", {is_best, index, nowhere}, kI64);
  return {best, writer_.Across("reduce.min", candidate, lanes_)};
}

std::vector<TileValue> ReducerEmitter::MergeBest(const Tiles& a, const Tiles& b) {
  const bool most = reduction_.kind == ReducerKind::kArgMax;
  const TileValue better = Test(most ? "gt" : "lt", {b[0], a[0]});
  const TileValue equal = Test("eq", {b[0], a[0]});
  const TileValue lower = Test("lt", {b[1], a[1]});
  const TileValue first = Test("and", {equal, lower});
  const TileValue takes = Test("or", {better, first});
  return {Op("select", {takes, b[0], a[0]}), writer_.Op("select", {takes, b[1], a[1]}, kI64)};
}

// ---- logsumexp and softmax ---------------------------------------------------------------------

TileValue ReducerEmitter::Reference(const TileValue& top) {
  const TileValue size = Op("abs", {top});
  const TileValue infinite = Test("eq", {size, Number("inf")});
  const TileValue zero = writer_.Fill("0", type_, writer_.UnitShape());
  return Op("select", {infinite, zero, top});
}

void ReducerEmitter::StepExponentials(const Tiles& operands, const TileValue* inside) {
  const TileValue x = Masked(operands[0], inside, "-inf");
  const TileValue top = writer_.Across("reduce.max", x, lanes_);
  const TileValue next = Op("max", {state_[0], top});
  const TileValue reference = Reference(next);
  const TileValue scale = Op("exp", {Op("sub", {state_[0], reference})}, kExponentialPrice);
  const TileValue weight = Op("exp", {Op("sub", {x, reference})}, kExponentialPrice);
  Into(1, "fma", {state_[1], scale, weight});
  if (product_) {
    product_->Scale(writer_, scale);
    product_->Add(writer_, weight, Masked(operands[1], inside, "0"));
  } else if (reduction_.kind == ReducerKind::kSoftmax) {
    Into(2, "mul", {state_[2], scale});
    Into(2, "fma", {weight, Masked(operands[1], inside, "0"), state_[2]});
  }
  Into(0, "mov", {next});
}

std::vector<TileValue> ReducerEmitter::MergeExponentials(const Tiles& a, const Tiles& b) {
  Tiles out = {Op("max", {a[0], b[0]})};
  const TileValue reference = Reference(out[0]);
  const TileValue left = Op("exp", {Op("sub", {a[0], reference})}, kExponentialPrice);
  const TileValue right = Op("exp", {Op("sub", {b[0], reference})}, kExponentialPrice);
  for (size_t i = 1; i < a.size(); ++i) {
    out.push_back(Op("fma", {b[i], right, Op("mul", {a[i], left})}));
  }
  return out;
}

// ---- var ---------------------------------------------------------------------------------------

// Welford, Technometrics 4 (1962): mean' = mean + (x - mean) / n, and the squares of deviations
// grow by (x - mean) (x - mean').
void ReducerEmitter::StepVar(const TileValue& x, const TileValue* inside) {
  Into(0, "add", {state_[0], Number("1")});
  const TileValue before = Op("sub", {x, state_[1]});
  const TileValue mean = Op("add", {state_[1], Op("div", {before, state_[0]}, kQuotientPrice)});
  const TileValue squares = Op("fma", {before, Op("sub", {x, mean}), state_[2]});
  if (inside == nullptr) {
    Into(1, "mov", {mean});
    Into(2, "mov", {squares});
    return;
  }
  Into(1, "select", {*inside, mean, state_[1]});
  Into(2, "select", {*inside, squares, state_[2]});
  const TileValue outside = writer_.Cast(*inside, kI32);
  const TileValue more = writer_.Cast(outside, type_);
  const TileValue less = Op("sub", {state_[0], Number("1")});
  Into(0, "add", {less, more});
}

// Lanes with counts n, means m and squares q: the mean is sum(n m) / sum(n), and the squares are
// sum(q + n (m - mean)^2).
std::vector<TileValue> ReducerEmitter::CloseVar() {
  const auto across = [&](const TileValue& tile) {
    return writer_.Across("reduce.sum", tile, lanes_);
  };
  const TileValue count = across(state_[0]);
  const TileValue sum = across(Op("mul", {state_[1], state_[0]}));
  const TileValue mean = Op("div", {sum, Op("max", {count, Number("1")})}, kQuotientPrice);
  const TileValue deviation = Op("sub", {state_[1], mean});
  const TileValue square = Op("mul", {deviation, deviation});
  return {count, mean, across(Op("fma", {square, state_[0], state_[2]}))};
}

// Chan, Golub and LeVeque (1979).
std::vector<TileValue> ReducerEmitter::MergeVar(const Tiles& a, const Tiles& b) {
  const TileValue count = Op("add", {a[0], b[0]});
  const TileValue share = Op("div", {b[0], Op("max", {count, Number("1")})}, kQuotientPrice);
  const TileValue apart = Op("sub", {b[1], a[1]});
  const TileValue mean = Op("fma", {apart, share, a[1]});
  const TileValue between = Op("mul", {Op("mul", {apart, apart}), Op("mul", {a[0], share})});
  return {count, mean, Op("add", {Op("add", {a[2], b[2]}), between})};
}

// ---- max and min -------------------------------------------------------------------------------

// Of NaNs alone, a reduction of a tile makes the extreme of the type.
std::vector<TileValue> ReducerEmitter::CloseExtreme() {
  const bool most = reduction_.kind == ReducerKind::kMax;
  const TileValue best = writer_.Across(most ? "reduce.max" : "reduce.min", state_[0], lanes_);
  if (!type_.IsFloat() || best.name == state_[0].name) return {best};
  const TileValue numbers = Test("eq", {state_[0], state_[0]});
  const TileValue any = writer_.Across("reduce.any", numbers, lanes_);
  return {Op("select", {any, best, writer_.Fill("nan", type_, writer_.UnitShape())})};
}

// ---- of states ---------------------------------------------------------------------------------

std::vector<TileValue> ReducerEmitter::Close(int64_t tile, int position) {
  if (product_ && reduction_.kind == ReducerKind::kSqDist) return CloseExpanded();
  if (reduction_.form == SumForm::kCompensated) return CloseCompensated();
  if (IsArg(reduction_.kind)) return CloseBest(tile, position);
  if (reduction_.kind == ReducerKind::kVar) return CloseVar();
  if (reduction_.kind == ReducerKind::kTopK) return CloseTop();
  if (reduction_.kind == ReducerKind::kMax || reduction_.kind == ReducerKind::kMin) {
    return CloseExtreme();
  }
  const bool product = reduction_.kind == ReducerKind::kProd;
  const std::string_view mnemonic = product ? "reduce.prod" : "reduce.sum";
  Tiles out;
  for (size_t i = 0; i < state_.size(); ++i) {
    const bool top = i == 0 && HasExponentials(reduction_.kind);
    out.push_back(top ? state_[i] : writer_.Across(mnemonic, state_[i], lanes_));
  }
  if (product_) out.push_back(product_->Sums(writer_));
  return out;
}

std::vector<TileValue> ReducerEmitter::Merge(const std::vector<TileValue>& a,
                                             const std::vector<TileValue>& b) {
  if (HasExponentials(reduction_.kind)) return MergeExponentials(a, b);
  if (IsArg(reduction_.kind)) return MergeBest(a, b);
  if (reduction_.kind == ReducerKind::kVar) return MergeVar(a, b);
  if (reduction_.kind == ReducerKind::kTopK) return MergeTop(a, b);
  if (reduction_.form == SumForm::kCompensated) {
    const TileValue y = Op("sub", {b[0], Op("add", {a[1], b[1]})});
    const TileValue t = Op("add", {a[0], y});
    const TileValue gained = Op("sub", {t, a[0]});
    return {t, Op("sub", {gained, y})};
  }
  std::string_view mnemonic = "add";
  if (reduction_.kind == ReducerKind::kProd) mnemonic = "mul";
  if (reduction_.kind == ReducerKind::kMax) mnemonic = "max";
  if (reduction_.kind == ReducerKind::kMin) mnemonic = "min";
  Tiles out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(Op(mnemonic, {a[i], b[i]}));
  return out;
}

std::vector<TileValue> ReducerEmitter::Finish(const std::vector<TileValue>& state, DType result) {
  TileValue out = state[0];
  switch (reduction_.kind) {
    case ReducerKind::kSum:
    case ReducerKind::kDot:
      if (reduction_.form == SumForm::kCompensated) out = Op("sub", {state[0], state[1]});
      if (reduction_.mean) {
        out = Op("div", {out, Number(fmt::format("{}.0", reduction_.count))}, kQuotientPrice);
      }
      break;
    case ReducerKind::kCosine:
      out = Op("div", {state[0], Op("mul", {Op("sqrt", {state[1]}), Op("sqrt", {state[2]})})},
               kQuotientPrice);
      break;
    case ReducerKind::kLogSumExp:
      out = Op("add", {Op("log", {state[1]}, kExponentialPrice), Reference(state[0])});
      break;
    case ReducerKind::kSoftmax:
      out = Op("div", {state[2], state[1]}, kQuotientPrice);
      break;
    case ReducerKind::kVar:
      out = Op("div", {state[2], state[0]}, kQuotientPrice);
      break;
    case ReducerKind::kArgMax:
    case ReducerKind::kArgMin: {
      const TileValue none = Test("eq", {state[1], TileWriter::Literal(kNoIndex, kI64)});
      const TileValue zero = writer_.Fill("0", kI64, writer_.UnitShape());
      const TileValue index = writer_.Op("select", {none, zero, state[1]}, kI64);
      if (type_.IsFloat()) {
        out = Op("select", {none, writer_.Fill("nan", type_, writer_.UnitShape()), state[0]});
      }
      return {writer_.Cast(out, result), index};
    }
    case ReducerKind::kTopK:
      return FinishTop(state, result);
    case ReducerKind::kSqDist:
    case ReducerKind::kL1Dist:
    case ReducerKind::kProd:
    case ReducerKind::kMax:
    case ReducerKind::kMin:
      break;
  }
  return {writer_.Cast(out, result)};
}

}  // namespace tarsia

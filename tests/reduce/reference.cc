#include "tests/reduce/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "dtypes/convert.h"
#include "tests/reduce/reference_index.h"

// The operations that tests use have their case; another one is a mistake in a test.
#pragma GCC diagnostic ignored "-Wswitch-enum"

namespace tarsia::reduce_test {
namespace {

constexpr double kFunctionUlps = 8;  // of the least accurate elementary function

// The least normal number, below which errors are absolute.
double TinyOf(DType type) {
  if (type == kF16) return 0x1p-24;
  return type == kF64 ? 0x1p-1022 : 0x1p-126;
}

double Infinity() { return std::numeric_limits<double>::infinity(); }

// The error of a function that rises or falls over the interval of its operand.
template <typename Function>
double Spread(const Function& f, double x, double error) {
  const double at = f(x);
  double out = 0;
  for (const double end : {x - error, x + error}) {
    const double there = f(end);
    if (!(there == at)) out = std::max(out, std::abs(there - at));
  }
  return std::isnan(out) ? Infinity() : out;
}

bool IsArithmeticType(DType type) {
  return type == kF16 || type == kBF16 || type == kF32 || type == kF64 || type == kBoolType ||
         (type.IsInteger() && type.bits >= 8);
}

}  // namespace

// The nearest code, as dtypes/ knows it.
ReferenceGraph::Element ReferenceGraph::Quantised(double x, double error, DType type) {
  const auto code = [&](double v) {
    return DecodeToDouble(type, EncodeFromDouble(type, type.IsInteger() ? std::nearbyint(v) : v));
  };
  return {code(x), Spread(code, x, error)};
}

double EpsilonOf(DType type) { return type.IsFloat() ? std::ldexp(1.0, -type.mantissa) : 0; }

ReferenceGraph::ReferenceGraph(const ConcreteGraph& graph,
                               const std::vector<std::vector<double>>& inputs)
    : graph_(graph) {
  values_.resize(graph.values().size());
  for (uint32_t v = 0; v < inputs.size(); ++v) {
    values_[v] = {graph.value(v).axes, inputs[v], std::vector<double>(inputs[v].size())};
  }
  for (const GraphNode& node : graph.graph().nodes) Compute(node);
}

Reference ReferenceGraph::Empty(uint32_t v) const {
  const ConcreteValue& value = graph_.value(v);
  const auto count = static_cast<size_t>(value.elements * NumbersOf(value.dtype));
  return {graph_.value(v).axes, std::vector<double>(count), std::vector<double>(count)};
}

size_t ReferenceGraph::At(const std::vector<uint32_t>& axes, const Index& index) const {
  int64_t out = 0;
  for (const uint32_t axis : axes) out = out * graph_.axes()[axis].extent + index.at(axis);
  return static_cast<size_t>(out);
}

ReferenceGraph::Element ReferenceGraph::Operand(const GraphNode& node, size_t i,
                                                const Index& index) const {
  const ExprId operand = graph_.graph().Operands(node)[i];
  if (!operand.is_value()) {
    const ExprPool& pool = graph_.pool();
    if (const auto number = pool.AsInt(operand)) return {static_cast<double>(*number), 0};
    const std::string text = ToString(pool, operand);
    if (text == "true" || text == "false") return {text == "true" ? 1.0 : 0.0, 0};
    return {std::strtod(text.c_str(), nullptr),
            1e-7 * std::abs(std::strtod(text.c_str(), nullptr))};
  }
  const Reference& x = values_[operand.value()];
  const size_t at = At(x.axes, index);
  return {x.value[at], x.error[at]};
}

ReferenceGraph::Element ReferenceGraph::Rounded(Element element, DType type, double ulps) const {
  if (!type.IsFloat() || !std::isfinite(element.value)) return element;
  element.error += ulps * EpsilonOf(type) * (std::abs(element.value) + element.error);
  if (element.value != 0 || element.error != 0) element.error += TinyOf(type);
  return element;
}

void ReferenceGraph::Compute(const GraphNode& node) {
  if (node.op == GraphOp::kSegmentSum) return AddSegments(node);
  switch (Row(node.op).family) {
    case GraphFamily::kSource:
      if (node.op != GraphOp::kIota) return Random(node);
      [[fallthrough]];
    case GraphFamily::kElementwise:
      return Elementwise(node);
    case GraphFamily::kIndexed:
      return Gather(node);
    case GraphFamily::kShape:
      return Shape(node);
    case GraphFamily::kContraction:
    case GraphFamily::kReduction:
      return Reduce(node);
    case GraphFamily::kAlgebra:
      return Solve(node);
    case GraphFamily::kDerivative:
      std::abort();  // a mistake in a test
  }
}

// Of graphs whose complex numbers are split: they are inputs and outputs only.
void ReferenceGraph::ComplexParts(const GraphNode& node) {
  Reference out = Empty(node.first_result);
  ForEach(out.axes, {}, [&](const Index& index, size_t i) {
    if (node.op == GraphOp::kComplex) {
      for (size_t part = 0; part < 2; ++part) {
        const Element element = Operand(node, part, index);
        out.value[2 * i + part] = element.value;
        out.error[2 * i + part] = element.error;
      }
      return;
    }
    const Reference& from = values_[graph_.graph().Operands(node)[0].value()];
    const size_t at = 2 * At(from.axes, index) + (node.op == GraphOp::kImag ? 1 : 0);
    out.value[i] = from.value[at];
    out.error[i] = from.error[at];
  });
  values_[node.first_result] = std::move(out);
}

void ReferenceGraph::Elementwise(const GraphNode& node) {
  if (node.op == GraphOp::kComplex || node.op == GraphOp::kReal || node.op == GraphOp::kImag) {
    return ComplexParts(node);
  }
  Reference out = Empty(node.first_result);
  const DType type = graph_.value(node.first_result).dtype;
  ForEach(out.axes, {}, [&](const Index& index, size_t i) {
    Element element;
    if (node.op == GraphOp::kIota) {
      element.value = static_cast<double>(index.at(out.axes[0]));
    } else {
      std::vector<Element> operands;
      for (size_t o = 0; o < node.operands.count; ++o) operands.push_back(Operand(node, o, index));
      element = Apply(node.op, operands, type);
    }
    out.value[i] = element.value;
    out.error[i] = element.error;
  });
  values_[node.first_result] = std::move(out);
}

// NOLINTNEXTLINE(readability-function-size): one line an operation.
ReferenceGraph::Element ReferenceGraph::Apply(GraphOp op, const std::vector<Element>& x,
                                              DType type) const {
  const double a = x[0].value;
  const double ea = x[0].error;
  const double b = x.size() > 1 ? x[1].value : 0;
  const double eb = x.size() > 1 ? x[1].error : 0;
  // A comparison that the errors could turn around has any result.
  const bool near = std::abs(a - b) <= ea + eb && (ea > 0 || eb > 0);
  const auto truth = [&](bool holds) { return Element{holds ? 1.0 : 0.0, near ? 1.0 : 0.0}; };
  const auto function = [&](double (*f)(double)) {
    return Rounded({f(a), Spread(f, a, ea)}, type, kFunctionUlps);
  };
  const auto basic = [&](double value, double error) {
    return Rounded({value, std::isnan(error) ? Infinity() : error}, type, 1);
  };
  switch (op) {
    case GraphOp::kAdd:
      return basic(a + b, ea + eb);
    case GraphOp::kSub:
      return basic(a - b, ea + eb);
    case GraphOp::kMul:
      return basic(a * b, std::abs(a) * eb + std::abs(b) * ea + ea * eb);
    case GraphOp::kDiv: {
      const double least = std::abs(b) - eb;
      if (!type.IsFloat()) return {std::trunc(a / b), 0};
      return basic(a / b, least > 0 ? (ea + std::abs(a / b) * eb) / least : Infinity());
    }
    case GraphOp::kRem:
      return {std::fmod(a, b), 0};
    case GraphOp::kNeg:
      return {-a, ea};
    case GraphOp::kAbs:
      return {std::abs(a), ea};
    case GraphOp::kMin:
      return {std::fmin(a, b), std::max(ea, eb)};
    case GraphOp::kMax:
      return {std::fmax(a, b), std::max(ea, eb)};
    case GraphOp::kEq:
      return truth(a == b);
    case GraphOp::kNe:
      return truth(a != b);
    case GraphOp::kLt:
      return truth(a < b);
    case GraphOp::kLe:
      return truth(a <= b);
    case GraphOp::kGt:
      return truth(a > b);
    case GraphOp::kGe:
      return truth(a >= b);
    case GraphOp::kAnd:
      return {a * b, std::max(ea, eb)};
    case GraphOp::kOr:
      return {std::max(a, b), std::max(ea, eb)};
    case GraphOp::kNot:
      return {1 - a, ea};
    case GraphOp::kSelect: {
      const Element& taken = a != 0 ? x[1] : x[2];
      const Element& other = a != 0 ? x[2] : x[1];
      if (ea == 0) return taken;
      return {taken.value, std::abs(taken.value - other.value) + taken.error + other.error};
    }
    case GraphOp::kExp:
      return function(std::exp);
    case GraphOp::kLog:
      return function(std::log);
    case GraphOp::kSqrt:
      return function(std::sqrt);
    case GraphOp::kRsqrt:
      return function([](double v) { return 1 / std::sqrt(v); });
    case GraphOp::kTanh:
      return function(std::tanh);
    case GraphOp::kErf:
      return function(std::erf);
    case GraphOp::kPow: {
      double error = 0;
      for (const double x0 : {a - ea, a + ea}) {
        for (const double x1 : {b - eb, b + eb}) {
          error = std::max(error, std::abs(std::pow(x0, x1) - std::pow(a, b)));
        }
      }
      return Rounded({std::pow(a, b), ea == 0 && eb == 0 ? 0 : error}, type, kFunctionUlps);
    }
    case GraphOp::kSin:
      return Rounded({std::sin(a), ea}, type, kFunctionUlps);
    case GraphOp::kCos:
      return Rounded({std::cos(a), ea}, type, kFunctionUlps);
    case GraphOp::kFloor:
      return {std::floor(a), std::floor(a + ea) == std::floor(a - ea) ? 0 : 1 + ea};
    case GraphOp::kCast:
      if (!IsArithmeticType(type)) return Quantised(a, ea, type);
      return type.IsFloat() ? basic(a, ea) : Element{std::nearbyint(a), ea > 0 ? 1 + ea : 0};
    default:
      std::abort();  // a mistake in a test
  }
}

void ReferenceGraph::Shape(const GraphNode& node) {
  Reference out = Empty(node.first_result);
  const auto axes = graph_.graph().Axes(node.axes);
  const auto axis = [&](size_t i) { return graph_.AxisOf(axes[i]); };
  ForEach(out.axes, {}, [&](Index index, size_t i) {
    size_t operand = 0;
    if (node.op == GraphOp::kRename) {
      const Index from = index;
      for (size_t a = 0; a + 1 < axes.size(); a += 2) index[axis(a)] = from.at(axis(a + 1));
    } else if (node.op == GraphOp::kSlice) {
      const auto start = graph_.pool().AsInt(graph_.graph().Operands(node)[1]);
      index[axis(0)] = index.at(axis(1)) + start.value_or(0);
    } else if (node.op == GraphOp::kExpand) {
      const int64_t each = graph_.axes()[axis(1)].extent / graph_.axes()[axis(0)].extent;
      index[axis(0)] = index.at(axis(1)) / each;
    } else if (node.op == GraphOp::kConcat) {
      const int64_t middle = graph_.axes()[axis(0)].extent;
      const int64_t at = index.at(axis(2));
      operand = at < middle ? 0 : 1;
      index[axis(operand)] = at < middle ? at : at - middle;
    }
    const Element element = Operand(node, operand, index);
    out.value[i] = element.value;
    out.error[i] = element.error;
  });
  values_[node.first_result] = std::move(out);
}

}  // namespace tarsia::reduce_test

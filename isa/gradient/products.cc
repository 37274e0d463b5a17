#include "isa/gradient/products.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tarsia::gradient {
namespace {

// Removes one occurrence; false if there is none.
bool Remove(std::vector<ValueId>& list, ValueId v) {
  const auto found = std::find(list.begin(), list.end(), v);
  if (found == list.end()) return false;
  list.erase(found);
  return true;
}

std::vector<ValueId> Common(const std::vector<ValueId>& a, std::vector<ValueId> b) {
  std::vector<ValueId> out;
  for (const ValueId v : a) {
    if (Remove(b, v)) out.push_back(v);
  }
  return out;
}

void Sort(Product& product) {
  std::sort(product.over.begin(), product.over.end());
  std::sort(product.under.begin(), product.under.end());
}

}  // namespace

Product Product::Times(ValueId factor) const {
  Product out = *this;
  if (!Remove(out.under, factor)) out.over.push_back(factor);
  return out;
}

Product Product::By(ValueId divisor) const {
  Product out = *this;
  if (!Remove(out.over, divisor)) out.under.push_back(divisor);
  return out;
}

// ---- values ----------------------------------------------------------------------------------

// What has fewer elements is multiplied first.
bool Products::IsBefore(ValueId a, ValueId b) const {
  return SizeOf(a) != SizeOf(b) ? SizeOf(a) < SizeOf(b) : a < b;
}

ValueId Products::Multiply(ValueId a, ValueId b) {
  return draft_.Elementwise(GraphOp::kMul, {ExprId::Value(a), ExprId::Value(b)});
}

ValueId Products::Scaled(ValueId v, double scale) {
  if (scale == 1) return v;
  if (scale == -1) return draft_.Elementwise(GraphOp::kNeg, {ExprId::Value(v)});
  return draft_.Elementwise(GraphOp::kMul, {ExprId::Value(v), draft_.Constant(scale)});
}

// There is at least one factor.
ValueId Products::ProductOf(std::vector<ValueId> over, std::vector<ValueId> under) {
  const auto before = [&](ValueId a, ValueId b) { return IsBefore(a, b); };
  std::sort(over.begin(), over.end(), before);
  std::sort(under.begin(), under.end(), before);
  std::optional<ValueId> divisor;
  for (const ValueId v : under) divisor = divisor ? Multiply(*divisor, v) : v;
  std::optional<ValueId> out;
  const auto divide = [&] {
    const ExprId dividend = out ? ExprId::Value(*out) : draft_.Constant(1);
    out = draft_.Elementwise(GraphOp::kDiv, {dividend, ExprId::Value(*divisor)});
    divisor.reset();
  };
  for (const ValueId v : over) {
    if (divisor && SizeOf(*divisor) < SizeOf(v)) divide();
    out = out ? Multiply(*out, v) : v;
  }
  if (divisor) divide();
  return *out;
}

ValueId Products::ValueOf(const Product& product) {
  if (product.IsNumber()) return draft_.Number(product.scale, dtype_);
  if (product.scale == 1 || product.over.empty()) {
    return Scaled(ProductOf(product.over, product.under), product.scale);
  }
  const auto least = std::min_element(product.over.begin(), product.over.end(),
                                      [&](ValueId a, ValueId b) { return IsBefore(a, b); });
  const bool smaller = std::any_of(product.over.begin(), product.over.end(),
                                   [&](ValueId v) { return SizeOf(v) > SizeOf(*least); });
  if (!smaller) return Scaled(ProductOf(product.over, product.under), product.scale);
  std::vector<ValueId> over = product.over;
  const ValueId scaled = Scaled(*least, product.scale);
  Remove(over, *least);
  over.push_back(scaled);
  return ProductOf(std::move(over), product.under);
}

// ---- sums of terms ---------------------------------------------------------------------------

Product Products::SumOf(std::vector<Product> terms) {
  std::vector<Product> kept;
  for (Product& term : terms) {
    Sort(term);
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const Product& other) {
      return other.over == term.over && other.under == term.under;
    });
    if (same == kept.end()) {
      kept.push_back(std::move(term));
    } else {
      same->scale += term.scale;
    }
  }
  std::erase_if(kept, [](const Product& term) { return term.scale == 0; });
  if (kept.empty()) return Product{0, {}, {}};
  if (kept.size() == 1) return kept[0];
  Product out{1, kept[0].over, kept[0].under};
  bool same_size = true;
  bool negative = true;
  for (const Product& term : kept) {
    out.over = Common(out.over, term.over);
    out.under = Common(out.under, term.under);
    same_size = same_size && std::abs(term.scale) == std::abs(kept[0].scale);
    negative = negative && term.scale < 0;
  }
  if (same_size) out.scale = std::abs(kept[0].scale);
  if (negative) out.scale = -out.scale;
  for (Product& term : kept) {
    for (const ValueId v : out.over) Remove(term.over, v);
    for (const ValueId v : out.under) Remove(term.under, v);
    term.scale /= out.scale;
  }
  out.over.push_back(AddUp(kept));
  return out;
}

// The first term is not negative; numbers stand as such.
ValueId Products::AddUp(const std::vector<Product>& terms) {
  std::vector<Product> sorted = terms;
  std::stable_partition(sorted.begin(), sorted.end(),
                        [](const Product& term) { return term.scale > 0; });
  ExprId sum;
  for (const Product& term : sorted) {
    Product size = term;
    const bool minus = !sum.none() && term.scale < 0;
    if (minus) size.scale = -size.scale;
    const ExprId next =
        size.IsNumber() ? draft_.Constant(size.scale) : ExprId::Value(ValueOf(size));
    if (sum.none()) {
      sum = next;
    } else {
      sum = ExprId::Value(draft_.Elementwise(minus ? GraphOp::kSub : GraphOp::kAdd, {sum, next}));
    }
  }
  return sum.value();
}

// ---- sums along axes -------------------------------------------------------------------------

Axes Products::UnionOf(const std::vector<Factor>& factors) const {
  Axes out;
  for (const Factor& factor : factors) {
    for (const uint32_t axis : draft_.value(factor.value).axes) {
      if (std::find(out.begin(), out.end(), axis) == out.end()) out.push_back(axis);
    }
  }
  return out;
}

std::vector<Products::Group> Products::GroupsOf(const std::vector<Factor>& factors,
                                                const Axes& axes) const {
  std::vector<Group> out;
  for (const uint32_t axis : axes) {
    Group group{{axis}, {}};
    for (const Factor& factor : factors) group.has.push_back(draft_.Has(factor.value, axis));
    const auto same = std::find_if(out.begin(), out.end(),
                                   [&](const Group& other) { return other.has == group.has; });
    if (same == out.end()) {
      out.push_back(std::move(group));
    } else {
      same->axes.push_back(axis);
    }
  }
  return out;
}

// The elements that are multiplied to sum along the axes of a group.
double Products::CostOf(const std::vector<Factor>& factors, const Group& group) const {
  std::vector<Factor> those;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (group.has[i]) those.push_back(factors[i]);
  }
  return draft_.Elements(UnionOf(those));
}

// Sums along the axes of the cheapest group first, as contractions of several tensors are ordered.
Product Products::SumAlong(const Product& product, std::span<const uint32_t> axes) {
  std::vector<Factor> factors;
  for (const ValueId v : product.over) factors.push_back({v, false});
  for (const ValueId v : product.under) factors.push_back({v, true});
  Product out{product.scale, {}, {}};
  Axes left;
  for (const uint32_t axis : axes) {
    const bool any = std::any_of(factors.begin(), factors.end(),
                                 [&](const Factor& f) { return draft_.Has(f.value, axis); });
    if (any) {
      left.push_back(axis);
    } else {
      out.scale *= static_cast<double>(draft_.Extent(axis));
    }
  }
  while (!left.empty()) {
    const std::vector<Group> groups = GroupsOf(factors, left);
    const auto first = std::min_element(
        groups.begin(), groups.end(),
        [&](const Group& a, const Group& b) { return CostOf(factors, a) < CostOf(factors, b); });
    std::vector<Factor> inside;
    std::vector<Factor> outside;
    for (size_t i = 0; i < factors.size(); ++i) {
      (first->has[i] ? inside : outside).push_back(factors[i]);
    }
    outside.push_back({Reduce(inside, first->axes), false});
    factors = std::move(outside);
    std::erase_if(left, [&](uint32_t axis) {
      return std::find(first->axes.begin(), first->axes.end(), axis) != first->axes.end();
    });
  }
  for (const Factor& factor : factors) {
    out = factor.under ? out.By(factor.value) : out.Times(factor.value);
  }
  return out;
}

// Products of two numbers of f16, or of bf16, are exact in f32: then matrix units take them as they
// are.
void Products::Narrow(ValueId* a, ValueId* b) const {
  const auto source = [&](ValueId v) {
    const DraftNode* const node = draft_.NodeOf(v);
    const bool cast = node != nullptr && node->op == GraphOp::kCast && node->operands[0].is_value();
    return cast && draft_.value(v).dtype == kF32 ? node->operands[0].value() : v;
  };
  const DType type = draft_.value(source(*a)).dtype;
  if ((type != kF16 && type != kBF16) || draft_.value(source(*b)).dtype != type) return;
  *a = source(*a);
  *b = source(*b);
}

// All factors have the axes. Two sides with axes of their own are a product of matrices.
ValueId Products::Reduce(std::vector<Factor> factors, const Axes& axes) {
  std::stable_sort(factors.begin(), factors.end(), [&](const Factor& a, const Factor& b) {
    return SizeOf(a.value) > SizeOf(b.value);
  });
  const auto lacks = [&](const Axes& list, ValueId v) {
    const Axes& own = draft_.value(v).axes;
    return std::any_of(own.begin(), own.end(), [&](uint32_t axis) {
      return std::find(list.begin(), list.end(), axis) == list.end();
    });
  };
  std::vector<Factor> sides[2];
  for (const Factor& factor : factors) {
    const Axes left = UnionOf(sides[0]);
    const Axes right = UnionOf(sides[1]);
    const bool in_left = sides[0].empty() || !lacks(left, factor.value);
    const bool in_right = !sides[1].empty() && !lacks(right, factor.value);
    sides[in_left || (!in_right && !sides[1].empty()) ? 0 : 1].push_back(factor);
  }
  const auto value_of = [&](const std::vector<Factor>& side) {
    std::vector<ValueId> over;
    std::vector<ValueId> under;
    for (const Factor& factor : side) (factor.under ? under : over).push_back(factor.value);
    return ProductOf(std::move(over), std::move(under));
  };
  if (!sides[1].empty()) {
    ValueId a = value_of(sides[0]);
    ValueId b = value_of(sides[1]);
    Narrow(&a, &b);
    if (lacks(draft_.value(a).axes, b) && lacks(draft_.value(b).axes, a)) {
      return draft_.Reduce(GraphOp::kDot, {ExprId::Value(a), ExprId::Value(b)}, axes, option_);
    }
  }
  return draft_.Reduce(GraphOp::kReduceSum, {ExprId::Value(value_of(factors))}, axes, option_);
}

}  // namespace tarsia::gradient

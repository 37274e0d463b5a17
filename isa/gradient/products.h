// Derivatives as sums of products. A derivative is multiplied on its way back through a graph, and
// summed along axes; products that are not computed yet let each sum take out the factors that do
// not depend on its axes, and each other factor be multiplied where it has the fewest elements.
// Internal to isa/gradient.
#ifndef TARSIA_ISA_GRADIENT_PRODUCTS_H_
#define TARSIA_ISA_GRADIENT_PRODUCTS_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "isa/rewrite/draft.h"

namespace tarsia::gradient {

using rewrite::Axes;
using rewrite::Draft;
using rewrite::DraftNode;
using rewrite::DraftValue;
using rewrite::ValueId;

// scale * (product of `over`) / (product of `under`), all of one type. It may lack axes of the
// value whose derivative it is: then it is constant along them.
struct Product {
  double scale = 1;
  std::vector<ValueId> over, under;

  [[nodiscard]] Product Times(ValueId factor) const;
  [[nodiscard]] Product By(ValueId divisor) const;
  [[nodiscard]] Product Scaled(double factor) const {
    Product out = *this;
    out.scale *= factor;
    return out;
  }
  [[nodiscard]] bool IsNumber() const { return over.empty() && under.empty(); }
};

// Makes the nodes that compute products, in the type of derivatives `dtype`; sums add as `option`
// says.
class Products {
 public:
  Products(Draft& draft, DType dtype, GraphOption option)
      : draft_(draft), dtype_(dtype), option_(option) {}

  ValueId ValueOf(const Product& product);
  // The sum as one product: terms of the same factors are one, and common factors are taken out.
  // The scale is 0 if nothing is left.
  Product SumOf(std::vector<Product> terms);
  // The sum along axes: what is constant along one is multiplied by its extent.
  Product SumAlong(const Product& product, std::span<const uint32_t> axes);

 private:
  struct Factor {
    ValueId value = 0;
    bool under = false;
  };
  struct Group {  // axes that the same factors have
    Axes axes;
    std::vector<bool> has;  // by factor
  };
  ValueId Multiply(ValueId a, ValueId b);
  ValueId ProductOf(std::vector<ValueId> over, std::vector<ValueId> under);
  ValueId Scaled(ValueId v, double scale);
  ValueId AddUp(const std::vector<Product>& terms);
  void Narrow(ValueId* a, ValueId* b) const;
  ValueId Reduce(std::vector<Factor> factors, const Axes& axes);
  [[nodiscard]] double SizeOf(ValueId v) const { return draft_.Elements(draft_.value(v).axes); }
  [[nodiscard]] bool IsBefore(ValueId a, ValueId b) const;
  [[nodiscard]] std::vector<Group> GroupsOf(const std::vector<Factor>& factors,
                                            const Axes& axes) const;
  [[nodiscard]] double CostOf(const std::vector<Factor>& factors, const Group& group) const;
  [[nodiscard]] Axes UnionOf(const std::vector<Factor>& factors) const;

  Draft& draft_;
  const DType dtype_;
  const GraphOption option_;
};

}  // namespace tarsia::gradient

#endif  // TARSIA_ISA_GRADIENT_PRODUCTS_H_

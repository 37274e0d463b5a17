// How a block of weights gets its scale, its zero point and its codes (the rules of
// dtypes/quantize.h), for the reference quantisers and for faster ones, which must agree bit for
// bit. Internal to quantisation.
#ifndef TARSIA_DTYPES_SCALE_CHOICE_H_
#define TARSIA_DTYPES_SCALE_CHOICE_H_

#include <cstdint>
#include <span>

#include "dtypes/quantize.h"
#include "dtypes/scale_search.h"
#include "support/result.h"

namespace tarsia::internal {

// Errors: an unsupported type, codebook, scale type or zero point.
Status CheckSpec(const QuantiseSpec& spec);

// The parameters that all blocks of a matrix share.
class Chooser {
 public:
  Chooser(const QuantiseSpec& the_spec, double the_tensor_scale)
      : spec(the_spec), levels(LevelsOf(the_spec)), tensor_scale(the_tensor_scale) {}

  const QuantiseSpec& spec;
  const Levels levels;
  const double tensor_scale;

  // Of the least and the largest weight of a block.
  [[nodiscard]] Affine AbsmaxAffine(double least, double most) const;
  // By the rule of the spec.
  [[nodiscard]] Affine Choose(std::span<const double> weights) const;
  [[nodiscard]] uint8_t CodeOf(double w, const Affine& affine) const;

 private:
  [[nodiscard]] double AbsmaxScale(double least, double most) const;
  [[nodiscard]] bool Saturates(double scale) const;
};

}  // namespace tarsia::internal

#endif  // TARSIA_DTYPES_SCALE_CHOICE_H_

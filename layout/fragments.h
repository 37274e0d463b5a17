// The operands of tensor-core instructions as register layouts, by name: `mma.m16n8k16.f16.a`.
// `a` has shape [m, k], `b` [k, n], `c` (which is also the result) [m, n]. One table,
// layout/fragments.def, after the figures of the PTX manual ("Matrix multiply-accumulate").
#ifndef TARSIA_LAYOUT_FRAGMENTS_H_
#define TARSIA_LAYOUT_FRAGMENTS_H_

#include <optional>
#include <span>
#include <string_view>

#include "layout/reg_layout.h"

namespace tarsia {

// Thread-safe; the reference lives for ever. Null for an unknown name.
const RegLayout* FindFragment(std::string_view name);
// All names, in the order of the table.
std::span<const std::string_view> FragmentNames();

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_FRAGMENTS_H_

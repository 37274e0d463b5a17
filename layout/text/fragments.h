// The operands of tensor-core instructions as register layouts, by name (layout/text/fragments.def,
// after the figures of the PTX manual):
//
//   mma.SHAPE.TYPE.a | .b | .c              mma.sync; c is also the result
//   ldmatrix.xN[.trans], stmatrix.xN[.trans]
//   wgmma.m64nNkK.TYPE.a | .c               a warpgroup of 128 threads, a in registers
//
// `a` has shape [m, k], `b` [k, n], `c` [m, n]. wgmma's operands in shared memory are memory
// layouts (layout/wgmma.h).
#ifndef TARSIA_LAYOUT_TEXT_FRAGMENTS_H_
#define TARSIA_LAYOUT_TEXT_FRAGMENTS_H_

#include <span>
#include <string_view>

#include "layout/reg_layout.h"

namespace tarsia {

// Null for an unknown name. Thread-safe; the layout is never destroyed.
const RegLayout* FindFragment(std::string_view name);
// All names, in the order of the table.
std::span<const std::string_view> FragmentNames();

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_TEXT_FRAGMENTS_H_

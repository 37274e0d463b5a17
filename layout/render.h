// Pictures of layouts: text grids, JSON, SVG.
#ifndef TARSIA_LAYOUT_RENDER_H_
#define TARSIA_LAYOUT_RENDER_H_

#include <string>

#include "layout/mem_layout.h"
#include "layout/reg_layout.h"
#include "support/result.h"

namespace tarsia {

inline constexpr int64_t kMaxDrawnElements = int64_t{1} << 16;

// Cells `thread:slot` in rows of the last dimension; replicas as `0,4:1`; an index line before
// each matrix of a layout of rank above 2. Errors: more than kMaxDrawnElements elements.
Result<std::string> RenderText(const RegLayout& layout);
// Cells with the bank of each element of `bits` bits.
Result<std::string> RenderText(const MemLayout& layout, int bits);
// The accesses of the first warp that move `tile` through `memory`: addresses, wavefronts, sectors.
Result<std::string> RenderAccesses(const RegLayout& tile, const MemLayout& memory, int bits);

// {"shape": [..], "modes": [..], "spatial": [..], "local": [..], "threads": n, "slots": n} in
// canonical form, a replication by k being the string "~k". No newline at the end.
std::string RenderJson(const RegLayout& layout);
std::string RenderJson(const MemLayout& layout, int bits);

// A picture that is legible on light and dark ground: threads by colour; for memory layouts banks
// by colour, the vector accesses of `tile` outlined if it is not null.
Result<std::string> RenderSvg(const RegLayout& layout);
Result<std::string> RenderSvg(const MemLayout& layout, int bits, const RegLayout* tile = nullptr);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_RENDER_H_

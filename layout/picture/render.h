// Layouts as text: grids, tables of accesses, JSON. Pictures are in layout/picture/svg.h.
#ifndef TARSIA_LAYOUT_PICTURE_RENDER_H_
#define TARSIA_LAYOUT_PICTURE_RENDER_H_

#include <span>
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
// The accesses of the first warp that move `tile` through `memory`: addresses, wavefronts, sectors,
// and whether ldmatrix can do it.
Result<std::string> RenderAccesses(const RegLayout& tile, const MemLayout& memory, int bits);
// The same as JSON: {"bytes": n, "accesses": n, "wavefronts": n, "ideal_wavefronts": n, "sectors":
// n, "ideal_sectors": n, "ldmatrix": "no" | "plain" | "transposed"}, for all warps; only "bytes": 0
// if bits are moved one by one.
Result<std::string> RenderAccessesJson(const RegLayout& tile, const MemLayout& memory, int bits);
// The swizzle that costs these tiles, at the origin of the memory, the fewest wavefronts.
Result<std::string> RenderBestSwizzle(std::span<const RegLayout> tiles, const MemLayout& memory,
                                      int bits);

// {"shape": [..], "modes": [..], "spatial": [..], "local": [..], "threads": n, "slots": n} in
// canonical form; a replication by k is the string "~k". No newline at the end.
std::string RenderJson(const RegLayout& layout);
std::string RenderJson(const MemLayout& layout, int bits);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_PICTURE_RENDER_H_

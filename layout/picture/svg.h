// Pictures of layouts as SVG, readable on a light and on a dark background: cells are light with
// dark letters on both, and everything else follows `prefers-color-scheme`.
#ifndef TARSIA_LAYOUT_PICTURE_SVG_H_
#define TARSIA_LAYOUT_PICTURE_SVG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "layout/bit_layout.h"
#include "layout/mem_layout.h"
#include "layout/reg_layout.h"
#include "support/result.h"

namespace tarsia {

// `title` is above the picture; empty: no title. All refuse more than kMaxDrawnElements cells
// (layout/picture/render.h).

// Cells `thread:slot`, threads by colour, the cells of a thread outlined together.
Result<std::string> RenderSvg(const RegLayout& layout, std::string_view title = {});
// Cells with the shared-memory bank of each element, banks by colour.
Result<std::string> RenderSvg(const MemLayout& layout, int bits, std::string_view title = {});
// A line for each word, bit 31 first: cells `slot.bit`, slots by colour; `~` before a bit that is
// stored complemented.
Result<std::string> RenderSvg(const BitLayout& layout, std::string_view title = {});
// What access `unit` of the first warp does to shared memory: a line for each 128 bytes that it
// touches, 32 banks across, the place of each lane, and below it the number of words that each bank
// delivers in each phase. Errors: those of TileAccess, no access of whole bytes, no such access.
Result<std::string> RenderAccessSvg(const RegLayout& tile, const MemLayout& memory, int bits,
                                    int64_t unit = 0, std::string_view title = {});

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_PICTURE_SVG_H_

// The memory layouts of tiles in shared memory that the text leaves open, as a part of the pass
// `layouts`. They come from all accesses of a tile.
#ifndef TARSIA_COMPILER_PASSES_SHARED_LAYOUTS_H_
#define TARSIA_COMPILER_PASSES_SHARED_LAYOUTS_H_

#include <vector>

#include "compiler/passes/layout_choice.h"
#include "compiler/passes/layout_graph.h"
#include "compiler/target.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

// A tile of two or more dimensions, of elements of whole bytes, without a memory layout or a place.
struct OpenSharedTile {
  tile::OpId op = tile::kNone;  // that allocates it
  tile::ValueId value = tile::kNone;
  bool copied = false;  // an asynchronous copy writes it
};

// The tiles; each gets a type of its own, row-major with rows far enough apart that accesses of
// 16 bytes of any rows side by side have no bank conflict. Register layouts are chosen for that.
std::vector<OpenSharedTile> OpenSharedTiles(tile::Form& form);

// What a tile costs a warp in a layout.
struct SharedTileCost {
  MemLayout layout;
  Cost cost = 0;       // of all accesses
  Cost row_major = 0;  // what it would be without gaps and swizzles
};

// Gives each tile the cheapest layout for the register layouts of its accesses: with rows in any
// order, with gaps where the tiles then still fit in the shared memory that every launch has, or
// with a swizzle. The types of the form stay where they are.
std::vector<SharedTileCost> DecideSharedLayouts(const std::vector<OpenSharedTile>& tiles,
                                                const LayoutGraph& graph,
                                                const LayoutChoice& choice, Target target,
                                                tile::Form& form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_SHARED_LAYOUTS_H_

// The tiles in shared memory that a form allocates.
#ifndef TARSIA_COMPILER_PASSES_SHARED_TILES_H_
#define TARSIA_COMPILER_PASSES_SHARED_TILES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/tile/form.h"

namespace tarsia::compiler {

struct SharedAllocation {
  tile::OpId op = tile::kNone;  // that allocates it
  tile::ValueId value = tile::kNone;
  uint64_t bytes = 0;             // whole units of kSharedTileAlignment
  uint64_t alignment = 0;         // of its first byte
  bool copied = false;            // an asynchronous copy writes it
  std::optional<uint64_t> place;  // its first byte, if it is said
};

// Of tiles with places.
bool ShareBytes(const SharedAllocation& a, const SharedAllocation& b);

// In the order of the text; without those whose layout does not fit their shape.
std::vector<SharedAllocation> FindSharedAllocations(const tile::Form& form);

// Whether it waits for all groups of asynchronous copies.
bool WaitsForAll(const tile::Form& form, const tile::Operation& op);

// By value: the memory that a tile in memory is a view of; other values themselves.
std::vector<tile::ValueId> FindRoots(const tile::Form& form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_SHARED_TILES_H_

// The registers that tiles take while an instruction runs.
#ifndef TARSIA_COMPILER_PASSES_LIVE_WORDS_H_
#define TARSIA_COMPILER_PASSES_LIVE_WORDS_H_

#include <cstdint>

#include "compiler/tile/form.h"
#include "compiler/tile/live_ranges.h"

namespace tarsia::compiler {

// The 32-bit registers of a thread for its slots of a tile.
int64_t WordsOf(int64_t slots, DType type);

class LiveWords {
 public:
  // The form must outlive this object, unchanged.
  explicit LiveWords(const tile::Form& form);

  // The registers of a thread for the tiles that are live before and after an operation, but that
  // it does not use: as many as if their elements were spread evenly over the block.
  [[nodiscard]] int64_t Across(tile::OpId op) const;

  // The operation where the most are live, and the registers of a thread for them. A tile that is
  // loaded from shared memory does not count: each part of it is read where it is used. Needs the
  // layouts of all tiles.
  struct Peak {
    tile::OpId op = tile::kNone;  // kNone: no tile is ever live
    int64_t words = 0;
  };
  [[nodiscard]] Peak Most() const;

 private:
  [[nodiscard]] bool IsReadFromShared(tile::ValueId value) const;

  const tile::Form& form_;
  const int64_t threads_;
  const tile::LiveRanges live_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_LIVE_WORDS_H_

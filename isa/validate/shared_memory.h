// The shared memory that a block of a kernel needs.
#ifndef TARSIA_ISA_VALIDATE_SHARED_MEMORY_H_
#define TARSIA_ISA_VALIDATE_SHARED_MEMORY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/validate/expressions.h"

namespace tarsia {

// Tiles lie one after the other, but for those whose place is said; each lives until the end of its
// block of code.
class SharedMemory {
 public:
  SharedMemory(KernelContext& context, Expressions& expressions)
      : context_(context), expressions_(expressions) {}

  // Adds the tile that the instruction makes; checks its place, if that is said and known.
  void Add(const Inst& inst, const ValueType& type, std::optional<int64_t> place);
  // The bytes of the tiles that are live.
  [[nodiscard]] int64_t now() const { return now_; }
  // Ends the lifetime of the tiles above the first `bytes`.
  void ShrinkTo(int64_t bytes);
  // Reports a kernel that needs more than there is, with the tiles that are live where it needs
  // most.
  void CheckPeak();

 private:
  struct Tile {
    Location location;
    int64_t bytes = 0;
    int64_t end = 0;  // the byte after it
  };

  KernelContext& context_;
  Expressions& expressions_;
  int64_t now_ = 0, peak_ = 0;
  std::vector<Tile> live_;          // without those whose place is said
  std::vector<Tile> live_at_peak_;  // the last one makes the peak
};

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_SHARED_MEMORY_H_

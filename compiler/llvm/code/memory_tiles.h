// Tiles in global or shared memory: where they lie, and which of their elements exist.
#ifndef TARSIA_COMPILER_LLVM_CODE_MEMORY_TILES_H_
#define TARSIA_COMPILER_LLVM_CODE_MEMORY_TILES_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/facts/program_facts.h"
#include "compiler/llvm/code/index_arithmetic.h"
#include "isa/program.h"
#include "layout/mem_layout.h"

namespace tarsia::compiler {

// A window into a root tile. Slices keep the root's addresses and narrow the range of elements that
// exist.
struct MemoryTile {
  enum class Form : uint8_t {
    kAffine,  // sum of index * stride
    kModes,   // dimensions cut into modes
    kPacked,
  };
  struct Dim {
    IndexValue extent;  // of this window
    IndexValue origin;  // root index of its element 0
    IndexValue low;     // root indices that exist: low <= i < high
    IndexValue high;
    IndexValue stride;       // elements; kAffine
    IndexValue root_extent;  // of the root
    IndexValue tiles;        // of the root; kPacked
  };
  Space space = Space::kGlobal;
  DType type;
  Form form = Form::kAffine;
  llvm::Value* base = nullptr;    // i64 address, of shared memory i32
  uint64_t alignment = 1;         // of the base
  IndexValue root_bytes;          // no byte beyond is touched
  bool padded_to_words = false;   // whole 32-bit words may be touched at the end
  bool whole = true;              // no slice
  bool written = false;           // by this kernel
  bool written_twice = false;     // by more than one instruction
  bool written_in_parts = false;  // by one that may write a part of a word of codes
  std::vector<Dim> dims;
  std::vector<Swizzle> swizzles;
  std::shared_ptr<const MemLayout> layout;  // kModes; kPacked: of one packed tile

  [[nodiscard]] int rank() const { return static_cast<int>(dims.size()); }
  [[nodiscard]] int bits() const { return type.bits; }
};

// A whole tile of a type, shape and layout family; its base is left to the caller.
Result<MemoryTile> WholeTile(llvm::IRBuilder<>& b, IndexArithmetic& index, const ConcreteType& type,
                             const std::vector<IndexValue>& extents);

class MemoryTiles {
 public:
  // Both must outlive this.
  MemoryTiles(const Program& program, const ProgramFacts& facts)
      : program_(program), facts_(facts) {}

  [[nodiscard]] const MemoryTile& operator[](uint32_t value) const { return tiles_.at(value); }
  void Set(uint32_t value, MemoryTile tile) {
    tile.written = IsWritten(value);
    tile.written_twice = WritersOf(value) > 1;
    tile.written_in_parts = IsWrittenInParts(value, tile);
    tiles_[value] = std::move(tile);
  }
  // Whether some instruction writes this value's memory.
  [[nodiscard]] bool IsWritten(uint32_t value) const {
    return program_.resolved().WritesMemoryOf(value);
  }

 private:
  [[nodiscard]] int64_t WritersOf(uint32_t value) const {
    const ResolvedCode& code = program_.resolved();
    return std::count_if(
        code.instructions().begin(), code.instructions().end(), [&](const ResolvedInst& inst) {
          return inst.row->WritesMemory() && code.root(inst.operand[0].value) == code.root(value);
        });
  }

  // Whether an instruction may write a part of a word: all but copies of whole packed tiles.
  [[nodiscard]] bool IsWrittenInParts(uint32_t value, const MemoryTile& tile) const;

  const Program& program_;
  const ProgramFacts& facts_;
  std::map<uint32_t, MemoryTile> tiles_;  // by value
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_MEMORY_TILES_H_

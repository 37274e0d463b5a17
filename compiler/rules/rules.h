// What the instructions ask of the layouts of their register tiles: for each row of isa.def one
// rule, in the file of its family. Pure functions of an operation and layouts.
//
// The layout of one tile of an instruction, its *anchor*, decides those of all others: an
// elementwise instruction computes where its result is, and takes its operands there; a reduction
// works where its operand is. A `dot` has no anchor: its ways are those of compiler/select/mma.h.
#ifndef TARSIA_COMPILER_RULES_RULES_H_
#define TARSIA_COMPILER_RULES_RULES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/tile_layout.h"
#include "isa/instruction.h"
#include "isa/program.h"

namespace tarsia::compiler {

// A register tile of an instruction.
struct Port {
  bool is_result = false;
  uint8_t index = 0;
  static Port Operand(size_t i) { return {false, static_cast<uint8_t>(i)}; }
  static Port Result(size_t i) { return {true, static_cast<uint8_t>(i)}; }
  friend bool operator==(const Port&, const Port&) = default;
};

// An instruction as the rules see it.
struct RuleOp {
  Opcode opcode{};
  std::vector<int64_t> axes;  // of `axes`, `order` or `axis`
  bool keepdims = false;
  bool exclusive = false;
  bool fast = false;  // computes by the GPU's own form
  // Null: no register tile.
  const ConcreteType* operand[kMaxOperands] = {};
  const ConcreteType* result[kMaxResults] = {};

  [[nodiscard]] const InstRow& row() const { return Row(opcode); }
  [[nodiscard]] const ConcreteType* At(Port port) const {
    return port.is_result ? result[port.index] : operand[port.index];
  }
};

// Empty: the instruction has no register tile, or fixes the layouts of all of them (`view`), or is
// a `dot`.
std::optional<Port> AnchorOf(const RuleOp& op);

// The layout of the tile at `port`, which exists, if that of the anchor is `anchor`. Empty: the
// tile may have any layout, since the instruction moves its elements itself.
std::optional<TileLayout> LayoutAt(const RuleOp& op, Port port, const TileLayout& anchor);

// A layout of the anchor for which LayoutAt(port) is `layout`; empty if there is none or many.
std::optional<TileLayout> AnchorFor(const RuleOp& op, Port port, const TileLayout& layout);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_RULES_RULES_H_

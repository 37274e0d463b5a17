// A module: kernels and graphs as written, before validation. It comes from text
// (isa/text/parser.h) or bytecode (isa/bytecode/bytecode.h) and becomes a ValidModule
// (isa/validate.h).
//
// Everything is flat: an instruction is a plain record, its arguments are ids in one array of the
// kernel, blocks are ranges of instructions. Decoding and walking a module allocate little.
#ifndef TARSIA_ISA_MODULE_H_
#define TARSIA_ISA_MODULE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/constant.h"
#include "isa/graph/graph.h"
#include "isa/instruction.h"
#include "layout/text/expr.h"
#include "support/diagnostic.h"

namespace tarsia {

// The parts of `: type`; omitted parts are none. Interned: equal annotations have equal ids.
//   [ space "<" dtype ">" | dtype ] [ "[" shape "]" [ layout ] [ "bits" bitlayout ] ]
struct TypeExpr {
  Space space = Space::kNone;
  ExprId dtype;
  ExprId shape;   // a list
  ExprId layout;  // register layout or memory layout
  ExprId bits;    // bit layout, of register tiles
  friend bool operator==(const TypeExpr&, const TypeExpr&) = default;
};
using TypeId = uint32_t;
inline constexpr TypeId kNoTypeId = 0;  // nothing was annotated

// One instruction. Its arguments are in Kernel::args from `first_arg` on: results (as values),
// operands (kElement takes two slots: tile and list), then the attributes that are set.
struct Inst {
  Opcode opcode{};
  uint8_t results = 0;
  uint8_t slots = 0;  // operand slots that are present
  uint8_t attrs = 0;  // bit i: attribute i of the row is set
  uint32_t first_arg = 0;
  TypeId type = kNoTypeId;
  uint32_t end = 0;         // index after the last instruction of the block(s); else own index + 1
  uint32_t else_begin = 0;  // of an `if`: where the else block begins; `end` when there is none
};

struct Parameter {
  bool is_pointer = false;
  ExprId dtype;  // of the scalar, or of the elements pointed to
  Location location;
};

// A guarantee of the caller; checked at launch.
struct Assume {
  ExprId condition;   // a boolean expression of scalar parameters and constants; or, if `align`
  ExprId alignment;   // is not none, `condition` is a pointer parameter and this its alignment
  Location location;  // in bytes
};

struct Kernel final : ValueNames {
  StringId name = 0;
  Location location;
  std::vector<Parameter> params;  // parameter i is value i
  std::vector<Constant> constants;
  std::vector<Require> requires_;
  std::vector<Assume> assumes;
  ExprId grid[3];     // none: 1
  ExprId warps;       // none: kDefaultWarps
  ExprId registers;   // the most 32-bit registers of a thread; none: the assembler chooses
  bool fast = false;  // contraction of a * b + c into fma is allowed, and every `fast` is set

  std::vector<std::string_view> value_names;  // by value number; views into the module's strings
  std::vector<StringId> value_name_ids;
  std::vector<Inst> code;
  std::vector<ExprId> args;

  // From text, or restored from debug locations; else empty. Parallel to code, args and code.
  std::vector<Location> locations;
  std::vector<Location> arg_locations;
  std::vector<Location> type_locations;
  // Line of the closing brace of instruction i's block (0 if it has none), and of its `else`; only
  // from text.
  std::vector<uint32_t> close_lines;
  std::vector<uint32_t> else_lines;
  uint32_t close_line = 0;
  Location grid_location, warps_location, registers_location;

  [[nodiscard]] std::string_view ValueName(uint32_t value) const override {
    return value < value_names.size() ? value_names[value] : std::string_view("?");
  }
  [[nodiscard]] std::span<const ExprId> Results(const Inst& inst) const {
    return {args.data() + inst.first_arg, inst.results};
  }
  [[nodiscard]] std::span<const ExprId> Slots(const Inst& inst) const {
    return {args.data() + inst.first_arg + inst.results, inst.slots};
  }
  // The attribute's value, or none when it is not set. A flag that is set is `true`; words are
  // their index in AttrWords.
  [[nodiscard]] ExprId AttrOf(const Inst& inst, Attr attr) const;
  [[nodiscard]] bool HasAttr(const Inst& inst, Attr attr) const {
    return !AttrOf(inst, attr).none();
  }
  [[nodiscard]] Location LocationOf(const Inst& inst) const {
    const auto i = static_cast<size_t>(&inst - code.data());
    return i < locations.size() ? locations[i] : Location();
  }
  // The location of result or operand slot `i` counted from first_arg, or else of the instruction.
  [[nodiscard]] Location ArgLocation(const Inst& inst, size_t i) const {
    const size_t at = inst.first_arg + i;
    return at < arg_locations.size() ? arg_locations[at] : LocationOf(inst);
  }
  // Where a parameter or a value is first defined; none if the text does not say.
  [[nodiscard]] Location DefinitionOf(uint32_t value) const;
  [[nodiscard]] Location TypeLocation(const Inst& inst) const {
    const auto i = static_cast<size_t>(&inst - code.data());
    return i < type_locations.size() && type_locations[i].length != 0 ? type_locations[i]
                                                                      : LocationOf(inst);
  }
  // The location of an attribute, or else of the instruction.
  [[nodiscard]] Location AttrLocation(const Inst& inst, Attr attr) const;
};

// The number of an attribute, or the index of its word; 0 if it is not set or still open.
int64_t IntAttr(const ExprPool& pool, const Kernel& kernel, const Inst& inst, Attr attr);

// A bytecode section that this version does not know, kept unchanged.
struct OpaqueSection {
  uint32_t id = 0;
  uint32_t flags = 0;
  std::string bytes;
  size_t position = 0;  // the number of known sections before it
};

class Module {
 public:
  Module() { types_.emplace_back(); }
  Module(const Module&) = delete;  // kernels and graphs hold views into the pool's strings
  Module& operator=(const Module&) = delete;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;
  ~Module() = default;
  [[nodiscard]] Module Clone() const;
  // A module of the kernel at `index` alone, with the expressions, types and strings that it uses.
  // Takes time and memory by the size of that kernel, not of the module.
  [[nodiscard]] Module Extract(size_t index) const;
  // The same for the graph at `index`.
  [[nodiscard]] Module ExtractGraph(size_t index) const;

  ExprPool pool;
  std::vector<Kernel> kernels;
  std::vector<Graph> graphs;
  std::string source_name;  // of the text; kept in the debug section
  std::vector<OpaqueSection> opaque;

  TypeId Intern(const TypeExpr& type);
  [[nodiscard]] const TypeExpr& type(TypeId id) const { return types_[id]; }
  [[nodiscard]] size_t type_count() const { return types_.size(); }
  [[nodiscard]] std::string_view Name(const Kernel& kernel) const {
    return pool.strings()[kernel.name];
  }
  [[nodiscard]] std::string_view Name(const Graph& graph) const {
    return pool.strings()[graph.name];
  }
  [[nodiscard]] const Kernel* FindKernel(std::string_view name) const;

 private:
  std::vector<TypeExpr> types_;
  HashIndex type_index_;
};

// Whether two modules are equal up to locations, comments and the numbering of pools.
bool Equal(const Module& a, const Module& b);

}  // namespace tarsia

#endif  // TARSIA_ISA_MODULE_H_

// The tile form of a program: SSA values, regions with arguments, and the opcodes of isa.def. The
// passes of the compiler change it. Build (build.h) makes it from a program, and ToProgram
// (to_program.h) makes a program of it again, at any point.
//
// - A value is defined once: by a parameter, a result of an operation, or an argument of a region.
//   It is visible after its definition, in the region of its definition and in the regions inside.
// - A variable that the author assigns again is carried. A `for` or `while` takes `inits`; they are
// the first
//   values of the arguments of its region, whose `yields` are their next values; its results are
//   their last ones. An `if` takes nothing; its results are the `yields` of the region that ran.
// - The first argument of the region of a `for` is its counter; the carried ones follow. The
//   condition of a `while` is computed before each iteration, from the arguments of its region.
// - A region whose last operation ends the block of threads yields nothing.
// - Indices, bounds, conditions and other scalar expressions stay expressions, whose `%value`
//   leaves are values of the form. Two expressions are equal if their ids are.
// - Only scalars and register tiles are carried.
#ifndef TARSIA_COMPILER_TILE_FORM_H_
#define TARSIA_COMPILER_TILE_FORM_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isa/instruction.h"
#include "isa/limits.h"
#include "isa/module.h"
#include "isa/program.h"
#include "isa/resolved.h"
#include "layout/text/expr.h"
#include "support/diagnostic.h"

namespace tarsia::compiler::tile {

using ValueId = uint32_t;
using OpId = uint32_t;
using RegionId = uint32_t;
inline constexpr uint32_t kNone = UINT32_MAX;
inline constexpr RegionId kBody = 0;  // the region of the whole kernel

struct Value {
  uint32_t type = 0;          // in Form::types
  uint32_t variable = kNone;  // what the author's text calls it; kNone: a pass made it
  StringId name = 0;
  Location location;  // of its definition
};

// Where a value is defined: as result `index` of `op`; or, if `op` is kNone, as argument `index` of
// `region`. The parameters are the arguments of kBody.
struct Definition {
  OpId op = kNone;
  RegionId region = kNone;  // that contains the definition
  uint32_t index = 0;
};

struct Operation {
  Opcode opcode{};
  DType type;                     // of the computation, as ResolvedInst::type
  Operand operand[kMaxOperands];  // `expr` is none where `value` is meant
  ExprId attr[kMaxAttrs];         // by attribute of the row; none: not set
  TypeExpr annotation;            // what the text says after `:`
  std::vector<ValueId> results;   // those of the row (but not the counter of a `for`), or carried
  std::vector<ValueId> inits;     // of `for` and `while`
  RegionId region[2] = {kNone, kNone};  // `if`: then and else, both present; loops: the first

  // A pass added it, which may take it out again, or move it.
  bool inserted = false;
  bool placed = false;  // an allocation: a pass chose its place, not the text
  Location location;
  Location type_location;
  std::vector<Location> arg_locations;  // results of the row, slots, attributes; or empty
  uint32_t close_line = 0;              // of the source, for printing; 0: none
  uint32_t else_line = 0;

  [[nodiscard]] const InstRow& row() const { return Row(opcode); }
  [[nodiscard]] bool HasRegions() const { return region[0] != kNone; }
  [[nodiscard]] bool IsLoop() const { return HasRegions() && region[1] == kNone; }
};

struct Region {
  OpId owner = kNone;       // kNone: the body of the kernel
  RegionId parent = kNone;  // the region that contains the owner
  std::vector<ValueId> arguments;
  std::vector<OpId> ops;
  std::vector<ValueId> yields;
};

struct Form {
  ExprPool pool;
  Kernel header;  // without code and values; its expressions use only parameters
  std::string source_name;
  std::vector<ConcreteType> types;
  std::vector<Value> values;
  std::vector<Operation> ops;  // those in no region are dead
  std::vector<Region> regions;

  // Of a block.
  [[nodiscard]] int64_t Warps() const { return pool.AsInt(header.warps).value_or(kDefaultWarps); }
  [[nodiscard]] const ConcreteType& TypeOf(ValueId value) const {
    return types[values[value].type];
  }
  // Whether the end of the region is never reached.
  [[nodiscard]] bool Ends(RegionId region) const;
  // The number of leading arguments that are not carried: the counter of a `for`.
  [[nodiscard]] size_t Counters(const Operation& op) const {
    return op.opcode == Opcode::kFor ? 1 : 0;
  }
  // By value; values without definition (dead ones) have region kNone.
  [[nodiscard]] std::vector<Definition> Definitions() const;
  // Whether `outer` is `inner` or contains it.
  [[nodiscard]] bool Encloses(RegionId outer, RegionId inner) const;
};

// Calls `visit` for each value that occurs in the expression, more than once if it occurs again in
// other expressions; in time by the number of distinct nodes.
void ForEachValue(const ExprPool& pool, ExprId id, const std::function<void(ValueId)>& visit);
// For each use of a value by the operation itself, without `inits` and what its regions use.
void ForEachUse(const Form& form, const Operation& op, const std::function<void(ValueId)>& visit);
// The expression with other values.
ExprId Renamed(ExprPool& pool, ExprId id, const std::function<ExprId(ValueId)>& rename);
// Renames the values that the operation itself uses (not `inits`). Operands that are values must
// stay values.
void RenameUses(ExprPool& pool, Operation& op, const std::function<ExprId(ValueId)>& rename);

}  // namespace tarsia::compiler::tile

#endif  // TARSIA_COMPILER_TILE_FORM_H_

// Operations that passes add to a form. None is in a region yet.
#ifndef TARSIA_COMPILER_TILE_NEW_OPERATIONS_H_
#define TARSIA_COMPILER_TILE_NEW_OPERATIONS_H_

#include <map>
#include <vector>

#include "compiler/tile/form.h"

namespace tarsia::compiler::tile {

// A value of a type that has the name and the place in the text of another one.
ValueId NewValue(Form& form, ConcreteType type, ValueId named);
OpId NewOperation(Form& form, Operation op);
// Of a tile in shared memory.
OpId NewAllocation(Form& form, ValueId tile, Location location);
OpId NewSync(Form& form, Location location);

// Puts operations behind those that they belong to, in every region.
void InsertBehind(Form& form, const std::map<OpId, std::vector<OpId>>& behind);

// Gives a scalar the value of an expression, at the end of a region. Returns the scalar.
ValueId AddScalar(Form& form, ValueId scalar, ExprId expr, RegionId into);

// A tile in memory from its first element on, as an operand.
Operand WholeOperand(Form& form, ValueId tile, Role role);
// Of a register tile to and from memory. The cache hint is left to the caller.
Operation StoreOf(const Operand& memory, const Operand& value, Location location);
Operation LoadOf(Form& form, const Operand& memory, ValueId result, Location location);

}  // namespace tarsia::compiler::tile

#endif  // TARSIA_COMPILER_TILE_NEW_OPERATIONS_H_

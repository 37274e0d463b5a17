// Counter-based random numbers.
#ifndef TARSIA_COMPILER_LLVM_ELEMENT_RANDOM_H_
#define TARSIA_COMPILER_LLVM_ELEMENT_RANDOM_H_

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace tarsia::compiler {

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011):
// word `number` mod 4 of the block with counter number / 4 and key `seed`, low words first. Both
// are i64, the result is an i32.
llvm::Value* EmitRandom(llvm::IRBuilderBase& builder, llvm::Value* seed, llvm::Value* number);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_RANDOM_H_

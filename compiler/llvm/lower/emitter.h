// The code of one kernel: the parts that make it, and the walk over the instructions.
//
// A part knows only those above it in the list of members:
//   function        the LLVM function: blocks, values, control flow, threads
//   elements        single elements: arithmetic and casts
//   arguments       what the kernel is launched with
//   memory          loads and stores by address
//   index           arithmetic on indices
//   values          what the program's scalars and tiles are at this place of the code
//   scalars         the program's scalars, and expressions of them
//   layouts         which element a slot of a thread holds
//   shared          shared memory and its scratch
//   exchange        elements that change threads
//   register_tiles  tiles in registers
//   memory_tiles    tiles in memory
//   reports         what the kernel reports to the host
// The functions of lower.h use the parts by these names.
#ifndef TARSIA_COMPILER_LLVM_LOWER_EMITTER_H_
#define TARSIA_COMPILER_LLVM_LOWER_EMITTER_H_

#include <cstdint>
#include <vector>

#include "compiler/compile.h"
#include "compiler/facts/program_facts.h"
#include "compiler/layout_plan.h"
#include "compiler/llvm/code/access_emitter.h"
#include "compiler/llvm/code/arguments.h"
#include "compiler/llvm/code/current_values.h"
#include "compiler/llvm/code/exchange.h"
#include "compiler/llvm/code/function_builder.h"
#include "compiler/llvm/code/memory_tiles.h"
#include "compiler/llvm/code/register_tiles.h"
#include "compiler/llvm/code/reports.h"
#include "compiler/llvm/code/scalars.h"
#include "compiler/llvm/code/shared_memory.h"
#include "compiler/plan_shared.h"
#include "compiler/runtime_checks.h"

namespace tarsia::compiler {

class Emitter {
 public:
  // `entry` says name, threads and parameters (compiler/entry.h).
  Emitter(const Program& program, const RuntimeChecks& checks, const LayoutPlan& plan,
          const SharedPlan& shared, Target target, CompiledKernel entry,
          const CompileOptions& options, StopFlag& stop);

  // Everything; afterwards the module is whole.
  Status EmitKernel();
  llvm::Module& module() { return function_.module(); }
  // What is known of the kernel except for the PTX.
  CompiledKernel& compiled() { return compiled_; }

  // ---- parts -----------------------------------------------------------------------------------
  FunctionBuilder& function() { return function_; }
  ElementEmitter& elements() { return elements_; }
  Arguments& arguments() { return arguments_; }
  Memory& memory() { return memory_; }
  IndexArithmetic& index() { return index_; }
  CurrentValues& values() { return values_; }
  Scalars& scalars() { return scalars_; }
  Layouts& layouts() { return layouts_; }
  SharedMemory& shared() { return shared_; }
  Exchange& exchange() { return exchange_; }
  RegisterTiles& register_tiles() { return register_tiles_; }
  MemoryTiles& memory_tiles() { return memory_tiles_; }
  Reports& reports() { return reports_; }

  // ---- the instruction ----------------------------------------------------------------------
  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Kernel& kernel() const { return program_.kernel(); }
  [[nodiscard]] const RuntimeChecks& checks() const { return checks_; }
  [[nodiscard]] Target target() const { return target_; }
  [[nodiscard]] const ResolvedInst& inst() const { return program_.instructions()[number_]; }
  // The layouts of its register tiles; kNoLayout for what is none.
  [[nodiscard]] LayoutId OperandLayout(size_t i) const {
    const Operand& operand = inst().operand[i];
    return operand.IsTile() ? plan_.values[operand.value] : kNoLayout;
  }
  [[nodiscard]] LayoutId ResultLayout(size_t r) const { return plan_.values[inst().results[r]]; }
  // Of an access without a register tile.
  [[nodiscard]] LayoutId AccessLayout() const { return plan_.accesses[number_]; }
  [[nodiscard]] Location location() const { return kernel().LocationOf(*inst().inst); }
  // A record of it, for reports().
  [[nodiscard]] ReportRecord NewRecord(ReportRecord::Kind kind) const;

  // Operand `i` as one element of its type (a scalar or an expression).
  llvm::Value* ScalarOperand(size_t i) { return scalars_.Element(inst().operand[i]); }
  // The slots of tile operand `i`; a scalar or an expression as `slots` equal elements.
  Slots TileOperand(size_t i, size_t slots = 1);
  // Result `r`.
  void SetResult(size_t r, const Slots& slots);
  // The same by the words of its codes, in the order of its bit layout.
  Status SetResultWords(size_t r, const Slots& words);

  // The elements of a memory tile from `start` on, for a register tile of a layout.
  TileWindow Window(const MemoryTile& memory, LayoutId layout, const std::vector<IndexValue>& start,
                    const AccessFacts* proven = nullptr);
  // The same for memory operand `i`, from its indices on.
  TileWindow OperandWindow(size_t i, LayoutId layout);
  // The layout of one element of memory operand `i`.
  Result<LayoutId> LayoutOfOne(size_t i);
  AccessEmitter Access(TileWindow window) {
    return {function_, memory_, layouts_, std::move(window)};
  }

  // The instructions of a block that belongs to this one.
  [[nodiscard]] size_t number() const { return number_; }
  Status EmitBlock(size_t begin, size_t end);

 private:
  Status EmitInst(size_t number);

  const Program& program_;
  const RuntimeChecks& checks_;
  const LayoutPlan& plan_;
  const SharedPlan& shared_plan_;
  const ProgramFacts facts_;
  const Target target_;
  StopFlag& stop_;
  CompiledKernel compiled_;
  size_t number_ = 0;  // of the instruction

  FunctionBuilder function_;
  ElementEmitter elements_;
  Arguments arguments_;
  Memory memory_;
  IndexArithmetic index_;
  CurrentValues values_;
  Scalars scalars_;
  Layouts layouts_;
  SharedMemory shared_;
  Exchange exchange_;
  RegisterTiles register_tiles_;
  MemoryTiles memory_tiles_;
  Reports reports_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_LOWER_EMITTER_H_

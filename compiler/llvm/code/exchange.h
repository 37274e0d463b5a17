// Moves elements between threads: by shuffles within a warp, else through scratch in shared memory.
#ifndef TARSIA_COMPILER_LLVM_CODE_EXCHANGE_H_
#define TARSIA_COMPILER_LLVM_CODE_EXCHANGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/llvm/code/layouts.h"
#include "compiler/llvm/code/memory.h"
#include "compiler/llvm/code/shared_memory.h"
#include "compiler/select/scratch.h"
#include "compiler/select/shuffles.h"
#include "compiler/select/warp_reduction.h"

namespace tarsia::compiler {

class Exchange {
 public:
  Exchange(FunctionBuilder& function, Memory& memory, Layouts& layouts, SharedMemory& shared)
      : f_(function), b_(function.b()), memory_(memory), layouts_(layouts), shared_(shared) {}

  // Where a slot's code is written to, or read from: its number among all, and whether the thread
  // takes part.
  struct Place {
    LinearIndex number;
    llvm::Value* condition = nullptr;  // null: always
  };
  // Each thread writes slot i to place put[i], then reads get[i]. Numbers are below `count`. Where
  // a place is not read the result is unspecified. `codes` are integers of `bytes` bytes.
  Slots Codes(const Slots& codes, int bytes, int64_t count, std::span<const Place> put,
              std::span<const Place> get);
  // The same for elements of a type.
  Slots Elements(const Slots& slots, DType type, int64_t count, std::span<const Place> put,
                 std::span<const Place> get);
  // From one layout to another of as many elements, in row-major order if the shapes differ.
  Slots Convert(const Slots& slots, DType type, LayoutId from, LayoutId to);

  // One side of a plan each, in scratch after its first `first` bytes: a tile is put there, and the
  // run of slots from `slot` on, a multiple of the run, read `further` bytes (i32) on.
  void Put(const Slots& slots, DType type, LayoutId from, const ScratchPlan& plan, int64_t first);
  Slots GetRun(DType type, LayoutId to, const ScratchPlan& plan, int64_t slot, int64_t first,
               llvm::Value* further);

  // The same as a plan says, without scratch.
  Slots Shuffled(const Slots& slots, DType type, const ShufflePlan& plan);

  // Returns `code`, an integer of 8 to 64 bits, of the thread whose lane is this lane ^ mask.
  llvm::Value* ShuffleXor(llvm::Value* code, int mask);
  // The same of the lane that is `lanes` below, or above; where the warp has none, of its own.
  llvm::Value* ShuffleBelow(llvm::Value* code, int64_t lanes);
  llvm::Value* ShuffleAbove(llvm::Value* code, int64_t lanes);
  // The same of the lane `lane` % 32 (i32).
  llvm::Value* ShuffleFrom(llvm::Value* code, llvm::Value* lane);
  // Combines the codes of all lanes of a warp, integers of up to 32 bits; sums keep their low bits.
  llvm::Value* Reduce(Redux operation, llvm::Value* code);
  // Returns `code` of thread 0 in all threads; an integer of 8 to 64 bits.
  llvm::Value* FromThreadZero(llvm::Value* code);

 private:
  llvm::Value* ThreadBit(int bit);
  // `code` by one shuffle for each of its words; `form` is the last operand, which limits lanes.
  llvm::Value* ShuffleWords(unsigned intrinsic, llvm::Value* code, llvm::Value* lane, int form);
  llvm::Value* ReadLane(llvm::Value* word, llvm::Value* lane, const ShufflePlan& plan);
  llvm::Value* Chosen(Slots words, const std::vector<int>& choice);
  std::vector<Slots> WordsOfRuns(const Slots& slots, DType type, const ShufflePlan& plan);
  // Through as much scratch as the plan asks for, in accesses of up to 16 bytes.
  Slots Planned(const Slots& slots, DType type, LayoutId from, LayoutId to,
                const ScratchPlan& plan);
  void PutMatrices(const Slots& codes, int bytes, const ScratchPlan& plan, int64_t first);
  void PutRuns(const Slots& codes, int bytes, LayoutId layout, const ScratchPlan& plan,
               int64_t first);
  Slots GetRuns(DType type, LayoutId layout, const ScratchPlan& plan);
  Slots GetMatrices(int bytes, LayoutId layout, const ScratchPlan& plan);
  // Of a slot, in scratch where elements of `bytes` bytes have this order after `first` bytes.
  Address PlaceOf(LayoutId layout, int64_t slot, const ScratchOrder& order, int bytes,
                  int64_t first = 0);

  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  Memory& memory_;
  Layouts& layouts_;
  SharedMemory& shared_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_EXCHANGE_H_

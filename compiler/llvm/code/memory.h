// Accesses to memory by address: predicated loads and stores of 1 to 16 bytes.
#ifndef TARSIA_COMPILER_LLVM_CODE_MEMORY_H_
#define TARSIA_COMPILER_LLVM_CODE_MEMORY_H_

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/llvm/code/words.h"
#include "compiler/select/matrices.h"
#include "compiler/target.h"
#include "dtypes/dtype.h"
#include "isa/instruction.h"

namespace tarsia::compiler {

// A base that the slots of one tile share, and a constant.
struct Address {
  llvm::Value* base = nullptr;  // i64, of shared memory i32
  int64_t offset = 0;           // bytes
};

// By their places in kCacheWords.
enum class CachePolicy : uint8_t { kDefault, kEvictFirst, kNoAllocate };

struct AccessPolicy {
  CachePolicy cache = CachePolicy::kDefault;
  // Of global memory that nobody writes during the launch: `ld.global.nc`.
  bool read_only = false;
  // A relaxed access of the device's scope, for memory that other threads change by atomic
  // operations.
  bool strong = false;
};

// "[$0]", "[$0+4]" or "[$0+-4]" for the register with this number in an instruction's text: PTX has
// no register minus a constant.
std::string AddressText(int number, int64_t offset);

class Memory {
 public:
  Memory(llvm::IRBuilder<>& builder, Target target) : b_(builder), target_(target) {}

  [[nodiscard]] Target target() const { return target_; }

  // The address as one value, and as a pointer to its space.
  llvm::Value* Sum(const Address& address);
  llvm::Value* Pointer(Space space, llvm::Value* address);
  // An offset that is too large for an instruction is added to the register.
  Address WithinReach(const Address& address);

  // `bytes` (1, 2, 4, 8 or 16) from an aligned address, as integers: i8, i16, or i32 for each four
  // bytes. Zero where `condition` (null: true) does not hold; then nothing is read.
  Slots LoadWords(Space space, Address address, int bytes, llvm::Value* condition,
                  AccessPolicy policy = {});
  void StoreWords(Space space, Address address, int bytes, const Slots& words,
                  llvm::Value* condition, AccessPolicy policy = {});
  // A container of up to 8 bytes, at an address that is a multiple of `alignment`.
  llvm::Value* LoadCode(Space space, Address address, int bytes, uint64_t alignment,
                        llvm::Value* condition, AccessPolicy policy = {});
  void StoreCode(Space space, Address address, int bytes, uint64_t alignment, llvm::Value* code,
                 llvm::Value* condition, AccessPolicy policy = {});

  // Adds words, each of an f32 or of two f16 or bf16, to 1, 2 or 4 of them at an aligned address:
  // each element in one atomic step. More than one are in global memory.
  void AddWords(Space space, Address address, DType type, const Slots& words,
                llvm::Value* condition);

  // Of semaphores in global memory, of 32 or 64 bits: what other threads wrote before they released
  // what is loaded, is seen afterwards.
  llvm::Value* LoadAcquire(Address address, llvm::Type* type);
  void AddRelease(Address address, llvm::Value* value, llvm::Value* condition);

  // 1, 2 or 4 matrices of `ldmatrix`, a word each, from shared memory; each thread gives the
  // address of a row. All threads of the warp take part.
  Slots LoadMatrices(Address address, int count, bool transposed);
  // The codes of `bits` bits, by slot, of so many instructions; `row` gives the address of an
  // element of the layout of the rows.
  Slots LoadMatrices(const MatrixAccesses& loads, int64_t instructions, int bits,
                     const std::function<Address(int64_t slot)>& row);
  // The same by `stmatrix`.
  void StoreMatrices(Address address, const Slots& words, bool transposed);
  void StoreMatrices(const MatrixAccesses& stores, const Slots& codes, int bits,
                     const std::function<Address(int64_t slot)>& row);

 private:
  // i64: a policy of the second-level cache for what is needed once.
  llvm::Value* EvictFirst();
  llvm::CallInst* Effect(const std::string& text, std::string constraints,
                         std::vector<llvm::Value*> arguments, llvm::Value* condition);
  void AddHint(std::vector<llvm::Value*>& arguments, std::string& constraints);

  llvm::IRBuilder<>& b_;
  const Target target_;
  llvm::Value* evict_first_ = nullptr;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_MEMORY_H_

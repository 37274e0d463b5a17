// Runs the IR of single elements on the host: a loop over arrays of codes, compiled by LLVM's ORC
// JIT for the baseline of the architecture, independent of this processor. Code with GPU
// instructions cannot run here.
#ifndef TARSIA_TESTS_UNIT_COMPILER_HOST_CODE_H_
#define TARSIA_TESTS_UNIT_COMPILER_HOST_CODE_H_

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/llvm/element/element.h"

namespace llvm::orc {
class LLJIT;
}  // namespace llvm::orc

namespace tarsia::compiler {

// Arrays of one operation: up to three operands and a result, in native containers.
struct Operation {
  std::string name;
  std::vector<DType> operands;
  DType result;
  // The element of the result from those of the operands.
  std::function<llvm::Value*(ElementEmitter&, const std::vector<llvm::Value*>&)> emit;
};

// Codes of one type, in native containers.
class Codes {
 public:
  Codes(DType type, size_t count)
      : type_(type), bytes_(static_cast<size_t>(ContainerBytes(type))), data_(count * bytes_) {}
  Codes(DType type, const std::vector<uint64_t>& codes) : Codes(type, codes.size()) {
    for (size_t i = 0; i < codes.size(); ++i) Set(i, codes[i]);
  }
  [[nodiscard]] size_t size() const { return data_.size() / bytes_; }
  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] uint64_t operator[](size_t i) const;
  void Set(size_t i, uint64_t code);
  [[nodiscard]] size_t bytes() const { return data_.size(); }
  [[nodiscard]] uint8_t* data() { return data_.data(); }
  [[nodiscard]] const uint8_t* data() const { return data_.data(); }

 private:
  DType type_;
  size_t bytes_;
  std::vector<uint8_t> data_;
};

// The functions of a module of operations, for the target without instructions that the host
// lacks (sm_80).
class HostCode {
 public:
  explicit HostCode(const std::vector<Operation>& operations);
  ~HostCode();
  HostCode(const HostCode&) = delete;
  HostCode& operator=(const HostCode&) = delete;
  // Why there is no code, or "".
  [[nodiscard]] const std::string& error() const { return error_; }
  // Results for as many elements as the first operand has.
  void Run(const Operation& operation, const std::vector<const Codes*>& operands, Codes& result);

 private:
  std::string error_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

// Adds `void name(const void* a, const void* b, const void* c, void* out, i64 n)` to a module: a
// loop over arrays.
void AddLoop(llvm::Module& module, const Operation& operation, Target target);

// The same as a kernel: block and thread select the element.
void AddKernel(llvm::Module& module, const Operation& operation, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_TESTS_UNIT_COMPILER_HOST_CODE_H_

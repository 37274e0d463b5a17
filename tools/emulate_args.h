// The arguments of a PTX kernel for `tarsia emulate`: what stands behind each --arg becomes bytes
// of the parameter block, and memory of the emulated device.
//
//   TYPE:VALUE              a scalar: i32:5, u64:0x10, f32:1.5, bf16:2
//   bytes:HEX               a parameter as it lies in memory
//   null                    a null pointer
//   in:FILE                 a pointer to what a .npy or .safetensors file holds
//   inout:FILE[:OUT.npy]    likewise, and its bytes afterwards go to OUT, or back to FILE
//   out:FILE:TYPE[SHAPE]    a pointer to memory that nobody wrote, whose bytes go to FILE
//   zeros:BYTES  room:BYTES a pointer to scratch memory, of zeros or never written
//   tmap:FILE:box=N,M[:swizzle=BYTES]   a tensor map by value, of what a file holds
#ifndef TARSIA_TOOLS_EMULATE_ARGS_H_
#define TARSIA_TOOLS_EMULATE_ARGS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tensor_io.h"
#include "vm/ptx/code.h"
#include "vm/ptx/memory.h"

namespace tarsia::tools {

class EmulateArgs {
 public:
  // Every function returns an exit code; what is wrong is printed.
  // Reads the arguments, in the order of the entry's parameters, and fills the memory.
  int Bind(const ptx::Function& entry, const std::vector<std::string>& specs, ptx::Memory* memory);
  // Writes the outputs, each all or nothing.
  int WriteOutputs(const ptx::Memory& memory) const;

  [[nodiscard]] std::span<const uint8_t> block() const { return block_; }

  struct Output {
    std::string argument;  // as given
    std::string path;
    std::string type_name;  // of .npy
    std::vector<int64_t> shape;
    uint64_t address = 0;
    uint64_t bytes = 0;
  };
  [[nodiscard]] const std::vector<Output>& outputs() const { return outputs_; }
  // Whether an output takes standard output, so that text must go elsewhere.
  [[nodiscard]] bool TakesStdout() const;

 private:
  using Binder = int (EmulateArgs::*)(const std::string& rest);
  struct Form {
    std::string_view name;
    Binder bind;
  };
  static const Form kForms[];

  int BindOne(const std::string& spec);
  int BindScalar(DType type, const std::string& text);
  int BindBytes(const std::string& hex);
  int BindNull(const std::string& rest);
  int BindIn(const std::string& path);
  int BindInOut(const std::string& rest);
  int BindOut(const std::string& rest);
  int BindZeros(const std::string& bytes);
  int BindRoom(const std::string& bytes);
  int BindTensorMap(const std::string& rest);

  int Misuse(const std::string& message, const std::string& help = "") const;
  int Put(std::span<const uint8_t> bytes, std::string_view what);
  int PutPointer(uint64_t address);
  int Upload(const std::string& path, InputTensor* tensor, uint64_t* address);
  int Allocate(uint64_t bytes, uint64_t* address) const;
  int AllocateText(const std::string& text, uint64_t* address, uint64_t* bytes) const;

  ptx::Memory* memory_ = nullptr;
  const ptx::Param* param_ = nullptr;  // that is being bound
  std::string spec_;                   // its --arg
  std::vector<uint8_t> block_;
  std::vector<Output> outputs_;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_EMULATE_ARGS_H_

// The arguments of PTX kernels for `tarsia emulate`: each --arg becomes bytes of the parameter
// block, and memory of the emulated device.
//
//   TYPE:VALUE              a scalar: i32:5, u64:0x10, f32:1.5, bf16:2
//   bytes:HEX               the bytes of a parameter
//   null                    a null pointer
//   in:FILE                 a pointer to the tensor of a .npy or .safetensors file
//   inout:FILE[:OUT.npy]    as in:, and its bytes are written to OUT, or back to FILE
//   out:FILE:TYPE[SHAPE]    a pointer to unwritten memory, whose bytes are written to FILE
//   zeros:BYTES  room:BYTES a pointer to scratch memory, of zeros or never written
//   alias:N[+BYTES]         a pointer into the memory of argument N; N.M: of member M of a struct
//   tmap:MEMORY:box=N,M[:swizzle=BYTES]   a tensor map by value, over a FILE, or over in:, inout:,
//                           out: or alias:N[+BYTES][:TYPE[SHAPE]]
//   struct:ARG;ARG;..       a parameter that is a struct, each member aligned like its type, or at
//                           an offset: @OFFSET=ARG
//
// Arguments are numbered from 0, through all launches that share the memory.
#ifndef TARSIA_TOOLS_EMULATE_ARGS_H_
#define TARSIA_TOOLS_EMULATE_ARGS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/memory/memory.h"
#include "ptx/table/code.h"
#include "tools/tensor_io.h"

namespace tarsia::tools {

class EmulateArgs {
 public:
  explicit EmulateArgs(ptx::Memory* memory) : memory_(memory) {}

  // Every function returns an exit code; errors are printed. Reads the arguments of a launch, in
  // the order of the entry's parameters, and fills the memory. `label`: their name in messages,
  // such as "--arg ".
  int Bind(const ptx::Function& entry, const std::vector<std::string>& specs,
           const std::string& label);
  // Writes the outputs, each atomically.
  int WriteOutputs() const;

  // The parameter block of the last Bind.
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
  // Whether an output uses standard output, so that text must go elsewhere.
  [[nodiscard]] bool TakesStdout() const;

 private:
  // The memory of an argument, and the tensor in it if it is known.
  struct Area {
    uint64_t address = 0;
    uint64_t bytes = 0;
    std::optional<TensorInfo> tensor;
  };
  // A bound argument: its own memory, or that of its members.
  struct Bound {
    std::optional<Area> area;
    std::vector<std::optional<Area>> members;
  };
  using Maker = int (EmulateArgs::*)(const std::string& rest, Area* area);
  struct MemoryForm {
    std::string_view name;
    Maker make;
  };
  using Binder = int (EmulateArgs::*)(const std::string& rest);
  struct ValueForm {
    std::string_view name;
    Binder bind;
  };
  static const MemoryForm kMemoryForms[];
  static const ValueForm kValueForms[];

  int BindOne(const std::string& spec);
  int BindScalar(DType type, const std::string& text);
  int BindBytes(const std::string& hex);
  int BindNull(const std::string& rest);
  int BindTensorMap(const std::string& rest);
  int BindStruct(const std::string& rest);
  int BindMember(std::string text);
  int FindTensor(const std::string& text, Area* area);

  int MakeIn(const std::string& path, Area* area);
  int MakeInOut(const std::string& rest, Area* area);
  int MakeOut(const std::string& rest, Area* area);
  int MakeZeros(const std::string& bytes, Area* area);
  int MakeRoom(const std::string& bytes, Area* area);
  int MakeAlias(const std::string& rest, Area* area);

  int Misuse(const std::string& message, const std::string& help = "") const;
  int Put(std::span<const uint8_t> bytes, std::string_view what, uint64_t align);
  int PutArea(const Area& area);
  int PutPointer(uint64_t address);
  int Upload(const std::string& path, InputTensor* tensor, Area* area);
  int Allocate(uint64_t bytes, Area* area) const;
  int FindArgument(std::string_view number, const Area** area) const;

  ptx::Memory* memory_;
  const ptx::Param* param_ = nullptr;  // the one being bound
  std::string spec_;                   // its argument, as given
  std::string label_;                  // and its prefix in messages
  std::vector<uint8_t> block_;
  std::vector<Bound> bound_;
  std::vector<Output> outputs_;

  // The state while the members of a struct are bound.
  struct Members {
    uint64_t end = 0;              // of the members so far
    uint64_t align = 1;            // the largest
    std::optional<uint64_t> next;  // the explicit offset of the next member
    bool placed = false;           // some member has an explicit offset
  };
  std::optional<Members> members_;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_EMULATE_ARGS_H_

// A tensor map as a parameter of `tarsia emulate`.
#ifndef TARSIA_TOOLS_EMULATE_TENSOR_MAP_H_
#define TARSIA_TOOLS_EMULATE_TENSOR_MAP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/files/tensor_file.h"

namespace tarsia::tools {

// tmap:MEMORY:box=64,64:swizzle=128
struct TensorMapSpec {
  std::string memory;         // the memory, as written
  std::vector<uint32_t> box;  // the innermost dimension last, as in the shape of the file
  uint32_t swizzle = 0;       // bytes
};

// False if the text is not of that form.
bool ParseTensorMap(const std::string& text, TensorMapSpec* out);

// The map of a dense tensor at an address of the emulated device. Sets `error` if there is none.
bool EncodeTensorMap(const TensorMapSpec& spec, const TensorInfo& tensor, uint64_t address,
                     std::vector<uint8_t>* out, std::string* error);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_EMULATE_TENSOR_MAP_H_

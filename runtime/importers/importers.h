// One function for each format of quantised weights in .safetensors files: from the tensors of a
// layer to codes, scales and zero points. Each checks the shape and the type of every tensor that
// it reads, so that no file makes it read beyond one. What is returned refers to the tensors'
// memory.
//
// The definitions are in the code that writes the files; each source names it.
#ifndef TARSIA_RUNTIME_IMPORTERS_IMPORTERS_H_
#define TARSIA_RUNTIME_IMPORTERS_IMPORTERS_H_

#include <cstdint>
#include <string>

#include "runtime/importers/tensor_set.h"
#include "runtime/weights/packed_weights.h"
#include "support/result.h"

namespace tarsia {

// What the files do not say of themselves; 0: unknown.
struct LayerOptions {
  int bits = 0;
  int64_t group = 0;             // -1: all rows
  std::string group_field;       // "`group_size` of PATH" where a file says the group
  bool zeros_minus_one = false;  // GPTQ of the first version
};

// `layer` is the name before ".qweight", ".weight", ..
Result<CodeSource> ReadGptq(const TensorSet& set, const std::string& layer,
                            const LayerOptions& options);
Result<CodeSource> ReadAwq(const TensorSet& set, const std::string& layer,
                           const LayerOptions& options);
// compressed-tensors: codes in 32-bit words, integers of 8 bits, floats of 8 bits, NVFP4.
Result<CodeSource> ReadPackedIntegers(const TensorSet& set, const std::string& layer,
                                      const LayerOptions& options);
Result<CodeSource> ReadBytes(const TensorSet& set, const std::string& layer,
                             const LayerOptions& options);
Result<CodeSource> ReadNvfp4(const TensorSet& set, const std::string& layer,
                             const LayerOptions& options);
Result<CodeSource> ReadHqq(const TensorSet& set, const std::string& layer,
                           const LayerOptions& options);
// bitsandbytes: NF4, FP4.
Result<CodeSource> ReadBitsandbytes(const TensorSet& set, const std::string& layer,
                                    const LayerOptions& options);
// FP8 with a scale for blocks of 128 by 128.
Result<CodeSource> ReadFp8Blocks(const TensorSet& set, const std::string& layer,
                                 const LayerOptions& options);
// MXFP4 as `layer`_blocks and `layer`_scales; `expert` is the index if there are several.
Result<CodeSource> ReadMxfp4(const TensorSet& set, const std::string& layer, int64_t expert);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_IMPORTERS_IMPORTERS_H_

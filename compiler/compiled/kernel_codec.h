// The bytes of a compiled kernel, for the cache of compiled code and for plans in files. Only the
// build that wrote them reads them, so they have no version of their own.
#ifndef TARSIA_COMPILER_COMPILED_KERNEL_CODEC_H_
#define TARSIA_COMPILER_COMPILED_KERNEL_CODEC_H_

#include <optional>
#include <string>
#include <string_view>

#include "compiler/compile.h"
#include "isa/program.h"

namespace tarsia::compiler {

// Everything but the LLVM IR and the times of the steps.
std::string EncodeKernel(const CompiledKernel& kernel);
// Empty for bytes that EncodeKernel did not write, or not for this program. Treats them as hostile:
// whatever it returns can be launched without harm to the host.
std::optional<CompiledKernel> DecodeKernel(std::string_view bytes, const Program& program);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_COMPILED_KERNEL_CODEC_H_

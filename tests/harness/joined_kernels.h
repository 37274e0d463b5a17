// Many kernels as one module of PTX, so that a tool which takes long to start runs once for them.
#ifndef TARSIA_TESTS_HARNESS_JOINED_KERNELS_H_
#define TARSIA_TESTS_HARNESS_JOINED_KERNELS_H_

#include <cstddef>
#include <span>
#include <string>

#include "compiler/compile.h"

namespace tarsia::harness {

// The name that the entry of a kernel, the `index`th of those that are joined, has in the module.
std::string JoinedName(const compiler::CompiledKernel& kernel, size_t index);

// Of kernels for one target, each of any name. Lines of the source are those of the first.
std::string JoinKernels(std::span<const compiler::CompiledKernel* const> kernels);

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_JOINED_KERNELS_H_

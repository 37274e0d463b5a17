// Addresses of functions, for calls through a register: a function's number in its module, in a
// range where no memory lies.
#ifndef TARSIA_PTX_PARSE_FUNCTION_ADDRESS_H_
#define TARSIA_PTX_PARSE_FUNCTION_ADDRESS_H_

#include <cstdint>

#include "ptx/parse/module.h"

namespace tarsia::ptx {

inline constexpr uint64_t kFunctionBase = uint64_t{1} << 62;
inline constexpr uint64_t kFunctionStride = 16;

// CallSite::function of a call through the register that is the instruction's operand.
inline constexpr uint32_t kIndirect = UINT32_MAX;

inline uint64_t AddressOfFunction(uint32_t number) {
  return kFunctionBase + number * kFunctionStride;
}

// The number of the function with a body at an address, or kIndirect if there is none.
inline uint32_t FunctionAt(const Module& module, uint64_t address) {
  const uint64_t number = (address - kFunctionBase) / kFunctionStride;
  if (address % kFunctionStride != 0 || number >= module.functions.size()) return kIndirect;
  const Function& function = module.functions[number];
  return function.defined && !function.entry ? static_cast<uint32_t>(number) : kIndirect;
}

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_FUNCTION_ADDRESS_H_

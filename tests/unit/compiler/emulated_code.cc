#include "tests/unit/compiler/emulated_code.h"

#include <llvm/IR/LLVMContext.h>

#include <cstring>
#include <utility>

#include "compiler/llvm/backend.h"

namespace tarsia::compiler {

EmulatedCode::EmulatedCode(const std::vector<Operation>& operations, Target target) {
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  for (const Operation& operation : operations) AddKernel(module, operation, target);
  auto text = EmitPtx(module, target);
  if (!text.ok()) {
    error_ = text.error().message;
    return;
  }
  const SourceFile source("kernels.ptx", *text);
  Diagnostics diagnostics;
  module_ = ptx::ParseModule(source, &diagnostics);
  if (module_ == nullptr || !diagnostics.ok()) {
    error_ = diagnostics.Render(source);
    return;
  }
  auto image = ptx::Image::Load(module_, &memory_);
  if (image.ok()) {
    image_ = *std::move(image);
  } else {
    error_ = image.error().message;
  }
}

uint64_t EmulatedCode::Put(const Codes& codes) {
  const std::span<const uint8_t> bytes(codes.data(), codes.bytes());
  const uint64_t address = *memory_.Allocate(bytes.size());
  if (!memory_.CopyIn(address, bytes).ok()) error_ = "cannot copy to the device";
  return address;
}

void EmulatedCode::Run(const Operation& operation, const std::vector<const Codes*>& operands,
                       Codes& result) {
  uint64_t parameters[5] = {};
  for (size_t i = 0; i < operands.size(); ++i) parameters[i] = Put(*operands[i]);
  parameters[3] = *memory_.Allocate(result.bytes());
  parameters[4] = operands[0]->size();
  ptx::LaunchConfig config;
  config.approximations = approximations_;
  config.block.x = 128;
  config.grid.x = static_cast<uint32_t>((operands[0]->size() + 127) / 128);
  config.parameters = {reinterpret_cast<const uint8_t*>(parameters), sizeof(parameters)};
  const auto report = ptx::Launch(*image_, operation.name, config);
  if (!report.ok()) {
    error_ = report.error().message;
  } else if (!report->ok()) {
    error_ = operation.name + ": " +
             (report->findings.empty() ? "not finished" : report->findings[0].message);
  } else if (!memory_.CopyOut(parameters[3], {result.data(), result.bytes()}).ok()) {
    error_ = "cannot copy from the device";
  }
  for (size_t i = 0; i < 4; ++i) {
    if (parameters[i] != 0 && !memory_.Free(parameters[i]).ok()) error_ = "cannot free";
  }
}

}  // namespace tarsia::compiler

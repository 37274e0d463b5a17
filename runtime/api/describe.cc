// Kernels, parameters and constants as the texts that the C API returns.
#include "runtime/api/api.h"
#include "runtime/api/handles.h"

namespace tarsia::api {
namespace {

tarsia_constant_kind ToC(ConstKind kind) {
  switch (kind) {
    case ConstKind::kInt:
      return TARSIA_CONSTANT_INT;
    case ConstKind::kBool:
      return TARSIA_CONSTANT_BOOL;
    case ConstKind::kDType:
      return TARSIA_CONSTANT_DTYPE;
    case ConstKind::kRegLayout:
      return TARSIA_CONSTANT_REGLAYOUT;
    case ConstKind::kMemLayout:
      return TARSIA_CONSTANT_MEMLAYOUT;
    case ConstKind::kBitLayout:
      return TARSIA_CONSTANT_BITLAYOUT;
  }
  return TARSIA_CONSTANT_FORCE_32BIT;
}

std::vector<ParamText> DescribeParams(const ExprPool& pool, const Kernel& kernel) {
  std::vector<ParamText> out;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const Parameter& param = kernel.params[i];
    const auto dtype = pool.AsDType(param.dtype);
    out.push_back({.kind = param.is_pointer ? TARSIA_PARAM_POINTER : TARSIA_PARAM_SCALAR,
                   .name = std::string(kernel.ValueName(static_cast<uint32_t>(i))),
                   .dtype_text = ToString(pool, param.dtype, &kernel),
                   .dtype = dtype ? api::ToC(*dtype) : TARSIA_DTYPE_NONE});
  }
  return out;
}

ConstantText DescribeConstant(const ExprPool& pool, const Constant& constant) {
  ConstantText out;
  out.kind = ToC(constant.kind);
  out.name = std::string(pool.strings()[constant.name]);
  out.has_value = !constant.default_value.none();
  if (out.has_value) out.value_text = ToString(pool, constant.default_value);
  for (const ExprId candidate : pool.children(constant.candidates)) {
    out.candidates.push_back(ToString(pool, candidate));
  }
  return out;
}

KernelDescription DescribeKernel(const Module& module, const Kernel& kernel) {
  KernelDescription out;
  out.name = std::string(module.Name(kernel));
  out.location = kernel.location;
  out.params = DescribeParams(module.pool, kernel);
  return out;
}

}  // namespace

std::vector<KernelDescription> Describe(const Module& module) {
  std::vector<KernelDescription> out;
  for (const Kernel& kernel : module.kernels) {
    out.push_back(DescribeKernel(module, kernel));
    for (const Constant& constant : kernel.constants) {
      out.back().constants.push_back(DescribeConstant(module.pool, constant));
    }
  }
  return out;
}

KernelDescription Describe(const Program& program) {
  KernelDescription out = DescribeKernel(program.module(), program.kernel());
  for (size_t i = 0; i < out.params.size(); ++i) {
    const DType dtype = program.type(static_cast<uint32_t>(i)).dtype;
    out.params[i].dtype = api::ToC(dtype);
    out.params[i].dtype_text = std::string(DTypeName(dtype));
  }
  for (const BoundConstant& constant : program.constants()) {
    out.constants.push_back({.kind = ToC(constant.kind),
                             .name = constant.name,
                             .has_value = true,
                             .value_text = ToString(program.pool(), constant.value),
                             .candidates = {}});
  }
  return out;
}

tarsia_status WriteParam(const KernelDescription& kernel, size_t param, tarsia_param_info* out) {
  if (param >= kernel.params.size()) return BadIndex("param", param, kernel.params.size());
  const ParamText& text = kernel.params[param];
  tarsia_param_info info = {};
  info.kind = text.kind;
  info.name = text.name.c_str();
  info.dtype_text = text.dtype_text.c_str();
  info.dtype = text.dtype;
  return WriteStruct(info, "out", out);
}

tarsia_status WriteConstant(const KernelDescription& kernel, size_t constant,
                            tarsia_constant_info* out) {
  const size_t count = kernel.constants.size();
  if (constant >= count) return BadIndex("constant", constant, count);
  const ConstantText& text = kernel.constants[constant];
  tarsia_constant_info info = {};
  info.kind = text.kind;
  info.name = text.name.c_str();
  info.value_text = text.has_value ? text.value_text.c_str() : nullptr;
  info.candidate_count = text.candidates.size();
  return WriteStruct(info, "out", out);
}

}  // namespace tarsia::api

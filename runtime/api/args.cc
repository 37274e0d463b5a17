#include "runtime/api/args.h"

#include "launch/diagnostics.h"
#include "runtime/api/api.h"

namespace tarsia::api {
namespace {

tarsia_status ReadArg(const ParamText& param, DType type, const tarsia_arg& arg,
                      launch::Argument* out) {
  const bool pointer = arg.kind == TARSIA_ARG_POINTER || arg.kind == TARSIA_ARG_CONST_POINTER;
  if (!pointer && arg.kind != TARSIA_ARG_SCALAR) {
    return Invalid(diag::kApiEnumValue, "args[].kind", static_cast<int>(arg.kind),
                   "tarsia_arg_kind");
  }
  const bool wanted = param.kind == TARSIA_PARAM_POINTER;
  if (pointer != wanted) {
    return Invalid(diag::kLaunchArgumentKind, param.name, wanted ? "pointer" : "scalar",
                   pointer ? "pointer" : "scalar");
  }
  if (pointer) {
    *out = launch::Buffer{arg.value.pointer.data, arg.value.pointer.bytes,
                          arg.kind == TARSIA_ARG_POINTER};
    return TARSIA_STATUS_OK;
  }
  if (arg.dtype != param.dtype) {
    const auto given = DTypeFromCode(arg.dtype <= 255 ? static_cast<uint8_t>(arg.dtype) : 0);
    return Invalid(diag::kArgumentType, param.name, DTypeName(type),
                   given ? DTypeName(*given) : "no type");
  }
  *out = launch::ScalarValue{type, arg.value.code & CodeMask(type)};
  return TARSIA_STATUS_OK;
}

}  // namespace

tarsia_status ReadArgs(const tarsia_plan& plan, const tarsia_arg* args, size_t count,
                       launch::ArgumentList* out) {
  const auto& params = plan.text.params;
  if (args == nullptr && count != 0) return NullArgument("args");
  if (count != params.size()) {
    return Invalid(diag::kArgumentCount, plan.text.name, params.size(), count);
  }
  for (size_t i = 0; i < count; ++i) {
    tarsia_arg arg;
    if (const auto s = ReadElement(args, i, "args", &arg); s != TARSIA_STATUS_OK) return s;
    const DType type = plan.program.type(static_cast<uint32_t>(i)).dtype;
    launch::Argument argument;
    if (const auto s = ReadArg(params[i], type, arg, &argument); s != TARSIA_STATUS_OK) return s;
    out->push_back(argument);
  }
  return TARSIA_STATUS_OK;
}

}  // namespace tarsia::api

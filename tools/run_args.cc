#include "tools/run_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dtypes/convert.h"
#include "tools/command.h"
#include "tools/modules.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

int Usage(const std::string& message, const std::string& help = "") {
  PrintError(message, help);
  return kUsage;
}

int Reject(const std::string& message, const std::string& help = "") {
  PrintError(message, help);
  return kRejected;
}

DType TypeOf(tarsia_dtype dtype) {
  return DTypeFromCode(static_cast<uint8_t>(dtype)).value_or(DType());
}

// The views that the kernel makes of a parameter; only those outside of loops and branches, if
// there are any.
std::vector<tarsia_view> ViewsOf(const tarsia_query* query, size_t param) {
  std::vector<tarsia_view> all;
  for (size_t i = 0; i < tarsia_query_view_count(query); ++i) {
    auto view = Sized<tarsia_view>();
    if (tarsia_query_view(query, i, &view) == TARSIA_STATUS_OK && view.param == param) {
      all.push_back(view);
    }
  }
  return all;
}

std::vector<int64_t> ShapeOf(const tarsia_view& view) {
  return {view.shape, view.shape + view.rank};
}

}  // namespace

// ---- which argument belongs to which parameter ---------------------------------------------

BoundParam* RunArgs::Find(const char* option, const std::string& spec, bool pointer,
                          std::string* rest, int* code) {
  std::string name;
  if (!SplitAssignment(spec, &name, rest) || rest->empty()) {
    *code = Usage(fmt::format("{} {}: this is not of the form NAME=VALUE", option, spec));
    return nullptr;
  }
  std::vector<std::string_view> names;
  for (BoundParam& param : params_) {
    if (param.is_pointer == pointer) names.push_back(param.name);
    if (param.name != name) continue;
    if (param.is_pointer == pointer) return &param;
    *code = pointer ? Usage(fmt::format("{} {}: `%{}` is a scalar", option, spec, name),
                            "scalars are given with --arg")
                    : Usage(fmt::format("{} {}: `%{}` is a pointer", option, spec, name),
                            "pointers are given with --in and --out");
    return nullptr;
  }
  std::string help = DidYouMean(name, names);
  if (help.empty() && !names.empty()) help = fmt::format("there is {}", fmt::join(names, ", "));
  *code = Usage(fmt::format("{} {}: the kernel has no {} parameter `%{}`", option, spec,
                            pointer ? "pointer" : "scalar", name),
                help);
  return nullptr;
}

int RunArgs::Assign(const tarsia_plan* plan, const RunSpecs& specs) {
  auto info = Sized<tarsia_plan_info>();
  tarsia_plan_get(plan, &info);
  for (size_t i = 0; i < info.param_count; ++i) {
    auto param = Sized<tarsia_param_info>();
    tarsia_plan_param(plan, i, &param);
    BoundParam& bound = params_.emplace_back();
    bound.name = param.name;
    bound.is_pointer = param.kind == TARSIA_PARAM_POINTER;
    bound.dtype = param.dtype;
  }
  int code = kDone;
  std::string rest;
  const auto twice = [](const char* option, const std::string& spec) {
    return Usage(fmt::format("{} {}: given twice", option, spec));
  };
  for (const std::string& spec : specs.scalars) {
    BoundParam* const param = Find("--arg", spec, false, &rest, &code);
    if (param == nullptr) return code;
    if (param->scalar) return twice("--arg", spec);
    param->scalar = rest;
  }
  for (const std::string& spec : specs.inputs) {
    BoundParam* const param = Find("--in", spec, true, &rest, &code);
    if (param == nullptr) return code;
    if (param->input) return twice("--in", spec);
    param->input = rest;
  }
  for (const std::string& spec : specs.outputs) {
    BoundParam* const param = Find("--out", spec, true, &rest, &code);
    if (param == nullptr) return code;
    if (param->output) return twice("--out", spec);
    param->output.emplace();
    if (const int bad = ParseOutputSpec(rest, &*param->output); bad != kDone) return bad;
  }
  for (BoundParam& param : params_) {
    param.zeros = specs.zeros && param.is_pointer && !param.input && !param.output;
    if (!param.is_pointer && !param.scalar) {
      return Usage(fmt::format("the scalar `%{}` has no value", param.name),
                   fmt::format("give it one with --arg {}=...", param.name));
    }
    if (param.is_pointer && !param.input && !param.output && !param.zeros) {
      return Usage(
          fmt::format("the pointer `%{}` has no file", param.name),
          fmt::format("give it one with --in {0}=FILE.npy or --out {0}=FILE.npy", param.name));
    }
  }
  return kDone;
}

int RunArgs::ParseScalars() {
  for (const BoundParam& param : params_) {
    if (param.is_pointer) {
      args_.push_back(tarsia_arg_pointer(nullptr, 0));
      continue;
    }
    const auto code = ParseValue(TypeOf(param.dtype), *param.scalar);
    if (!code) {
      return Usage(fmt::format("--arg {}={}: this is not a value of type {}", param.name,
                               *param.scalar, DTypeName(TypeOf(param.dtype))));
    }
    args_.push_back(tarsia_arg_scalar(param.dtype, *code));
  }
  return kDone;
}

// ---- inputs --------------------------------------------------------------------------------

namespace {

std::string Describe(const InputTensor& tensor) {
  return fmt::format("{}{}", tensor.info.type_name, ShapeText(tensor.info.shape));
}

// Whether the view can read the tensor, by type: the same one, or raw memory for a type that the
// file's format cannot name.
bool FitsType(const InputTensor& tensor, DType type) {
  return tensor.info.type == type || !tensor.CanName(type);
}

// Raw memory must have exactly the bytes of its view; typed data at least those.
int CheckSize(const InputTensor& tensor, const std::string& name, const tarsia_view& view) {
  const uint64_t bytes = tensor.info.bytes;
  const DType type = TypeOf(view.dtype);
  const bool raw = tensor.info.type != type;
  if (bytes == view.bytes || (bytes > view.bytes && !raw) || !view.unconditional) return kDone;
  return Reject(
      fmt::format("--in {}={}: {} has {} bytes, but the kernel views `%{}` as {}, which {}"
                  " {} bytes",
                  name, tensor.source, Describe(tensor), bytes, name, view.text,
                  raw ? "is" : "needs", view.bytes));
}

// Floats used as the raw bytes of another type are legal, but rarely intended.
void WarnAboutType(const InputTensor& tensor, const std::string& name, const tarsia_view& view) {
  const DType type = TypeOf(view.dtype);
  const auto held = tensor.info.type;
  if (!held || *held == type || held->IsInteger() || held->IsBool()) return;
  if (*held == kF32 && type == kTF32) return;  // the usual storage of such data
  PrintWarning(fmt::format("--in {}={}: the file holds {}; its bytes are taken as {}", name,
                           tensor.source, DTypeName(*held), DTypeName(type)));
}

// Data of the right size in another shape is also rarely intended.
void WarnAboutShape(const InputTensor& tensor, const std::string& name, const tarsia_view& view) {
  const std::vector<int64_t> shape = ShapeOf(view);
  const bool typed = tensor.info.type == TypeOf(view.dtype);
  if (!typed || !view.row_major || !view.unconditional) return;
  if (tensor.info.bytes > view.bytes) {
    PrintWarning(fmt::format("--in {}={}: {} has {} bytes; the kernel's view {} uses the first {}",
                             name, tensor.source, Describe(tensor), tensor.info.bytes, view.text,
                             view.bytes));
  } else if (tensor.info.shape.size() > 1 && tensor.info.shape != shape) {
    PrintWarning(fmt::format("--in {}={}: the file has shape {}, the kernel's view {}", name,
                             tensor.source, ShapeText(tensor.info.shape), view.text));
  }
}

int CheckInput(const InputTensor& tensor, const std::string& name,
               const std::vector<tarsia_view>& views) {
  if (views.empty()) return kDone;
  const bool fits = std::any_of(views.begin(), views.end(), [&](const tarsia_view& view) {
    return FitsType(tensor, TypeOf(view.dtype));
  });
  if (!fits) {
    const std::string_view wanted = DTypeName(TypeOf(views[0].dtype));
    const std::string given =
        tensor.info.type
            ? fmt::format("{} ({})", DTypeName(*tensor.info.type), tensor.info.type_name)
            : fmt::format("raw bytes ({})", tensor.info.type_name);
    return Reject(
        fmt::format("--in {}={}: the file holds {}, but the kernel views `%{}` as {} ({})", name,
                    tensor.source, given, name, wanted, views[0].text),
        fmt::format("convert the file to {}", wanted));
  }
  for (const tarsia_view& view : views) {
    if (const int code = CheckSize(tensor, name, view); code != kDone) return code;
  }
  if (views.size() == 1) {
    WarnAboutType(tensor, name, views[0]);
    WarnAboutShape(tensor, name, views[0]);
  }
  return kDone;
}

}  // namespace

int RunArgs::BindInput(const tarsia_query* query, size_t param) {
  BoundParam& bound = params_[param];
  InputTensor tensor;
  if (const int code = ReadInput(*bound.input, &tensor); code != kDone) return code;
  const auto views = ViewsOf(query, param);
  if (const int code = CheckInput(tensor, bound.name, views); code != kDone) return code;
  bound.buffer = std::move(tensor.data);
  return kDone;
}

// ---- outputs -------------------------------------------------------------------------------

namespace {

// The views that determine the type of an output: those that are written, else all.
std::vector<tarsia_view> DefiningViews(std::vector<tarsia_view> views) {
  std::vector<tarsia_view> written;
  std::copy_if(views.begin(), views.end(), std::back_inserter(written),
               [](const tarsia_view& view) { return view.writes; });
  return written.empty() ? views : written;
}

int DescribeOutput(BoundParam* param, const std::vector<tarsia_view>& views) {
  const std::string help = fmt::format("say it with --out {}={}:TYPE[SHAPE], such as f16[16, 128]",
                                       param->name, param->output->path);
  if (views.empty()) {
    return Usage(fmt::format("--out {}={}: type and shape do not follow from the kernel, because "
                             "its views of `%{}` depend on what it computes",
                             param->name, param->output->path, param->name),
                 help);
  }
  for (const tarsia_view& view : views) {
    if (std::string_view(view.text) == views[0].text) continue;
    return Usage(
        fmt::format("--out {}={}: type and shape are ambiguous, because the kernel views "
                    "`%{}` as {} and as {}",
                    param->name, param->output->path, param->name, views[0].text, view.text),
        help);
  }
  param->out_type = TypeOf(views[0].dtype);
  param->out_shape = ShapeOf(views[0]);
  param->out_dense = views[0].row_major;
  param->out_bytes = views[0].bytes;
  return kDone;
}

}  // namespace

int RunArgs::BindOutput(const tarsia_query* query, size_t param) {
  BoundParam& bound = params_[param];
  if (bound.output->type) {
    const auto bytes = DenseBytes(*bound.output->type, bound.output->shape);
    if (!bytes) return Usage("--out " + bound.name + ": the shape is too large");
    bound.out_type = *bound.output->type;
    bound.out_shape = bound.output->shape;
    bound.out_bytes = *bytes;
  } else {
    const auto views = DefiningViews(ViewsOf(query, param));
    if (const int code = DescribeOutput(&bound, views); code != kDone) return code;
  }
  uint64_t needed = 0;
  tarsia_query_pointer_bytes(query, param, &needed);
  if (bound.input && bound.buffer.size() < bound.out_bytes) {
    return Reject(fmt::format("--in {}={}: {} bytes, but the output has {}", bound.name,
                              *bound.input, bound.buffer.size(), bound.out_bytes));
  }
  if (bound.input) return kDone;
  auto buffer = HostBuffer::Allocate(std::max(needed, bound.out_bytes));
  if (!buffer.ok()) {
    PrintError(buffer.error());
    return kEnvironment;
  }
  bound.buffer = *std::move(buffer);
  return kDone;
}

int RunArgs::BindZeros(const tarsia_query* query, size_t param) {
  BoundParam& bound = params_[param];
  uint64_t bytes = 0;
  tarsia_query_pointer_bytes(query, param, &bytes);
  // Enough for every branch.
  for (const tarsia_view& view : ViewsOf(query, param)) bytes = std::max(bytes, view.bytes);
  if (bytes == 0) {
    return Usage(fmt::format("the size of the memory of `%{}` depends on what the kernel computes",
                             bound.name),
                 fmt::format("give it a file with --in {}=FILE.npy", bound.name));
  }
  auto buffer = HostBuffer::Allocate(bytes);
  if (!buffer.ok()) {
    PrintError(buffer.error());
    return kEnvironment;
  }
  bound.buffer = *std::move(buffer);
  return kDone;
}

int RunArgs::BindBuffers(const tarsia_plan* plan) {
  tarsia_query* made = nullptr;
  const auto status = tarsia_query_create(plan, args_.data(), args_.size(), &made);
  const Handle<tarsia_query> query(made);
  if (status != TARSIA_STATUS_OK) return ReportFailure(status);
  for (size_t i = 0; i < params_.size(); ++i) {
    BoundParam& param = params_[i];
    if (!param.is_pointer) continue;
    int code = param.zeros ? BindZeros(made, i) : param.input ? BindInput(made, i) : kDone;
    if (code == kDone && param.output) code = BindOutput(made, i);
    if (code != kDone) return code;
    const bool writable = param.output || param.zeros;
    args_[i] = writable ? tarsia_arg_pointer(param.buffer.data(), param.buffer.size())
                        : tarsia_arg_const_pointer(param.buffer.data(), param.buffer.size());
  }
  return kDone;
}

int RunArgs::WriteOutputs() const {
  for (const BoundParam& param : params_) {
    if (!param.output) continue;
    const Status status =
        WriteOutput(param.output->path, param.out_type, param.out_shape, param.out_dense,
                    param.buffer.bytes().first(static_cast<size_t>(param.out_bytes)));
    if (status.ok()) continue;
    PrintError(status.error());
    return kEnvironment;
  }
  return kDone;
}

}  // namespace tarsia::tools

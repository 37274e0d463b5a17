// The contents of the opaque handles of the C API. All are immutable once made.
#ifndef TARSIA_RUNTIME_API_HANDLES_H_
#define TARSIA_RUNTIME_API_HANDLES_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isa/program.h"
#include "isa/validate.h"
#include "launch/launch_template.h"
#include "support/diagnostic.h"
#include "tarsia/tarsia.h"

struct tarsia_blob {
  std::string bytes;
};

struct tarsia_diagnostics {
  std::shared_ptr<const tarsia::SourceFile> source;
  tarsia::Diagnostics list;
};

namespace tarsia::runtime {
class Code;
class Device;
class LoadedKernel;
}  // namespace tarsia::runtime

namespace tarsia::api {

// Kernels, parameters and constants with texts that end in a zero byte.
struct ParamText {
  tarsia_param_kind kind{};
  std::string name;
  std::string dtype_text;
  tarsia_dtype dtype = TARSIA_DTYPE_NONE;
};
struct ConstantText {
  tarsia_constant_kind kind{};
  std::string name;
  bool has_value = false;
  std::string value_text;
  std::vector<std::string> candidates;
};
struct KernelDescription {
  std::string name;
  Location location;
  std::vector<ParamText> params;
  std::vector<ConstantText> constants;
};

std::vector<KernelDescription> Describe(const Module& module);
// A kernel whose constants have their values.
KernelDescription Describe(const Program& program);

// Null where there is nothing to tell.
inline tarsia_dtype ToC(DType type) { return static_cast<tarsia_dtype>(DTypeCode(type)); }

tarsia_status WriteParam(const KernelDescription& kernel, size_t param, tarsia_param_info* out);
tarsia_status WriteConstant(const KernelDescription& kernel, size_t constant,
                            tarsia_constant_info* out);
// Passes bytes to the caller.
tarsia_status GiveBlob(std::string bytes, tarsia_blob** out);
// Fails with the rendered diagnostics as last error, and passes them to the caller if `out` is not
// null.
tarsia_status Reject(tarsia_status status, std::shared_ptr<const SourceFile> source,
                     Diagnostics list, tarsia_diagnostics** out);

}  // namespace tarsia::api

struct tarsia_module {
  std::shared_ptr<const tarsia::SourceFile> source;
  tarsia_format format{};
  tarsia::ValidModule valid;
  std::vector<tarsia::api::KernelDescription> kernels;
  std::vector<std::string> graph_names;
};

struct tarsia_plan {
  std::shared_ptr<const tarsia::SourceFile> source;
  tarsia::Program program;
  tarsia::launch::LaunchTemplate launch;
  std::shared_ptr<tarsia::runtime::Device> device;
  std::unique_ptr<tarsia::runtime::LoadedKernel> ready;
  tarsia::api::KernelDescription text;
  uint64_t workspace_limit = 0;  // in bytes; 0: none
};

struct tarsia_device {
  std::shared_ptr<tarsia::runtime::Device> device;
};

struct tarsia_code {
  std::shared_ptr<const tarsia::runtime::Code> code;
};

#endif  // TARSIA_RUNTIME_API_HANDLES_H_

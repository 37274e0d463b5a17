// The arguments of a kernel for `tarsia run`: scalars from --arg, pointers from --in and --out.
#ifndef TARSIA_TOOLS_RUN_ARGS_H_
#define TARSIA_TOOLS_RUN_ARGS_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/handles.h"
#include "tools/tensor_io.h"

namespace tarsia::tools {

// The options on the command line, each as NAME=REST.
struct RunSpecs {
  std::vector<std::string> scalars;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  bool zeros = false;  // pointers without an option point to zeros
};

// One parameter and what it is bound to.
struct BoundParam {
  std::string name;
  bool is_pointer = false;
  tarsia_dtype dtype = TARSIA_DTYPE_NONE;  // of a scalar
  std::optional<std::string> scalar;       // text of --arg
  std::optional<std::string> input;
  std::optional<OutputSpec> output;
  bool zeros = false;  // neither --in nor --out, but zeros
  // Made by BindBuffers.
  HostBuffer buffer;
  DType out_type = {};
  std::vector<int64_t> out_shape;
  bool out_dense = true;
  uint64_t out_bytes = 0;
};

class RunArgs {
 public:
  // Every function returns an exit code; errors are printed. Call in this order. Assigns --arg,
  // --in, --out to parameters and checks that none is missing.
  int Assign(const tarsia_plan* plan, const RunSpecs& specs);
  // Reads the scalars' values.
  int ParseScalars();
  // Reads inputs, determines types and shapes of outputs, makes the buffers.
  int BindBuffers(const tarsia_plan* plan);
  // Writes the outputs.
  int WriteOutputs() const;

  [[nodiscard]] const std::vector<tarsia_arg>& args() const { return args_; }
  [[nodiscard]] const std::vector<BoundParam>& params() const { return params_; }
  // The host's bytes of a pointer parameter.
  [[nodiscard]] void* HostData(size_t param) { return params_[param].buffer.data(); }

 private:
  BoundParam* Find(const char* option, const std::string& spec, bool pointer, std::string* rest,
                   int* code);
  int BindInput(const tarsia_query* query, size_t param);
  int BindOutput(const tarsia_query* query, size_t param);
  int BindZeros(const tarsia_query* query, size_t param);

  std::vector<BoundParam> params_;
  std::vector<tarsia_arg> args_;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_RUN_ARGS_H_

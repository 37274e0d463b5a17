#include "tools/reduce/check_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/files/npy.h"
#include "tools/command.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

// The constant whose value is the extent of an axis, which is written there or elsewhere.
std::string ConstantOf(const Module& module, const Graph& graph, const AxisExpr& axis) {
  const ExprPool& pool = module.pool;
  ExprId extent = axis.extent;
  for (const AxisExpr& other : graph.axes) {
    if (extent.none() && other.name == axis.name) extent = other.extent;
  }
  if (extent.none()) return std::string(pool.strings()[axis.name]);
  return pool.kind(extent) == ExprKind::kName ? std::string(pool.Text(extent)) : std::string();
}

// `--set` with the one constant that gives the input the shape of the file; "" if there is none.
std::string SetThatFits(const std::vector<int64_t>& wanted, const std::vector<int64_t>& found,
                        const std::vector<std::string>& constants) {
  std::string name;
  int64_t value = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == found[i]) continue;
    if (constants[i].empty() || (!name.empty() && (name != constants[i] || value != found[i]))) {
      return "";
    }
    name = constants[i];
    value = found[i];
  }
  // Another axis with this extent fits already.
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (constants[i] == name && found[i] != value) return "";
  }
  return fmt::format("--set {}={} fits the file", name, value);
}

std::string HelpWithShape(const PlanTensor& tensor, const std::vector<int64_t>& found,
                          const std::vector<std::string>& constants) {
  const std::vector<int64_t>& wanted = tensor.extents;
  if (wanted.size() != found.size()) return "";
  if (std::equal(wanted.begin(), wanted.end(), found.rbegin())) {
    return fmt::format(
        "the file has the axes in the other order: declare them so, or save "
        "`np.ascontiguousarray({}.T)`",
        tensor.name);
  }
  return wanted.size() == constants.size() ? SetThatFits(wanted, found, constants) : "";
}

std::string HelpWithType(const PlanTensor& tensor) {
  std::string name = NpyTypeName(tensor.dtype);
  if (!name.empty() && (name[0] == '<' || name[0] == '|')) name.erase(0, 1);
  return fmt::format("NumPy converts: `{}.astype('{}')`; or the graph declares what the file has",
                     tensor.name, name);
}

}  // namespace

std::vector<std::vector<std::string>> ExtentConstants(const Module& module, std::string_view name) {
  std::vector<std::vector<std::string>> out;
  for (const Graph& graph : module.graphs) {
    if (module.Name(graph) != name) continue;
    for (const GraphInput& input : graph.inputs) {
      std::vector<std::string>& constants = out.emplace_back();
      for (const AxisExpr& axis : graph.Axes(input.axes)) {
        constants.push_back(ConstantOf(module, graph, axis));
      }
    }
  }
  return out;
}

PlanTensor AsStored(PlanTensor tensor) {
  if (tensor.dtype != kC32) return tensor;
  tensor.dtype = ComponentOf(kC32);
  tensor.extents.push_back(2);
  return tensor;
}

int CheckInput(const InputTensorFile& file, const PlanTensor& tensor,
               const std::vector<std::string>& constants) {
  const TensorInfo& info = file.info;
  const PlanTensor stored = AsStored(tensor);
  if (info.type == stored.dtype && info.shape == stored.extents) return kDone;
  const bool named = file.CanName(tensor.dtype);
  if (!named && info.bytes == tensor.bytes) return kDone;
  const std::string wanted = std::string(DTypeName(tensor.dtype)) + ShapeText(tensor.extents);
  const std::string found =
      (info.type ? std::string(DTypeName(*info.type)) : info.type_name) + ShapeText(info.shape);
  std::string help;
  if (named && info.type == tensor.dtype) {
    help = HelpWithShape(tensor, info.shape, constants);
  } else if (named && info.shape == tensor.extents && file.npy) {
    help = HelpWithType(tensor);
  } else if (!named) {
    help = tensor.dtype == kC32
               ? fmt::format("this type is stored as f16{}", ShapeText(stored.extents))
               : fmt::format("this type is stored as {} bytes, of any type", tensor.bytes);
  }
  PrintError(fmt::format("{}: input `%{}` is {}, but the file has {}", file.source, tensor.name,
                         wanted, found),
             help);
  return kRejected;
}

}  // namespace tarsia::tools

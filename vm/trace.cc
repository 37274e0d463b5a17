#include "vm/trace.h"

#include <algorithm>
#include <vector>

#include "dtypes/bulk.h"
#include "dtypes/convert.h"
#include "isa/printer.h"
#include "layout/reg_layout.h"
#include "vm/agent.h"

namespace tarsia::vm {
namespace {

// Numbers 0 to n, or the first and last halves of `edge` with -1 between.
std::vector<int64_t> Shown(int64_t n, int64_t edge) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < n; ++i) {
    if (edge > 0 && n > edge && i == edge / 2) {
      out.push_back(-1);
      i = n - edge / 2;
    }
    out.push_back(i);
  }
  return out;
}

std::string RowName(std::span<const int64_t> shape, int64_t row) {
  if (shape.empty()) return "";
  std::vector<int64_t> index(shape.size() - 1);
  for (size_t d = index.size(); d-- > 0;) {
    index[d] = row % shape[d];
    row /= shape[d];
  }
  std::string out = "[";
  for (const int64_t i : index) out += std::to_string(i) + ", ";
  return out + ":]";
}

}  // namespace

void WriteRows(std::string_view prefix, DType type, std::span<const int64_t> shape,
               const void* tile, int64_t edge, const LineSink& sink) {
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d) rows *= shape[d];
  const int64_t columns = shape.empty() ? 1 : shape.back();
  for (const int64_t row : Shown(rows, edge)) {
    if (row < 0) {
      sink(std::string(prefix) + " ...");
      continue;
    }
    std::string line = std::string(prefix) + RowName(shape, row) + " =";
    for (const int64_t column : Shown(columns, edge)) {
      line += ' ';
      line +=
          column < 0
              ? "..."
              : DecodeToString(
                    type, LoadContainer(type, tile, static_cast<size_t>(row * columns + column)));
    }
    sink(line);
  }
}

void TraceResult(Agent& agent, uint32_t value, const LineSink& sink) {
  const ValuePlan& type = agent.plan().values[value];
  const std::string prefix = "    %" + agent.plan().ValueName(value);
  if (type.kind == ValueKind::kScalar) {
    return WriteRows(prefix, type.dtype, {}, &agent.Scalar(value), 0, sink);
  }
  if (type.space == Space::kRegister) {
    const Storage& storage = agent.plan().storages[type.storage];
    if (type.storage == kLogical) {
      return WriteRows(prefix, type.dtype, type.shape, agent.Tile(value), kTraceEdge, sink);
    }
    std::vector<uint64_t> row_major(static_cast<size_t>(type.elements));
    GatherContainers(type.container, agent.Tile(value), storage.holder, row_major.data());
    return WriteRows(prefix, type.dtype, type.shape, row_major.data(), kTraceEdge, sink);
  }
  const MemoryView& view = agent.View(value);
  sink(prefix + " : " + std::string(SpaceName(type.space)) + "<" +
       std::string(DTypeName(type.dtype)) + ">" +
       ToString(std::span<const int64_t>(view.shape, static_cast<size_t>(view.rank))));
}

std::string TextOf(const Plan& plan, const PlannedInst& inst) {
  if (inst.inst == nullptr) return "}";
  return PrintInst(plan.program.module(), plan.kernel(), *inst.inst);
}

}  // namespace tarsia::vm

// The state of one graph that all parts of its check share. Internal to isa/graph.
#ifndef TARSIA_ISA_GRAPH_CONTEXT_H_
#define TARSIA_ISA_GRAPH_CONTEXT_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/fold.h"
#include "isa/graph/check.h"
#include "isa/graph/diagnostics.h"
#include "layout/text/eval.h"

namespace tarsia {

using AxisList = std::vector<uint32_t>;  // indices of axes of the graph

// Each error in an expression is reported at the given location.
class GraphContext final : public TypeEnv {
 public:
  // `values` is null while constants are open.
  GraphContext(Module& module, const Graph& graph, const std::vector<ConstantValue>* values,
               Diagnostics& diagnostics)
      : module_(module),
        graph_(graph),
        closed_(values != nullptr),
        diagnostics_(diagnostics),
        folder_(module.pool) {
    facts_.types.resize(graph.value_names.size());
    if (values == nullptr) return;
    for (const ConstantValue& constant : *values) folder_.Bind(constant.name, constant.value);
  }
  GraphContext(const GraphContext&) = delete;
  GraphContext& operator=(const GraphContext&) = delete;

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] ExprPool& pool() { return module_.pool; }
  // Every constant has its value.
  [[nodiscard]] bool closed() const { return closed_; }
  ExprId Fold(ExprId id) { return folder_.Fold(id); }
  GraphFacts TakeFacts() { return std::move(facts_); }

  // ---- types of values
  [[nodiscard]] const GraphType& type(uint32_t value) const { return facts_.types[value]; }
  void SetType(uint32_t value, GraphType type) { facts_.types[value] = std::move(type); }

  // ---- constants
  // From now on expressions may use the constant.
  void AddConstant(const Constant& constant) {
    constants_.emplace_back(constant.name, constant.kind);
  }
  // The static kind; kUnknown after an error, which `ok` tells apart from open names.
  ExprType KindOf(ExprId id, Location location, bool* ok);
  // False after an error: the expression is certainly of another kind.
  bool ExpectKind(ExprId id, ExprType kind, std::string_view what, Location location);
  // The number it folds to; without one, nothing, which is an error if the graph is closed.
  std::optional<int64_t> KnownInt(ExprId id, Location location);
  // A quotient of integers in the expression that is not exact; none if there is none, or if its
  // numbers are open.
  ExprId InexactQuotient(ExprId id);

  // ---- axes
  [[nodiscard]] const GraphAxis& axis(uint32_t index) const { return facts_.axes[index]; }
  [[nodiscard]] std::string_view AxisName(uint32_t index) const {
    return module_.pool.strings()[facts_.axes[index].name];
  }
  [[nodiscard]] std::optional<uint32_t> FindAxis(StringId name) const;
  // The axis that is written; it is new if the graph has none of its name. Its extent is the one
  // written, `implied`, that of the axis of this name, or the constant of this name. Nothing after
  // an error: there is none, or the axis has another one.
  std::optional<uint32_t> Resolve(const AxisExpr& axis, ExprId implied = {});
  // The known extent.
  [[nodiscard]] std::optional<int64_t> Extent(uint32_t index) {
    return module_.pool.AsInt(axis(index).extent);
  }

  // ---- errors
  template <typename... Args>
  Diagnostic& Error(const DiagInfo& info, Location location, const Args&... args) {
    return diagnostics_.Error(info, location, args...);
  }
  // Shows another place, unless the text does not say where it is.
  static void AddNote(Diagnostic& error, Location place, std::string message);
  [[nodiscard]] std::string Text(ExprId id) const { return ToString(module_.pool, id, &graph_); }
  // "[i, j]"
  [[nodiscard]] std::string Text(std::span<const uint32_t> axes) const;
  [[nodiscard]] std::vector<std::string_view> NamesOf(std::span<const uint32_t> axes) const;

  // TypeEnv
  [[nodiscard]] std::optional<ExprType> NameType(StringId name) const override;
  [[nodiscard]] std::optional<ExprType> ValueType(uint32_t /*value*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::vector<std::string_view> Names() const override;

 private:
  // The folded extent that is written or follows from the name; none after an error.
  ExprId ExtentOf(const AxisExpr& axis, ExprId implied);
  void HelpWithName(ExprId id, ExprType kind);
  bool CheckExtent(uint32_t index, ExprId extent, Location location);

  Module& module_;
  const Graph& graph_;
  const bool closed_;
  Diagnostics& diagnostics_;
  Folder folder_;
  GraphFacts facts_;
  std::unordered_map<StringId, uint32_t> axis_of_name_;
  std::vector<std::pair<StringId, ConstKind>> constants_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_GRAPH_CONTEXT_H_

#include "isa/text/graph_printer.h"

#include <algorithm>

#include "isa/text/text_writer.h"

namespace tarsia {
namespace {

// How tightly the parts of an expression bind: the operators as in layout/text/expr.h, then these.
constexpr int kNotPrecedence = 3;
constexpr int kPrefixPrecedence = 7;
constexpr int kPrimaryPrecedence = 8;

class GraphPrinter : private TextWriter {
 public:
  GraphPrinter(const Module& module, const Graph& graph, Trivia* trivia, std::string& out)
      : TextWriter(module, trivia, out), graph_(graph) {
    names_ = &graph;
  }

  void PrintAll() {
    const uint32_t line = graph_.location.line;
    // Parts of a module are always separated by one blank line, which is already written.
    if (trivia_ != nullptr) trivia_->TakeLeading(line, 0, true, out_);
    PrintHead();
    End(line);
    PrintConstants(graph_.constants);
    PrintRequires(graph_.requires_);
    out_ += "{\n";
    PrintBody();
    if (trivia_ != nullptr) trivia_->TakeLeading(graph_.close_line, 2, true, out_);
    out_ += '}';
    End(graph_.close_line);
  }

 private:
  void PrintHead() {
    out_ += "graph ";
    out_ += Text(graph_.name);
    out_ += '(';
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (i > 0) out_ += ", ";
      PrintValue(static_cast<uint32_t>(i));
      out_ += ": ";
      PrintType(graph_.inputs[i].dtype, graph_.inputs[i].axes);
    }
    out_ += ')';
    const char* before = " -> ";
    for (const GraphOutputType& type : graph_.output_types) {
      out_ += before;
      before = ", ";
      PrintType(type.dtype, type.axes);
      if (type.in_place == GraphOutputType::kNotInPlace) continue;
      out_ += " in ";
      PrintValue(type.in_place);
    }
  }

  void PrintBody() {
    bool first = true;
    for (const GraphNode& node : graph_.nodes) {
      if (!graph_.HasName(node.first_result)) continue;
      Begin(node.location.line, 2, first);
      first = false;
      PrintStatement(node);
      End(node.location.line);
    }
    Begin(graph_.return_location.line, 2, first);
    const char* before = "return ";
    for (const uint32_t value : graph_.outputs) {
      out_ += before;
      before = ", ";
      PrintValue(value);
    }
    End(graph_.return_location.line);
  }

  void PrintStatement(const GraphNode& node) {
    for (uint32_t i = 0; i < Row(node.op).results(); ++i) {
      if (i > 0) out_ += ", ";
      PrintValue(node.first_result + i);
    }
    out_ += " = ";
    PrintNode(node, 0, true);
  }

  void PrintValue(uint32_t value) {
    out_ += '%';
    out_ += graph_.ValueName(value);
  }

  void PrintType(ExprId dtype, IndexRange axes) {
    Sum(dtype);
    if (axes.count == 0) return;
    out_ += '[';
    PrintAxes(graph_.Axes(axes), ", ", false);
    out_ += ']';
  }

  void PrintAxes(std::span<const AxisExpr> axes, std::string_view separator, bool angle) {
    bool first = true;
    for (const AxisExpr& axis : axes) {
      if (!first) out_ += separator;
      first = false;
      PrintAxis(axis, angle);
    }
  }

  void PrintAxis(const AxisExpr& axis, bool angle) {
    out_ += Text(axis.name);
    if (axis.extent.none()) return;
    out_ += ':';
    if (angle) {
      Sum(axis.extent);
    } else {
      Expr(axis.extent);
    }
  }

  // An operation; in parentheses if it binds less tightly than `precedence`. `head`: it begins a
  // statement, where names and numbers as operands need no parentheses.
  void PrintNode(const GraphNode& node, int precedence, bool head) {
    const GraphRow& row = Row(node.op);
    if (!row.IsOperator()) return PrintOperation(node, row, head);
    const auto operands = graph_.Operands(node);
    const int own = row.symbol                 ? Precedence(*row.symbol)
                    : node.op == GraphOp::kNot ? kNotPrecedence
                                               : kPrefixPrecedence;
    if (own < precedence) out_ += '(';
    if (row.symbol) {
      const bool compare = own == Precedence(BinaryOp::kEqual);
      PrintOperand(operands[0], compare ? own + 1 : own);
      out_ += ' ';
      out_ += Spelling(*row.symbol);
      out_ += ' ';
      PrintOperand(operands[1], own + 1);
    } else {
      out_ += node.op == GraphOp::kNot ? "not " : "-";
      PrintOperand(operands[0], own);
    }
    if (own < precedence) out_ += ')';
  }

  void PrintOperation(const GraphNode& node, const GraphRow& row, bool head) {
    out_ += row.word;
    PrintAngle(node, row);
    const auto operands = graph_.Operands(node);
    const bool plain = std::all_of(operands.begin(), operands.end(), [&](ExprId id) {
      return id.is_value() ? graph_.HasName(id.value()) : module_.pool.children(id).empty();
    });
    if (!operands.empty()) {
      out_ += head && plain ? " " : "(";
      for (size_t i = 0; i < operands.size(); ++i) {
        if (i > 0) out_ += ", ";
        PrintOperand(operands[i], 0);
      }
      if (row.axes == AxesForm::kOneAxisAndLast) {
        out_ += ", ";
        PrintAxis(graph_.Axes(node.axes)[1], false);
      }
      if (!head || !plain) out_ += ')';
    }
    if (node.option == GraphOption::kNone) return;
    const OptionRow& option = Row(node.option);
    out_ += ' ';
    out_ += option.word;
    if (option.value.empty()) return;
    out_ += ' ';
    out_ += option.value;
  }

  void PrintAngle(const GraphNode& node, const GraphRow& row) {
    const auto axes = graph_.Axes(node.axes);
    if (row.axes == AxesForm::kNoAxes) return;
    out_ += '<';
    switch (row.axes) {
      case AxesForm::kNoAxes:
        break;
      case AxesForm::kType:
        Sum(node.dtype);
        break;
      case AxesForm::kOneAxisAndLast:
        PrintAxis(axes[0], true);
        break;
      case AxesForm::kNewAxis:
      case AxesForm::kNewAxes:
      case AxesForm::kAxes:
      case AxesForm::kOneAxis:
      case AxesForm::kRowsColumns:
        PrintAxes(axes, ", ", true);
        break;
      case AxesForm::kRenames:
      case AxesForm::kMap:
        for (size_t i = 0; i < axes.size(); i += 2) {
          if (i > 0) out_ += ", ";
          PrintAxes(axes.subspan(i, 2), "->", true);
        }
        break;
      case AxesForm::kJoin:
        PrintAxis(axes[0], true);
        out_ += ", ";
        PrintAxes(axes.subspan(1), "->", true);
        break;
    }
    out_ += '>';
  }

  void PrintOperand(ExprId id, int precedence) {
    if (id.is_value() && !graph_.HasName(id.value())) {
      return PrintNode(*graph_.NodeOf(id.value()), precedence, false);
    }
    const bool weak = !id.is_value() && ConstantPrecedence(id) < precedence;
    if (weak) out_ += '(';
    Expr(id);
    if (weak) out_ += ')';
  }

  [[nodiscard]] int ConstantPrecedence(ExprId id) const {
    const ExprPool& pool = module_.pool;
    if (pool.kind(id) == ExprKind::kBinary) {
      return Precedence(static_cast<BinaryOp>(pool.node(id).code));
    }
    if (pool.kind(id) != ExprKind::kUnary) return kPrimaryPrecedence;
    return static_cast<UnaryOp>(pool.node(id).code) == UnaryOp::kNot ? kNotPrecedence
                                                                     : kPrefixPrecedence;
  }

  const Graph& graph_;
};

}  // namespace

void PrintGraph(const Module& module, const Graph& graph, Trivia* trivia, std::string& out) {
  GraphPrinter(module, graph, trivia, out).PrintAll();
}

void AddItemLines(const Graph& graph, std::set<uint32_t>& lines) {
  lines.insert({graph.location.line, graph.close_line, graph.return_location.line});
  for (const Constant& constant : graph.constants) lines.insert(constant.location.line);
  for (const Require& require : graph.requires_) lines.insert(require.location.line);
  for (const GraphNode& node : graph.nodes) {
    if (graph.HasName(node.first_result)) lines.insert(node.location.line);
  }
}

}  // namespace tarsia

// Reads a graph. Grammar: docs/graphs.md. Internal to isa/.
#ifndef TARSIA_ISA_TEXT_GRAPH_PARSER_H_
#define TARSIA_ISA_TEXT_GRAPH_PARSER_H_

#include <string_view>
#include <unordered_map>
#include <vector>

#include "isa/graph/graph.h"
#include "isa/module.h"
#include "isa/text/header_parser.h"
#include "isa/text/token_reader.h"
#include "layout/text/expr_parser.h"

namespace tarsia {

// Functions return false, or a none expression, after reporting an error.
class GraphParser {
 public:
  GraphParser(TokenReader* tokens, Module* module)
      : tokens_(*tokens),
        lexer_(tokens->lexer()),
        diagnostics_(tokens->diagnostics()),
        module_(*module),
        expressions_(lexer_, module->pool, nullptr, diagnostics_),
        header_(tokens, module, &expressions_) {}

  // Reads from the name on and adds the graph to the module. False if there is no body; the lexer
  // is then where the error is.
  bool Parse();

 private:
  struct Name {
    std::string_view text;
    Location location;
  };
  // An operation under construction.
  struct Pending {
    GraphNode node;
    std::vector<AxisExpr> axes;
    std::vector<ExprId> operands;
    std::vector<Location> operand_locations;
    void Add(ExprId operand, Location location) {
      operands.push_back(operand);
      operand_locations.push_back(location);
    }
  };

  // ---- header
  bool ParseName();
  bool ParseInputs();
  bool ParseInput();
  bool ParseOutputTypes();
  void ParseClauses();
  bool ParseClause();
  // A type and its axes: `f32[i:n, d]`, or `f32` alone.
  bool ParseType(ExprId& dtype, IndexRange& axes);
  void ReportAxisName(std::string_view name);
  // An axis with the extent that it may have; `sum`: where `>` closes.
  bool ParseAxis(bool sum, std::vector<AxisExpr>& out);

  // ---- body
  void ParseBody();
  bool ParseStatement();
  bool ParseResults();
  bool ParseReturn();
  // Takes the `)` that closes what was opened there.
  bool Close(Location open);
  // Behind an error at the current token: how to write what is meant there; and the next statement.
  void HelpWithToken();
  void Recover();
  // Names the results of the statement's last operation.
  bool Finish(ExprId root, Location begin);
  void DefineResults();
  uint32_t Define(const Name& name, uint32_t value);

  // ---- expressions
  ExprId ParseBinary(int precedence);
  ExprId ParseBinaryRest(ExprId left, Location begin, int precedence);
  ExprId ParseUnary();
  ExprId ParsePrimary();
  ExprId ParseParentheses();
  ExprId ParseName(bool head);
  ExprId ParseOperation(GraphOp op, Location location, bool head);
  bool ParseAngle(const GraphRow& row, Pending& pending);
  bool ParseOperands(const GraphRow& row, bool head, Pending& pending);
  bool ParseOperand(const GraphRow& row, size_t i, Pending& pending);
  bool ParseOption(const GraphRow& row, Pending& pending);
  ExprId ResolveValue();
  ExprId MakeBinary(BinaryOp op, ExprId a, ExprId b, Location a_at, Location b_at, Location all);
  ExprId MakeUnary(UnaryOp op, ExprId a, Location a_at, Location all);
  ExprId Emit(Pending& pending);
  // Whether the operand can be one: it is no operation of several results.
  bool CheckOperand(ExprId operand, Location location);
  void ReportUnknown(std::string_view word, Location location);
  [[nodiscard]] bool IsConstant(std::string_view name) const;
  ExprId TooDeep();

  TokenReader& tokens_;
  Lexer& lexer_;
  Diagnostics& diagnostics_;
  Module& module_;
  ExprParser expressions_;
  HeaderParser header_;
  Graph graph_;
  std::unordered_map<std::string_view, uint32_t> values_;  // by name
  std::vector<Location> definitions_;                      // by value
  std::vector<uint16_t> depths_;  // by value: levels of operations within its statement
  std::vector<Name> results_;
  int depth_ = 0;      // of brackets and prefixes that are open
  bool head_ = false;  // at the beginning of a statement's expression
};

}  // namespace tarsia

#endif  // TARSIA_ISA_TEXT_GRAPH_PARSER_H_

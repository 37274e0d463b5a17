// The graphs of bytecode. Internal to isa/bytecode.
//
// Accepts only what text can express, as KernelReader does.
#ifndef TARSIA_ISA_BYTECODE_GRAPH_READER_H_
#define TARSIA_ISA_BYTECODE_GRAPH_READER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "isa/bytecode/cursor.h"
#include "isa/bytecode/expr_reader.h"
#include "isa/bytecode/header_reader.h"
#include "isa/module.h"
#include "isa/version.h"

namespace tarsia::bytecode {

// Reads from a cursor into a module whose strings, types and kernels have been read. Every function
// returns false after an error, like the cursor's.
class GraphReader {
 public:
  GraphReader(Cursor* in, Module* module, ExprReader* exprs)
      : in_(*in), module_(*module), exprs_(*exprs), header_(in, module, exprs) {}

  bool Read();
  // The oldest version that can express what was read.
  [[nodiscard]] BytecodeVersion lowest() const { return lowest_; }

 private:
  bool ReadGraph();
  bool ReadInputs();
  bool ReadOutputTypes();
  bool ReadBody();
  bool ReadStatement();
  bool ReadOutputs();
  // Reads the axes of a type, or `count` of an operation, to the end of Graph::axes.
  bool ReadAxes(uint32_t count, std::vector<AxisExpr>& out);
  bool ReadAxesOfType(IndexRange& out);
  // `depth`: levels of operations in the statement above it.
  bool ReadOperation(int depth);
  bool ReadAxesOf(const GraphRow& row, GraphNode& node, std::vector<AxisExpr>& axes);
  bool ReadOperand(const GraphRow& row, int depth, ExprId& out);
  bool CheckOperands(const GraphRow& row, const std::vector<ExprId>& operands);
  bool NewName(uint32_t value);
  bool Value(uint32_t number, uint32_t& out);
  bool Repeated(std::string_view thing, StringId name);
  [[nodiscard]] Location Here() const { return Location::AtByte(in_.offset()); }

  Cursor& in_;
  Module& module_;
  ExprReader& exprs_;
  HeaderReader header_;
  BytecodeVersion lowest_{0, 1};
  Graph* graph_ = nullptr;
  std::vector<uint8_t> names_of_module_;  // by string: a kernel or a graph has it
  std::vector<uint8_t> bound_;            // by string: a value of the graph has it
  std::vector<uint32_t> named_;           // the values with names
};

}  // namespace tarsia::bytecode

#endif  // TARSIA_ISA_BYTECODE_GRAPH_READER_H_

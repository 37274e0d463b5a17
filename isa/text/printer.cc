#include "isa/text/printer.h"

#include <algorithm>
#include <set>
#include <vector>

#include "isa/text/graph_printer.h"
#include "isa/text/parser.h"
#include "isa/text/text_writer.h"

namespace tarsia {
namespace {

class Printer : private TextWriter {
 public:
  Printer(const Module& module, Trivia* trivia, std::string& out)
      : TextWriter(module, trivia, out) {}

  void PrintModule() {
    bool first = true;
    for (const Part& part : Parts()) {
      if (!first) out_ += '\n';
      first = false;
      if (part.graph != nullptr) {
        PrintGraph(module_, *part.graph, trivia_, out_);
      } else {
        SetKernel(*part.kernel);
        PrintKernel(*part.kernel);
      }
    }
    if (trivia_ != nullptr) trivia_->TakeLeading(UINT32_MAX, 0, first, out_);
  }

  void SetKernel(const Kernel& kernel) { names_ = &kernel; }

  void PrintHead(const Kernel& kernel, const Inst& inst) {
    const InstRow& row = Row(inst.opcode);
    if (inst.opcode == Opcode::kFor) return PrintForHead(kernel, inst);
    bool first = true;
    for (const ExprId result : kernel.Results(inst)) {
      if (!first) out_ += ", ";
      first = false;
      Expr(result);
    }
    if (!first) out_ += " = ";
    out_ += row.mnemonic;
    const auto slots = kernel.Slots(inst);
    size_t slot = 0;
    for (size_t i = 0; i < row.operands.size() && slot < slots.size(); ++i) {
      out_ += i == 0 ? " " : ", ";
      Expr(slots[slot++]);
      if (row.operands[i].kind == OperandKind::kElement && slot < slots.size()) {
        Expr(slots[slot++]);
      }
    }
    PrintAttributes(kernel, inst, row);
    if (inst.type != kNoTypeId) {
      out_ += " : ";
      PrintAnnotation(module_.type(inst.type));
    }
  }

  // A blank separates a part from the one before it.
  void PrintAnnotation(const TypeExpr& type) {
    if (type.space != Space::kNone) {
      out_ += SpaceName(type.space);
      out_ += '<';
      Sum(type.dtype);
      out_ += '>';
    } else if (!type.dtype.none()) {
      Sum(type.dtype);
      if (!type.shape.none()) out_ += ' ';
    }
    Expr(type.shape);
    if (!type.layout.none()) {
      out_ += ' ';
      Expr(type.layout);
    }
    if (!type.bits.none()) {
      out_ += " bits ";
      Expr(type.bits);
    }
  }

 private:
  // One of the two is not null.
  struct Part {
    const Kernel* kernel;
    const Graph* graph;
    uint32_t line;
  };

  // The kernels, then the graphs; the formatter keeps the order of the text.
  [[nodiscard]] std::vector<Part> Parts() const {
    std::vector<Part> parts;
    for (const Kernel& kernel : module_.kernels) {
      parts.push_back({&kernel, nullptr, kernel.location.line});
    }
    for (const Graph& graph : module_.graphs) {
      parts.push_back({nullptr, &graph, graph.location.line});
    }
    if (trivia_ != nullptr) {
      std::stable_sort(parts.begin(), parts.end(),
                       [](const Part& a, const Part& b) { return a.line < b.line; });
    }
    return parts;
  }

  void PrintKernel(const Kernel& kernel) {
    const uint32_t line = kernel.location.line;
    // Two kernels are always separated by one blank line, which is already written.
    if (trivia_ != nullptr) trivia_->TakeLeading(line, 0, true, out_);
    out_ += "kernel ";
    out_ += Text(kernel.name);
    out_ += '(';
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += '%';
      out_ += kernel.ValueName(static_cast<uint32_t>(i));
      out_ += ": ";
      const Parameter& param = kernel.params[i];
      if (param.is_pointer) out_ += "ptr<";
      Sum(param.dtype);
      if (param.is_pointer) out_ += '>';
    }
    out_ += ')';
    End(line);
    PrintClauses(kernel);
    Begin(0, 0, true);
    out_ += "{\n";
    PrintBlock(kernel, 0, kernel.code.size(), 2);
    if (trivia_ != nullptr) trivia_->TakeLeading(kernel.close_line, 2, true, out_);
    out_ += '}';
    End(kernel.close_line);
  }

  void PrintClauses(const Kernel& kernel) {
    PrintConstants(kernel.constants);
    PrintRequires(kernel.requires_);
    for (const Assume& assume : kernel.assumes) {
      Begin(assume.location.line, 2, true);
      out_ += "assume ";
      Expr(assume.condition);
      if (!assume.alignment.none()) {
        out_ += " align ";
        Expr(assume.alignment);
      }
      End(assume.location.line);
    }
    PrintGrid(kernel);
  }

  void PrintClause(std::string_view keyword, ExprId value, uint32_t line) {
    if (value.none()) return;
    Begin(line, 2, true);
    out_ += keyword;
    Expr(value);
    End(line);
  }

  void PrintGrid(const Kernel& kernel) {
    if (!kernel.grid[0].none()) {
      Begin(kernel.grid_location.line, 2, true);
      out_ += "grid (";
      for (size_t i = 0; i < 3 && !kernel.grid[i].none(); ++i) {
        if (i > 0) out_ += ", ";
        Expr(kernel.grid[i]);
      }
      out_ += ')';
      End(kernel.grid_location.line);
    }
    PrintClause("warps ", kernel.warps, kernel.warps_location.line);
    PrintClause("registers ", kernel.registers, kernel.registers_location.line);
    if (kernel.fast) out_ += "  fast\n";
  }

  void PrintBlock(const Kernel& kernel, size_t begin, size_t end, int indent) {
    bool first = true;
    for (size_t i = begin; i < end;) {
      const Inst& inst = kernel.code[i];
      const uint32_t line = kernel.LocationOf(inst).line;
      Begin(line, indent, first);
      first = false;
      PrintHead(kernel, inst);
      if (!Row(inst.opcode).Has(kOpensBlock)) {
        End(line);
        i = inst.end;
        continue;
      }
      out_ += " {";
      End(line);
      PrintBlock(kernel, i + 1, inst.else_begin, indent + 2);
      if (inst.else_begin != inst.end) {
        const uint32_t else_line = LineOf(kernel.else_lines, i);
        Close(else_line, indent);
        out_ += "} else {";
        End(else_line);
        PrintBlock(kernel, inst.else_begin, inst.end, indent + 2);
      }
      const uint32_t close = LineOf(kernel.close_lines, i);
      Close(close, indent);
      out_ += '}';
      End(close);
      i = inst.end;
    }
  }

  static uint32_t LineOf(const std::vector<uint32_t>& lines, size_t i) {
    return i < lines.size() ? lines[i] : 0;
  }

  // Comments at the end of a block are inside of it.
  void Close(uint32_t line, int indent) {
    if (trivia_ != nullptr) trivia_->TakeLeading(line, indent + 2, true, out_);
    out_.append(static_cast<size_t>(indent), ' ');
  }

  void PrintForHead(const Kernel& kernel, const Inst& inst) {
    out_ += "for ";
    Expr(kernel.Results(inst)[0]);
    if (inst.type != kNoTypeId) {
      out_ += ": ";
      PrintAnnotation(module_.type(inst.type));
    }
    const auto slots = kernel.Slots(inst);
    out_ += " = ";
    Expr(slots[0]);
    out_ += " to ";
    Expr(slots[1]);
    if (slots[2] != ExprId::Small(1)) {
      out_ += " step ";
      Expr(slots[2]);
    }
    PrintAttributes(kernel, inst, Row(inst.opcode));
  }

  void PrintAttributes(const Kernel& kernel, const Inst& inst, const InstRow& row) {
    for (size_t i = 0; i < row.attrs.size(); ++i) {
      if ((inst.attrs >> i & 1) == 0) continue;
      const AttrRow& attr = Row(row.attrs[i]);
      out_ += ' ';
      out_ += attr.text;
      const ExprId value = kernel.AttrOf(inst, attr.attr);
      switch (attr.kind) {
        case AttrKind::kFlag:
          break;
        case AttrKind::kInt:
          out_ += ' ';
          Sum(value);
          break;
        case AttrKind::kIntList:
          out_ += ' ';
          Expr(value);
          break;
        case AttrKind::kRounding:
        case AttrKind::kCache:
        case AttrKind::kVia: {
          const auto words = AttrWords(attr.kind);
          const auto index = static_cast<size_t>(module_.pool.AsInt(value).value_or(0));
          out_ += ' ';
          out_ += words[std::min(index, words.size() - 1)];
          break;
        }
      }
    }
  }
};

// The lines on which the printer starts an item.
std::set<uint32_t> ItemLines(const Module& module) {
  std::set<uint32_t> lines;
  for (const Kernel& kernel : module.kernels) {
    lines.insert({kernel.location.line, kernel.close_line});
    for (const Constant& c : kernel.constants) lines.insert(c.location.line);
    for (const Require& r : kernel.requires_) lines.insert(r.location.line);
    for (const Assume& a : kernel.assumes) lines.insert(a.location.line);
    if (!kernel.grid[0].none()) lines.insert(kernel.grid_location.line);
    if (!kernel.warps.none()) lines.insert(kernel.warps_location.line);
    if (!kernel.registers.none()) lines.insert(kernel.registers_location.line);
    for (const Location& location : kernel.locations) lines.insert(location.line);
    lines.insert(kernel.close_lines.begin(), kernel.close_lines.end());
    lines.insert(kernel.else_lines.begin(), kernel.else_lines.end());
  }
  for (const Graph& graph : module.graphs) AddItemLines(graph, lines);
  lines.erase(0);
  return lines;
}

}  // namespace

std::string Print(const Module& module) {
  std::string out;
  Printer(module, nullptr, out).PrintModule();
  return out;
}

std::optional<std::string> Format(const SourceFile& source, Diagnostics& diagnostics) {
  std::vector<Comment> comments;
  const std::optional<Module> module = Parse(source, diagnostics, &comments);
  if (!module) return std::nullopt;
  Trivia trivia(source.text(), comments, ItemLines(*module));
  std::string out;
  Printer(*module, &trivia, out).PrintModule();
  return out;
}

std::string PrintInst(const Module& module, const Kernel& kernel, const Inst& inst) {
  std::string out;
  Printer printer(module, nullptr, out);
  printer.SetKernel(kernel);
  printer.PrintHead(kernel, inst);
  return out;
}

}  // namespace tarsia

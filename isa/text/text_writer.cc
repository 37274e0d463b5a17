#include "isa/text/text_writer.h"

namespace tarsia {

void TextWriter::Sum(ExprId id) {
  const bool weak = (module_.pool.kind(id) == ExprKind::kBinary &&
                     Precedence(static_cast<BinaryOp>(module_.pool.node(id).code)) <
                         Precedence(BinaryOp::kAdd)) ||
                    (module_.pool.kind(id) == ExprKind::kUnary &&
                     static_cast<UnaryOp>(module_.pool.node(id).code) == UnaryOp::kNot);
  if (weak) out_ += '(';
  Expr(id);
  if (weak) out_ += ')';
}

void TextWriter::Begin(uint32_t line, int indent, bool first) {
  if (trivia_ != nullptr) trivia_->TakeLeading(line, indent, first, out_);
  out_.append(static_cast<size_t>(indent), ' ');
}

void TextWriter::End(uint32_t line) {
  if (trivia_ != nullptr) out_ += trivia_->TakeTrailing(line);
  out_ += '\n';
}

void TextWriter::PrintConstants(const std::vector<Constant>& constants) {
  for (size_t i = 0; i < constants.size(); ++i) {
    const uint32_t line = constants[i].location.line;
    Begin(line, 2, true);
    out_ += "const ";
    PrintConstant(constants[i]);
    while (trivia_ != nullptr && i + 1 < constants.size() &&
           constants[i + 1].location.line == line) {
      out_ += ", ";
      PrintConstant(constants[++i]);
    }
    End(line);
  }
}

void TextWriter::PrintConstant(const Constant& constant) {
  out_ += Text(constant.name);
  out_ += ": ";
  out_ += kConstKindNames[static_cast<size_t>(constant.kind)];
  if (!constant.default_value.none()) {
    out_ += " = ";
    Expr(constant.default_value);
  }
  if (constant.candidates.none()) return;
  out_ += " tune {";
  bool first = true;
  for (const ExprId item : module_.pool.children(constant.candidates)) {
    if (!first) out_ += ", ";
    first = false;
    Expr(item);
  }
  out_ += '}';
}

void TextWriter::PrintRequires(const std::vector<Require>& requirements) {
  for (const Require& require : requirements) {
    Begin(require.location.line, 2, true);
    out_ += "require ";
    Expr(require.condition);
    if (!Text(require.message).empty()) out_ += ", " + Quote(Text(require.message));
    End(require.location.line);
  }
}

}  // namespace tarsia

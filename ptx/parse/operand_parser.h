// Parses the operands of an instruction, by the shapes of its row.
#ifndef TARSIA_PTX_PARSE_OPERAND_PARSER_H_
#define TARSIA_PTX_PARSE_OPERAND_PARSER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ptx/parse/call_parser.h"
#include "ptx/parse/parser_part.h"
#include "ptx/table/table.h"

namespace tarsia::ptx {

class OperandParser : ParserPart {
 public:
  // Both outlive this.
  OperandParser(ParserState* state, CallParser* calls) : ParserPart(state), calls_(*calls) {}

  // `@%p`, if it is there.
  bool ParseGuard(Inst* inst);
  bool ParseOperands(const Row& row, Inst* inst);
  // How many operands there are up to the semicolon. `first`: none has been taken.
  [[nodiscard]] int OperandsLeft(bool first) const;

 private:
  bool ParseShape(const Row& row, const OperandShape& shape, Inst* inst);
  bool ParseLabel();
  bool ParseBrx(Inst* inst);
  [[nodiscard]] int ListLength() const;
  bool ParseVector(const Row& row, const OperandShape& shape, Type type, int bytes, Inst* inst);
  std::optional<Operand> ParseOperand(const OperandShape& shape, Type type, int bytes);
  bool ParseParts(const Row& row, Operand* operand);
  std::optional<Operand> ParseNumber(Type type, int bytes);
  std::optional<Operand> ParseNamed(const OperandShape& shape, int bytes);
  // A name with what follows its dot, where that is part of it: %tid.x.
  std::optional<std::string> ParseDottedName(const OperandShape& shape);
  std::optional<Operand> SymbolOperand(const Symbol& symbol, std::string_view name,
                                       Location location, int bytes, int64_t addend);
  std::optional<Operand> ParseAddress(const Inst& inst);
  std::optional<Operand> ParseAddressTerm(const Inst& inst);  // what is in the brackets
  bool ParseBox(Inst* inst);

  CallParser& calls_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_OPERAND_PARSER_H_

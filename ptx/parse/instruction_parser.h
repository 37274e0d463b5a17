// Parses instructions: finds the row of the table that a mnemonic and its modifiers fit, and binds
// the handler.
#ifndef TARSIA_PTX_PARSE_INSTRUCTION_PARSER_H_
#define TARSIA_PTX_PARSE_INSTRUCTION_PARSER_H_

#include <string>
#include <string_view>
#include <vector>

#include "ptx/parse/operand_parser.h"
#include "ptx/parse/parser_part.h"
#include "ptx/table/since.h"
#include "ptx/table/table.h"

namespace tarsia::ptx {

class InstructionParser : ParserPart {
 public:
  // Both outlive this.
  InstructionParser(ParserState* state, CallParser* calls)
      : ParserPart(state), operands_(state, calls) {}

  // Adds the instruction to the function. False, with an error, if it is wrong.
  bool Parse();

 private:
  bool ParseModifiers(Inst* inst, const Row** row, std::string_view mnemonic);
  const Row* FindRow(std::string_view mnemonic, const std::vector<std::string_view>& words);
  void ReportModifiers(std::string_view mnemonic, const std::vector<std::string_view>& words,
                       const std::vector<Location>& places);
  void CheckSince(const Since& since, const std::string& what, Location location);
  void Finish(const Row& row, Inst inst);

  OperandParser operands_;
};

// In a function with wgmma, makes the other instructions check the registers that they use.
void CheckWgmmaRegisters(Function* function);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_INSTRUCTION_PARSER_H_

// Parses calls, and what calls and indirect branches refer to: prototypes and tables of targets.
#ifndef TARSIA_PTX_PARSE_CALL_PARSER_H_
#define TARSIA_PTX_PARSE_CALL_PARSER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ptx/parse/declaration_parser.h"
#include "ptx/parse/parser_part.h"

namespace tarsia::ptx {

class CallParser : ParserPart {
 public:
  explicit CallParser(ParserState* state) : ParserPart(state), declarations_(state) {}

  // A function begins: forgets the labels of the last one.
  void Begin();
  // These follow a label.
  bool ParseBranchTargets(const std::string& name);
  bool ParsePrototype(const std::string& name);
  bool ParseCallTargets(const std::string& name);
  // The operands of a call, and the name of the table of a brx.idx.
  bool ParseCall(Inst* inst);
  bool ParseBranchTable(Inst* inst);

 private:
  // What `.callprototype` or `.calltargets` says of a call through a register.
  struct Prototype {
    size_t params = 0;
    size_t results = 0;
    std::vector<uint32_t> targets;
    bool broken = false;  // which has been reported
  };
  bool ParsePrototypeList(size_t* count);
  bool ParseArguments(bool indirect, CallSite* site, ParsedCall* call);
  bool ParseCallParams(std::vector<uint64_t>* offsets, std::vector<uint64_t>* bytes);
  bool ParsePrototypeName(CallSite* site);

  DeclarationParser declarations_;
  std::map<std::string, uint32_t, std::less<>> branch_tables_;
  std::map<std::string, Prototype, std::less<>> prototypes_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_CALL_PARSER_H_

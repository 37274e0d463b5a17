// The parser of PTX, in two files: parser.cc reads what stands at the level of the module and
// declarations, parser_body.cc instructions and their operands. The inside of module.h.
#ifndef TARSIA_PTX_PARSE_PARSER_H_
#define TARSIA_PTX_PARSE_PARSER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/parse/function_builder.h"
#include "ptx/parse/lexer.h"
#include "ptx/parse/module.h"
#include "ptx/table/diagnostics.h"
#include "ptx/table/table.h"

namespace tarsia::ptx {

class Parser {
 public:
  explicit Parser(const SourceFile& source);
  // The module with its errors, and all of them (of each function the first) in `diagnostics`.
  // Null if it has no header, of which `diagnostics` then speaks alone.
  std::shared_ptr<Module> ParseModule(Diagnostics* diagnostics);

 private:
  // What `.align 8 .b8 name[16]` says.
  struct Declarator {
    std::string name;
    Location location;
    Type type = Type::kNone;
    uint64_t align = 1;
    uint64_t elements = 1;
    bool unsized = false;  // name[]
    int vector = 1;        // .v2, .v4
    [[nodiscard]] uint64_t bytes() const {
      return elements * static_cast<uint64_t>(vector) * static_cast<uint64_t>(BytesOf(type));
    }
  };
  struct Linkage {
    bool external = false;
  };

  // ---- tokens (parser.cc) ------------------------------------------------------------------
  bool Expected(std::string_view what);
  bool Take(char punctuation);    // takes it if it is there
  bool Expect(char punctuation);  // an error if it is not
  std::optional<uint64_t> ParseCount();
  std::optional<std::string> ParseName();
  void SkipToSemicolon();
  void SkipBraces();
  void SkipToDirective();
  void SkipToKnownDirective();

  // ---- the module (parser.cc) --------------------------------------------------------------
  // The errors since the last call.
  std::vector<Diagnostic> TakeErrors();
  bool ParseHeader();
  void ParseFile();
  void ParseLoc();
  bool ParsePlace(uint32_t line, SourceLines::Place* place);
  void ParseDirective();
  void ParseFunction(bool entry);
  bool ParseSignature(Function* function);
  void AddFunction(Function function);
  bool ParseFunctionParams(Function* function, std::vector<Param>* params, bool entry);
  bool ParseBounds(Function* function);
  bool ParseDimensions(std::array<uint32_t, 3>* dimensions);
  void ParseVariable(Space space, const Linkage& linkage);
  std::optional<Declarator> ParseDeclarator(bool param);
  bool ParseSuffix(Declarator* declarator);
  bool ParseInitialiser(const Declarator& declarator, Variable* variable);
  bool ParseInitialValues(const Declarator& declarator, Variable* variable, uint64_t* at);
  bool ParseInitialValue(const Declarator& declarator, Variable* variable, uint64_t at);
  uint32_t FunctionNumber(const std::string& name);
  uint32_t AddVariable(Variable variable);
  void ParseAlias();
  struct Call;
  void CheckCalls();
  void CheckCall(const Call& call);

  // ---- a body (parser_body.cc) -------------------------------------------------------------
  void ParseBody(Function* function);
  void ParseStatement();
  void SkipBody();
  void ParseBodyDirective();
  void ParseRegisters();
  void SkipRegisters();
  void ParseLocalVariable(Space space);
  void ParseLabelOrInstruction();
  bool ParseLabelLine(const std::string& name, Location location);
  bool ParseInstruction();
  bool ParseModifiers(Inst* inst, const Row** row, std::string_view mnemonic);
  const Row* FindRow(std::string_view mnemonic, const std::vector<std::string_view>& words);
  void ReportModifiers(std::string_view mnemonic, const std::vector<std::string_view>& words,
                       const std::vector<Location>& places);
  void CheckSince(const Since& since, const std::string& what, Location location);
  bool ParseOperands(const Row& row, Inst* inst);
  [[nodiscard]] int OperandsLeft(bool first) const;
  bool ParseShape(const Row& row, const OperandShape& shape, Inst* inst);
  [[nodiscard]] int ListLength() const;
  bool ParseVector(const Row& row, const OperandShape& shape, Type type, int bytes, Inst* inst);
  std::optional<Operand> ParseOperand(const OperandShape& shape, Type type, int bytes);
  bool ParseParts(const Row& row, Operand* operand);
  std::optional<Operand> ParseNumber(Type type, int bytes);
  std::optional<Operand> ParseNamed(const OperandShape& shape, int bytes);
  std::optional<Operand> SymbolOperand(const Symbol& symbol, std::string_view name,
                                       Location location, int bytes, int64_t addend);
  std::optional<Operand> ParseAddress(const Inst& inst);
  std::optional<Operand> ParseAddressTerm(const Inst& inst);  // what stands in the brackets
  bool ParseBox(Inst* inst);
  std::optional<int64_t> ParseAddend();
  bool ParseGuard(Inst* inst);
  bool ParseCall(Inst* inst);
  bool ParseCallParams(std::vector<uint64_t>* offsets, std::vector<uint64_t>* bytes);
  bool ParsePrototypeName(CallSite* site);
  bool ParseBrx(Inst* inst);
  bool ParseBranchTargets(const std::string& name);
  bool ParsePrototype(const std::string& name);
  bool ParsePrototypeList(size_t* count);
  bool ParseCallTargets(const std::string& name);
  void FinishInstruction(const Row& row, Inst inst);
  std::optional<Symbol> FindSymbol(std::string_view name);
  std::optional<Symbol> NamedSymbol(std::string_view name, Location location);

  const SourceFile& source_;
  Diagnostics diagnostics_;  // since the last TakeErrors
  Diagnostics all_;
  Lexer lexer_;
  std::shared_ptr<Module> module_;
  std::map<std::string, Symbol, std::less<>> names_;  // at the level of the module
  std::unique_ptr<FunctionBuilder> builder_;
  std::map<std::string, uint32_t, std::less<>> branch_tables_;
  // What `.callprototype` or `.calltargets` says of a call through a register.
  struct Prototype {
    size_t params = 0;
    size_t results = 0;
    std::vector<uint32_t> targets;
    bool broken = false;  // which has been said
  };
  std::map<std::string, Prototype, std::less<>> prototypes_;
  uint32_t depth_ = 0;       // of scopes
  int statement_depth_ = 0;  // of braces, where the statement or directive begins
  PtxVersion version_;
  std::vector<Target> targets_;  // one in what compilers write
  uint32_t loc_ = 0;             // of .loc, in Module::lines
  struct Call {
    uint32_t caller = 0;
    uint32_t site = 0;
    Location location;
    std::vector<uint64_t> argument_bytes;
    std::vector<uint64_t> result_bytes;
  };
  std::vector<Call> calls_;
  std::map<uint32_t, uint32_t> aliases_;  // of functions, by number
};

// Where the ways of each branch meet again (flow.cc).
void FindJoins(Function* function);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_PARSER_H_

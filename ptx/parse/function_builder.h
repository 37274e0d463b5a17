// Grows a function while it is parsed: registers and constants get their places in the banks,
// labels their instructions.
#ifndef TARSIA_PTX_PARSE_FUNCTION_BUILDER_H_
#define TARSIA_PTX_PARSE_FUNCTION_BUILDER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ptx/table/code.h"

namespace tarsia::ptx {

// What a name stands for.
struct Symbol {
  // kBroken: its declaration is wrong or lacking, which has been reported.
  enum class Kind : uint8_t { kRegister, kVariable, kLocal, kEntryParam, kFunction, kBroken };
  Kind kind = Kind::kRegister;
  Operand reg;          // kRegister
  uint32_t number = 0;  // kVariable, kFunction: which
  uint64_t offset = 0;  // kLocal: in the frame; kEntryParam: in the parameter block
  uint64_t bytes = 0;   // kLocal, kEntryParam
};

class FunctionBuilder {
 public:
  static constexpr uint64_t kMaxBankBytes = uint64_t{1} << 24;
  static constexpr uint64_t kMaxLocalBytes = uint64_t{1} << 20;

  explicit FunctionBuilder(Function* function) : function_(function) { PushScope(); }

  void PushScope();
  void PopScope();

  // False if the name is taken in this scope.
  bool Declare(std::string_view name, const Symbol& symbol);
  // A name that means nothing, in the outermost scope: its uses are no further errors.
  void DeclareBroken(std::string_view name);
  void DeclareBrokenRange(std::string_view prefix, uint64_t count);
  // %r<n>: %r0 to %r(n-1), each made when it is first used.
  void DeclareRange(std::string_view prefix, uint64_t count, uint8_t bytes);
  std::optional<Symbol> Find(std::string_view name);

  // False if the name is taken in this scope.
  bool DeclareLabel(std::string_view name);
  // Notes that an instruction branches to a label, which may stand further down.
  void UseLabel(std::string_view name, Location location, uint32_t inst);
  // The same for an entry of a table of brx.idx.
  void UseLabelInTable(std::string_view name, Location location, uint32_t table, uint32_t index);

  Operand NewRegister(uint8_t bytes);
  Operand ConstantOperand(const Constant& constant);
  Operand SpecialOperand(Special special);
  // The address within the local space of a byte of the frame.
  Operand LocalAddress(uint64_t offset, uint8_t bytes);
  // A new variable in the frame.
  uint64_t AddLocal(uint64_t bytes, uint64_t align);

  // Finds all labels that were used; the first that does not exist is given back.
  std::optional<std::pair<std::string, Location>> ResolveLabels();

  [[nodiscard]] Function& function() { return *function_; }
  // Whether the banks or the frame have grown beyond what is supported.
  [[nodiscard]] bool TooLarge() const;

 private:
  struct Range {
    std::string prefix;
    uint64_t count = 0;
    uint8_t bytes = 0;
    bool broken = false;
  };
  struct Scope {
    uint32_t parent = 0;
    std::map<std::string, Symbol, std::less<>> names;
    std::map<std::string, uint32_t, std::less<>> labels;
    std::vector<Range> ranges;
  };
  struct LabelUse {
    std::string name;
    Location location;
    uint32_t scope = 0;
    bool in_table = false;
    uint32_t inst_or_table = 0;
    uint32_t index = 0;
  };
  std::optional<Symbol> FindInRange(Scope& scope, std::string_view name);

  Function* function_;
  std::vector<Scope> scopes_;
  uint32_t current_ = 0;
  std::vector<LabelUse> uses_;
  std::map<std::tuple<uint8_t, uint64_t, int32_t, bool>, Operand> constants_;
  std::map<std::pair<Special, uint8_t>, Operand> specials_;
  std::map<std::pair<uint64_t, uint8_t>, Operand> local_addresses_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_FUNCTION_BUILDER_H_

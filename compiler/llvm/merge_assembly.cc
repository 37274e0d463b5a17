#include "compiler/llvm/merge_assembly.h"

#include <fmt/format.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tarsia::compiler {
namespace {

// Statements that become one, at most: some steps of code generation take the square of the number
// of operands.
constexpr size_t kMostTogether = 1024;

// The letters of NVPTX's register classes in constraints (NVPTXTargetLowering), with the type of
// such a register and the name of those that belong to a merged statement.
struct RegisterClass {
  char letter;
  const char* type;
  const char* name;
};
constexpr std::array<RegisterClass, 6> kClasses = {{{'b', ".pred", "%mp"},
                                                    {'h', ".b16", "%mh"},
                                                    {'r', ".b32", "%mr"},
                                                    {'l', ".b64", "%ml"},
                                                    {'f', ".f32", "%mf"},
                                                    {'d', ".f64", "%md"}}};

std::optional<size_t> ClassOf(llvm::StringRef letter) {
  if (letter.size() != 1) return std::nullopt;
  for (size_t i = 0; i < kClasses.size(); ++i) {
    if (kClasses[i].letter == letter[0]) return i;
  }
  return std::nullopt;
}

// A statement of assembly taken apart: its operands, first the results, each with its class; and
// its text, of which each piece ends at an operand.
struct Statement {
  struct Piece {
    llvm::StringRef text;
    size_t operand;
  };
  size_t results = 0;
  std::vector<size_t> classes;
  bool clobbers_memory = false;
  std::vector<Piece> pieces;
  llvm::StringRef tail;
  bool is_predicated = false;
};

// False for constraints that only LLVM understands.
bool ReadConstraints(llvm::StringRef constraints, Statement& statement) {
  if (constraints.empty()) return true;
  llvm::SmallVector<llvm::StringRef, 16> parts;
  constraints.split(parts, ',');
  for (llvm::StringRef part : parts) {
    if (part == "~{memory}") {
      statement.clobbers_memory = true;
      continue;
    }
    if (part.consume_front("=")) {
      (void)part.consume_front("&");
      ++statement.results;
    }
    const std::optional<size_t> kind = ClassOf(part);
    if (!kind) return false;
    statement.classes.push_back(*kind);
  }
  return true;
}

// False for text with more than `$N` and `$$` in it.
bool ReadText(llvm::StringRef text, Statement& statement) {
  size_t from = 0;
  size_t at = text.find('$');
  while (at != llvm::StringRef::npos) {
    if (text.substr(at + 1).starts_with("$")) {
      at = text.find('$', at + 2);
      continue;
    }
    size_t operand = 0;
    llvm::StringRef rest = text.substr(at + 1);
    if (rest.consumeInteger(10, operand) || operand >= statement.classes.size()) return false;
    statement.pieces.push_back({text.substr(from, at - from), operand});
    from = text.size() - rest.size();
    at = text.find('$', from);
  }
  statement.tail = text.substr(from);
  statement.is_predicated = text.starts_with("@");
  return true;
}

// Nothing if the statement has to stay as it is.
std::optional<Statement> TakeApart(const llvm::InlineAsm& assembly) {
  Statement out;
  if (assembly.canThrow() || assembly.isAlignStack() ||
      assembly.getDialect() != llvm::InlineAsm::AD_ATT ||
      !ReadConstraints(assembly.getConstraintString(), out) ||
      !ReadText(assembly.getAsmString(), out)) {
    return std::nullopt;
  }
  return out;
}

// Whether a statement does more than compute its results.
bool HasEffects(const llvm::CallInst& call) {
  return !call.doesNotAccessMemory() ||
         llvm::cast<llvm::InlineAsm>(call.getCalledOperand())->hasSideEffects();
}

// Whether an instruction takes one of the results of a statement.
bool TakesApart(const llvm::User* user) {
  const auto* const part = llvm::dyn_cast<llvm::ExtractValueInst>(user);
  return part != nullptr && part->getNumIndices() == 1;
}

// Statements that become one. Their results are registers: its own, or results of it if they are
// needed elsewhere.
class Group {
 public:
  explicit Group(const llvm::DIFile* file) : file_(file) {}

  [[nodiscard]] bool HasAccess() const { return has_access_; }
  [[nodiscard]] bool Has(const llvm::Instruction& value) const { return inside_.contains(&value); }

  // Whether an instruction needs a result.
  [[nodiscard]] bool Feeds(const llvm::Instruction& instruction) const {
    return llvm::any_of(instruction.operands(), [&](const llvm::Use& use) {
      const auto* const operand = llvm::dyn_cast<llvm::Instruction>(use.get());
      return operand != nullptr && inside_.contains(operand);
    });
  }

  // ptxas makes a branch around statements with a predicate that stand together.
  [[nodiscard]] bool CanTake(const llvm::CallInst& call, const Statement& statement) const {
    return members_.size() < kMostTogether && !(has_predicate_ && statement.is_predicated) &&
           !NeedsOldValueOf(call) && !NeedsOtherClass(call, statement);
  }

  // Takes a statement in, and what takes one result out of several, wherever it stands.
  void Add(llvm::CallInst& call, const Statement& statement) {
    members_.push_back({&call, &statement});
    inside_.insert(&call);
    for (const llvm::Use& argument : call.args()) {
      if (llvm::isa<llvm::PHINode>(argument)) handed_on_.insert(argument);
    }
    if (statement.results > 1) {
      for (llvm::User* user : call.users()) {
        auto* const part = llvm::cast<llvm::Instruction>(user);
        part->moveAfter(&call);
        inside_.insert(part);
      }
    }
    first_register_[&call] = registers_.size();
    for (size_t i = 0; i < statement.results; ++i) registers_.push_back({statement.classes[i]});
    has_access_ = has_access_ || HasEffects(call);
    clobbers_memory_ = clobbers_memory_ || statement.clobbers_memory;
    is_convergent_ = is_convergent_ || call.isConvergent();
    has_predicate_ = has_predicate_ || statement.is_predicated;
  }

  // Puts one statement where the last one stands, if there are several. True if so.
  bool Merge() {
    if (members_.size() < 2) return false;
    FindResults();
    line_ = members_.back().call->getDebugLoc().get();  // LLVM writes it before the statement
    std::string body;
    for (const Member& member : members_) AppendText(member, body);
    ReplaceBy(*Call(Declarations() + body + "}"));
    return true;
  }

 private:
  struct Member {
    llvm::CallInst* call;
    const Statement* statement;
  };
  struct Register {
    size_t kind;  // of kClasses
    bool is_result = false;
    size_t number = 0;  // among the results, or the registers of this class
  };

  // The number of the register of a result that stands inside; nothing for any other value.
  [[nodiscard]] std::optional<size_t> RegisterOf(const llvm::Value* value) const {
    size_t index = 0;
    if (const auto* const part = llvm::dyn_cast<llvm::ExtractValueInst>(value)) {
      index = part->getIndices()[0];
      value = part->getAggregateOperand();
    }
    const auto found = first_register_.find(value);
    if (found == first_register_.end()) return std::nullopt;
    return found->second + index;
  }

  // Whether an instruction makes what a loop hands on to its next turn, and the group needs what
  // the turn before has handed on: in one statement, the two would need a register each, and a
  // copy.
  [[nodiscard]] bool NeedsOldValueOf(const llvm::Instruction& instruction) const {
    return llvm::any_of(instruction.users(), [&](const llvm::User* user) {
      if (TakesApart(user)) return NeedsOldValueOf(*llvm::cast<llvm::Instruction>(user));
      return handed_on_.contains(user);
    });
  }

  // Whether a result is an argument as a register of another class, which LLVM would convert.
  [[nodiscard]] bool NeedsOtherClass(const llvm::CallInst& call, const Statement& statement) const {
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      const std::optional<size_t> reg = RegisterOf(call.getArgOperand(i));
      if (reg && registers_[*reg].kind != statement.classes[statement.results + i]) return true;
    }
    return false;
  }

  void NoteUses(const llvm::Instruction& value) {
    for (const llvm::User* user : value.users()) {
      if (!inside_.contains(llvm::cast<llvm::Instruction>(user)))
        registers_[*RegisterOf(&value)].is_result = true;
    }
  }

  void FindResults() {
    for (const Member& member : members_) {
      if (member.statement->results == 1) NoteUses(*member.call);
      if (member.statement->results < 2) continue;
      for (llvm::User* part : member.call->users()) NoteUses(*llvm::cast<llvm::Instruction>(part));
    }
    for (Register& reg : registers_) reg.number = reg.is_result ? results_++ : locals_[reg.kind]++;
  }

  void AppendOperand(const Member& member, size_t operand, std::string& text) {
    const size_t results = member.statement->results;
    std::optional<size_t> number;
    if (operand < results) {
      number = first_register_[member.call] + operand;
    } else {
      llvm::Value* const argument =
          member.call->getArgOperand(static_cast<unsigned>(operand - results));
      number = RegisterOf(argument);
      if (!number) {
        const auto key = std::make_pair(argument, member.statement->classes[operand]);
        const size_t place = arguments_.try_emplace(key, arguments_.size()).first->second;
        text += '$';
        text += std::to_string(results_ + place);
        return;
      }
    }
    const Register& reg = registers_[*number];
    text += reg.is_result ? "$" : kClasses[reg.kind].name;
    text += std::to_string(reg.number);
  }

  // A directive with the line, if it is another one than before.
  void AppendLine(const llvm::DebugLoc& line, std::string& text) {
    if (!line || line->getFile() != file_ || line.get() == line_) return;
    line_ = line.get();
    text += fmt::format(".loc\t1 {} {}\n\t", line_->getLine(), line_->getColumn());
  }

  void AppendText(const Member& member, std::string& text) {
    AppendLine(member.call->getDebugLoc(), text);
    for (const Statement::Piece& piece : member.statement->pieces) {
      text += piece.text;
      AppendOperand(member, piece.operand, text);
    }
    text += member.statement->tail;
    text += "\n\t";
  }

  [[nodiscard]] std::string Declarations() const {
    std::string out = "{\n\t";
    for (size_t i = 0; i < kClasses.size(); ++i) {
      if (locals_[i] > 0)
        out += fmt::format(".reg {} {}<{}>;\n\t", kClasses[i].type, kClasses[i].name, locals_[i]);
    }
    return out;
  }

  // The call of the statement that replaces all, where the last one stands.
  llvm::CallInst* Call(const std::string& text) {
    std::string constraints;
    llvm::SmallVector<llvm::Type*, 32> results;
    for (const Member& member : members_) {
      for (size_t i = 0; i < member.statement->results; ++i) {
        if (!registers_[first_register_[member.call] + i].is_result) continue;
        // Results are written while arguments are still to be read.
        constraints += constraints.empty() ? "=&" : ",=&";
        constraints += kClasses[member.statement->classes[i]].letter;
        results.push_back(
            member.statement->results == 1
                ? member.call->getType()
                : member.call->getType()->getStructElementType(static_cast<unsigned>(i)));
      }
    }
    llvm::SmallVector<llvm::Value*, 64> arguments(arguments_.size());
    llvm::SmallVector<llvm::Type*, 64> types(arguments_.size());
    std::string letters(arguments_.size(), ' ');
    for (const auto& [argument, number] : arguments_) {
      arguments[number] = argument.first;
      types[number] = argument.first->getType();
      letters[number] = kClasses[argument.second].letter;
    }
    for (const char letter : letters) {
      if (!constraints.empty()) constraints += ',';
      constraints += letter;
    }
    if (clobbers_memory_) constraints += constraints.empty() ? "~{memory}" : ",~{memory}";

    llvm::IRBuilder<> builder(members_.back().call);
    llvm::Type* result = builder.getVoidTy();
    if (results.size() == 1) result = results.front();
    if (results.size() > 1) result = llvm::StructType::get(builder.getContext(), results);
    auto* const type = llvm::FunctionType::get(result, types, /*isVarArg=*/false);
    llvm::CallInst* const call = builder.CreateCall(
        type, llvm::InlineAsm::get(type, text, constraints, has_access_), arguments);
    if (!has_access_) call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    call->addFnAttr(llvm::Attribute::WillReturn);
    if (is_convergent_) call->setConvergent();
    return call;
  }

  // Gives the results to those that need them, and removes all that stands inside.
  void ReplaceBy(llvm::CallInst& merged) {
    llvm::IRBuilder<> builder(merged.getNextNode());
    std::vector<llvm::Value*> results(results_, &merged);
    for (size_t i = 0; results_ > 1 && i < results_; ++i)
      results[i] = builder.CreateExtractValue(&merged, static_cast<unsigned>(i));
    const auto replace = [&](llvm::Instruction& value) {
      const Register& reg = registers_[*RegisterOf(&value)];
      if (reg.is_result) value.replaceAllUsesWith(results[reg.number]);
    };
    for (const Member& member : llvm::reverse(members_)) {
      if (member.statement->results == 1) replace(*member.call);
      for (llvm::User* user : llvm::make_early_inc_range(member.call->users())) {
        auto* const part = llvm::cast<llvm::Instruction>(user);
        replace(*part);
        part->eraseFromParent();
      }
      member.call->eraseFromParent();
    }
  }

  const llvm::DIFile* file_;
  llvm::SmallVector<Member, 32> members_;
  llvm::SmallPtrSet<const llvm::Instruction*, 32> inside_;
  llvm::SmallPtrSet<const llvm::Value*, 32> handed_on_;  // arguments from the turn before
  bool has_access_ = false;
  bool clobbers_memory_ = false;
  bool is_convergent_ = false;
  bool has_predicate_ = false;
  std::vector<Register> registers_;
  llvm::DenseMap<const llvm::Value*, size_t> first_register_;  // of each call
  size_t results_ = 0;
  std::array<size_t, kClasses.size()> locals_ = {};
  llvm::DenseMap<std::pair<llvm::Value*, size_t>, size_t> arguments_;  // with its class; its place
  const llvm::DILocation* line_ = nullptr;                             // of the text so far
};

// Makes groups of the statements of a function.
class Merger {
 public:
  explicit Merger(const llvm::Function& function)
      : file_(function.getSubprogram() == nullptr ? nullptr : function.getSubprogram()->getFile()) {
  }

  bool RunOn(llvm::BasicBlock& block) {
    bool changed = false;
    Group group(file_);
    const auto end_group = [&] {
      changed = group.Merge() || changed;
      group = Group(file_);
    };
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      if (group.Has(instruction)) continue;
      if (const Statement* statement = StatementOf(instruction)) {
        auto& call = llvm::cast<llvm::CallInst>(instruction);
        if (!group.CanTake(call, *statement)) end_group();
        group.Add(call, *statement);
      } else if (instruction.isTerminator() || group.Feeds(instruction) ||
                 (group.HasAccess() && instruction.mayReadOrWriteMemory())) {
        end_group();
      }
    }
    return changed;
  }

 private:
  // The statement that an instruction is; null if it is none, or has to stay as it is.
  const Statement* StatementOf(const llvm::Instruction& instruction) {
    const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call == nullptr || !call->isInlineAsm()) return nullptr;
    const auto* const assembly = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
    const auto [found, is_new] = statements_.try_emplace(assembly);
    if (is_new) found->second = TakeApart(*assembly);
    if (!found->second) return nullptr;
    if (found->second->results > 1 && !llvm::all_of(call->users(), TakesApart)) return nullptr;
    return &*found->second;
  }

  const llvm::DIFile* file_;
  std::unordered_map<const llvm::InlineAsm*, std::optional<Statement>> statements_;
};

}  // namespace

llvm::PreservedAnalyses MergeAssemblyPass::run(llvm::Function& function,
                                               llvm::FunctionAnalysisManager&) {
  Merger merger(function);
  bool changed = false;
  for (llvm::BasicBlock& block : function) changed = merger.RunOn(block) || changed;
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace tarsia::compiler

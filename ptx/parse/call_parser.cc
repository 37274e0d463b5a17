#include "ptx/parse/call_parser.h"

#include <utility>

#include "ptx/parse/function_address.h"

namespace tarsia::ptx {

void CallParser::Begin() {
  branch_tables_.clear();
  prototypes_.clear();
}

bool CallParser::ParseBranchTargets(const std::string& name) {
  lexer_.Next();
  auto& tables = state_.builder->function().tables;
  const auto table = static_cast<uint32_t>(tables.size());
  tables.emplace_back();
  branch_tables_.insert_or_assign(name, table);
  do {
    const Location location = lexer_.location();
    const auto label = ParseName();
    if (!label) return false;
    state_.builder->UseLabelInTable(*label, location, table,
                                    static_cast<uint32_t>(tables[table].size()));
    tables[table].push_back(kNowhere);
  } while (Take(','));
  return Expect(';');
}

// name: .callprototype (results) _ (parameters);  with either list left out.
bool CallParser::ParsePrototype(const std::string& name) {
  lexer_.Next();
  Prototype prototype;
  prototypes_[name].broken = true;
  if (lexer_.Is('(') && !ParsePrototypeList(&prototype.results)) return false;
  if (!ParseName()) return false;
  if (lexer_.Is('(') && !ParsePrototypeList(&prototype.params)) return false;
  if (lexer_.IsDot("noreturn")) lexer_.Next();
  prototypes_.insert_or_assign(name, prototype);
  return Expect(';');
}

// name: .calltargets function, function;  whose functions have the same parameters and results.
bool CallParser::ParseCallTargets(const std::string& name) {
  lexer_.Next();
  Prototype prototype;
  prototypes_[name].broken = true;
  do {
    const auto target = ParseSymbol();
    if (!target) return false;
    if (target->symbol.kind != Symbol::Kind::kFunction) {
      diagnostics_.Error(diag::kOperandKind, target->location, "", target->name, "a function");
      return false;
    }
    const Function& function = state_.module->functions[target->symbol.number];
    if (prototype.targets.empty()) {
      prototype.params = function.params.size();
      prototype.results = function.results.size();
    } else if (prototype.params != function.params.size() ||
               prototype.results != function.results.size()) {
      diagnostics_.Error(diag::kCallShape, target->location, target->name, function.params.size(),
                         function.results.size());
      return false;
    }
    prototype.targets.push_back(target->symbol.number);
  } while (Take(','));
  prototypes_.insert_or_assign(name, std::move(prototype));
  return Expect(';');
}

bool CallParser::ParsePrototypeList(size_t* count) {
  if (!Expect('(')) return false;
  if (Take(')')) return true;
  do {
    if (!lexer_.IsDot("param")) return Expected("`.param`");
    lexer_.Next();
    if (!declarations_.ParseDeclarator(true)) return false;
    ++*count;
  } while (Take(','));
  return Expect(')');
}

// call (results), function, (arguments);  with either list left out. Through a register a prototype
// follows.
bool CallParser::ParseCall(Inst* inst) {
  CallSite site;
  ParsedCall call;
  if (lexer_.Is('(') && (!ParseCallParams(&site.results, &call.result_bytes) || !Expect(','))) {
    return false;
  }
  const auto callee = ParseSymbol();
  if (!callee) return false;
  const Symbol& symbol = callee->symbol;
  const bool indirect = symbol.kind == Symbol::Kind::kRegister && symbol.reg.bytes == 8;
  if (symbol.kind != Symbol::Kind::kFunction && !indirect) {
    diagnostics_.Error(diag::kOperandKind, callee->location, "", "call", "the name of a function");
    return false;
  }
  site.function = indirect ? kIndirect : symbol.number;
  if (indirect) inst->operands.push_back(symbol.reg);
  if (!ParseArguments(indirect, &site, &call)) return false;
  auto& calls = state_.builder->function().calls;
  inst->table = static_cast<uint32_t>(calls.size());
  call.caller = kNowhere;
  call.site = inst->table;
  call.location = callee->location;
  state_.calls.push_back(std::move(call));
  calls.push_back(std::move(site));
  return true;
}

bool CallParser::ParseArguments(bool indirect, CallSite* site, ParsedCall* call) {
  if (!indirect) return !Take(',') || ParseCallParams(&site->arguments, &call->argument_bytes);
  if (!Expect(',')) return false;
  if (lexer_.Is('(') &&
      !(ParseCallParams(&site->arguments, &call->argument_bytes) && Expect(','))) {
    return false;
  }
  return ParsePrototypeName(site);
}

// Checks the call against the prototype or the list of targets that it names.
bool CallParser::ParsePrototypeName(CallSite* site) {
  const Location location = lexer_.location();
  const auto name = ParseName();
  if (!name) return false;
  const auto found = prototypes_.find(*name);
  if (found == prototypes_.end()) {
    diagnostics_.Error(diag::kUnknownName, location, *name);
    prototypes_[*name].broken = true;
    return false;
  }
  const Prototype& prototype = found->second;
  if (prototype.broken) return false;
  if (prototype.params != site->arguments.size() || prototype.results != site->results.size()) {
    diagnostics_.Error(diag::kCallShape, location, *name, prototype.params, prototype.results);
    return false;
  }
  site->targets = prototype.targets;
  return true;
}

bool CallParser::ParseCallParams(std::vector<uint64_t>* offsets, std::vector<uint64_t>* bytes) {
  if (!Expect('(')) return false;
  if (Take(')')) return true;
  do {
    const auto param = ParseSymbol();
    if (!param) return false;
    if (param->symbol.kind != Symbol::Kind::kLocal) {
      diagnostics_.Error(diag::kOperandKind, param->location, param->name, "call",
                         "a .param variable");
      return false;
    }
    offsets->push_back(param->symbol.offset);
    bytes->push_back(param->symbol.bytes);
  } while (Take(','));
  return Expect(')');
}

bool CallParser::ParseBranchTable(Inst* inst) {
  const Location location = lexer_.location();
  const auto name = ParseName();
  if (!name) return false;
  const auto found = branch_tables_.find(*name);
  if (found == branch_tables_.end()) {
    diagnostics_.Error(diag::kUnknownLabel, location, *name);
    return false;
  }
  inst->table = found->second;
  return true;
}

}  // namespace tarsia::ptx

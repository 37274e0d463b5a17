#include "layout/text/arguments.h"

#include <algorithm>

#include "layout/diagnostics.h"

namespace tarsia {
namespace {

bool DropSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

FuncParameter ParseParameter(std::string_view text) {
  FuncParameter out;
  out.optional = DropSuffix(text, "?");
  out.variadic = DropSuffix(text, "...");
  const size_t colon = text.find(':');
  out.name = text.substr(0, colon);
  const std::string_view kind = text.substr(colon + 1);
  out.flag = kind == "flag";
  out.type = kind == "int"    ? ExprType::kInt
             : kind == "list" ? ExprType::kList
             : kind == "type" ? ExprType::kDType
             : kind == "reg"  ? ExprType::kRegLayout
             : kind == "mem"  ? ExprType::kMemLayout
             : kind == "bit"  ? ExprType::kBitLayout
                              : ExprType::kBool;
  return out;
}

std::vector<std::vector<FuncParameter>> ParseTable() {
  std::vector<std::vector<FuncParameter>> table;
  for (const FuncInfo& info : Functions()) {
    std::vector<FuncParameter>& row = table.emplace_back();
    std::string_view rest = info.parameters;
    while (!rest.empty()) {
      const size_t blank = rest.find(' ');
      row.push_back(ParseParameter(rest.substr(0, blank)));
      rest = blank == std::string_view::npos ? std::string_view() : rest.substr(blank + 1);
    }
  }
  return table;
}

bool IsFlag(const ExprPool& pool, ExprId argument, const FuncParameter& parameter) {
  return parameter.flag && pool.kind(argument) == ExprKind::kName &&
         pool.Text(argument) == parameter.name;
}

// The parameter that a keyword, or a bare flag, names; the number of parameters if there is none.
size_t FindNamed(std::span<const FuncParameter> parameters, std::string_view name) {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(), [name](const FuncParameter& parameter) {
        return parameter.name == name && !parameter.variadic;
      });
  return static_cast<size_t>(found - parameters.begin());
}

}  // namespace

std::span<const FuncParameter> ParametersOf(Func func) {
  static const auto* const kTable = new std::vector<std::vector<FuncParameter>>(ParseTable());
  return (*kTable)[static_cast<size_t>(func)];
}

Result<BoundArguments> BindArguments(const ExprPool& pool, ExprId call) {
  const auto func = static_cast<Func>(pool.node(call).code);
  const std::span<const FuncParameter> parameters = ParametersOf(func);
  const std::span<const ExprId> arguments = pool.children(call);
  BoundArguments out(parameters.size());
  // A single argument of `lanes` is the type that the codes are unpacked to.
  size_t next = func == Func::kLanes && arguments.size() == 1 ? 2 : 0;
  for (const ExprId argument : arguments) {
    size_t at = parameters.size();
    ExprId value = argument;
    if (pool.kind(argument) == ExprKind::kKeyword) {
      at = FindNamed(parameters, pool.Text(argument));
      if (at == parameters.size()) {
        return MakeDiagnostic(diag::kArgumentUnknown, {}, FuncName(func), pool.Text(argument));
      }
      value = pool.children(argument)[0];
    } else {
      for (size_t i = 0; i < parameters.size(); ++i) {
        if (IsFlag(pool, argument, parameters[i])) at = i;
      }
      if (at == parameters.size()) {
        if (next >= parameters.size()) {
          return MakeDiagnostic(diag::kArgumentExtra, {}, FuncName(func));
        }
        at = next;
        if (!parameters[at].variadic) ++next;
      }
    }
    if (!out[at].empty() && !parameters[at].variadic) {
      return MakeDiagnostic(diag::kArgumentTwice, {}, parameters[at].name, FuncName(func));
    }
    out[at].push_back(value);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (out[i].empty() && !parameters[i].optional) {
      return MakeDiagnostic(diag::kArgumentMissing, {}, FuncName(func), parameters[i].name);
    }
  }
  return out;
}

}  // namespace tarsia

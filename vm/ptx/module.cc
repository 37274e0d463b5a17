#include "vm/ptx/module.h"

#include <algorithm>

#include "vm/ptx/function_address.h"

namespace tarsia::ptx {

std::vector<uint32_t> Module::Reachable(uint32_t function) const {
  std::vector<uint32_t> list = {function};
  const auto add = [&](uint32_t number) {
    if (std::ranges::find(list, number) == list.end()) list.push_back(number);
  };
  for (size_t i = 0; i < list.size(); ++i) {
    for (const CallSite& site : functions[list[i]].calls) {
      if (site.function != kIndirect) {
        add(site.function);
        continue;
      }
      for (const Function& any : functions) {
        if (any.defined && !any.entry) add(NumberOf(any));
      }
    }
  }
  return list;
}

std::vector<const Function*> Module::BrokenFrom(const Function& entry) const {
  std::vector<uint32_t> list = {NumberOf(entry)};
  const auto add = [&](uint32_t number) {
    if (std::ranges::find(list, number) == list.end()) list.push_back(number);
  };
  std::vector<const Function*> broken;
  for (size_t i = 0; i < list.size(); ++i) {
    const Function& function = functions[list[i]];
    if (!function.errors.empty()) broken.push_back(&function);
    for (const CallSite& site : function.calls) {
      if (site.function != kIndirect) add(site.function);
      for (const uint32_t target : site.targets) add(target);
    }
  }
  return broken;
}

const Inst* Module::FindInst(uint32_t id) const {
  for (const Function& function : functions) {
    if (id < function.code.size()) return &function.code[id];
    id -= static_cast<uint32_t>(function.code.size());
  }
  return nullptr;
}

const Function* Module::FindEntry(std::string_view name) const {
  for (const Function& function : functions) {
    if (function.entry && function.defined && function.name == name) return &function;
  }
  return nullptr;
}

const Variable* Module::FindVariable(std::string_view name) const {
  for (const Variable& variable : variables) {
    if (variable.name == name) return &variable;
  }
  return nullptr;
}

}  // namespace tarsia::ptx

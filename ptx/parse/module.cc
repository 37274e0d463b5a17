#include "ptx/parse/module.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/parse/function_address.h"

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

std::string_view Module::FileName(uint32_t file) const {
  const auto found = files.find(file);
  return found == files.end() ? std::string_view() : found->second;
}

std::string Module::LineText(const Location& location, uint32_t loc) const {
  std::string text = fmt::format("line {}", location.line);
  if (loc == 0) return text;
  const SourceLoc& own = lines.Own(loc);
  const std::string_view file = FileName(own.file);
  return text + fmt::format(" ({}:{})", file.substr(file.rfind('/') + 1), own.line);
}

void SetSource(const Module& module, const Inst& inst, Finding* finding) {
  const SourceLoc& own = module.lines.Own(inst.loc);
  finding->loc = inst.loc;
  finding->source_file = own.file;
  finding->source_line = own.line;
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

}  // namespace tarsia::ptx

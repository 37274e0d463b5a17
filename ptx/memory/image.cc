#include "ptx/memory/image.h"
#include "ptx/parse/function_address.h"

#include <algorithm>
#include <cstring>

#include "ptx/table/diagnostics.h"
#include "ptx/table/types.h"
#include "support/align.h"

namespace tarsia::ptx {
namespace {

bool IsGlobal(const Variable& variable) {
  return variable.space == Space::kGlobal || variable.space == Space::kConst;
}

}  // namespace

Space ResolveGeneric(Space space, uint64_t* address) {
  if (space != Space::kGeneric) return space;
  const auto within = [&](uint64_t window) { return *address - window < kWindowBytes; };
  if (*address - kSharedWindow < kSharedWindowBytes) {
    *address -= kSharedWindow;
    return Space::kShared;
  }
  if (within(kLocalWindow)) {
    *address -= kLocalWindow;
    return Space::kLocal;
  }
  if (within(kParamWindow)) {
    *address -= kParamWindow;
    return Space::kParam;
  }
  return Space::kGlobal;
}

Result<std::unique_ptr<Image>> Image::Load(std::shared_ptr<const Module> module, Memory* memory) {
  std::unique_ptr<Image> image(new Image(std::move(module), memory));
  const auto on_heap = [](const Function& function) {
    return function.builtin == Builtin::kMalloc || function.builtin == Builtin::kFree;
  };
  if (std::ranges::any_of(image->module_->functions, on_heap)) TARSIA_CHECK(memory->MakeHeap());
  TARSIA_CHECK(image->PlaceVariables());
  for (const Function& function : image->module_->functions) {
    if (function.entry && function.defined) image->PrepareEntry(function);
  }
  return image;
}

Image::~Image() {
  for (const uint64_t address : addresses_) {
    if (address != 0) (void)memory_->Free(address).ok();
  }
}

Status Image::PlaceVariables() {
  const std::vector<Variable>& variables = module_->variables;
  addresses_.assign(variables.size(), 0);
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!IsGlobal(variables[i])) continue;
    if (variables[i].external) {
      if (module_->in_parts) continue;  // for the entries to tell that name it
      return MakeDiagnostic(diag::kUnresolved, {}, variables[i].name);
    }
    TARSIA_TRY(addresses_[i], memory_->Allocate(variables[i].bytes));
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!IsGlobal(variables[i]) || variables[i].external) continue;
    TARSIA_CHECK(InitialiseVariable(i));
    if (variables[i].space == Space::kConst) TARSIA_CHECK(memory_->SetReadOnly(addresses_[i]));
  }
  return OkStatus();
}

// Variables without an initialiser are zero.
Status Image::InitialiseVariable(size_t variable) {
  const Variable& from = module_->variables[variable];
  std::vector<uint8_t> bytes = from.initial;
  bytes.resize(from.bytes, 0);
  for (const Relocation& relocation : from.relocations) {
    const uint64_t address = AddressOf(nullptr, relocation.variable, relocation.generic) +
                             static_cast<uint64_t>(relocation.addend);
    std::memcpy(bytes.data() + relocation.offset, &address, relocation.bytes);
  }
  return memory_->CopyIn(addresses_[variable], bytes);
}

uint64_t Image::AddressOf(const EntryImage* entry, uint32_t variable, bool generic) const {
  const Variable& which = module_->variables[variable];
  if (IsGlobal(which)) return addresses_[variable];
  const uint64_t address = entry != nullptr ? entry->shared_addresses[variable] : kSharedBase;
  return generic ? address + kSharedWindow : address;
}

// Static variables in the order of the text, then what is dynamic.
void Image::PlaceShared(const std::vector<uint32_t>& functions, EntryImage* image) const {
  const std::vector<Variable>& variables = module_->variables;
  std::vector<bool> used(variables.size(), false);
  for (const uint32_t function : functions) {
    for (const Constant& constant : module_->functions[function].constants) {
      if (constant.variable >= 0) used[static_cast<size_t>(constant.variable)] = true;
    }
  }
  image->shared_addresses.assign(variables.size(), kSharedBase);
  uint64_t at = kSharedBase + image->reserved;
  uint64_t dynamic_align = 16;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!used[i] || variables[i].space != Space::kShared) continue;
    if (variables[i].dynamic) {
      dynamic_align = std::max(dynamic_align, variables[i].align);
      continue;
    }
    at = AlignUp(at, variables[i].align);
    image->shared_addresses[i] = at;
    at += variables[i].bytes;
  }
  image->static_shared = at - kSharedBase - image->reserved;
  image->dynamic_offset = AlignUp(at, dynamic_align) - kSharedBase;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].dynamic) image->shared_addresses[i] = kSharedBase + image->dynamic_offset;
  }
}

void Image::FillBank(const EntryImage& entry, const Function& function,
                     std::vector<uint8_t>* bank) const {
  bank->assign(function.constant_bytes, 0);
  for (size_t i = 0; i < function.constants.size(); ++i) {
    const Constant& constant = function.constants[i];
    uint64_t bits = constant.bits;
    if (constant.variable >= 0) {
      bits += AddressOf(&entry, static_cast<uint32_t>(constant.variable), constant.generic);
    }
    uint8_t* at = bank->data() + function.constant_offsets[i];
    if (constant.bytes == 0) {
      const uint32_t mask = bits != 0 ? kAllLanes : 0;
      std::memcpy(at, &mask, sizeof mask);
      continue;
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      std::memcpy(at + lane * constant.bytes, &bits, std::min<size_t>(constant.bytes, 8));
    }
  }
}

// What special registers need that not every entry has.
void Image::FindSpecials(const std::vector<uint32_t>& functions, EntryImage* image) const {
  for (const uint32_t function : functions) {
    for (const FrameValue& value : module_->functions[function].frame_values) {
      if (value.kind != FrameValue::Kind::kSpecial) continue;
      const Special special = value.special;
      if (special == Special::kEnvreg1 || special == Special::kEnvreg2) {
        image->grid_workspace = true;
      } else if (special >= Special::kReservedSmemBegin && special <= Special::kReservedSmem1) {
        image->reserved = kReservedShared;
      }
    }
  }
}

// Variables that are declared and not defined, and those that hold an address of one.
std::vector<bool> Image::UnresolvedVariables() const {
  const std::vector<Variable>& variables = module_->variables;
  std::vector<bool> unresolved(variables.size());
  for (size_t i = 0; i < variables.size(); ++i) unresolved[i] = variables[i].external;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < variables.size(); ++i) {
      const bool now = unresolved[i] || std::ranges::any_of(variables[i].relocations, [&](auto& r) {
                         return static_cast<bool>(unresolved[r.variable]);
                       });
      changed |= now != unresolved[i];
      unresolved[i] = now;
    }
  }
  return unresolved;
}

std::optional<Diagnostic> Image::RefusalOf(const Function& entry,
                                           const std::vector<uint32_t>& functions) const {
  if (const auto broken = module_->BrokenFrom(entry); !broken.empty()) {
    const Diagnostic& first = broken[0]->errors[0];
    return MakeDiagnostic(diag::kBrokenEntry, first.location, entry.name, first.location.line,
                          broken[0]->name, first.message);
  }
  if (!module_->in_parts) return std::nullopt;
  const std::vector<bool> unresolved = UnresolvedVariables();
  for (const uint32_t function : functions) {
    for (const Constant& constant : module_->functions[function].constants) {
      if (constant.variable < 0 || !unresolved[static_cast<size_t>(constant.variable)]) continue;
      const Variable& variable = module_->variables[static_cast<size_t>(constant.variable)];
      return MakeDiagnostic(diag::kUnresolved, variable.location, variable.name);
    }
  }
  return std::nullopt;
}

void Image::PrepareEntry(const Function& entry) {
  EntryImage image;
  image.entry = &entry;
  const std::vector<uint32_t> functions = module_->Reachable(module_->NumberOf(entry));
  image.refusal = RefusalOf(entry, functions);
  FindSpecials(functions, &image);
  PlaceShared(functions, &image);
  image.constants.resize(module_->functions.size());
  image.zeros.resize(module_->functions.size());
  for (const uint32_t function : functions) {
    FillBank(image, module_->functions[function], &image.constants[function]);
    image.zeros[function].assign(image.constants[function].size(), 0);
  }
  entries_.emplace(entry.name, std::move(image));
}

std::optional<Image::Global> Image::FindGlobal(std::string_view name) const {
  for (size_t i = 0; i < module_->variables.size(); ++i) {
    const Variable& variable = module_->variables[i];
    if (variable.name == name && IsGlobal(variable)) return Global{addresses_[i], variable.bytes};
  }
  return std::nullopt;
}

const EntryImage* Image::FindEntry(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace tarsia::ptx

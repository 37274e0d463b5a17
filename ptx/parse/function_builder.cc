#include "ptx/parse/function_builder.h"

#include <algorithm>
#include <charconv>

namespace tarsia::ptx {
namespace {

// Bytes that a bank gives to a value: 32 lanes, or a mask of them for a predicate.
uint32_t BankBytes(uint8_t bytes) { return bytes == 0 ? 4 : uint32_t{bytes} * kLanes; }

}  // namespace

void FunctionBuilder::PushScope() {
  Scope scope;
  scope.parent = current_;
  current_ = static_cast<uint32_t>(scopes_.size());
  scopes_.push_back(std::move(scope));
}

void FunctionBuilder::PopScope() { current_ = scopes_[current_].parent; }

bool FunctionBuilder::Declare(std::string_view name, const Symbol& symbol) {
  return scopes_[current_].names.emplace(name, symbol).second;
}

void FunctionBuilder::DeclareBroken(std::string_view name) {
  Symbol symbol;
  symbol.kind = Symbol::Kind::kBroken;
  scopes_[0].names.emplace(name, symbol);
}

void FunctionBuilder::DeclareBrokenRange(std::string_view prefix, uint64_t count) {
  scopes_[0].ranges.push_back({std::string(prefix), count, 0, true});
}

void FunctionBuilder::DeclareRange(std::string_view prefix, uint64_t count, uint8_t bytes) {
  scopes_[current_].ranges.push_back({std::string(prefix), count, bytes, false});
}

std::optional<Symbol> FunctionBuilder::FindInRange(Scope& scope, std::string_view name) {
  for (const Range& range : scope.ranges) {
    if (!name.starts_with(range.prefix)) continue;
    const std::string_view digits = name.substr(range.prefix.size());
    if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) continue;
    uint64_t number = 0;
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || stop != digits.data() + digits.size()) continue;
    if (number >= range.count) continue;
    Symbol symbol;
    if (range.broken) {
      symbol.kind = Symbol::Kind::kBroken;
    } else {
      symbol.reg = NewRegister(range.bytes);
    }
    scope.names.emplace(name, symbol);
    return symbol;
  }
  return std::nullopt;
}

std::optional<Symbol> FunctionBuilder::Find(std::string_view name) {
  for (uint32_t at = current_;; at = scopes_[at].parent) {
    Scope& scope = scopes_[at];
    if (const auto found = scope.names.find(name); found != scope.names.end()) {
      return found->second;
    }
    if (auto symbol = FindInRange(scope, name)) return symbol;
    if (at == 0) return std::nullopt;
  }
}

bool FunctionBuilder::DeclareLabel(std::string_view name) {
  const auto here = static_cast<uint32_t>(function_->code.size());
  return scopes_[current_].labels.emplace(name, here).second;
}

void FunctionBuilder::UseLabel(std::string_view name, Location location, uint32_t inst) {
  uses_.push_back({std::string(name), location, current_, false, inst, 0});
}

void FunctionBuilder::UseLabelInTable(std::string_view name, Location location, uint32_t table,
                                      uint32_t index) {
  uses_.push_back({std::string(name), location, current_, true, table, index});
}

Operand FunctionBuilder::NewRegister(uint8_t bytes) {
  Operand reg;
  reg.bytes = bytes;
  reg.flag = static_cast<uint32_t>(function_->registers.size());
  reg.offset = function_->register_bytes;
  function_->registers.push_back({bytes, reg.offset});
  function_->register_bytes += BankBytes(bytes);
  return reg;
}

Operand FunctionBuilder::ConstantOperand(const Constant& constant) {
  const auto key = std::tuple(constant.bytes, constant.bits, constant.variable, constant.generic);
  const auto [at, is_new] = constants_.try_emplace(key);
  if (!is_new) return at->second;
  Operand& operand = at->second;
  operand.bank = 1;
  operand.bytes = constant.bytes;
  if (constant.variable < 0) operand.immediate = constant.bits;
  operand.offset = function_->constant_bytes;
  operand.flag = static_cast<uint32_t>(function_->constants.size());
  function_->constants.push_back(constant);
  function_->constant_offsets.push_back(operand.offset);
  function_->constant_bytes += BankBytes(constant.bytes);
  return operand;
}

Operand FunctionBuilder::SpecialOperand(Special special) {
  const auto [at, is_new] = specials_.try_emplace({special, InfoOf(special).bytes});
  if (is_new) {
    at->second = NewRegister(InfoOf(special).bytes);
    function_->frame_values.push_back({FrameValue::Kind::kSpecial, special, at->second, 0});
  }
  return at->second;
}

Operand FunctionBuilder::LocalAddress(uint64_t offset, uint8_t bytes) {
  const auto [at, is_new] = local_addresses_.try_emplace({offset, bytes});
  if (is_new) {
    at->second = NewRegister(bytes);
    function_->frame_values.push_back(
        {FrameValue::Kind::kLocalAddress, Special::kTidX, at->second, offset});
  }
  return at->second;
}

uint64_t FunctionBuilder::AddLocal(uint64_t bytes, uint64_t align) {
  const uint64_t at = (function_->local_bytes + align - 1) / align * align;
  function_->local_bytes = at + bytes;
  return at;
}

std::optional<std::pair<std::string, Location>> FunctionBuilder::ResolveLabels() {
  for (const LabelUse& use : uses_) {
    std::optional<uint32_t> target;
    for (uint32_t at = use.scope; !target; at = scopes_[at].parent) {
      const auto& labels = scopes_[at].labels;
      if (const auto found = labels.find(use.name); found != labels.end()) target = found->second;
      if (at == 0) break;
    }
    if (!target) return std::pair(use.name, use.location);
    if (use.in_table) {
      function_->tables[use.inst_or_table][use.index] = *target;
    } else if (use.inst_or_table < function_->code.size()) {
      function_->code[use.inst_or_table].target = *target;
    }
  }
  return std::nullopt;
}

bool FunctionBuilder::TooLarge() const {
  return function_->register_bytes > kMaxBankBytes || function_->constant_bytes > kMaxBankBytes ||
         function_->local_bytes > kMaxLocalBytes;
}

}  // namespace tarsia::ptx

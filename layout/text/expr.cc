#include "layout/text/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "support/printable.h"

namespace tarsia {

uint64_t HashBytes(const void* data, size_t size, uint64_t seed) {
  // A multiply-rotate mix over 8-byte words (as in wyhash); only for tables in memory.
  constexpr uint64_t kMul = 0x9E3779B97F4A7C15u;
  uint64_t h = seed ^ (size * kMul);
  const auto* p = static_cast<const unsigned char*>(data);
  while (size >= 8) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    h = std::rotl((h ^ w) * kMul, 29) * 0xBF58476D1CE4E5B9u;
    p += 8;
    size -= 8;
  }
  uint64_t w = 0;
  if (size > 0) std::memcpy(&w, p, size);
  h = (h ^ w) * kMul;
  h ^= h >> 32;
  h *= 0x94D049BB133111EBu;
  return h ^ h >> 29;
}

void HashIndex::Grow() { Rehash(slots_.empty() ? 16 : slots_.size() * 2); }

void HashIndex::Rehash(size_t slots) {
  slots_.assign(slots, Slot{});
  mask_ = slots - 1;
  for (size_t id = 0; id < hashes_.size(); ++id) {
    size_t i = hashes_[id] & mask_;
    while (slots_[i].id != kNone) i = (i + 1) & mask_;
    slots_[i] = {static_cast<uint32_t>(hashes_[id] >> 32), static_cast<uint32_t>(id)};
  }
}

StringPool::StringPool(const StringPool& other) { *this = other; }

StringPool& StringPool::operator=(const StringPool& other) {
  if (this != &other) {
    strings_ = other.strings_;
    index_ = other.index_;
  }
  return *this;
}

StringId StringPool::Intern(std::string_view text) {
  const uint64_t hash = HashBytes(text.data(), text.size());
  const uint32_t found = index_.Find(hash, [&](uint32_t id) { return strings_[id] == text; });
  if (found != HashIndex::kNone) return found;
  const auto id = static_cast<StringId>(strings_.size());
  strings_.emplace_back(text);
  index_.Insert(hash, id);
  return id;
}

std::optional<StringId> StringPool::Find(std::string_view text) const {
  const uint64_t hash = HashBytes(text.data(), text.size());
  const uint32_t found = index_.Find(hash, [&](uint32_t id) { return strings_[id] == text; });
  if (found == HashIndex::kNone) return std::nullopt;
  return found;
}

ExprId ExprPool::Intern(ExprKind kind, uint8_t code, uint64_t payload,
                        std::span<const ExprId> children) {
  const uint64_t seed = static_cast<uint64_t>(kind) << 56 ^ static_cast<uint64_t>(code) << 48 ^
                        payload * 0xD6E8FEB86659FD93u;
  const uint64_t hash = HashBytes(children.data(), children.size_bytes(), seed);
  const uint32_t found = index_.Find(hash, [&](uint32_t id) {
    const ExprNode& n = nodes_[id];
    return n.kind == kind && n.code == code && n.payload == payload &&
           n.children == children.size() &&
           std::equal(children.begin(), children.end(),
                      children_.begin() + static_cast<std::ptrdiff_t>(n.first_child));
  });
  if (found != HashIndex::kNone) return ExprId::Node(found);
  const auto id = static_cast<uint32_t>(nodes_.size());
  const auto first = static_cast<uint32_t>(children_.size());
  // `children` may point into children_, which the growth below may move.
  const size_t count = children.size();
  const ExprId* const begin = children_.data();
  if (count > 0 && children.data() >= begin && children.data() < begin + children_.size()) {
    const std::vector<ExprId> copy(children.begin(), children.end());
    children_.insert(children_.end(), copy.begin(), copy.end());
  } else {
    children_.insert(children_.end(), children.begin(), children.end());
  }
  int depth = 1;
  bool uses_values = false;
  for (size_t i = first; i < children_.size(); ++i) {
    depth = std::max(depth, Depth(children_[i]) + 1);
    uses_values = uses_values || UsesValues(children_[i]);
  }
  nodes_.push_back({kind, code, static_cast<uint8_t>(std::min(depth, 255)), uses_values, first,
                    static_cast<uint32_t>(count), payload});
  index_.Insert(hash, id);
  return ExprId::Node(id);
}

ExprId ExprPool::Float(double value) {
  // All NaNs become one code, so that equal ids mean equal texts.
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return Intern(ExprKind::kFloat, 0, std::bit_cast<uint64_t>(value), {});
}

std::optional<int64_t> ExprPool::AsInt(ExprId id) const {
  if (id.is_small()) return id.small();
  if (kind(id) != ExprKind::kInt) return std::nullopt;
  return static_cast<int64_t>(node(id).payload);
}

std::optional<double> ExprPool::AsFloat(ExprId id) const {
  if (kind(id) != ExprKind::kFloat) return std::nullopt;
  return std::bit_cast<double>(node(id).payload);
}

std::optional<bool> ExprPool::AsBool(ExprId id) const {
  if (kind(id) != ExprKind::kBool) return std::nullopt;
  return node(id).payload != 0;
}

std::optional<DType> ExprPool::AsDType(ExprId id) const {
  if (kind(id) != ExprKind::kDType) return std::nullopt;
  return DTypeFromCode(static_cast<uint8_t>(node(id).payload));
}

std::string_view Spelling(BinaryOp op) {
  constexpr std::array<std::string_view, kBinaryOps> kSpellings = {
      "or", "and", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"};
  return kSpellings[static_cast<size_t>(op)];
}

int Precedence(BinaryOp op) {
  constexpr std::array<int, kBinaryOps> kPrecedences = {1, 2, 4, 4, 4, 4, 4, 4, 5, 5, 6, 6, 6};
  return kPrecedences[static_cast<size_t>(op)];
}

std::string FloatToString(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const Character character = CharacterAt(text, i);
    const std::string_view bytes = text.substr(i, character.bytes);
    if (bytes == "\"" || bytes == "\\") {
      out += '\\';
      out += bytes;
    } else if (bytes == "\n") {
      out += "\\n";
    } else if (bytes == "\t") {
      out += "\\t";
    } else if (character.printable) {
      out += bytes;
    } else {
      for (const char c : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    i += character.bytes;
  }
  return out + "\"";
}

namespace {

constexpr int kUnaryPrecedence = 7;
constexpr int kNotPrecedence = 3;

class Printer {
 public:
  Printer(const ExprPool& pool, const ValueNames* names, std::string& out)
      : pool_(pool), names_(names), out_(out) {}

  void Visit(ExprId id, int parent) {
    switch (pool_.kind(id)) {
      case ExprKind::kNone:
        return;
      case ExprKind::kValue:
        return VisitValue(id);
      case ExprKind::kInt:
        return Number(std::to_string(*pool_.AsInt(id)), parent);
      case ExprKind::kFloat:
        return Number(FloatToString(*pool_.AsFloat(id)), parent);
      case ExprKind::kBool:
        out_ += *pool_.AsBool(id) ? "true" : "false";
        return;
      case ExprKind::kDType:
        out_ += DTypeName(*pool_.AsDType(id));
        return;
      case ExprKind::kString:
        out_ += Quote(pool_.Text(id));
        return;
      case ExprKind::kName:
      case ExprKind::kFragment:
        out_ += pool_.Text(id);
        return;
      case ExprKind::kUnary:
        return VisitUnary(id, parent);
      case ExprKind::kBinary:
        return VisitBinary(id, parent);
      case ExprKind::kCall:
        out_ += FuncName(static_cast<Func>(pool_.node(id).code));
        return VisitAll(id, '(', ')');
      case ExprKind::kKeyword:
        out_ += pool_.Text(id);
        out_ += '=';
        return Visit(pool_.children(id)[0], 0);
      case ExprKind::kReplicate:
        out_ += '~';
        return Visit(pool_.children(id)[0], kUnaryPrecedence);
      case ExprKind::kList:
        return VisitAll(id, '[', ']');
    }
  }

 private:
  void VisitValue(ExprId id) {
    out_ += '%';
    if (names_ != nullptr) {
      out_ += names_->ValueName(id.value());
    } else {
      out_ += "v" + std::to_string(id.value());
    }
  }
  // `- 5` is the integer -5 to the parser, so a negative number needs no more than its sign.
  void Number(const std::string& text, int parent) {
    const bool wrap = text[0] == '-' && parent >= kUnaryPrecedence;
    out_ += wrap ? "(" + text + ")" : text;
  }
  void VisitUnary(ExprId id, int parent) {
    const bool is_not = static_cast<UnaryOp>(pool_.node(id).code) == UnaryOp::kNot;
    const int own = is_not ? kNotPrecedence : kUnaryPrecedence;
    const ExprId child = pool_.children(id)[0];
    if (own < parent) out_ += '(';
    out_ += is_not ? "not " : "-";
    // A literal after a minus keeps its parentheses: `-(5)` is not the number -5.
    const ExprKind kind = pool_.kind(child);
    const bool literal = !is_not && (kind == ExprKind::kInt || kind == ExprKind::kFloat);
    if (literal) out_ += '(';
    Visit(child, literal ? 0 : own);
    if (literal) out_ += ')';
    if (own < parent) out_ += ')';
  }
  void VisitBinary(ExprId id, int parent) {
    const auto op = static_cast<BinaryOp>(pool_.node(id).code);
    const int own = Precedence(op);
    const bool compare = own == Precedence(BinaryOp::kEqual);
    const ExprId left = pool_.children(id)[0];
    const ExprId right = pool_.children(id)[1];
    if (own < parent) out_ += '(';
    Visit(left, compare ? own + 1 : own);
    out_ += ' ';
    out_ += Spelling(op);
    out_ += ' ';
    Visit(right, own + 1);
    if (own < parent) out_ += ')';
  }
  void VisitAll(ExprId id, char open, char close) {
    out_ += open;
    bool first = true;
    for (const ExprId child : pool_.children(id)) {
      if (!first) out_ += ", ";
      first = false;
      Visit(child, 0);
    }
    out_ += close;
  }

  const ExprPool& pool_;
  const ValueNames* names_;
  std::string& out_;
};

}  // namespace

void Print(const ExprPool& pool, ExprId id, const ValueNames* names, std::string& out) {
  Printer(pool, names, out).Visit(id, 0);
}

std::string ToString(const ExprPool& pool, ExprId id, const ValueNames* names) {
  std::string out;
  Print(pool, id, names, out);
  return out;
}

}  // namespace tarsia

#include "isa/graph/context.h"

#include <fmt/format.h>

#include <set>

#include "isa/graph/other_words.h"
#include "isa/limits.h"

namespace tarsia {

// ---- constants -------------------------------------------------------------------------------

std::optional<ExprType> GraphContext::NameType(StringId name) const {
  for (const auto& [constant, kind] : constants_) {
    if (constant == name) return ExprTypeOf(kind);
  }
  return std::nullopt;
}

std::vector<std::string_view> GraphContext::Names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, kind] : constants_) names.push_back(module_.pool.strings()[name]);
  return names;
}

ExprType GraphContext::KindOf(ExprId id, Location location, bool* ok) {
  if (ok != nullptr) *ok = true;
  Result<ExprType> kind = StaticType(module_.pool, id, *this, location);
  if (kind.ok()) return *kind;
  if (ok != nullptr) *ok = false;
  diagnostics_.Add(kind.TakeError());
  return ExprType::kUnknown;
}

// Behind an error in an expression of the kind: what a single unknown name may have meant.
void GraphContext::HelpWithName(ExprId id, ExprType kind) {
  if (module_.pool.kind(id) != ExprKind::kName) return;
  const std::string_view name = module_.pool.Text(id);
  Diagnostic& error = diagnostics_.last();
  if (kind == ExprType::kDType) {
    const std::string_view type = FindOther(OtherTypes(), name);
    if (!type.empty()) error.help = fmt::format("it is called `{}` here", type);
  }
  if (kind == ExprType::kInt && error.help.empty()) {
    error.help = fmt::format("declare it behind the graph's head: `const {}: int`", name);
  }
}

bool GraphContext::ExpectKind(ExprId id, ExprType kind, std::string_view what, Location location) {
  bool ok = true;
  const ExprType found = KindOf(id, location, &ok);
  if (!ok) {
    HelpWithName(id, kind);
    return false;
  }
  if (found == kind || found == ExprType::kUnknown) return true;
  Error(diag::kGraphKind, location, what, ExprTypeName(kind), ExprTypeName(found));
  return false;
}

std::optional<int64_t> GraphContext::KnownInt(ExprId id, Location location) {
  const ExprId folded = Fold(id);
  const auto value = module_.pool.AsInt(folded);
  if (value || !closed_) return value;
  Result<EvalValue> computed = Evaluate(module_.pool, folded, EmptyEnv(), location);
  if (!computed.ok()) diagnostics_.Add(computed.TakeError());
  return std::nullopt;
}

ExprId GraphContext::InexactQuotient(ExprId id) {
  const ExprPool& pool = module_.pool;
  std::vector<ExprId> open = {id};
  std::set<ExprId> seen;  // expressions are interned: a part may occur often
  while (!open.empty()) {
    const ExprId at = open.back();
    open.pop_back();
    if (at.none() || at.is_value() || !seen.insert(at).second) continue;
    // A copy, because Fold adds to the pool.
    const auto children = pool.children(at);
    const std::vector<ExprId> parts(children.begin(), children.end());
    open.insert(open.end(), parts.begin(), parts.end());
    if (pool.kind(at) != ExprKind::kBinary) continue;
    if (static_cast<BinaryOp>(pool.node(at).code) != BinaryOp::kDivide) continue;
    const auto a = pool.AsInt(Fold(parts[0]));
    const auto b = pool.AsInt(Fold(parts[1]));
    if (a && b && *b != 0 && *b != -1 && *a % *b != 0) return at;
  }
  return {};
}

// ---- axes ------------------------------------------------------------------------------------

std::optional<uint32_t> GraphContext::FindAxis(StringId name) const {
  const auto found = axis_of_name_.find(name);
  if (found == axis_of_name_.end()) return std::nullopt;
  return found->second;
}

ExprId GraphContext::ExtentOf(const AxisExpr& axis, ExprId implied) {
  const std::string_view name = module_.pool.strings()[axis.name];
  if (!axis.extent.none()) {
    const std::string what = fmt::format("the extent of axis `{}`", name);
    if (!ExpectKind(axis.extent, ExprType::kInt, what, axis.location)) return {};
    return Fold(axis.extent);
  }
  if (!implied.none()) return Fold(implied);
  if (NameType(axis.name) == ExprType::kInt) return Fold(module_.pool.Name(name));
  return {};
}

std::optional<uint32_t> GraphContext::Resolve(const AxisExpr& axis, ExprId implied) {
  const std::optional<uint32_t> known = FindAxis(axis.name);
  if (known && axis.extent.none() && implied.none()) return known;
  const size_t before = diagnostics_.count();
  const ExprId extent = ExtentOf(axis, implied);
  if (extent.none()) {
    if (diagnostics_.count() != before) return std::nullopt;
    const std::string_view name = module_.pool.strings()[axis.name];
    Error(diag::kGraphAxisExtent, axis.location, name).help =
        fmt::format("write `{}:n`, n being its extent, or declare `const {}: int`", name, name);
    return std::nullopt;
  }
  if (known) {
    if (!CheckExtent(*known, extent, axis.location)) return std::nullopt;
    return known;
  }
  const auto number = KnownInt(extent, axis.location);
  if (closed_ && !number) return std::nullopt;
  if (number && (*number < 0 || *number > kMaxExtent)) {
    Diagnostic& error =
        Error(diag::kGraphExtentRange, axis.location, module_.pool.strings()[axis.name], *number);
    // Of a constant, whose value was given.
    const ExprPool& pool = module_.pool;
    const bool named = !axis.extent.none() && pool.kind(axis.extent) == ExprKind::kName;
    if (named || (axis.extent.none() && implied.none())) {
      error.help = fmt::format("it is the value of `{0}`: --set {0}=...",
                               named ? pool.Text(axis.extent) : pool.strings()[axis.name]);
    }
    return std::nullopt;
  }
  const auto index = static_cast<uint32_t>(facts_.axes.size());
  facts_.axes.push_back({axis.name, extent, axis.location});
  axis_of_name_.emplace(axis.name, index);
  return index;
}

// Extents that depend on open constants may still be equal.
bool GraphContext::CheckExtent(uint32_t index, ExprId extent, Location location) {
  const auto here = KnownInt(extent, location);
  const auto elsewhere = Extent(index);
  if (!here || !elsewhere || *here == *elsewhere) return here.has_value() || !closed_;
  Diagnostic& error = Error(diag::kGraphAxisDiffers, location, AxisName(index), *here, *elsewhere);
  AddNote(error, axis(index).location, fmt::format("axis `{}` is first here", AxisName(index)));
  return false;
}

// ---- errors ----------------------------------------------------------------------------------

void GraphContext::AddNote(Diagnostic& error, Location place, std::string message) {
  if (place.IsText()) error.notes.push_back({place, std::move(message)});
}

std::vector<std::string_view> GraphContext::NamesOf(std::span<const uint32_t> axes) const {
  std::vector<std::string_view> names;
  for (const uint32_t axis : axes) names.push_back(AxisName(axis));
  return names;
}

std::string GraphContext::Text(std::span<const uint32_t> axes) const {
  return fmt::format("[{}]", fmt::join(NamesOf(axes), ", "));
}

}  // namespace tarsia

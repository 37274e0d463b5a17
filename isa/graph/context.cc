#include "isa/graph/context.h"

#include <fmt/format.h>

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

bool GraphContext::ExpectKind(ExprId id, ExprType kind, std::string_view what, Location location) {
  bool ok = true;
  const ExprType found = KindOf(id, location, &ok);
  if (!ok) return false;
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
    Error(diag::kGraphExtentRange, axis.location, module_.pool.strings()[axis.name], *number);
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

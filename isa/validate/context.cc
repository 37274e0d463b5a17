#include "isa/validate/context.h"

#include <fmt/format.h>

namespace tarsia {

std::string KernelContext::Describe(const ValueType& type) const {
  if (!type.known) return "unknown";
  if (type.kind == ValueKind::kPointer) return "ptr<" + Text(type.dtype) + ">";
  if (type.kind == ValueKind::kScalar) return "a scalar " + Text(type.dtype);
  std::string out =
      fmt::format("{}<{}>{}", SpaceName(type.space), Text(type.dtype), Text(type.shape));
  if (!type.layout.none()) out += " " + Text(type.layout);
  if (!type.bits.none()) out += " bits " + Text(type.bits);
  return out;
}

}  // namespace tarsia

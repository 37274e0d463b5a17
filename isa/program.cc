#include "isa/program.h"

#include <algorithm>
#include <optional>

namespace tarsia {

int64_t Program::PointerAlignment(uint32_t parameter) const {
  std::optional<int64_t> assumed;
  for (const Assume& assume : kernel().assumes) {
    if (assume.alignment.none() || assume.condition.value() != parameter) continue;
    assumed = std::max(assumed.value_or(1), pool().AsInt(assume.alignment).value_or(1));
  }
  return assumed.value_or(kPointerAlignment);
}

}  // namespace tarsia

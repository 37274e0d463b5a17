#include "isa/diagnostics.h"

namespace tarsia {

std::span<const DiagInfo* const> IsaDiagnostics() {
  static constexpr const DiagInfo* kAll[] = {
#define DIAG(name, id, format, help) &diag::name,
#include "isa/diagnostics.def"
#undef DIAG
  };
  return kAll;
}

}  // namespace tarsia

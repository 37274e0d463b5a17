#include "layout/diagnostics.h"

namespace tarsia {

std::span<const DiagInfo* const> LayoutDiagnostics() {
  static constexpr const DiagInfo* kRows[] = {
#define DIAG(name, id, format, help) &diag::name,
#include "layout/diagnostics.def"
#undef DIAG
  };
  return kRows;
}

}  // namespace tarsia

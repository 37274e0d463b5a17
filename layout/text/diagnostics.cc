#include "layout/text/diagnostics.h"

namespace tarsia {

std::span<const DiagInfo* const> TextDiagnostics() {
  static constexpr const DiagInfo* kAll[] = {
#define DIAG(name, id, format, help) &diag::name,
#include "layout/text/diagnostics.def"
#undef DIAG
  };
  return kAll;
}

}  // namespace tarsia

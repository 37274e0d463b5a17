#include "isa/bytecode_diagnostics.h"

namespace tarsia {

std::span<const DiagInfo* const> BytecodeDiagnostics() {
  static constexpr const DiagInfo* kAll[] = {
#define DIAG(name, id, format, help) &diag::name,
#include "isa/bytecode_diagnostics.def"
#undef DIAG
  };
  return kAll;
}

}  // namespace tarsia

#include "vm/diagnostics.h"

namespace tarsia {
namespace {

constexpr const DiagInfo* kRows[] = {
#define DIAG(name, id, format, help) &diag::name,
#include "vm/diagnostics.def"
#undef DIAG
};

}  // namespace

std::span<const DiagInfo* const> VmDiagnostics() { return kRows; }

}  // namespace tarsia

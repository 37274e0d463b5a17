#include "runtime/diagnostics.h"

namespace tarsia {
namespace {

constexpr const DiagInfo* kRows[] = {
#define DIAG(name, id, format, help) &diag::name,
#include "runtime/diagnostics.def"
#undef DIAG
};

}  // namespace

std::span<const DiagInfo* const> RuntimeDiagnostics() { return kRows; }

}  // namespace tarsia

#include "compiler/diagnostics.h"

namespace tarsia {
namespace {

constexpr const DiagInfo* kRows[] = {
#define DIAG(name, id, format, help) &diag::name,
#include "compiler/diagnostics.def"
#undef DIAG
};

}  // namespace

std::span<const DiagInfo* const> CompilerDiagnostics() { return kRows; }

}  // namespace tarsia

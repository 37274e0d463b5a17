#include "ptx/table/diagnostics.h"

namespace tarsia::ptx {
namespace {

constexpr const DiagInfo* kRows[] = {
#define DIAG(name, id, format, help) &diag::name,
#include "ptx/table/diagnostics.def"
#undef DIAG
};

}  // namespace

std::span<const DiagInfo* const> PtxDiagnostics() { return kRows; }

}  // namespace tarsia::ptx

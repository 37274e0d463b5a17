#include "dtypes/diagnostics.h"

namespace tarsia {
namespace {

constexpr const DiagInfo* kRows[] = {
#define DIAG(name, id, format, help) &diag::name,
#include "dtypes/diagnostics.def"
#undef DIAG
};

}  // namespace

std::span<const DiagInfo* const> DtypesDiagnostics() { return kRows; }

}  // namespace tarsia

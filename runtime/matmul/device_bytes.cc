#include "runtime/matmul/device_bytes.h"

#include <fmt/format.h>

#include <string>

#include "runtime/diagnostics.h"

namespace tarsia::runtime {

Status CheckAlignment(const char* name, const void* data) {
  if (reinterpret_cast<uintptr_t>(data) % 16 == 0) return OkStatus();
  return MakeDiagnostic(diag::kMatmulAlignment, {}, name, fmt::format("{}", data));
}

Status CheckDeviceBytes(const char* name, const void* data, uint64_t bytes, uint64_t wanted,
                        bool needed) {
  if (!needed) {
    return data == nullptr ? OkStatus() : Status(MakeDiagnostic(diag::kMatmulUnwanted, {}, name));
  }
  if (bytes < wanted) return MakeDiagnostic(diag::kMatmulBytes, {}, name, bytes, wanted);
  if (data == nullptr && wanted > 0) return MakeDiagnostic(diag::kMatmulMissing, {}, name);
  return CheckAlignment(name, data);
}

Status CheckFindings(const vm::LaunchReport& report) {
  if (report.findings.empty()) return OkStatus();
  const launch::Finding& first = report.findings.front();
  std::string text = first.diagnostic.message;
  const auto [x, y, z] = first.block;
  text += fmt::format(", in block ({}, {}, {})", x, y, z);
  if (report.findings.size() > 1) {
    text += fmt::format("; {} more findings", report.findings.size() - 1);
  }
  return MakeDiagnostic(diag::kMatmulFinding, {}, text);
}

}  // namespace tarsia::runtime

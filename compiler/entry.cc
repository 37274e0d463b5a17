#include "compiler/entry.h"

#include <algorithm>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/facts/facts.h"
#include "support/align.h"

namespace tarsia::compiler {
namespace {

// The name of the entry: the kernel's name, except for the two names that PTX reserves. No kernel's
// name has a dollar sign.
std::string EntryName(std::string_view kernel) {
  const bool taken = kernel == "_" || kernel == "WARP_SZ";
  return std::string(kernel) + (taken ? "$" : "");
}

// Places a parameter after those that are there.
void AddParameter(CompiledKernel& kernel, KernelParameter::Kind kind, DType type, uint32_t bytes,
                  uint32_t alignment) {
  KernelParameter parameter;
  parameter.kind = kind;
  parameter.type = type;
  parameter.bytes = bytes;
  parameter.alignment = alignment;
  parameter.offset = static_cast<uint32_t>(AlignUp(kernel.parameter_bytes, bytes));
  kernel.parameter_bytes = parameter.offset + bytes;
  kernel.parameters.push_back(parameter);
}

void AddProgramParameters(const Program& program, CompiledKernel& kernel) {
  const auto& params = program.kernel().params;
  for (uint32_t i = 0; i < params.size(); ++i) {
    const DType type = program.type(i).dtype;
    const auto bytes = static_cast<uint32_t>(ContainerBytes(type));
    if (params[i].is_pointer) {
      AddParameter(kernel, KernelParameter::Kind::kPointer, type, 8,
                   static_cast<uint32_t>(program.PointerAlignment(i)));
    } else {
      AddParameter(kernel, KernelParameter::Kind::kScalar, type, bytes, bytes);
    }
  }
}

Status AddWorkspace(const Program& program, CompiledKernel& kernel) {
  const Kernel& source = program.kernel();
  for (const ResolvedInst& inst : program.instructions()) {
    if (inst.row->Allocates() != Space::kGlobal) continue;
    const uint32_t value = inst.results[0];
    Workspace workspace;
    workspace.name = source.ValueName(value);
    workspace.location = source.TypeLocation(*inst.inst);
    workspace.zeroed = inst.zeroed;
    workspace.size = TileSize(program, value);
    if (!workspace.size.known()) {
      return MakeDiagnostic(diag::kWorkspaceSize, source.LocationOf(*inst.inst), workspace.name);
    }
    kernel.workspace.push_back(std::move(workspace));
    AddParameter(kernel, KernelParameter::Kind::kWorkspace, kU8, 8, kWorkspaceAlignment);
  }
  return OkStatus();
}

// Drivers that know PTX 8.1 launch with more than 4096 bytes of parameters, and ptxas takes more
// from there on.
Status CheckParameters(const Program& program, const CompiledKernel& kernel,
                       const TargetRow& target) {
  const uint64_t limit = target.ptx_version >= 81 ? kMaxParameterBytes : 4096;
  if (kernel.parameter_bytes <= limit) return OkStatus();
  return MakeDiagnostic(diag::kParameterBytes, program.kernel().location, program.name(),
                        kernel.parameter_bytes, limit, target.name);
}

}  // namespace

Result<CompiledKernel> DescribeEntry(const Program& program, const RuntimeChecks& checks,
                                     Target target) {
  CompiledKernel out;
  out.name = EntryName(program.name());
  out.threads = program.warps() * 32;
  AddProgramParameters(program, out);
  TARSIA_CHECK(AddWorkspace(program, out));
  if (checks.NeedsReport()) AddParameter(out, KernelParameter::Kind::kReport, kU64, 8, 8);
  TARSIA_CHECK(CheckParameters(program, out, Row(target)));
  return out;
}

}  // namespace tarsia::compiler

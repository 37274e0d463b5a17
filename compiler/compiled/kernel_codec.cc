#include "compiler/compiled/kernel_codec.h"

#include <utility>

#include "support/byte_codec.h"

namespace tarsia::compiler {
namespace {

void Write(const Location& location, ByteSink* out) {
  out->U32(location.line).U32(location.column).U32(location.length);
}

Location ReadLocation(ByteSource* in) {
  Location out;
  out.line = in->U32();
  out.column = in->U32();
  out.length = in->U32();
  return out;
}

// 0 is no type.
void Write(DType type, ByteSink* out) { out->U8(type.bits == 0 ? 0 : DTypeCode(type)); }

DType ReadType(ByteSource* in) {
  const uint8_t code = in->U8();
  if (code == 0) return {};
  const std::optional<DType> type = DTypeFromCode(code);
  return in->Require(type.has_value()) ? *type : DType{};
}

// ---- parameters ----------------------------------------------------------------------------

void Write(const KernelParameter& parameter, ByteSink* out) {
  out->U8(static_cast<uint8_t>(parameter.kind));
  Write(parameter.type, out);
  out->U32(parameter.offset).U32(parameter.bytes).U32(parameter.alignment);
}

KernelParameter ReadParameter(ByteSource* in) {
  using Kind = KernelParameter::Kind;
  KernelParameter out;
  out.kind = static_cast<Kind>(in->Below(in->U8(), static_cast<uint64_t>(Kind::kReport) + 1));
  out.type = ReadType(in);
  out.offset = in->U32();
  out.bytes = in->U32();
  out.alignment = in->U32();
  return out;
}

// Whether the parameters are those of the program, then one for each workspace, then perhaps that
// of the report, all of them within the bytes.
bool AreParametersOf(const Program& program, const CompiledKernel& kernel) {
  using Kind = KernelParameter::Kind;
  const auto& wanted = program.kernel().params;
  const size_t own = wanted.size() + kernel.workspace.size();
  if (kernel.parameters.size() != own && kernel.parameters.size() != own + 1) return false;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const KernelParameter& parameter = kernel.parameters[i];
    const Kind kind = i >= own               ? Kind::kReport
                      : i >= wanted.size()   ? Kind::kWorkspace
                      : wanted[i].is_pointer ? Kind::kPointer
                                             : Kind::kScalar;
    const uint32_t bytes =
        kind == Kind::kScalar
            ? static_cast<uint32_t>(ContainerBytes(program.type(static_cast<uint32_t>(i)).dtype))
            : 8;
    if (parameter.kind != kind || parameter.bytes != bytes || bytes > 8) return false;
    if (parameter.alignment == 0) return false;
    if (uint64_t{parameter.offset} + bytes > kernel.parameter_bytes) return false;
  }
  return kernel.parameter_bytes <= kMaxParameterBytes;
}

// ---- workspace and report ------------------------------------------------------------------

void Write(const Workspace& workspace, ByteSink* out) {
  out->Text(workspace.name);
  Write(workspace.location, out);
  out->Bool(workspace.zeroed);
  workspace.size.Write(out);
}

Workspace ReadWorkspace(ByteSource* in, uint32_t parameters) {
  Workspace out;
  out.name = in->Text();
  out.location = ReadLocation(in);
  out.zeroed = in->Bool();
  out.size = TileSize::Read(in, parameters);
  return out;
}

void Write(const ReportRecord& record, ByteSink* out) {
  out->U8(static_cast<uint8_t>(record.kind));
  Write(record.location, out);
  out->Text(record.text);
  Write(record.type, out);
  out->U64(record.shape.size());
  for (const int64_t extent : record.shape) out->I64(extent);
  out->U32(static_cast<uint32_t>(record.dim));
}

// The elements of a printed tile lie in a block's registers or shared memory.
constexpr int64_t kMaxPrinted = int64_t{1} << 32;

ReportRecord ReadRecord(ByteSource* in) {
  using Kind = ReportRecord::Kind;
  ReportRecord out;
  out.kind = static_cast<Kind>(in->Below(in->U8(), static_cast<uint64_t>(Kind::kViewExtent) + 1));
  out.location = ReadLocation(in);
  out.text = in->Text();
  out.type = ReadType(in);
  const size_t rank = in->Count(sizeof(int64_t));
  in->Require(rank <= kMaxRank);
  int64_t elements = 1;
  for (size_t d = 0; d < rank && in->ok(); ++d) {
    const int64_t extent = in->I64();
    if (!in->Require(extent >= 0 && extent <= kMaxPrinted)) break;
    elements *= extent;
    in->Require(elements <= kMaxPrinted);
    out.shape.push_back(extent);
  }
  const bool has_elements = out.kind == Kind::kPrint || out.kind == Kind::kViewExtent;
  in->Require(!has_elements || out.type.bits != 0);
  in->Require(out.kind != Kind::kViewExtent || (out.type == kI64 && elements == 1));
  out.dim = static_cast<int>(in->Below(in->U32(), kMaxRank));
  return out;
}

}  // namespace

std::string EncodeKernel(const CompiledKernel& kernel) {
  ByteSink out;
  out.Text(kernel.name).Text(kernel.ptx).U32(static_cast<uint32_t>(kernel.threads));
  out.U64(kernel.shared_bytes).U64(kernel.parameter_bytes);
  out.U64(kernel.workspace.size());
  for (const Workspace& workspace : kernel.workspace) Write(workspace, &out);
  out.U64(kernel.records.size());
  for (const ReportRecord& record : kernel.records) Write(record, &out);
  out.U64(kernel.parameters.size());
  for (const KernelParameter& parameter : kernel.parameters) Write(parameter, &out);
  return out.Take();
}

std::optional<CompiledKernel> DecodeKernel(std::string_view bytes, const Program& program) {
  const auto parameters = static_cast<uint32_t>(program.kernel().params.size());
  ByteSource in(bytes);
  CompiledKernel out;
  out.name = in.Text();
  out.ptx = in.Text();
  out.threads = static_cast<int>(in.U32());
  out.shared_bytes = in.U64();
  out.parameter_bytes = in.U64();
  for (size_t left = in.Count(1); left > 0 && in.ok(); --left) {
    out.workspace.push_back(ReadWorkspace(&in, parameters));
  }
  for (size_t left = in.Count(1); left > 0 && in.ok(); --left) {
    out.records.push_back(ReadRecord(&in));
  }
  for (size_t left = in.Count(1); left > 0 && in.ok(); --left) {
    out.parameters.push_back(ReadParameter(&in));
  }
  in.Require(out.threads == program.warps() * 32 && out.records.size() <= size_t{1} << kRecordBits);
  if (!in.done() || !AreParametersOf(program, out)) return std::nullopt;
  return out;
}

}  // namespace tarsia::compiler

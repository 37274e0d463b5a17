#include "runtime/matmul/matmul_blob.h"

#include <bit>
#include <optional>
#include <utility>

#include "runtime/matmul/assembly.h"
#include "runtime/plans/sealed_plan.h"
#include "support/byte_codec.h"

namespace tarsia::runtime {
namespace {

// ---- writing -----------------------------------------------------------------------------------

void WriteProblem(const MatmulProblem& problem, ByteSink* out) {
  const WeightInfo& w = problem.weights;
  out->I64(problem.m_min).I64(problem.m_max).I64(w.k).I64(w.n).I64(w.group);
  out->U8(DTypeCode(w.type)).U8(DTypeCode(w.compute)).U8(DTypeCode(w.scale_type));
  out->U8(static_cast<uint8_t>(w.zero));
  if (w.zero != ZeroPoint::kNone) out->U8(DTypeCode(w.zero_type));
  out->U32(std::bit_cast<uint32_t>(w.tensor_scale));
  out->Bool(w.finite).Bool(w.gathers).Bool(problem.codebook);
  out->U8(DTypeCode(problem.output)).Bool(problem.bias.has_value());
  if (problem.bias) out->U8(DTypeCode(*problem.bias));
  out->U8(static_cast<uint8_t>(problem.activation)).Bool(problem.gated).Bool(problem.residual);
}

void WriteRange(const MatmulPlan::Range& range, ByteSink* out) {
  const MatmulTile& tile = range.candidate.tile;
  out->I64(range.m_min).I64(range.m_max).Bool(range.candidate.dequantises);
  out->U64(std::bit_cast<uint64_t>(range.candidate.microseconds));
  for (const int number :
       {tile.bm, tile.bn, tile.bk, tile.warps, tile.stages, tile.slices, tile.joined}) {
    out->U32(static_cast<uint32_t>(number));
  }
  out->Bool(tile.stream).Bool(tile.ordered).U32(static_cast<uint32_t>(tile.blocks));
}

}  // namespace

Result<std::string> EncodeMatmulPlan(const MatmulPlan& plan) {
  ByteSink out;
  WriteProblem(plan.problem(), &out);
  out.U64(plan.ranges().size());
  for (size_t i = 0; i < plan.ranges().size(); ++i) {
    WriteRange(plan.ranges()[i], &out);
    for (const MatmulPlan::Kernel& kernel : plan.KernelsOf(i)) {
      TARSIA_CHECK(WriteKernel(*kernel.program, kernel.image.get(), &out));
    }
  }
  return SealPlan(PlanKind::kMatmul, out.bytes());
}

// ---- reading -----------------------------------------------------------------------------------

namespace {

DType ReadType(ByteSource* in) {
  const std::optional<DType> type = DTypeFromCode(in->U8());
  return in->Require(type.has_value()) ? *type : kF16;
}

MatmulProblem ReadProblem(ByteSource* in) {
  MatmulProblem out;
  WeightInfo& w = out.weights;
  out.m_min = in->I64();
  out.m_max = in->I64();
  w.k = w.whole_k = in->I64();
  w.n = w.whole_n = in->I64();
  w.group = in->I64();
  w.type = ReadType(in);
  w.compute = ReadType(in);
  w.scale_type = ReadType(in);
  w.zero =
      static_cast<ZeroPoint>(in->Below(in->U8(), static_cast<uint64_t>(ZeroPoint::kFloat) + 1));
  if (w.zero != ZeroPoint::kNone) w.zero_type = ReadType(in);
  w.tensor_scale = std::bit_cast<float>(in->U32());
  w.finite = in->Bool();
  w.gathers = in->Bool();
  out.codebook = in->Bool();
  out.output = ReadType(in);
  if (in->Bool()) out.bias = ReadType(in);
  out.activation = static_cast<Activation>(in->Below(in->U8(), kActivations));
  out.gated = in->Bool();
  out.residual = in->Bool();
  return out;
}

MatmulPlan::Range ReadRange(ByteSource* in) {
  MatmulPlan::Range out;
  MatmulTile& tile = out.candidate.tile;
  out.m_min = in->I64();
  out.m_max = in->I64();
  out.candidate.dequantises = in->Bool();
  out.candidate.microseconds = std::bit_cast<double>(in->U64());
  for (int* const number :
       {&tile.bm, &tile.bn, &tile.bk, &tile.warps, &tile.stages, &tile.slices, &tile.joined}) {
    *number = static_cast<int>(in->Below(in->U32(), INT32_MAX));
  }
  tile.stream = in->Bool();
  tile.ordered = in->Bool();
  tile.blocks = static_cast<int>(in->Below(in->U32(), INT32_MAX));
  return out;
}

// Adds the ranges, which are those of all rows, without a gap.
Status ReadRanges(ByteSource* in, MatmulPlan::Assembly* assembly) {
  const MatmulProblem& problem = assembly->plan().problem();
  Device& device = assembly->plan().device();
  int64_t next = problem.m_min;
  for (size_t left = in->Count(1); left > 0 && in->ok(); --left) {
    const MatmulPlan::Range range = ReadRange(in);
    in->Require(range.m_min == next && range.m_max >= next && range.m_max <= problem.m_max);
    if (!in->ok()) break;
    next = range.m_max + 1;
    assembly->AddRange(range);
    for (const MatmulKernel kernel : KernelsOf(problem, range.candidate)) {
      TARSIA_TRY(StoredKernel stored, ReadKernel(in, device));
      TARSIA_TRY(auto loaded, device.LoadImage(stored.program, stored.image, {}));
      TARSIA_CHECK(assembly->AddKernel(kernel, std::move(stored.program), std::move(loaded)));
    }
  }
  in->Require(next == (assembly->IsEmpty() ? problem.m_min : problem.m_max + 1));
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<const MatmulPlan>> DecodeMatmulPlan(std::string_view bytes,
                                                           std::shared_ptr<Device> device) {
  TARSIA_TRY(const std::string_view contents, OpenPlan(PlanKind::kMatmul, bytes));
  ByteSource in(contents);
  const MatmulProblem problem = ReadProblem(&in);
  if (!in.ok()) return DamagedPlan("its description of the product is none");
  TARSIA_TRY(MatmulPlan::Assembly assembly,
             MatmulPlan::Assembly::Start(problem, std::move(device)));
  TARSIA_CHECK(ReadRanges(&in, &assembly));
  if (!in.done()) return DamagedPlan("its parts do not fit together");
  return assembly.Finish();
}

}  // namespace tarsia::runtime

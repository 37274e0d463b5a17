#include "runtime/weights/packed_order.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "layout/text/eval.h"

namespace tarsia {
namespace {

// The fragment of the left operand, of [n, k]: of mma.m16n8k16 for operands of 16 bits, of
// mma.m16n8k32 for those of 8.
std::string FragmentOf(DType compute) {
  if (compute.bits == 16) return fmt::format("mma.m16n8k16.{}.a", DTypeName(compute));
  return fmt::format("mma.m16n8k32.{}.a", compute.IsFloat() ? "f8" : "i8");
}

// How often the fragment is repeated, along n and along k: until the codes of a thread fill words
// without a gap, and, for operands of 16 bits, until each piece of a thread has 16 bytes where that
// takes more than one word. A tile has at most 128 rows, so that groups of 128 fit.
std::pair<int, int> RepeatsOf(DType weight, DType compute) {
  if (compute.bits == 8) return {1, 2};
  if (weight.bits % 2 != 0 && weight.bits != 1) return {2, 8};
  return {1, weight.bits == 6 ? 8 : 4};
}

// The elements of a thread in a piece of a row of scales, which 32 threads hold.
int64_t ScalesOfThread(DType type) { return type.bits == 8 ? 4 : 2; }

// The layout of a text of this file, for a shape.
Result<MemLayout> Make(const std::string& text, DType type, int64_t rows, int64_t columns) {
  TARSIA_TRY(const EvalValue value, EvaluateText(text));
  const int64_t shape[] = {rows, columns};
  return Apply(*std::get_if<MemLayoutFamily>(&value), shape, type);
}

}  // namespace

std::string PackedLayoutId(DType weight, DType compute) {
  return fmt::format("{}-{}-v{}", DTypeName(weight), DTypeName(compute), kPackedMapVersion);
}

Status CheckPackedOrder(DType weight, DType compute) { return CheckUnpack(weight, compute); }

Result<std::string> PackedTileText(DType weight, DType compute) {
  TARSIA_CHECK(CheckPackedOrder(weight, compute));
  const auto [along_n, along_k] = RepeatsOf(weight, compute);
  return fmt::format("permute(local({}, {}) * {}, [1, 0])", along_n, along_k, FragmentOf(compute));
}

Result<std::string> PackedOrderText(DType weight, DType compute) {
  TARSIA_TRY(const std::string tile, PackedTileText(weight, compute));
  return fmt::format("packed({}, lanes({}))", tile, DTypeName(compute));
}

int64_t PackedTileRows(DType weight, DType compute) {
  const int64_t rows = compute.bits == 8 ? 32 : 16;  // of a fragment
  return rows * RepeatsOf(weight, compute).second;
}

int64_t PackedTileColumns(DType weight, DType compute) {
  return int64_t{16} * RepeatsOf(weight, compute).first;
}

Result<MemLayout> PackedOrder(DType weight, DType compute, int64_t k, int64_t n) {
  TARSIA_TRY(const std::string text, PackedOrderText(weight, compute));
  return Make(text, weight, k, n);
}

std::string ScaleOrderText(DType type) {
  return fmt::format("packed(spatial(1, 32) * local(1, {}), contiguous)", ScalesOfThread(type));
}

Result<MemLayout> ScaleOrder(DType type, int64_t groups, int64_t n) {
  return Make(ScaleOrderText(type), type, groups, n);
}

int64_t ScaleRowBytes(DType type, int64_t n) {
  const int64_t piece = 32 * ScalesOfThread(type);
  return (n + piece - 1) / piece * piece * (type.bits / 8);
}

}  // namespace tarsia

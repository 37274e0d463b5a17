#include "layout/text/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "dtypes/dtype.h"
#include "layout/checked.h"
#include "layout/diagnostics.h"
#include "layout/text/expr_parser.h"

namespace tarsia {
namespace {

// Steps through the indices of a shape in row-major order; false after the last one.
bool Next(std::span<const int64_t> shape, Extents& index) {
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (++index[dim] < shape[dim]) return true;
    index[dim] = 0;
  }
  return false;
}

// "thread 5, slot 3", or "threads 1, 5, slot 3" of a replicated element, at most eight of them.
std::string HoldersText(const std::vector<Holder>& holders) {
  constexpr size_t kShown = 8;
  std::vector<int64_t> threads;
  for (size_t i = 0; i < std::min(holders.size(), kShown); ++i) {
    threads.push_back(holders[i].thread);
  }
  return fmt::format("thread{} {}{}, slot {}", holders.size() == 1 ? "" : "s",
                     fmt::join(threads, ", "), holders.size() > kShown ? ", .." : "",
                     holders[0].slot);
}

std::string ShapesText(std::span<const int64_t> a, std::span<const int64_t> b) {
  return fmt::format("the shapes differ: {} and {}", ToString(a), ToString(b));
}

}  // namespace

std::optional<std::string> Difference(const RegLayout& a, const RegLayout& b) {
  if (a == b) return std::nullopt;
  if (a.shape() != b.shape()) return ShapesText(a.shape(), b.shape());
  if (a.threads() != b.threads()) {
    return fmt::format("the thread counts differ: {} and {}", a.threads(), b.threads());
  }
  if (a.slots() != b.slots()) {
    return fmt::format("the slot counts differ: {} and {}", a.slots(), b.slots());
  }
  Extents index(a.shape().size());
  do {
    const std::vector<Holder> left = a.Locate(index), right = b.Locate(index);
    if (left == right) continue;
    return fmt::format("element {} is in {} on the left, in {} on the right", ToString(index),
                       HoldersText(left), HoldersText(right));
  } while (Next(a.shape(), index));
  return std::nullopt;
}

Result<std::optional<std::string>> Difference(const MemLayout& a, const MemLayout& b, int bits) {
  using Found = std::optional<std::string>;
  if (a == b) return Found();
  if (a.shape() != b.shape()) return Found(ShapesText(a.shape(), b.shape()));
  for (const MemLayout* layout : {&a, &b}) {
    if (!layout->IsPacked() || layout->packed().bits.bits() == bits) continue;
    return MakeDiagnostic(diag::kPackedType, {}, DTypeName(layout->packed().bits.type()),
                          fmt::format("{} bits", bits));
  }
  if (a.elements() == 0) return Found();
  Extents index(a.shape().size());
  int64_t looked = 0;
  do {
    if (++looked > kMaxLayoutCells) {
      return Found(fmt::format("written differently, with the first {} elements at the same places",
                               kMaxLayoutCells));
    }
    for (int bit = 0; bit < bits; ++bit) {
      const uint64_t left = a.BitAddress(index, bits, bit);
      const uint64_t right = b.BitAddress(index, bits, bit);
      if (left == right) continue;
      return Found(fmt::format(
          "bit {} of element {} is at byte {}, bit {} on the left, at byte {}, bit {} on the right",
          bit, ToString(index), left / 8, left % 8, right / 8, right % 8));
    }
    if (a.Complement(index) != b.Complement(index)) {
      return Found(
          fmt::format("element {} has the bits {:#x} complemented on the left, {:#x} on "
                      "the right",
                      ToString(index), a.Complement(index), b.Complement(index)));
    }
  } while (Next(a.shape(), index));
  return Found();
}

std::optional<std::string> Difference(const BitLayout& a, const BitLayout& b) {
  if (a.type() != b.type()) {
    return fmt::format("the types differ: {} and {}", DTypeName(a.type()), DTypeName(b.type()));
  }
  if (a.count() != b.count()) {
    return fmt::format("the counts differ: {} and {} codes", a.count(), b.count());
  }
  for (int64_t slot = 0; slot < a.count(); ++slot) {
    for (int bit = 0; bit < a.bits(); ++bit) {
      const BitPlace left = a.Place(slot, bit), right = b.Place(slot, bit);
      if (left == right) continue;
      return fmt::format(
          "bit {} of slot {} is bit {} of word {} on the left, bit {} of word {} on the right", bit,
          slot, left.bit, left.word, right.bit, right.word);
    }
    if (a.Complement(slot) != b.Complement(slot)) {
      return fmt::format("slot {} has the bits {:#x} complemented on the left, {:#x} on the right",
                         slot, a.Complement(slot), b.Complement(slot));
    }
  }
  return std::nullopt;
}

Result<std::optional<Equation>> ReadEquation(std::string_view text) {
  ExprPool pool;
  TARSIA_TRY(const ExprId id, ParseExpression(text, pool));
  if (pool.kind(id) != ExprKind::kBinary) return std::optional<Equation>();
  const auto op = static_cast<BinaryOp>(pool.node(id).code);
  if (op != BinaryOp::kEqual && op != BinaryOp::kNotEqual) return std::optional<Equation>();
  Equation out;
  out.equal = op == BinaryOp::kEqual;
  const ExprId sides[] = {pool.children(id)[0], pool.children(id)[1]};
  for (int side = 0; side < 2; ++side) {
    ExprId failed;
    Result<EvalValue> value = Evaluate(pool, sides[side], EmptyEnv(), {}, &failed);
    if (!value.ok()) {
      Diagnostic error = value.TakeError();
      error.location = FindExpression(text, pool, failed);
      return error;
    }
    (side == 0 ? out.left : out.right) = *std::move(value);
  }
  return std::optional(std::move(out));
}

}  // namespace tarsia
